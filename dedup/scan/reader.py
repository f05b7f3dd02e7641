"""The part of a scan that all cores share: records of files -> records of pages, many in a task."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any
from urllib.parse import urljoin

import numpy as np

from dedup.canonical import canonical_of
from dedup.extraction import Extractor, language_of_text
from dedup.limits import shorten, shorten_url
from dedup.methods.base import Method
from dedup.page import Page, PageReader
from dedup.record import PageRecord
from dedup.record_field import FieldReader, FieldRecord
from dedup.records import Format, Record, RecordError
from dedup.scan.read_record import ReadRecord
from dedup.scopes import Scope

_LARGEST_BLOCK = 1 << 24


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
        read = ReadRecord(
            page.record if record.key is None else page.under(record.key),
            record.key is not None,
            record.date,
            record.content is not None,
            len(page.text or ""),
            sequences=page.sequences,
            canonical=_canonical(record, record.key or "", page.canonical),
        )
        if self.scope is None:
            return read
        language = page.language
        if self.scope.needs_language and language is None:
            language = language_of_text(page.text or "")
        return _in_scope(read, self.scope, record, record.key or "", language)

    def _read_fields(self, records: Sequence[Record], reader: FieldReader) -> Iterator[ReadRecord]:
        read = iter(reader.read([record.values for record in records if record.values]))
        for record in records:
            found = next(read) if record.values else None
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
        if found and self.scope is not None:
            read = _in_scope(read, self.scope, record, page.key, None)
        # No other item says all that this one says, unless it says the same.
        if not page.item:
            return read
        said = blake2b(page.item, digest_size=8).hexdigest()
        return read._replace(page=read.page._replace(scope=f"{read.page.scope} says {said}"))


def _canonical(record: Record, url: str, link: str | None = None) -> str | None:
    if record.canonical:
        with suppress(ValueError):  # such as an unclosed bracket in the host
            return shorten_url(urljoin(url, record.canonical))
    # Of a file, nothing is known.
    return canonical_of(link, url) if "://" in url else None


def _in_scope(
    read: ReadRecord, scope: Scope, record: Record, url: str, language: str | None
) -> ReadRecord:
    """Return what was *read* of *record*, in the scope that it has, if that can be found out."""
    try:
        name = scope.name_of(url, language, record.fields)
    except Exception as error:  # of a function of somebody else's, or a value that is none
        return read._replace(unread=shorten(f"its scope: {type(error).__name__}: {error}"))
    if name is None:
        return read._replace(has_scope=False)
    return read._replace(page=read.page._replace(scope=name))
