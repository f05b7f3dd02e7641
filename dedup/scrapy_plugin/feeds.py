"""The feeds of a crawl: whether what was exported is safe."""

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy import Spider, exporters, signals
from scrapy.extensions.feedexport import (
    FeedExporter,
    FeedSlot,
    FileFeedStorage,
    StdoutFeedStorage,
)

from dedup.scrapy_plugin.awaiting import called_within

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# Those that write each item at once, so that flushing the file is enough. What derives from them
# may keep items back, or put the file in place at its end.
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
_LINES = ("jsonlines", "jsonl", "jl", "csv")


class Feeds:
    """Exports items in Scrapy's place, and makes sure that they have left the process.

    Scrapy does not tell of an export that fails, so its feed exporter is called from here.
    """

    def __init__(self, crawler: "Crawler") -> None:
        self._crawler = crawler
        self._exporter: FeedExporter | None = None
        # Those with items whose closing was not told of yet, and how many others there were.
        self._open: dict[int, FeedSlot] = {}
        self._closed_slots = 0
        self._are_closed = False
        self._waiting: list[Callable[[], None]] = []
        # Slots whose file may end with half of an item.
        self._torn: set[int] = set()
        self._some_cannot = False
        self._unsynchronised: set[str] = set()

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

    def overwritten(self) -> list[str]:
        """Return the files with content that the crawl is going to overwrite."""
        feeds = {} if self._exporter is None else self._exporter.feeds
        paths = (uri.removeprefix("file://") for uri, options in feeds.items()
                 if options.get("overwrite"))  # fmt: skip
        return [path for path in paths if os.path.isfile(path) and os.path.getsize(path)]

    def export(self, item: Any, spider: Spider) -> None:
        """Export *item* to all feeds, and have it leave the process where that can be.

        Raises what an exporter raises, and OSError if a file cannot be written, as on a full disk.
        """
        if self._exporter is None:
            return
        slots = [slot for slot in self._exporter.slots if slot.filter.accepts(item)]
        counts = {}
        for slot in slots:
            counts[id(slot)] = slot.itemcount
            self._mend(slot)
            # Before: a full batch may be closed, and told of, within the call.
            self._open.setdefault(id(slot), slot)
        self.flush()
        try:
            self._exporter.item_scraped(item, spider)
        except BaseException:
            for slot in slots:
                if slot.itemcount == counts[id(slot)]:
                    self._torn.add(id(slot))
                if not slot.itemcount:
                    self._open.pop(id(slot), None)
            raise
        for slot in slots:
            # For good: whether a batch of it was stored, is known at the end.
            self._some_cannot |= not _can_be_flushed(slot)
            if type(slot.storage) is FileFeedStorage:
                self._unsynchronised.add(slot.storage.path)
        self.flush()

    def _mend(self, slot: FeedSlot) -> None:
        """End the last line of a file if it is torn, by a crawl that was killed or a full disk.

        Else the next item would be appended to half of another one, and lost with it.
        """
        is_first = slot.file is None and not slot.feed_options.get("overwrite")
        if not (is_first or id(slot) in self._torn):
            return
        if slot.format in _LINES and type(slot.storage) is FileFeedStorage:
            if slot.file is not None:
                slot.file.flush()  # what is left of an earlier item may end the line itself
            if _is_torn(slot.storage.path):
                with open(slot.storage.path, "ab", buffering=0) as file:
                    file.write(b"\n")
                if slot.file is not None:
                    slot.file.seek(0, os.SEEK_END)
        self._torn.discard(id(slot))

    def _slot_closed(self, slot: FeedSlot) -> None:
        self._open.pop(id(slot), None)
        self._torn.discard(id(slot))
        self._closed_slots += 1

    def _exporter_closed(self) -> None:
        self._are_closed = True
        for call in self._waiting:
            call()

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

    def flush(self) -> None:
        """Hand all that was exported over to the system; raises OSError if that fails."""
        for slot in self._open.values():
            if slot.file and not slot.file.closed and _can_be_flushed(slot):
                slot.file.flush()

    def synchronise(self) -> None:
        """Have the system write the files to the disk; may be called in another thread.

        Raises OSError if that fails. What is no regular file is left out.
        """
        paths = list(self._unsynchronised)
        for path in paths:
            file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            try:
                if stat.S_ISREG(os.fstat(file).st_mode):
                    os.fsync(file)
            finally:
                os.close(file)
        self._unsynchronised.difference_update(paths)

    @property
    def are_stored(self) -> bool:
        """Whether all feeds were closed and stored without an error."""
        assert self._crawler.stats
        stats = self._crawler.stats.get_stats()
        stored = sum(n for key, n in stats.items() if key.startswith("feedexport/success_count/"))
        return not self._open and stored >= self._closed_slots


def _can_be_flushed(slot: FeedSlot) -> bool:
    return (
        type(slot.storage) in _DIRECT_STORAGES
        and type(slot.exporter) in _DIRECT_EXPORTERS
        and "postprocessing" not in slot.feed_options
    )


def _is_torn(path: str) -> bool:
    """Return whether a file has content that does not end with a line end, as far as it tells."""
    with suppress(OSError):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                if file.seek(0, os.SEEK_END):
                    file.seek(-1, os.SEEK_END)
                    return file.read(1) != b"\n"
    return False
