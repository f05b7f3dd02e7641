"""One feed of a crawl, as Scrapy has it: its file, and whether half an item may be at its end.

While a crawl writes to a local file, but one of JSON lines, an empty file lies beside it: its mark.
If it lies there when the next crawl begins, the last one did not end, and half an item may be at
the end of the feed. Half a line of JSON is ended, and readers skip it; half a record of CSV is
ended, and is one more record.
"""

import codecs
import csv
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage, StdoutFeedStorage

_BLOCK = 1 << 20
_LARGEST_FIELD = 1 << 28
# They write nothing of an item that they cannot export.
_EXPORTERS_OF_WHOLE_ITEMS = (
    exporters.JsonLinesItemExporter,
    exporters.PprintItemExporter,
    exporters.JsonItemExporter,
    exporters.MarshalItemExporter,
)
# They write each item at once, so flushing the file is enough. A subclass may keep items back, or
# put the file in place at its end.
_DIRECT_EXPORTERS = (
    *_EXPORTERS_OF_WHOLE_ITEMS,
    exporters.XmlItemExporter,
    exporters.CsvItemExporter,
    exporters.PickleItemExporter,
)


class TornFeedError(Exception):
    """Half an item may be in a feed, and nobody could read what is appended to it."""


class Feed:
    """A slot of Scrapy's feed exporter: a feed, or one batch of it.

    For each item `mark` and `begin`, and `fail` if it could not be exported. At last, `end`.
    """

    def __init__(self, slot: FeedSlot, counts: tuple[int, int]) -> None:
        """Create it before it is open; *counts*: how many feeds were stored, and failed, by now."""
        self.slot = slot
        self.counts = counts
        self.is_stored: bool | None = None
        """Whether all of its items are; ``None`` until it is closed."""
        self._calls: list[Callable[[], object]] = []
        storage: Any = slot.storage
        options = slot.feed_options
        is_plain = "postprocessing" not in options
        exporter_class = slot.exporters.get(slot.format)
        self._is_local = type(storage) is FileFeedStorage
        self._writes_whole_items = exporter_class in _EXPORTERS_OF_WHOLE_ITEMS
        self.can_be_flushed = (
            type(storage) in (FileFeedStorage, StdoutFeedStorage)
            and exporter_class in _DIRECT_EXPORTERS
            and is_plain
        )
        """Whether an item has left the process when the file is flushed."""
        self.is_awaited = bool(options.get("batch_item_count")) and not self.can_be_flushed
        """Whether its items are safe when it is stored, while other items are in other batches."""
        has_lines = _is_local_and_has(slot, exporters.JsonLinesItemExporter)
        self._has_records = _is_local_and_has(slot, exporters.CsvItemExporter)
        self._can_be_ended = has_lines or self._has_records
        self._mark = Path(f"{storage.path}.open") if self._is_local and not has_lines else None
        self._is_marked = False
        is_appended_to = self._is_local and storage.write_mode == "ab" and has_content(storage.path)
        is_torn = bool(is_appended_to and self._mark and self._mark.exists())
        self._last_line_may_be_open = has_lines or (self._has_records and is_torn)
        self._is_torn = is_torn and not self._has_records
        self.has_half_an_item = False
        """Whether this crawl has left half an item at the end, which no reader skips."""
        self._is_spoilt = False
        # How the slot was before the item; no position in what is no file.
        self._items = 0
        self._position: int | None = None

    @property
    def _file(self) -> Any:
        """The open file, below any plugins that process the content."""
        return getattr(self.slot.file, "file", self.slot.file)

    def check(self) -> None:
        """Raise TornFeedError if nobody could read what is appended."""
        if self._is_torn or self.has_half_an_item:
            raise TornFeedError(
                f"{self.slot.uri} is not whole: half an item may be at its end, since a crawl that "
                "wrote to it was killed, found no room, or has not ended yet. Nobody could read "
                "what is appended. Move the file away (all but its end can still be used), or use "
                f"another one for this crawl; if you know that it is whole, remove {self._mark}"
            )

    def mark(self) -> None:
        """Have the next crawl know if this one does not end; raises OSError."""
        if self._mark and not self._is_marked:
            self._mark.parent.mkdir(parents=True, exist_ok=True)
            self._mark.touch()
            self._is_marked = True

    def _unmark(self) -> None:
        """Forget the mark, unless what a crawl has torn is still there."""
        if self._mark and self._is_marked and not (self._is_torn or self.has_half_an_item):
            self._mark.unlink(missing_ok=True)

    def flush(self) -> None:
        file: Any = self.slot.file
        # Before half an item, all was flushed.
        is_flushed = self.has_half_an_item or not self.can_be_flushed
        if file and not file.closed and not is_flushed:
            file.flush()

    def begin(self) -> None:
        """Open the file if need be, so that the next item can be read, and note how it is."""
        self._items = self.slot.itemcount
        self.slot.start_exporting()
        self.flush()
        if self._last_line_may_be_open:
            self._end_last_line()
        if self._is_local and self.can_be_flushed:
            self._position = self._file.tell() if self._file.seekable() else None

    def fail(self, error: BaseException) -> bool:
        """Note what *error* may have left of the item; return whether the feed may be unreadable.

        What is left of a line is ended before the next item.
        """
        has_item = self.slot.itemcount > self._items
        if not self.slot.file or self._file.closed:
            return False
        if not self.can_be_flushed:
            is_whole = self._writes_whole_items and not isinstance(error, OSError)
            self._is_spoilt |= not (has_item or is_whole)
        elif self._is_local and not (self._is_flushed() and (has_item or self._has_nothing_more())):
            # A header of CSV is written once.
            can_be_ended = self._can_be_ended and not (self._has_records and not self._position)
            self._last_line_may_be_open = can_be_ended
            self.has_half_an_item = not can_be_ended
        return self._is_spoilt or self.has_half_an_item

    def _is_flushed(self) -> bool:
        try:
            self.flush()
        except OSError:
            return False
        return True

    def _has_nothing_more(self) -> bool:
        """Return whether nothing was written since the item began."""
        return self._position is not None and bool(self._file.tell() == self._position)

    def _end_last_line(self) -> None:
        """End the last line or record of the open file, if it has no end; raises OSError."""
        file, path = self.slot.file, self.slot.storage.path  # type: ignore[attr-defined]  # local
        assert file
        self._last_line_may_be_open = False
        if not (has_content(path) and os.access(path, os.R_OK)):
            return
        with open(path, "rb") as readable:
            size = readable.seek(0, os.SEEK_END)
            readable.seek(max(0, size - _BLOCK))
            end = readable.read()
        encoding = self.slot.feed_options["encoding"] or "utf-8"
        if torn := _length_of_torn_character(end, encoding):
            with suppress(PermissionError):  # it can be appended to only
                os.ftruncate(file.fileno(), size - torn)
        file.seek(0, os.SEEK_END)
        if not self._has_records:
            file.write(b"" if end.endswith(b"\n") else b"\n")
        elif size <= _BLOCK and b"\n" not in end:
            os.ftruncate(file.fileno(), 0)  # half of a header, which is written again
        else:
            exporter: Any = self.slot.exporter
            file.write(_rest_of_record(path, encoding, exporter.csv_writer.dialect, end))
        file.flush()

    def end(self, *, is_stored: bool) -> bool:
        """Tell who waits whether it *is_stored*, as Scrapy says, now that it is closed; return it.

        A feed without items cannot fail.
        """
        # Scrapy closes only the first of several plugins: the others may keep all that they have,
        # and leave a file that is whole, but without it.
        is_ended = len(self.slot.feed_options.get("postprocessing", ())) <= 1
        is_stored &= is_ended and not (self._is_spoilt or self.has_half_an_item)
        self._tell(is_stored)
        if is_stored:
            self._unmark()
        return is_stored or not self.slot.itemcount

    def end_unstored(self) -> None:
        """Tell who waits that Scrapy never closed it: as if its last bytes had no room."""
        self._tell(False)
        if self.slot.file is None:
            self._unmark()

    def _tell(self, is_stored: bool) -> None:
        self.is_stored = is_stored
        calls, self._calls = self._calls, []
        for call in calls:
            call()

    def when_closed(self, call: Callable[[], object]) -> None:
        """Have *call* called when it is closed, which it must not be yet."""
        self._calls.append(call)


