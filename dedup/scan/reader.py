"""The part of a scan that all cores share: records of files -> records of pages, many in a task."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import IntEnum
from hashlib import blake2b
from typing import Any, NamedTuple
from urllib.parse import urljoin

import numpy as np

from dedup.canonical import canonical_of
from dedup.extraction import Extractor, language_of_text
from dedup.limits import shorten, shorten_url
from dedup.lost_text import Sequences
from dedup.methods.base import Method
from dedup.page import Page, PageReader
from dedup.record import PageRecord
from dedup.record_field import FieldReader, FieldRecord
from dedup.records import Format, Record, RecordError
from dedup.rule import Kind
from dedup.scopes import Scope

_LARGEST_BLOCK = 1 << 24
# By the number of the fate.
_VERDICTS = (
    "bad", Kind.EXACT.value, Kind.NEAR.value, Kind.NEW.value, Kind.SKIPPED.value, "unread",
    "without-scope",
)  # fmt: skip


class Fate(IntEnum):
    """What became of a record; those from `NEW` on are kept."""

    BAD = 0
    EXACT = 1
    NEAR = 2
    NEW = 3
    EMPTY = 4
    UNREAD = 5
    NO_SCOPE = 6

    @property
    def verdict(self) -> str:
        """What Spark calls it: a value of `Kind` where it was judged."""
        return _VERDICTS[self]


COUNTED = {
    "exact_duplicates": Fate.EXACT, "near_duplicates": Fate.NEAR, "kept_empty": Fate.EMPTY,
    "kept_unread": Fate.UNREAD, "kept_without_scope": Fate.NO_SCOPE, "bad": Fate.BAD,
}  # fmt: skip
"""The fates that figures count, by the names that they have there."""


class ReadRecord(NamedTuple):
    """What is left of a record of a file once it was read, without its text.

    *page* is what is judged; its key is "" if the record has none (*has_key*). *has_field* says
    whether there was a text at all, *length* how many characters of main text. A bad record
    (*error*) has nothing else. An *unread* one, whose text could not be found out for the reason
    given, has no digest. *sequences* are those of the text, where that was read; *canonical* is the
    URL that the page names as its canonical one, if that is known.
    """

    page: PageRecord = PageRecord()
    has_key: bool = False
    date: float | None = None
    has_field: bool = False
    length: int = 0
    error: str | None = None
    unread: str | None = None
    has_scope: bool = True
    sequences: Sequences | None = None
    canonical: str | None = None

    @property
    def fate(self) -> Fate:
        """What becomes of it before it is judged; `NEW` if it has to be."""
        if self.error is not None:
            return Fate.BAD
        if self.unread is not None:
            return Fate.UNREAD
        return Fate.NEW if self.has_scope else Fate.NO_SCOPE

    @property
    def fields(self) -> list[str]:
        """Those of "text", "key", "date" and "scope" that it has."""
        is_there = {
            "text": self.has_field, "key": self.has_key, "date": self.date is not None,
            "scope": self.has_scope,
        }  # fmt: skip
        return [name for name, there in is_there.items() if there]


class RecordReader:
    """Reads records of one format; sent to each worker once."""

    def __init__(
        self,
        format_: Format,
        method: Method,
        extractor: Extractor,
        scope: Scope | None = None,
        *,
        page_timeout: float = 30.0,
        with_sequences: bool = True,
    ) -> None:
        """Create it; *scope* says where records are compared, by default all with all.

        Records of crawls are compared as the crawl did by default. *page_timeout*: the seconds
        after which a page of HTML is given up. *with_sequences*: as of a `PageReader`.
        """
        self.format = format_
        self.method = method
        self.scope = scope
        self.page_timeout = page_timeout
        self._pages = PageReader(extractor, method, with_sequences=with_sequences)
        self._fields = FieldReader(method) if format_.fields.is_object else None

    @property
    def has_pages(self) -> bool:
        """Whether there may be other records than of texts that are all compared with all."""
        format_ = self.format
        return format_.has_html or format_.fields.is_object or self.scope is not None

    def warm_up(self) -> None:
        # glibc gives free memory back where it is more than twice the largest block that was ever
        # freed. After this one, the arrays of all batches take the same memory.
        np.empty(_LARGEST_BLOCK, np.uint8)
        if self.format.has_html:
            self._pages.warm_up()

    def read(self, raws: Sequence[Any]) -> list[ReadRecord]:
        """Return what the records of *raws* are reduced to, in their order."""
        parsed = [self._parse(raw) for raw in raws]
        records = [record for record in parsed if isinstance(record, Record)]
        if self._fields:
            reads = self._read_fields(records, self._fields)
        else:
            reads = self._read_contents(records)
        return [next(reads) if isinstance(record, Record) else record for record in parsed]

    def _parse(self, raw: Any) -> Record | ReadRecord:
        try:
            return self.format.parse(raw)
        except RecordError as error:
            return ReadRecord(error=shorten(str(error)))

    def _read_contents(self, records: Sequence[Record]) -> Iterator[ReadRecord]:
        texts = [record.content or "" for record in records if not record.is_html]
        pages = iter(self._pages.read_texts(texts))
        for record in records:
            page = self._pages.read_html(record.content or "") if record.is_html else next(pages)
            yield self._read_record(record, page)

    def _read_record(self, record: Record, page: Page) -> ReadRecord:
        url, text = record.key or "", page.text or ""
        read = ReadRecord(
            page.record if record.key is None else page.under(record.key),
            record.key is not None,
            record.date,
            record.content is not None,
            len(text),
            sequences=page.sequences,
            canonical=_canonical(record, url, page.canonical),
        )
        language = page.language
        if language is None and self.scope is not None and self.scope.needs_language:
            language = language_of_text(text)
        return self._in_scope(read, record, url, language)

    def _read_fields(self, records: Sequence[Record], reader: FieldReader) -> Iterator[ReadRecord]:
        read = iter(reader.read([record.content for record in records if record.content]))
        for record in records:
            found = next(read) if record.content else None
            if isinstance(found, ValueError):
                yield ReadRecord(error=shorten(str(found)))
            else:
                yield self._read_page(record, found)

    def _read_page(self, record: Record, found: FieldRecord | None) -> ReadRecord:
        page = found.record if found else PageRecord()
        # Unless somebody names another, it has a key of its own.
        key = record.key if self.format.fields.key or not found else page.key
        named = page.under(key or "", page.scope)
        # Nobody knows how many characters there were.
        read = ReadRecord(named, key is not None, record.date, found is not None, page.tokens)
        read = read._replace(canonical=_canonical(record, key or ""))
        if found:
            read = self._in_scope(read, record, page.key, None)
        # No other item says all that this one says, unless it says the same.
        if not page.item:
            return read
        said = blake2b(page.item, digest_size=8).hexdigest()
        return read._replace(page=read.page._replace(scope=f"{read.page.scope} says {said}"))

    def _in_scope(
        self, read: ReadRecord, record: Record, url: str, language: str | None
    ) -> ReadRecord:
        """Return what was *read* of *record*, in its scope, if that can be found out."""
        if self.scope is None:
            return read
        try:
            name = self.scope.name_of(url, language, record.fields)
        except Exception as error:  # of a function of somebody else's, or a value that is none
            return read._replace(unread=shorten(f"its scope: {type(error).__name__}: {error}"))
        if name is None:
            return read._replace(has_scope=False)
        return read._replace(page=read.page._replace(scope=name))


def _canonical(record: Record, url: str, link: str | None = None) -> str | None:
    if record.canonical:
        with suppress(ValueError):  # such as an unclosed bracket in the host
            return shorten_url(urljoin(url, record.canonical))
    # Of a file, nothing is known.
    return canonical_of(link, url) if "://" in url else None
