"""JSONL: a JSON object in each line.

In a file of dropped items (DEDUP_DUPLICATES), the item of a line is the record.
"""

import codecs
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Piece, RawRecord, Record, RecordError, record_of
from dedup.records.compressed import LineFormat
from dedup.text import writable

# Protects memory from files without line ends and from decompression bombs. A parsed line of short
# numbers takes some 40 times its length.
LONGEST_LINE = 1 << 26
# What a line of dropped items has, besides the item.
_DROPPED = {"url", "verdict", "original", "distance", "dropped"}
TOO_LONG = f"the line is longer than {LONGEST_LINE >> 20} MB"


class JsonLines(LineFormat):
    """Lines of JSON; empty lines are skipped."""

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
