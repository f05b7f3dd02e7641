"""Mends the end of local feeds of lines and CSV that a killed crawl has left."""

import codecs
import csv
import os
from contextlib import suppress
from typing import Any

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot

LINES = (exporters.JsonLinesItemExporter, exporters.PprintItemExporter)
_BLOCK = 1 << 20
_LARGEST_FIELD = 1 << 28


def has_content(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > 0


def is_mendable(slot: FeedSlot) -> bool:
    """Return whether a file of this format can be mended at its end."""
    return has_format(slot, (*LINES, exporters.CsvItemExporter))


def has_format(slot: FeedSlot, formats: tuple[type, ...]) -> bool:
    """Return whether the file has one of *formats*, without compression, in bytes that end lines.

    So an encoding in which the end of a line is more than one byte has none.
    """
    options = slot.feed_options
    is_plain = "\n\n".encode(options["encoding"] or "utf-8").endswith(b"\n\n")
    exporter = slot.exporters[slot.format]
    return is_plain and "postprocessing" not in options and issubclass(exporter, formats)


def mend(slot: FeedSlot, *, is_torn: bool) -> None:
    """End the last line of the open file of *slot*, which `is_mendable`, if it has no end.

    *is_torn*: the last crawl did not end, so that a record of CSV may be open, too. Raises OSError.
    """
    file, path = slot.file, slot.storage.path  # type: ignore[attr-defined]  # a local file
    assert file
    if not os.access(path, os.R_OK):
        return
    encoding = slot.feed_options["encoding"] or "utf-8"
    dialect = getattr(getattr(slot.exporter, "csv_writer", None), "dialect", None)
    line_end = (dialect.lineterminator if dialect else "\n").encode()
    with open(path, "rb") as readable:
        size = readable.seek(0, os.SEEK_END)
        readable.seek(max(0, size - _BLOCK))
        end = readable.read()
    if torn := _length_of_torn_character(end, encoding):
        with suppress(PermissionError):  # it can be appended to only
            os.ftruncate(file.fileno(), size - torn)
    if not (dialect and is_torn):
        file.write(_rest_of_line_end(end, line_end))
    elif size <= _BLOCK and line_end not in end:
        os.ftruncate(file.fileno(), 0)  # half of a header, which is written again
    elif _may_be_open(path, encoding, dialect):
        # Within quotes they end there, elsewhere they are part of a field.
        file.write(f"torn{dialect.quotechar or ''}".encode() + line_end)
    else:
        file.write(_rest_of_line_end(end, line_end))
    file.flush()
    file.seek(0, os.SEEK_END)


def _rest_of_line_end(end: bytes, line_end: bytes) -> bytes:
    """Return what the *end* of a file lacks of a *line_end*."""
    if not end or end.endswith(line_end):
        return b""
    is_half = end.endswith(line_end[:1]) and len(line_end) == 2
    return line_end[1:] if is_half else line_end


def _length_of_torn_character(end: bytes, encoding: str) -> int:
    """Return how many bytes at the *end* of a text are the beginning of a character."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    # Some encodings can only be decoded from the beginning of a line.
    decoder.decode(end[end.rfind(b"\n") + 1 :])
    return len(decoder.getstate()[0])


def _may_be_open(path: str, encoding: str, dialect: Any) -> bool:
    """Return whether the last record of a CSV file may go on in what is appended."""
    limit = csv.field_size_limit(_LARGEST_FIELD)
    try:
        with open(path, encoding=encoding, errors="replace", newline="") as text:
            rows = csv.reader(text, dialect, strict=True)
            if dialect.quoting != csv.QUOTE_NONE:  # the others convert numbers
                rows = csv.reader(text, dialect, strict=True, quoting=csv.QUOTE_MINIMAL)
            for _ in rows:
                pass
    except csv.Error:
        return True
    finally:
        csv.field_size_limit(limit)
    return False
