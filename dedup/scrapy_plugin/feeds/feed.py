"""One feed of a crawl, as Scrapy has it: its file, and how it was before an item that failed."""

import os
import stat
from contextlib import suppress
from io import BytesIO
from typing import Any

from scrapy import exporters
from scrapy.extensions.feedexport import FeedSlot, FileFeedStorage, StdoutFeedStorage
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.misc import build_from_crawler

from dedup.logs import get_logger
from dedup.scrapy_plugin.feeds import torn_files
from dedup.scrapy_plugin.feeds.batch import Batch

logger = get_logger(__name__)

# They write each item at once, so flushing the file is enough. A subclass may keep items back, or
# put the file in place at its end.
_DIRECT_EXPORTERS = (
    exporters.JsonLinesItemExporter,
    exporters.JsonItemExporter,
    exporters.XmlItemExporter,
    exporters.CsvItemExporter,
    exporters.PickleItemExporter,
    exporters.MarshalItemExporter,
    exporters.PprintItemExporter,
)
_DIRECT_STORAGES = (FileFeedStorage, StdoutFeedStorage)
# They write nothing of an item that they cannot export.
_EXPORTERS_OF_WHOLE_ITEMS = (
    exporters.JsonLinesItemExporter,
    exporters.JsonItemExporter,
    exporters.MarshalItemExporter,
    exporters.PprintItemExporter,
)


