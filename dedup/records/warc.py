"""WARC, by warcio."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Format, Piece, Record, RecordError, decode_html, timestamp

_HTML_TYPES = ("text/html", "application/xhtml+xml")
_REFERENCES = "WARC-Concurrent-To", "WARC-Refers-To"


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
            import brotli  # noqa: F401  # fails at the start, not halfway
            import warcio.archiveiterator  # noqa: F401
        except ImportError as error:
            raise RecordError("WARC needs: pip install 'scrapy-dedup[warc]'") from error

    @property
    def has_html(self) -> bool:
        return True

    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        for archive, record in _records(file):
            if not _is_page(record):
                _check_whole(archive, record)
                continue
            error = None
            try:
                body = _body(record)
            except Exception as cause:  # decoders raise anything
                body, error = b"", f"its body cannot be decoded ({cause})"
            _check_whole(archive, record)
            headers = map(record.rec_headers.get_header, ("WARC-Target-URI", "WARC-Date"))
            yield len(body), (body, _content_type(record), *headers), error

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

    def _write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        dropped = {
            _hash_of(record, "WARC-Record-ID")
            for _, record, _, is_kept in self._flagged(keep)
            if is_kept is False
        } - {hash("")}
        for archive, record, source, is_kept in self._flagged(keep):
            if is_kept is None:
                is_kept = dropped.isdisjoint(_hash_of(record, name) for name in _REFERENCES)
            if is_kept:
                source.seek(archive.get_record_offset())
                file.write(source.read(archive.get_record_length()))
                # Its length does not count the separator before the next record.
                file.write(b"" if archive.reader.decompressor else b"\r\n\r\n")

    def _flagged(self, keep: Sequence[int]) -> Iterator[tuple[Any, Any, BinaryIO, bool | None]]:
        """Yield `_records` that are whole, their file opened once more, and which pages are kept.

        For what is no page, that is ``None``.
        """
        flags = iter(keep)
        for path, file in self._open_files():
            with open(path, "rb") as source:
                try:
                    for archive, record in _records(file):
                        _check_whole(archive, record)
                        is_kept = bool(next(flags)) if _is_page(record) else None
                        yield archive, record, source, is_kept
                except RecordError:
                    next(flags)  # of the damaged record


def _records(file: BinaryIO) -> Iterator[tuple[Any, Any]]:
    """Yield warcio's iterator and each record of a file, valid until the next one is read."""
    from warcio.archiveiterator import ArchiveIterator

    try:
        archive = ArchiveIterator(file)
        for record in archive:
            yield archive, record
    except OSError:
        raise
    except Exception as error:  # warcio raises anything where a file is damaged
        first_line = next(filter(None, map(str.strip, str(error).splitlines())), "")
        hint = "; warcio recompress mends that" if "non-chunked gzip" in first_line else ""
        raise RecordError(f"not a WARC record ({first_line}){hint}") from error


def _body(record: Any) -> bytes:
    """Return the decoded body; raises whatever a decoder raises."""
    http = record.http_headers
    if not http or (http.get_header("Content-Encoding") or "").strip().lower() != "br":
        return bytes(record.content_stream().read())
    import brotli

    http.remove_header("Content-Encoding")  # warcio fails with today's brotli
    body: bytes = record.content_stream().read()
    try:
        return bytes(brotli.decompress(body))
    except brotli.error:  # as browsers do not, but archives: the body was stored decoded
        return body


def _check_whole(archive: Any, record: Any) -> None:
    """Raise RecordError if the file ends before the record does."""
    archive.read_to_end()
    if getattr(record.raw_stream, "limit", 0) > 0:
        raise RecordError("the record is cut off")


def _is_page(record: Any) -> bool:
    http = record.http_headers
    return (
        record.rec_type == "response"
        and ((http and http.get_statuscode()) or "").startswith("2")
        and _media_type(_content_type(record)) in (*_HTML_TYPES, "text/plain")
    )


def _content_type(record: Any) -> str:
    http = record.http_headers
    return (http and http.get_header("Content-Type")) or ""


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _hash_of(record: Any, name: str) -> int:
    return hash((record.rec_headers.get_header(name) or "").strip())  # of this process alone
