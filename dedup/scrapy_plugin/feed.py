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

from dedup.scrapy_plugin.notices import Notices

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

    For each item `open_for_item`, and `fail` if it could not be exported. At last, `end`.
    """

    def __init__(self, slot: FeedSlot, counts: tuple[int, int], notices: Notices) -> None:
        """Create it before the slot takes an item, at given *counts* of stored and failed feeds."""
        self.slot = slot
        self.counts = counts
        self._notices = notices
        self.is_stored: bool | None = None
        """Whether all of its items are; ``None`` until it is closed."""
        self.when_closed: list[Callable[[], object]] = []
        """What is called when it is closed."""
        storage: Any = slot.storage
        options, exporter = slot.feed_options, slot.exporters[slot.format]
        plugins = options.get("postprocessing")
        self._encoding = options["encoding"] or "utf-8"
        self._is_local = type(storage) is FileFeedStorage
        self._writes_whole_items = exporter in _EXPORTERS_OF_WHOLE_ITEMS
        is_direct = type(storage) in (FileFeedStorage, StdoutFeedStorage)
        self.can_be_flushed = is_direct and exporter in _DIRECT_EXPORTERS and plugins is None
        """Whether an item has left the process when the file is flushed."""
        self.is_awaited = bool(options.get("batch_item_count")) and not self.can_be_flushed
        """Whether its items are safe when it is stored, while other items are in other batches."""
        is_text = self._is_local and _is_text(plugins, self._encoding)
        has_lines = is_text and issubclass(exporter, exporters.JsonLinesItemExporter)
        self._has_records = is_text and issubclass(exporter, exporters.CsvItemExporter)
        self._can_be_ended = has_lines or self._has_records
        self._mark = Path(f"{storage.path}.open") if self._is_local and not has_lines else None
        self._is_marked = False
        is_torn = _is_torn(storage, self._mark)
        self._last_line_may_be_open = has_lines or (self._has_records and is_torn)
        self._was_torn = is_torn and not self._has_records
        # Scrapy closes only the first of several plugins: the others may keep all that they have,
        # and leave a file that is whole, but without it.
        self.is_spoilt = len(plugins or ()) > 1
        """Whether this crawl may have left half an item in it, which no reader skips."""
        # How the slot was before the item; no position in what is no file.
        self._items = 0
        self._position: int | None = None

    @property
    def _file(self) -> Any:
        """The open file, below any plugins that process the content."""
        return getattr(self.slot.file, "file", self.slot.file)

    def check(self) -> None:
        """Raise TornFeedError if nobody could read what is appended."""
        if self._was_torn or (self.is_spoilt and self.can_be_flushed):
            raise TornFeedError(
                f"{self.slot.uri} is not whole: half an item may be at its end, since a crawl that "
                "wrote to it was killed, found no room, or has not ended yet. Nobody could read "
                "what is appended. Move the file away (all but its end can still be used), or use "
                f"another one for this crawl; if you know that it is whole, remove {self._mark}"
            )

    def flush(self) -> None:
        file: Any = self.slot.file
        # Before half an item, all was flushed.
        if file and not file.closed and self.can_be_flushed and not self.is_spoilt:
            file.flush()

    def open_for_item(self, *, refuses_torn: bool = False) -> None:
        """Open the file if need be, so that the next item can be read, and note how it is.

        The next crawl will know if this one does not end. Raises OSError; TornFeedError if this
        crawl has torn the file or, where it *refuses_torn* files, one before.
        """
        if refuses_torn or (self.is_spoilt and self.can_be_flushed):
            self.check()
        if self._mark and not self._is_marked:
            try:
                self._mark.parent.mkdir(parents=True, exist_ok=True)
                self._mark.touch()
                self._is_marked = True
            except OSError as error:
                self._notices.tell_once(
                    "If this crawl is killed, the next one will not know that %s may be torn: %s",
                    self.slot.uri, error,
                )  # fmt: skip
        self._items = self.slot.itemcount
        self.slot.start_exporting()
        self.flush()
        if self._last_line_may_be_open:
            self._end_last_line()
        if self._is_local and self.can_be_flushed:
            self._position = self._file.tell() if self._file.seekable() else None

    def fail(self, error: BaseException) -> None:
        """Note what *error* may have left of the item: half a line is ended before the next one."""
        if not self.slot.file or self._file.closed:
            return
        is_whole = self.slot.itemcount > self._items
        if not self.can_be_flushed:
            is_whole |= self._writes_whole_items and not isinstance(error, OSError)
            self.is_spoilt |= not is_whole
        elif self._is_local:
            try:
                self.flush()
                is_whole |= self._position is not None and self._file.tell() == self._position
            except OSError:
                is_whole = False
            # A header of CSV is written once.
            can_be_ended = self._can_be_ended and bool(self._position or not self._has_records)
            self._last_line_may_be_open |= can_be_ended and not is_whole
            self.is_spoilt |= not (can_be_ended or is_whole)

    def _end_last_line(self) -> None:
        """End the last line or record of the open file, if it has no end; raises OSError."""
        slot: Any = self.slot
        file, path = slot.file, slot.storage.path
        self._last_line_may_be_open = False
        if not (has_content(path) and os.access(path, os.R_OK)):
            return
        with open(path, "rb") as readable:
            size = readable.seek(0, os.SEEK_END)
            readable.seek(max(0, size - _BLOCK))
            end = readable.read()
        decoder = codecs.getincrementaldecoder(self._encoding)("replace")
        # Some encodings can only be decoded from the beginning of a line.
        decoder.decode(end[end.rfind(b"\n") + 1 :])
        if torn_character := decoder.getstate()[0]:
            with suppress(PermissionError):  # it can be appended to only
                os.ftruncate(file.fileno(), size - len(torn_character))
        file.seek(0, os.SEEK_END)
        if self._has_records and size <= _BLOCK and b"\n" not in end:
            os.ftruncate(file.fileno(), 0)  # half of a header, which is written again
            return
        line_end = b"\n"
        if self._has_records:
            dialect = slot.exporter.csv_writer.dialect
            line_end = dialect.lineterminator.encode()
            if _is_within_record(path, self._encoding, dialect):
                # Within quotes they end there, elsewhere they are part of a field.
                end = f"torn{dialect.quotechar or ''}".encode()
                file.write(end)
        if not end.endswith(line_end):
            # Half of a line end, as of \r\n, may be there.
            file.write(line_end[1:] if end.endswith(line_end[:1]) else line_end)
        file.flush()

    def end(self, *, is_complete: bool) -> None:
        """Tell who waits whether it is stored: all of its file, as Scrapy says, and that whole."""
        self.is_stored = is_complete and not self.is_spoilt
        for call in self.when_closed:
            call()
        # The mark stays as long as what a crawl has torn.
        may_unmark = self._is_marked and not self._was_torn
        if self._mark and may_unmark and (self.is_stored or self.slot.file is None):
            self._mark.unlink(missing_ok=True)


def when_all_closed(feeds: Collection[Feed], call: Callable[[bool], object]) -> bool:
    """Tell *call* whether all of *feeds* are stored, once it is known; return whether it is now."""
    for feed in feeds:
        if feed.is_stored is None:
            feed.when_closed.append(partial(when_all_closed, feeds, call))
            return False
    call(all(feed.is_stored for feed in feeds))
    return True


def _is_text(plugins: object, encoding: str) -> bool:
    """Return whether one byte ends a line: in some encodings more do, and *plugins* may pack it."""
    return plugins is None and "\n\n".encode(encoding).endswith(b"\n\n")


def _is_torn(storage: Any, mark: Path | None) -> bool:
    """Return whether a file, to which is appended, has the *mark* of a crawl without an end."""
    if mark is None or storage.write_mode != "ab":
        return False
    return has_content(storage.path) and mark.exists()


def has_content(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > 0


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