class Feed:
    """A slot of Scrapy's feed exporter: a feed, or one batch of it.

    For each item: `prepare`, `begin`, and `fail` if it could not be exported. At last, `end`.
    """

    def __init__(self, slot: FeedSlot) -> None:
        self.slot = slot
        self.batch = Batch()
        self._is_stored = self._is_spoilt = False
        self._watch(slot.storage)
        # How the slot was before the item; no size if its file cannot be cut to it.
        self._items = 0
        self._exporter: dict[str, Any] = {}
        self._size: int | None = None
        # Part of an item that failed is in the file: it is still to be removed, or, where that
        # cannot be done, to be ended.
        self._is_torn = self._is_unended = False
        self._is_checked = False

    def _watch(self, storage: Any) -> None:
        """Note when *storage* has stored the feed: Scrapy says so in stats, which may be off."""
        store = storage.store

        async def store_and_note(file: Any) -> None:
            await ensure_awaitable(store(file))
            self._is_stored = True

        with suppress(AttributeError):  # it takes none: then the feed counts as not stored
            object.__setattr__(storage, "store", store_and_note)

    @property
    def is_local(self) -> bool:
        """Whether it goes to a file of this machine."""
        return type(self.slot.storage) is FileFeedStorage

    @property
    def file(self) -> Any:
        """The open file, below any plugins that process the content."""
        return getattr(self.slot.file, "file", self.slot.file)

    @property
    def can_be_flushed(self) -> bool:
        """Whether an item has left the process when the file is flushed."""
        return (
            type(self.slot.storage) in _DIRECT_STORAGES
            and self._exporter_class in _DIRECT_EXPORTERS
            and "postprocessing" not in self.slot.feed_options
        )

    @property
    def waits_for_its_end(self) -> bool:
        """Whether its items are safe when it is stored, while other items are in other batches."""
        return bool(self.slot.feed_options.get("batch_item_count")) and not self.can_be_flushed

    @property
    def _exporter_class(self) -> Any:
        """That of the exporter, which there is from the first item on."""
        if self.slot.exporter:
            return type(self.slot.exporter)
        return self.slot.exporters.get(self.slot.format)

    def flush(self) -> None:
        if self.slot.file and not self.slot.file.closed and self.can_be_flushed:
            self.slot.file.flush()

    @property
    def is_removed(self) -> bool:
        """Whether the open file has no name any more: it is gone when the process ends."""
        is_open = self.is_local and self.slot.file and not self.file.closed
        return bool(is_open) and not os.fstat(self.file.fileno()).st_nlink

    def check(self) -> None:
        """Warn if what is appended to the file may be hard to read.

        Raises TornFeedError if it could not be read at all, OSError if the file cannot be read.
        """
        if self._is_checked or not torn_files.is_appended_to(self.slot):
            return
        is_known = torn_files.check(self.slot)
        self._is_checked = True
        if not is_known:
            logger.warning(
                "Items are appended to %s, which may be torn: nobody can tell, and if it is, they "
                "may be lost. A file for each crawl is safe; %%(time)s in its name makes one",
                self.slot.uri,
            )
        elif torn_files.is_document(self.slot):
            logger.warning(
                "Items are appended to %s as another document, and few readers accept two in one "
                "file: use JSON lines or CSV, or overwrite it (-O)",
                self.slot.uri,
            )

    def prepare(self, item: Any, *, check: bool) -> None:
        """Repair the file, so that *item* can be read when it is appended.

        *check*: raise TornFeedError if the format cannot be repaired. Raises OSError, too.
        """
        if self._is_torn:
            self._undo()
        if not (torn_files.is_appended_to(self.slot) or self._is_unended):
            return
        self._is_unended = False
        if check:
            self.check()
        torn_files.mend(self.slot, lambda: self._beginning_with(item))
        if self.slot.file:
            self.slot.file.seek(0, os.SEEK_END)

    def _beginning_with(self, item: Any) -> bytes:
        """Return what an empty file of the feed would have after *item*."""
        file, slot = BytesIO(), self.slot
        exporter = build_from_crawler(
            slot.exporters[slot.format], slot.crawler, file,
            fields_to_export=slot.feed_options["fields"], encoding=slot.feed_options["encoding"],
            indent=slot.feed_options["indent"], **slot.feed_options["item_export_kwargs"],
        )  # fmt: skip
        exporter.start_exporting()
        exporter.export_item(item)
        content = file.getvalue()
        exporter.finish_exporting()
        return content

    def begin(self) -> None:
        """Open the file if need be, and note how it is before an item."""
        slot = self.slot
        self._items, self._exporter, self._size = slot.itemcount, {}, None
        slot.start_exporting()
        self.flush()
        if self.is_local and self.can_be_flushed and _is_last_writer(self.file):
            self._size, self._exporter = (
                os.fstat(self.file.fileno()).st_size,
                dict(vars(slot.exporter)),
            )

    def fail(self, error: BaseException) -> bool:
        """Remove what *error* left of the item; return whether the feed may be unreadable now."""
        slot, has_item = self.slot, self.slot.itemcount > self._items
        if not slot.file or self.file.closed:
            return False
        if self.is_local and self.can_be_flushed:
            with suppress(OSError):  # what is left is removed before the next item
                if not (has_item and self._is_flushed()):
                    self._undo()
            return False
        if not slot.exporter or has_item or self.can_be_flushed:
            return False
        is_torn = isinstance(error, OSError)
        self._is_spoilt |= is_torn or type(slot.exporter) not in _EXPORTERS_OF_WHOLE_ITEMS
        return self._is_spoilt

    def end(self) -> bool:
        """Tell who waits whether it was stored, now that it is closed; return it.

        A feed without items cannot fail.
        """
        # Scrapy closes only the first of several plugins: the others may keep all that they have,
        # and leave a file that is whole, but without it.
        is_ended = len(self.slot.feed_options.get("postprocessing", ())) <= 1
        is_stored = self._is_stored and is_ended and not self._is_spoilt
        self.batch.close(is_stored=is_stored)
        return is_stored or not self.slot.itemcount

    def _is_flushed(self) -> bool:
        try:
            self.flush()
        except OSError:
            return False
        return True

    def _undo(self) -> None:
        """Cut the file to what it was before the item, or note that it must be ended.

        It is not cut if others have written to it, too.
        """
        slot, size = self.slot, self._size
        assert slot.file
        self._is_torn = True
        number = slot.file.fileno()
        if size is not None and not _is_last_writer(slot.file):
            size = None
        if size is not None:
            os.ftruncate(number, size)  # this may make room for what is buffered
            os.lseek(number, 0, os.SEEK_END)
        slot.file.flush()
        if size is not None:
            os.ftruncate(number, size)
            vars(slot.exporter).update(self._exporter)
        else:
            self._is_unended = True
        slot.file.seek(0, os.SEEK_END)
        if size == 0 and (stream := getattr(slot.exporter, "stream", None)):
            # The file begins with a byte order mark again.
            stream.reconfigure(encoding=stream.encoding, errors=stream.errors)
        self._is_torn = False


def _is_last_writer(file: Any) -> bool:
    """Return whether nobody else has added to a regular file since this process wrote to it."""
    status = os.fstat(file.fileno())
    end = os.lseek(file.fileno(), 0, os.SEEK_CUR) if stat.S_ISREG(status.st_mode) else None
    return end == status.st_size
