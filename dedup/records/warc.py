"""WARC, by warcio."""

import zlib
from array import array
from collections import deque
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import (
    Fields,
    Format,
    RawRecord,
    Record,
    RecordError,
    decode_html,
    timestamp,
)

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_NO_ID = 0


class Warc(Format):
    """Archives of crawls, whose pages are the records; written back byte for byte.

    A page is a response with status 2xx and HTML or plain text. When a page is dropped, so are the
    records that refer to it (WARC-Concurrent-To, WARC-Refers-To), such as its request. Every other
    record is kept. The key is WARC-Target-URI, the date WARC-Date.
    """

    name = "warc"
    suffixes = (".warc",)
    compressions = (".gz",)

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        super().__init__(paths, fields)
        try:
            import warcio.archiveiterator  # noqa: F401  # fails at the start, not halfway
        except ImportError as error:
            raise RecordError("WARC needs: pip install 'scrapy-dedup[warc]'") from error
        # The id of each page, in 8 bytes, to find the records that refer to a dropped one.
        self._ids = array("Q")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_ids": array("Q")}

    @property
    def has_html(self) -> bool:
        return True

    def raw_records(self) -> Iterator[RawRecord]:
        self._ids = array("Q")
        for path, before, _ in self._passed():
            number = 0
            try:
                for entry in _entries(path):
                    self.bytes_read = before + entry.bytes_read
                    error_of_body = None
                    try:
                        body = entry.body()
                    except RecordError:
                        raise
                    except Exception as error:  # decoders raise anything
                        body, error_of_body = b"", f"its body cannot be decoded ({error})"
                    entry.check_whole()
                    if body is None:
                        continue
                    number += 1
                    self._ids.append(_digest(entry.header("WARC-Record-ID")))
                    uri, date = entry.header("WARC-Target-URI"), entry.header("WARC-Date")
                    data = None if error_of_body else (body, entry.content_type, uri, date)
                    yield RawRecord(str(path), number, len(body), data, error_of_body)
            except RecordError as error:
                self._ids.append(_NO_ID)
                yield RawRecord(str(path), number + 1, 0, None, str(error))

    def parse(self, data: tuple[bytes, str, str | None, str | None]) -> Record:
        body, content_type, url, date = data
        text = decode_html(body, content_type)
        is_html = _media_type(content_type) in _HTML_TYPES
        seconds = timestamp(date, "WARC-Date") if self.fields.date else None
        return Record(text, is_html, url, seconds)

    def check_output(self, path: Path) -> None:
        super().check_output(path)
        for source in self.paths:
            if source.suffix.lower() != path.suffix.lower():
                raise RecordError(
                    f"{path} must be compressed like {source}: records are copied byte for byte"
                )

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        if len(self._ids) < len(keep):  # the records were not read in this process
            deque(self.raw_records(), maxlen=0)
        duplicates = {id_ for id_, flag in zip(self._ids, keep, strict=True) if not flag} - {_NO_ID}
        flags = iter(keep)
        for input_, before, _ in self._passed():
            with open(input_, "rb") as source:
                try:
                    for entry in _entries(input_):
                        self.bytes_read = before + entry.bytes_read
                        entry.check_whole()
                        references = map(entry.header, ("WARC-Concurrent-To", "WARC-Refers-To"))
                        if entry.is_page:
                            is_unique = bool(next(flags))
                        else:
                            is_unique = duplicates.isdisjoint(map(_digest, references))
                        if is_unique:
                            source.seek(entry.offset)
                            file.write(source.read(entry.length) + entry.end)
                except RecordError:
                    next(flags)  # of the damaged record


def _entries(path: Path) -> "Iterator[_Entry]":
    """Yield the records of a file; each is valid until the next one is read."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed
    from warcio.statusandheaders import StatusAndHeadersParserException

    with open(path, "rb") as file:
        try:
            records = ArchiveIterator(file)
            for record in records:
                yield _Entry(records, record, file.tell())
        except (
            ArchiveLoadFailed,
            StatusAndHeadersParserException,
            zlib.error,
            EOFError,
            ValueError,
            AttributeError,  # raised by warcio for an incomplete header
        ) as error:
            first_line = next(filter(None, map(str.strip, str(error).splitlines())), "")
            raise RecordError(f"not a WARC record ({first_line})") from error


class _Entry:
    def __init__(self, records: Any, record: Any, bytes_read: int) -> None:
        self.bytes_read = bytes_read
        self._records = records
        self._record = record
        http = record.http_headers
        self.content_type: str = (http and http.get_header("Content-Type")) or ""
        status = (http and http.get_statuscode()) or ""
        self.is_page = (
            record.rec_type == "response"
            and status.startswith("2")
            and _media_type(self.content_type) in (*_HTML_TYPES, "text/plain")
        )

    def header(self, name: str) -> str | None:
        value: str | None = self._record.rec_headers.get_header(name)
        return value

    def body(self) -> bytes | None:
        """Return the decoded body of a page; ``None`` for any other record."""
        return self._record.content_stream().read() if self.is_page else None

    def check_whole(self) -> None:
        """Raise RecordError if the file ends before the record does."""
        self._records.read_to_end()
        if getattr(self._record.raw_stream, "limit", 0) > 0:
            raise RecordError("the record is cut off")

    @property
    def offset(self) -> int:
        return int(self._records.get_record_offset())

    @property
    def length(self) -> int:
        return int(self._records.get_record_length())

    @property
    def end(self) -> bytes:
        """The separator before the next record, which `length` does not count."""
        return b"" if self._records.reader.decompressor else b"\r\n\r\n"


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _digest(record_id: str | None) -> int:
    if not record_id:
        return _NO_ID
    return int.from_bytes(blake2b(record_id.strip().encode(), digest_size=8).digest())
