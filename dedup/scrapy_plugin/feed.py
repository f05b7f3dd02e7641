"""One feed of a crawl, as Scrapy has it: its file, and how it was before an item that failed.

While a crawl writes to a local file that cannot be mended without it, an empty file lies beside
it: its mark. If it lies there when the next crawl begins, the last one did not end, and half an
item may be at the end of the feed.
"""

import codecs
import csv
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from copy import copy
from pathlib import Path
from typing import Any

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage, StdoutFeedStorage

_LINES = (exporters.JsonLinesItemExporter, exporters.PprintItemExporter)
_BLOCK = 1 << 20
_LARGEST_FIELD = 1 << 28
# The format allows one document a file.
_DOCUMENTS = (exporters.JsonItemExporter, exporters.XmlItemExporter)
# They write nothing of an item that they cannot export.
_EXPORTERS_OF_WHOLE_ITEMS = (
    *_LINES,
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
        self._is_local = type(slot.storage) is FileFeedStorage
        self._exporter_class = slot.exporters.get(slot.format)
        self.can_be_flushed = (
            type(slot.storage) in (FileFeedStorage, StdoutFeedStorage)
            and self._exporter_class in _DIRECT_EXPORTERS
            and "postprocessing" not in slot.feed_options
        )
        """Whether an item has left the process when the file is flushed."""
        self.is_awaited = (
            bool(slot.feed_options.get("batch_item_count")) and not self.can_be_flushed
        )
        """Whether its items are safe when it is stored, while other items are in other batches."""
        self._mark = (
            Path(f"{slot.storage.path}.open")  # type: ignore[attr-defined]  # a local file
            if self._is_local and not _has_format(slot, _LINES)
            else None
        )
        self._is_marked = False
        # Whether the last crawl that wrote to the file did not end.
        self._is_torn = self._mark is not None and self._mark.exists()
        self._is_appended_to = self._will_be_appended_to()
        self._is_to_be_mended = False
        # How the slot was before the item; no size if its file cannot be cut to it.
        self._items = 0
        self._exporter: Any = None
        self._size: int | None = None
        self._has_half_an_item = self._is_spoilt = False

    def _will_be_appended_to(self) -> bool:
        storage: Any = self.slot.storage
        return self._is_local and storage.write_mode == "ab" and has_content(storage.path)

    @property
    def _file(self) -> Any:
        """The open file, below any plugins that process the content."""
        return getattr(self.slot.file, "file", self.slot.file)

    @property
    def is_removed(self) -> bool:
        """Whether the open file has no name any more: it is gone when the process ends."""
        is_open = self._is_local and self.slot.file and not self._file.closed
        return bool(is_open) and not os.fstat(self._file.fileno()).st_nlink

    def check(self) -> None:
        """Raise TornFeedError if nobody could read what is appended."""
        if self._is_torn and self._is_appended_to and not is_mendable(self.slot):
            raise TornFeedError(
                f"{self.slot.uri} is not whole: a crawl that wrote to it was killed, or has not "
                "ended yet, and nobody could read what is appended to half an item. Move it away "
                "(all but its end can still be used), or use another file for this crawl; if you "
                f"know that it is whole, remove {self._mark}"
            )

    @property
    def adds_a_document(self) -> bool:
        """Whether items follow the end of a document, such as JSON or XML."""
        return self._is_appended_to and _has_format(self.slot, _DOCUMENTS)

    def mark(self) -> None:
        """Have the next crawl know if this one does not end; raises OSError."""
        if self._mark and not self._is_marked:
            self._mark.parent.mkdir(parents=True, exist_ok=True)
            self._mark.touch()
            self._is_marked = True

    def _unmark(self) -> None:
        """Forget the mark, unless what an earlier crawl has torn is still there."""
        is_still_torn = self._is_torn and (self._is_appended_to or self.slot.file is None)
        if self._mark and not is_still_torn:
            self._mark.unlink(missing_ok=True)

    def flush(self) -> None:
        if self.slot.file and not self.slot.file.closed and self.can_be_flushed:
            self.slot.file.flush()

    def begin(self) -> None:
        """Open the file if need be, so that the next item can be read, and note how it is."""
        slot = self.slot
        if self._has_half_an_item:
            self._cut()
        if slot.file is None:
            self._is_to_be_mended = self._will_be_appended_to()
        self._items, self._size = slot.itemcount, None
        slot.start_exporting()
        if self._is_to_be_mended and is_mendable(slot):
            mend(slot, is_torn=self._is_torn)
            self._is_torn = False
        self._is_to_be_mended = False
        self.flush()
        if self._is_local and self.can_be_flushed and _is_last_writer(self._file):
            self._size = os.fstat(self._file.fileno()).st_size
            self._exporter = copy(slot.exporter)

    def fail(self, error: BaseException) -> bool:
        """Remove what *error* left of the item; return whether the feed may be unreadable now."""
        slot, has_item = self.slot, self.slot.itemcount > self._items
        if not slot.file or self._file.closed:
            return False
        if self._is_local and self.can_be_flushed:
            with suppress(OSError):  # what is left is removed before the next item
                if not (has_item and self._is_flushed()):
                    self._cut()
        elif not (has_item or self.can_be_flushed):
            is_whole = self._exporter_class in _EXPORTERS_OF_WHOLE_ITEMS
            self._is_spoilt |= isinstance(error, OSError) or not is_whole
        return self._is_spoilt

    def _is_flushed(self) -> bool:
        try:
            self.flush()
        except OSError:
            return False
        return True

    def _cut(self) -> None:
        """Cut the file to what it was before the item, unless others have written to it, too."""
        file, size = self.slot.file, self._size
        assert file
        self._has_half_an_item = True
        if size is not None and _is_last_writer(file):
            os.ftruncate(file.fileno(), size)  # this may make room for what is buffered
            os.lseek(file.fileno(), 0, os.SEEK_END)
            file.flush()
            os.ftruncate(file.fileno(), size)
            self.slot.exporter = self._exporter
            if size == 0 and (stream := getattr(self._exporter, "stream", None)):
                stream.reconfigure(encoding=stream.encoding)  # writes its byte order mark again
        else:
            file.flush()
            self._is_to_be_mended = True
        file.seek(0, os.SEEK_END)
        self._has_half_an_item = False

    def end(self, *, is_stored: bool) -> bool:
        """Tell who waits whether it *is_stored*, as Scrapy says, now that it is closed; return it.

        A feed without items cannot fail.
        """
        # Scrapy closes only the first of several plugins: the others may keep all that they have,
        # and leave a file that is whole, but without it.
        is_ended = len(self.slot.feed_options.get("postprocessing", ())) <= 1
        is_stored &= is_ended and not self._is_spoilt and not self._has_half_an_item
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


def _is_last_writer(file: Any) -> bool:
    """Return whether nobody else has added to a regular file since this process wrote to it."""
    status = os.fstat(file.fileno())
    end = os.lseek(file.fileno(), 0, os.SEEK_CUR) if stat.S_ISREG(status.st_mode) else None
    return end == status.st_size


def has_content(path: str) -> bool:
    return os.path.isfile(path) and os.path.getsize(path) > 0


def is_mendable(slot: FeedSlot) -> bool:
    """Return whether a file of this format can be mended at its end."""
    return _has_format(slot, (*_LINES, exporters.CsvItemExporter))


def _has_format(slot: FeedSlot, formats: tuple[type, ...]) -> bool:
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