def when_all_closed(feeds: Collection[Feed], call: Callable[[bool], object]) -> bool:
    """Tell *call* whether all of *feeds* are stored, once it is known; return whether it is now."""
    for feed in feeds:
        if feed.is_stored is None:
            feed.when_closed(partial(when_all_closed, feeds, call))
            return False
    call(all(feed.is_stored for feed in feeds))
    return True


def _is_local_and_has(slot: FeedSlot, kind: type) -> bool:
    """Return whether the file has what a *kind* of exporter writes, in bytes that end lines."""
    # In some encodings, more than one byte ends a line.
    line_ends = "\n\n".encode(slot.feed_options["encoding"] or "utf-8")
    return (
        type(slot.storage) is FileFeedStorage
        and "postprocessing" not in slot.feed_options
        and line_ends.endswith(b"\n\n")
        and issubclass(slot.exporters[slot.format], kind)
    )


def has_content(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _rest_of_record(path: str, encoding: str, dialect: Any, end: bytes) -> bytes:
    """Return what has to follow the *end* of a CSV file, so that its last record ends there."""
    line_end: bytes = dialect.lineterminator.encode()
    if _is_within_record(path, encoding, dialect):
        # Within quotes they end there, elsewhere they are part of a field.
        return f"torn{dialect.quotechar or ''}".encode() + line_end
    if end.endswith(line_end):
        return b""
    return line_end[1:] if end.endswith(line_end[:1]) else line_end


def _is_within_record(path: str, encoding: str, dialect: Any) -> bool:
    """Return whether the last record of a CSV file may go on in what is appended."""
    limit = csv.field_size_limit(_LARGEST_FIELD)
    # Others than these convert numbers.
    quoting: Any = csv.QUOTE_NONE if dialect.quoting == csv.QUOTE_NONE else csv.QUOTE_MINIMAL
    try:
        with open(path, encoding=encoding, errors="replace", newline="") as text:
            for _ in csv.reader(text, dialect, strict=True, quoting=quoting):
                pass
    except csv.Error:
        return True
    finally:
        csv.field_size_limit(limit)
    return False


def _length_of_torn_character(end: bytes, encoding: str) -> int:
    """Return how many bytes at the *end* of a text are the beginning of a character."""
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    # Some encodings can only be decoded from the beginning of a line.
    decoder.decode(end[end.rfind(b"\n") + 1 :])
    return len(decoder.getstate()[0])
