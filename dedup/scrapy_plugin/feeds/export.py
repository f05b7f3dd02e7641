"""The feeds of a crawl: whether what was exported is safe."""

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import (
    FeedExporter,
    FeedSlot,
    FileFeedStorage,
)
from scrapy.utils.defer import deferred_from_coro

from dedup.logs import logger_named
from dedup.scrapy_plugin.awaiting import called_within
from dedup.scrapy_plugin.feeds import torn_files
from dedup.scrapy_plugin.feeds.disk import Disk
from dedup.scrapy_plugin.feeds.other_stores import has_storing_part
from dedup.scrapy_plugin.feeds.slots import (
    EXPORTERS_OF_WHOLE_ITEMS,
    Export,
    TellingFilter,
    beginning_of,
    can_be_flushed,
    file_of,
    is_closed,
    is_last_writer,
)
from dedup.scrapy_plugin.feeds.torn_files import TornFeedError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_named(__name__)

TORN_FEED = "dedup_torn_feed"
"""Why a crawl is closed whose feed cannot be appended to."""


class Feeds:
    """Exports items in Scrapy's place, and makes sure that they have left the process.

    Scrapy does not tell of an export that fails, so its feed exporter is called from here.
    """

    def __init__(self, crawler: "Crawler") -> None:
        self._crawler = crawler
        self._exporter: FeedExporter | None = None
        # Those with items whose closing was not told of yet, and how many others there were.
        self._open: dict[int, FeedSlot] = {}
        self._closed_slots = self._stored_slots = 0
        self._are_closed = False
        self._waiting: list[Callable[[], None]] = []
        # The feeds that have accepted the item which is being exported, if one is.
        self._exports: list[Export] | None = None
        # A batch that was closed within the export, and not stored.
        self._lost = ""
        self._checked: WeakSet[FeedSlot] = WeakSet()
        # What failed, and is still to be removed from the file.
        self._torn: dict[int, Export] = {}
        # Where it cannot be removed, and is to be ended.
        self._unended: set[int] = set()
        self._some_cannot = False
        self._some_are_spoilt = False
        self._removed = ""
        self._refuses_torn = False
        self._items_taken = self._items_refused = 0
        self._told: set[str] = set()
        self.disk: Disk | None = None
        """Is told of each file that is written to."""

    def take_over(self) -> None:
        """Have items exported by `export` only."""
        exporter = self._crawler.get_extension(FeedExporter)
        if exporter is None:
            return
        connected = self._crawler.signals
        connected.disconnect(exporter.item_scraped, signals.item_scraped)
        connected.connect(self._slot_closed, signals.feed_slot_closed)
        connected.connect(self._exporter_closed, signals.feed_exporter_closed)
        self._exporter = exporter
        for uri, wanted in exporter.filters.items():
            exporter.filters[uri] = TellingFilter(wanted, uri, self._accepted)
        for slot in exporter.slots:
            slot.filter = exporter.filters[slot.uri_template]

    def refuse_torn(self) -> None:
        """From here on, append to no file that cannot be read afterwards.

        Raises CloseSpider if one of the feeds is such a file.
        """
        self._refuses_torn = True
        slots = self._exporter.slots if self._exporter else []
        try:
            for slot in slots:
                self._check(slot)
        except (TornFeedError, OSError) as error:
            for slot in slots:
                slot.store_empty = False  # else Scrapy writes to it at its end
            logger.error("%s", error)
            raise CloseSpider(TORN_FEED) from error

    def _check(self, slot: FeedSlot) -> None:
        if slot in self._checked or not torn_files.is_appended_to(slot):
            return
        is_known = torn_files.check(slot)
        self._checked.add(slot)
        if not is_known:
            logger.warning(
                "%s is appended to, and whether it is whole cannot be told: if it is torn, what is "
                "appended may be lost. A file for each crawl is safe, as %%(time)s makes it",
                slot.uri,
            )
        elif torn_files.is_document(slot):
            logger.warning(
                "%s is appended to, and holds more than one document then, which few readers take: "
                "use JSON lines or CSV, or overwrite it (-O)",
                slot.uri,
            )

    def overwritten(self) -> list[str]:
        """Return the files with content that the crawl is going to overwrite."""
        feeds = {} if self._exporter is None else self._exporter.feeds
        paths = (uri.removeprefix("file://") for uri, options in feeds.items()
                 if options.get("overwrite"))  # fmt: skip
        return [path for path in paths if os.path.isfile(path) and os.path.getsize(path)]

    @property
    def are_remembered(self) -> bool:
        """Whether an item that passed all has been stored by somebody, as far as can be told."""
        return self._exporter is not None or has_storing_part(self._crawler)

    def export(self, item: Any, spider: Spider) -> bool:
        """Export *item* to all feeds, and have it leave the process where that can be.

        Return whether a feed has taken it, or there is none. Raises what a filter or an exporter
        raises, and OSError if a file cannot be written, as on a full disk.
        """
        if self._exporter is None:
            return True
        exports: list[Export] = []
        self._exports, self._lost = exports, ""
        try:
            self._exporter.item_scraped(item, spider)
            for export in exports:
                self._flush(export.slot)
            if self._lost:
                raise OSError(f"{self._lost} could not be stored")
        except BaseException as error:
            self._failed(exports, error)
            raise
        finally:
            self._exports = None
        for export in exports:
            # For good: whether a batch of it was stored, is known at the end.
            self._some_cannot |= not can_be_flushed(export.slot)
        self._items_taken += bool(exports)
        self._items_refused += not exports
        return bool(exports)

    def _accepted(self, uri: str, item: Any) -> None:
        """Make the feed at *uri* ready for *item*, which it is going to take."""
        if self._exporter is None or self._exports is None:
            return
        slot = next(slot for slot in self._exporter.slots if slot.uri_template == uri)
        self._mend(slot, item)
        # Here: a full batch may be closed, and told of, within the export.
        self._open.setdefault(id(slot), slot)
        export = Export(slot, slot.itemcount, {}, None)
        self._exports.append(export)
        slot.start_exporting()
        self._flush(slot)
        if type(slot.storage) is FileFeedStorage:
            file = file_of(slot)
            if self.disk:
                self.disk.changed(id(slot), file)
            self._note_removal(slot)
            if can_be_flushed(slot) and is_last_writer(file):
                size, state = os.fstat(file.fileno()).st_size, dict(vars(slot.exporter))
                self._exports[-1] = export._replace(exporter=state, size=size)

    def _mend(self, slot: FeedSlot, item: Any) -> None:
        if export := self._torn.get(id(slot)):
            self._undo(export)
        if not (torn_files.is_appended_to(slot) or id(slot) in self._unended):
            return
        self._unended.discard(id(slot))
        try:
            if self._refuses_torn:
                self._check(slot)
            torn_files.mend(slot, lambda: beginning_of(slot, item))
            if slot.file:
                slot.file.seek(0, os.SEEK_END)
        except TornFeedError as error:
            self._tell_once("%s", error)
            if self._refuses_torn:
                self._close_crawl()
                raise

    def _close_crawl(self) -> None:
        assert self._crawler.engine
        deferred_from_coro(self._crawler.engine.close_spider_async(reason=TORN_FEED))

    def _failed(self, exports: list[Export], error: BaseException) -> None:
        """Take an item out of the feeds that have not got it whole."""
        for export in exports:
            slot = export.slot
            if not slot.itemcount:
                self._open.pop(id(slot), None)
            if not slot.file or is_closed(slot):
                continue
            if type(slot.storage) is FileFeedStorage and can_be_flushed(slot):
                with suppress(OSError):  # what is left is removed before the next item
                    if not (export.has_ended and self._is_flushed(slot)):
                        self._undo(export)
            elif slot.exporter and not export.has_ended and not can_be_flushed(slot):
                is_whole = type(slot.exporter) in EXPORTERS_OF_WHOLE_ITEMS
                self._some_are_spoilt |= isinstance(error, OSError) or not is_whole

    def _is_flushed(self, slot: FeedSlot) -> bool:
        try:
            self._flush(slot)
        except OSError:
            return False
        return True

    def _undo(self, export: Export) -> None:
        """Cut what has come into the file, or have it ended if others write there, too."""
        slot, size = export.slot, export.size
        assert slot.file
        self._torn[id(slot)] = export
        number = slot.file.fileno()
        if size is not None and not is_last_writer(slot.file):
            size = None
        if size is not None:
            os.ftruncate(number, size)  # which may make room for what is left
            os.lseek(number, 0, os.SEEK_END)
        slot.file.flush()
        if size is not None:
            os.ftruncate(number, size)
            vars(slot.exporter).update(export.exporter)
        else:
            self._unended.add(id(slot))
        slot.file.seek(0, os.SEEK_END)
        if size == 0 and (stream := getattr(slot.exporter, "stream", None)):
            # It begins with a byte order mark again.
            stream.reconfigure(encoding=stream.encoding, errors=stream.errors)
        del self._torn[id(slot)]

    def _slot_closed(self, slot: FeedSlot) -> None:
        self._open.pop(id(slot), None)
        self._torn.pop(id(slot), None)
        self._unended.discard(id(slot))
        self._closed_slots += 1
        stored, self._stored_slots = self._stored_slots, self._count_stored()
        if self._exports is not None and stored == self._stored_slots:
            self._lost = slot.uri
        if self.disk:
            self.disk.closed(id(slot))
        # Scrapy closes the first of several plugins only.
        if len(slot.feed_options.get("postprocessing", ())) > 1:
            self._some_are_spoilt |= torn_files.is_whole(slot) is False

    def _exporter_closed(self) -> None:
        self._are_closed = True
        for call in self._waiting:
            call()
        if self._items_refused and not self._items_taken:
            logger.warning(
                "No feed has taken any of %d items, so that none counts as stored: nothing was "
                "dropped as a duplicate of them, and none is remembered",
                self._items_refused,
            )

    async def closed_within(self, seconds: float) -> bool:
        """Wait until all feeds are closed, and stored; return whether that was in time."""
        if self._exporter is None or self._are_closed:
            return True
        return await called_within(seconds, self._waiting.append)

    @property
    def can_be_flushed(self) -> bool:
        """Whether items are safe before their feed is closed.

        Not in compressed feeds, in those that are uploaded when they are complete, and with
        storages and exporters of other packages, which may keep items back.
        """
        return not self._some_cannot

    def _flush(self, slot: FeedSlot) -> None:
        if slot.file and not slot.file.closed and can_be_flushed(slot):
            slot.file.flush()

    def flush(self) -> None:
        """Hand all that was exported over to the system.

        Raises OSError if that fails, or if a file that is written to was removed by somebody.
        """
        for slot in self._open.values():
            self._flush(slot)
            self._note_removal(slot)
        if self._removed:
            raise OSError(f"{self._removed} was removed while it was written to")

    def _note_removal(self, slot: FeedSlot) -> None:
        """Remember if the file of *slot* has no name any more: with the process, it is gone."""
        is_local = type(slot.storage) is FileFeedStorage and slot.file and not is_closed(slot)
        if is_local and not os.fstat(file_of(slot).fileno()).st_nlink:
            self._removed = slot.uri

    @property
    def are_stored(self) -> bool:
        """Whether all feeds were closed and stored without an error."""
        if self._open or self._some_are_spoilt:
            return False
        return self._count_stored() >= self._closed_slots

    def _count_stored(self) -> int:
        assert self._crawler.stats
        stats = self._crawler.stats.get_stats()
        return sum(n for key, n in stats.items() if key.startswith("feedexport/success_count/"))

    def _tell_once(self, message: str, *arguments: object) -> None:
        text = message % arguments
        if text not in self._told:
            self._told.add(text)
            logger.error(message, *arguments)
