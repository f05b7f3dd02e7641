"""The part of a scan that all cores share: records -> sketches, many in one task."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dedup.extraction import Extractor
from dedup.limits import cut, kept_url
from dedup.methods import Method
from dedup.page import Page, PageReader
from dedup.records import Format, RawRecord, Record, RecordError


class Sketched(NamedTuple):
    """A record reduced to what is judged, without its text.

    *has_field* says whether there was a text at all, *length* how many characters of main text;
    *sketch* is the method's as bytes. Of a bad record (*error*) there is nothing else; of an
    *unread* one, whose text could not be found out, for the reason given, there is no digest.
    """

    key: str | None = None
    date: float | None = None
    has_field: bool = False
    length: int = 0
    tokens: int = 0
    digest: bytes | None = None
    sketch: bytes | None = None
    error: str | None = None
    unread: str | None = None

    def told_of(self, raw: RawRecord) -> "Sketched":
        """Return a copy whose error messages name the file and record number of *raw*."""
        if self.error is None and self.unread is None:
            return self
        error, unread = (
            wrong and f"{raw.source}, record {raw.number}: {wrong}"
            for wrong in (self.error, self.unread)
        )
        return self._replace(error=error, unread=unread)


class RecordReader:
    """Reads records of one format; sent to each worker once."""

    def __init__(self, format_: Format, method: Method, extractor: Extractor) -> None:
        self.format = format_
        self.method = method
        self._pages = PageReader(extractor, method)

    def warm_up(self) -> None:
        if self.format.has_html:
            self._pages.warm_up()

    def read(self, raws: Sequence[Any]) -> list[Sketched]:
        """Return what the records of *raws* are reduced to, in their order."""
        read = [self._record(raw) for raw in raws]
        records = [record for record in read if isinstance(record, Record)]
        texts = [record.content or "" for record in records if not record.is_html]
        pages = iter(self._pages.read_texts(texts))
        return [
            Sketched(error=cut(str(record)))
            if isinstance(record, RecordError)
            else self._sketched(
                record,
                self._pages.read_html(record.content or "") if record.is_html else next(pages),
            )
            for record in read
        ]

    def _record(self, raw: Any) -> Record | RecordError:
        try:
            return self.format.parse(raw)
        except RecordError as error:
            return error

    def _sketched(self, record: Record, page: Page) -> Sketched:
        return Sketched(
            None if record.key is None else kept_url(record.key),
            record.date,
            record.content is not None,
            len(page.text or ""),
            page.tokens,
            page.digest,
            None if page.sketch is None else self.method.to_bytes(page.sketch),
        )


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """The task of a worker."""

    raws: list[Any]

    def run(self, reader: RecordReader) -> list[Sketched]:
        return reader.read(self.raws)
