"""Files of lines, compressed if their suffix says so, and JSONL: a JSON object in each line."""

import codecs
import gzip
import importlib
import json
import sys
import zlib
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, cast

from dedup.records.base import Fields, Format, Piece, RawRecord, Record, RecordError, record_of
from dedup.text import writable

COMPRESSIONS = (".gz", ".zst")
# Protects memory from files without line ends and from decompression bombs. A parsed line of short
# numbers takes some 40 times its length.
LONGEST_LINE = 1 << 26
# What a line of dropped items has, besides the item.
_DROPPED = {"url", "verdict", "original", "distance", "dropped"}
TOO_LONG = f"the line is longer than {LONGEST_LINE >> 20} MB"


class LineFormat(Format):
    """Files whose records are one line or several, which are written back byte for byte."""

    compressions = COMPRESSIONS
    _header = b""

    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        with decompressed(file, path) as lines:
            yield from self._read_lines(lines)

    @abstractmethod
    def _read_lines(self, file: BinaryIO) -> Iterator[Piece]:
        """Yield the records of a file without compression, with their lines."""

    def _write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        with _as_suffix_says(file, path, "wb") as output:
            output.write(_with_line_end(self._header))
            for raw, is_unique in zip(self.raw_records(), keep, strict=True):
                if is_unique:
                    output.write(_with_line_end(self._line_of(raw)))

    def _line_of(self, raw: RawRecord) -> bytes:
        return raw.line


def _with_line_end(line: bytes) -> bytes:
    return line + b"\n" if line and not line.endswith(b"\n") else line


@contextmanager
def decompressed(file: BinaryIO, path: Path) -> Iterator[BinaryIO]:
    """Yield what *file* at *path* holds; raises RecordError if it is damaged or cut off."""
    try:
        with _as_suffix_says(file, path, "rb") as content:
            yield content
    except Exception as error:
        is_damage = isinstance(error, EOFError | gzip.BadGzipFile | zlib.error)
        if not is_damage and type(error).__name__ != "ZstdError":
            raise
        raise RecordError(f"the file is damaged or cut off here ({error})") from error


def _as_suffix_says(file: BinaryIO, path: Path, mode: str) -> AbstractContextManager[BinaryIO]:
    """Return what reads or writes *file* at *path*, compressed if that is so; it stays open."""
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.GzipFile("", mode, 6, file, mtime=0))
    if path.suffix.lower() == ".zst":
        return _zstd().ZstdFile(file, mode[0])  # type: ignore[no-any-return]
    return nullcontext(file)


def _zstd() -> Any:
    """Return Python 3.14's zstd module, or its backport; raises RecordError without either."""
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RecordError(".zst needs: pip install 'scrapy-dedup[zstd]'") from error


class JsonLines(LineFormat):
    """Lines of JSON; empty lines are skipped.

    In a file of dropped items (DEDUP_DUPLICATES), the item of a line is the record.
    """

    name = "jsonl"
    suffixes = (".jsonl", ".jl", ".ndjson", ".json")

    def _read_lines(self, file: BinaryIO) -> Iterator[Piece]:
        for number, line in enumerate(_lines(file)):
            if number == 0 and line:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line is None:
                yield 0, None, TOO_LONG
            elif line and not line.isspace():
                yield len(line), line

    def parse(self, data: bytes) -> Record:
        value = object_in(data)
        return record_of(_dropped_item(value) or value, self.fields)

    def _line_of(self, raw: RawRecord) -> bytes:
        return without_verdict(raw.data)


def object_in(line: bytes) -> dict[str, Any]:
    """Return the object that *line* writes in JSON; raises RecordError if it is none."""
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise RecordError(f"not utf-8 ({error.reason} at {error.start})") from error
    except (ValueError, RecursionError) as error:
        hint = "" if line.endswith(b"\n") else ", and the line does not end: half-written?"
        # JSON in several lines, as of scrapy crawl -O site.json.
        if line.strip() == b"{" or line.lstrip().startswith(b"["):
            hint = "; each line must be an object of its own"
        raise RecordError(f"not JSON ({error}){hint}") from error
    if not isinstance(value, dict):
        raise RecordError(f"must be a JSON object, got {type(value).__name__}")
    return value


def read_records(path: Path, text_field: str = "text") -> Iterator[tuple[str, Record]]:
    """Yield the records of a file, with all their fields, after their places, for messages.

    Raises RecordError for a bad one.
    """
    format_ = JsonLines([path], Fields(text_field, with_all=True))
    for record in format_.read_each(lambda raw: (raw.place, format_.parse(raw.data))):
        if isinstance(record, RecordError):
            raise record
        yield record


def _dropped_item(value: dict[str, Any]) -> dict[str, Any] | None:
    """Return the item of a line of dropped items, ``None`` for any other object."""
    item = value.get("item")
    return item if isinstance(item, dict) and value.keys() >= _DROPPED else None


def without_verdict(line: bytes) -> bytes:
    """Return *line* as the feed would have it: of one of dropped items, only the item."""
    if b'"dropped"' not in line:
        return line
    try:
        item = _dropped_item(object_in(line))
    except RecordError:  # what could not be compared is kept as it is
        return line
    if item is None:
        return line
    return json_line(item)


def json_line(value: Mapping[str, Any]) -> bytes:
    """Return the line that writes *value*, without its end; halves of characters are escaped."""
    return writable(json.dumps(value, ensure_ascii=False)).encode()


def _lines(file: BinaryIO) -> Iterator[bytes | None]:
    """Yield the lines, ``None`` for each that is too long."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) <= LONGEST_LINE:
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None
