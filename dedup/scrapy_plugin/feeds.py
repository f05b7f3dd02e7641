"""The feeds of a crawl: whether what was exported is safe."""

import os
import sys
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

# Those that write each item at once, so that flushing the file is enough.
_DIRECT_EXPORTERS = (
    exporters.JsonLinesItemExporter,
    exporters.JsonItemExporter,
    exporters.XmlItemExporter,
    exporters.CsvItemExporter,
    exporters.PickleItemExporter,
    exporters.MarshalItemExporter,
    exporters.PprintItemExporter,
)


class Feeds:
    """Exports items in Scrapy's place, and makes sure that they have left the process.

    Scrapy does not tell of an export that fails, so its feed exporter is called from here.
    """

    def __init__(self, crawler: "Crawler") -> None:
        self._crawler = crawler
        self._exporter: FeedExporter | None = None
        # Those with items whose closing was not told of yet.
        self._open: dict[int, FeedSlot] = {}
        self._is_closed = False
        self._waiting: list[Any] = []

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

    def export(self, item: Any, spider: Spider) -> None:
        """Export *item* to all feeds, and have it leave the process where that can be.

        Raises what an exporter raises, and OSError if a file cannot be written, as on a full disk.
        Half an item does not stay behind then: the next one would be appended to it.
        """
        if self._exporter is None:
            return
        slots = self._exporter.slots
        for slot in slots:
            if not slot.itemcount:
                _end_torn_line(slot)
        self.flush()
        sizes = {file: os.fstat(file).st_size for file in self._descriptors()}
        try:
            self._exporter.item_scraped(item, spider)
        except BaseException:
            for file in self._descriptors():
                if os.fstat(file).st_size > sizes.get(file, sys.maxsize):
                    os.ftruncate(file, sizes[file])
            raise
        finally:
            # A full batch is closed, and another slot is in its place after that.
            for slot in slots:
                if slot.itemcount:
                    self._open.setdefault(id(slot), slot)
        self.flush()

    def _slot_closed(self, slot: FeedSlot) -> None:
        self._open.pop(id(slot), None)

    def _exporter_closed(self) -> None:
        self._is_closed = True
        for call in self._waiting:
            call()

    async def closed_within(self, seconds: float) -> bool:
        """Wait until all feeds are closed, and stored; return whether that was in time."""
        if self._exporter is None or self._is_closed:
            return True
        return await called_within(seconds, self._waiting.append)

    @property
    def can_be_flushed(self) -> bool:
        """Whether items can be made safe before the feed is closed.

        Not in compressed feeds, in those that are uploaded when they are complete, and with
        exporters of other packages, which may keep items back.
        """
        return all(map(_can_be_flushed, self._open.values()))

    def flush(self) -> None:
        """Hand all that was exported over to the system; raises OSError if that fails."""
        for slot in self._open_slots():
            assert slot.file
            slot.file.flush()

    def opened_again(self) -> list[int]:
        """Return new descriptors of the files, to be synchronised with the disk, and closed."""
        return [os.dup(file) for file in self._descriptors()]

    def _descriptors(self) -> list[int]:
        return [
            slot.file.fileno()
            for slot in self._open_slots()
            if slot.file and isinstance(slot.storage, FileFeedStorage)
        ]

    def _open_slots(self) -> list[FeedSlot]:
        return [
            slot
            for slot in self._open.values()
            if slot.file and _can_be_flushed(slot) and not slot.file.closed
        ]

    @property
    def have_failed(self) -> bool:
        """Whether a feed could not be stored: nobody knows which items were in it."""
        assert self._crawler.stats
        return any(
            key.startswith("feedexport/failed_count/") and count
            for key, count in self._crawler.stats.get_stats().items()
        )

    @property
    def are_stored(self) -> bool:
        """Whether all feeds were closed and stored without an error."""
        return not self._open and not self.have_failed


def _can_be_flushed(slot: FeedSlot) -> bool:
    return (
        isinstance(slot.storage, FileFeedStorage | StdoutFeedStorage)
        and isinstance(slot.exporter, _DIRECT_EXPORTERS)
        and "postprocessing" not in slot.feed_options
    )


def _end_torn_line(slot: FeedSlot) -> None:
    """End the last line of a file that a killed crawl left, if it is torn.

    Else the first item of this crawl would be appended to that half of one, and lost with it.
    """
    is_new = slot.file is None and slot.feed_options.get("overwrite")
    if slot.format not in ("jsonlines", "jsonl", "jl", "csv") or is_new:
        return
    path = getattr(slot.storage, "path", "")
    if not isinstance(slot.storage, FileFeedStorage) or not os.path.isfile(path):
        return
    with open(path, "r+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
