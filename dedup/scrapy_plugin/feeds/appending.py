"""Local feed files that crawls append to: what a killed crawl left is mended, or refused.

While a crawl writes to a feed, an empty file lies beside it: its mark. If it lies there when the
next crawl begins, the last one did not end, and half an item may be at the end of the feed.
"""

import codecs
import csv
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage

_FORMATS_OF_LINES = (exporters.JsonLinesItemExporter, exporters.PprintItemExporter)
_MENDABLE_FORMATS = (*_FORMATS_OF_LINES, exporters.CsvItemExporter)
_DOCUMENTS = (exporters.JsonItemExporter, exporters.XmlItemExporter)
_BLOCK = 1 << 20
_LARGEST_FIELD = 1 << 28


class TornFeedError(Exception):
    """Half an item may be in a feed, and nobody could read what is appended to it."""


def mark_path(slot: FeedSlot) -> Path | None:
    """Return where the mark of a feed lies; ``None`` for one that needs none.

    That is one of lines, which can be mended without it, and one that is not a local file.
    """
    if type(slot.storage) is not FileFeedStorage or _has_format(slot, _FORMATS_OF_LINES):
        return None
    return Path(f"{slot.storage.path}.open")


def is_appended_to(slot: FeedSlot) -> bool:
    """Return whether *slot*, which is not open yet, goes to the end of a local file."""
    storage = slot.storage
    return (
        type(storage) is FileFeedStorage
        and storage.write_mode == "ab"
        and os.path.isfile(storage.path)
        and os.path.getsize(storage.path) > 0
    )


def is_mendable(slot: FeedSlot) -> bool:
    """Return whether a file of this format can be mended at its end."""
    return _has_format(slot, _MENDABLE_FORMATS)


def is_document(slot: FeedSlot) -> bool:
    """Return whether the format allows one document a file, as JSON and XML do."""
    return _has_format(slot, _DOCUMENTS)


def _has_format(slot: FeedSlot, formats: tuple[type, ...]) -> bool:
    options = slot.feed_options
    # Not where a line end is more than one byte.
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
