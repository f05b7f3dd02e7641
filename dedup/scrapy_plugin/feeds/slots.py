"""One feed of a crawl, as Scrapy has it: what is known of its file, and of an item for it."""

import os
import stat
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple

from scrapy import exporters
from scrapy.extensions.feedexport import (
    FeedSlot,
    FileFeedStorage,
    ItemFilter,
    StdoutFeedStorage,
)
from scrapy.utils.misc import build_from_crawler

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
# Those that write nothing of an item which they cannot export.
EXPORTERS_OF_WHOLE_ITEMS = (
    exporters.JsonLinesItemExporter,
    exporters.JsonItemExporter,
    exporters.MarshalItemExporter,
    exporters.PprintItemExporter,
)


class Export(NamedTuple):
    """An item on its way into a feed, and how the feed was before."""

    slot: FeedSlot
    items: int
    exporter: dict[str, Any]
    size: int | None
    """In bytes; ``None`` if the file cannot be cut to it."""

    @property
    def has_ended(self) -> bool:
        return self.slot.itemcount > self.items


class TellingFilter(ItemFilter):
    """The filter of a feed, which tells of each item that it accepts.

    It is not asked twice, since it may count, or accept an item only once.
    """

    def __init__(self, wanted: Any, uri: str, tell: Callable[[str, Any], None]) -> None:
        self._wanted = wanted
        self._uri = uri
        self._tell = tell

    def accepts(self, item: Any) -> bool:
        if not self._wanted.accepts(item):
            return False
        self._tell(self._uri, item)
        return True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._wanted, name)


def can_be_flushed(slot: FeedSlot) -> bool:
    """Return whether an item has left the process when the file of *slot* is flushed."""
    return (
        type(slot.storage) in _DIRECT_STORAGES
        and type(slot.exporter) in _DIRECT_EXPORTERS
        and "postprocessing" not in slot.feed_options
    )


def file_of(slot: FeedSlot) -> Any:
    """Return the open file of *slot*, behind what processes the content."""
    return getattr(slot.file, "file", slot.file)


def is_closed(slot: FeedSlot) -> bool:
    """Return whether the file of *slot* was open, and is no longer."""
    return slot.file is not None and bool(file_of(slot).closed)


def is_last_writer(file: Any) -> bool:
    """Return whether nobody else has added to a regular file since it was written to."""
    status = os.fstat(file.fileno())
    end = os.lseek(file.fileno(), 0, os.SEEK_CUR) if stat.S_ISREG(status.st_mode) else None
    return end == status.st_size


def beginning_of(slot: FeedSlot, item: Any) -> bytes:
    """Return what an empty file of the feed would have after *item*."""
    file, options = BytesIO(), slot.feed_options
    exporter = build_from_crawler(
        slot.exporters[slot.format], slot.crawler, file,
        fields_to_export=options["fields"], encoding=options["encoding"],
        indent=options["indent"], **options["item_export_kwargs"],
    )  # fmt: skip
    exporter.start_exporting()
    exporter.export_item(item)
    content = file.getvalue()
    exporter.finish_exporting()
    return content
