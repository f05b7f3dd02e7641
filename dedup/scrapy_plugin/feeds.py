"""Exports the items of a crawl in Scrapy's place, and knows whether they are safe."""

import re
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from pydispatch import dispatcher
from scrapy import Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import (
    FeedExporter,
    FeedSlot,
    FileFeedStorage,
    ItemFilter,
    StdoutFeedStorage,
)
from scrapy.utils.defer import ensure_awaitable

from dedup.logs import get_logger
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.feed import Feed, TornFeedError, has_content
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.setting_values import shown_place

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

TORN_FEED = "dedup_torn_feed"
"""The finish reason of a crawl that cannot append to one of its feeds any more."""
OVERWRITTEN_FEED = "dedup_overwritten_feed"
"""That of one that would overwrite a feed whose items its ledger knows."""
FEEDS_HELD_BACK = "dedup_feeds_held_back"
"""That of one that shares a store, and stores items in the end only."""
_HAS_TIME = re.compile(r"%\((batch_)?time\)")

Exported: TypeAlias = set[Feed] | None
"""The batches on which it depends whether an item is stored; ``None`` if no feed has taken it."""


class Feeds:
    """Exports items in Scrapy's place, and makes sure that they have left the process.

    Scrapy does not say whether an export failed, so its feed exporter is called from here.
    """

    def __init__(
        self, crawler: "Crawler", notices: Notices, end_early: Callable[[str], object]
    ) -> None:
        """Create it; *end_early* ends the crawl, for a reason."""
        self._crawler = crawler
        self._notices = notices
        self._end_early = end_early
        self._exporter: FeedExporter | None = None
        # Those that are not closed.
        self._feeds: dict[FeedSlot, Feed] = {}
        # The feeds that have accepted the item that is being exported, if one is: asynchronous
        # exporters may export several at once.
        self._accepted: ContextVar[list[Feed] | None] = ContextVar("dedup accepted", default=None)
        self._are_closed = False
        self._call_when_closed: list[Callable[[], None]] = []
        self._some_cannot_be_flushed = self._some_have_failed = False
        self._refuses_torn = self._is_ending = False

    def take_over(self) -> None:
        """Make `export` the only way in which items are exported."""
        exporter = self._crawler.get_extension(FeedExporter)
        if exporter is None:
            return
        manager = self._crawler.signals
        manager.disconnect(exporter.item_scraped, signals.item_scraped)
        manager.connect(self._slot_closed, signals.feed_slot_closed)
        manager.connect(self._exporter_closed, signals.feed_exporter_closed)
        self._exporter = exporter
        for uri, item_filter in exporter.filters.items():
            exporter.filters[uri] = _ReportingFilter(item_filter, uri, self._accept)
        for slot in exporter.slots:
            slot.filter = exporter.filters[slot.uri_template]

    @property
    def _slots(self) -> Sequence[FeedSlot]:
        return self._exporter.slots if self._exporter else ()

    def _feed_of(self, slot: FeedSlot) -> Feed:
        if slot not in self._feeds:
            self._feeds[slot] = Feed(slot, self._count_stored(), self._notices)
        return self._feeds[slot]

    # Whether the crawl may begin.

    def refuse_torn(self) -> None:
        """From now on, append to no file that could not be read afterwards.

        Raises CloseSpider if one of the feeds is such a file.
        """
        self._refuses_torn = True
        for slot in self._slots:
            try:
                self._feed_of(slot).check()
            except TornFeedError as error:
                self._refuse(TORN_FEED, str(error))

    def refuse_overwriting(self, why: str) -> None:
        """Raise CloseSpider if a local file with items is overwritten; warn of other feeds.

        *why* says what the ledger knows of the items that were in it.
        """
        for slot in self._slots:
            storage: Any = slot.storage
            is_local = isinstance(storage, FileFeedStorage)
            # A derived class with a constructor of its own may lack the mode.
            mode = getattr(storage, "write_mode", None) if is_local else None
            if mode == "wb" and has_content(storage.path):
                self._refuse(
                    OVERWRITTEN_FEED,
                    f"The crawl does not start: it would overwrite {storage.path}, and {why}. "
                    "Append to it (-o), name another file (%(time)s in it), or start afresh "
                    "(-a dedup_reset=1)",
                )
            is_new = isinstance(storage, StdoutFeedStorage) or _HAS_TIME.search(slot.uri_template)
            # Scrapy itself warns where a storage can only overwrite.
            if mode is None and slot.feed_options.get("overwrite", True) and not is_new:
                logger.warning(
                    "If there is a file at %s, it is overwritten, and %s. Append to it, have the "
                    "time in its name (%%(time)s), or start afresh (-a dedup_reset=1)",
                    shown_place(slot.uri), why,
                )  # fmt: skip

    def refuse_held_back(self, store: str) -> None:
        """Raise CloseSpider if a feed keeps the pages from others with whom *store* is shared."""
        slots = [slot for slot in self._slots if not self._feed_of(slot).can_be_flushed]
        if slots:
            self._refuse(
                FEEDS_HELD_BACK,
                f"The crawl does not start: other crawls share {store}, and would wait until the "
                "end of this one for what it stores, since a feed cannot be flushed before: "
                f"{', '.join(shown_place(slot.uri) for slot in slots)}. Use local feeds without "
                "compression, or add commit=passed to DEDUP_INDEX if pipelines store the items",
            )

    def _refuse(self, reason: str, why: str) -> NoReturn:
        """End the crawl before it begins, and leave the files as they are."""
        for slot in self._slots:
            slot.store_empty = False  # else Scrapy writes to it at its end
        logger.error("%s", why)
        raise CloseSpider(reason)

    @property
    def has_storage(self) -> bool:
        """Whether anybody, a feed or another component, stores items, as far as can be told."""
        return self._exporter is not None or _has_other_consumer(self._crawler)

    # The items.

    async def export(self, item: Any, spider: Spider) -> Exported:
        """Export *item* to all feeds, and flush those that can be flushed.

        Return the batches with it that nobody can flush, and that are not closed yet; ``None`` if
        there are feeds, and none has accepted it. Raises what a filter or an exporter raises, and
        OSError if a file cannot be written, as on a full disk.
        """
        if self._exporter is None:
            return set()
        feeds: list[Feed] = []
        self._accepted.set(feeds)
        try:
            # None with Scrapy's own; others may be asynchronous.
            exporting: Any = self._exporter.item_scraped(item, spider)  # type: ignore[func-returns-value]
            if isawaitable(exporting):
                await ensure_awaitable(exporting)
            for feed in feeds:
                feed.flush()
                if feed.is_stored is False:  # it was the last item of it
                    raise OSError(f"{feed.slot.uri} could not be stored")
        except BaseException as error:
            for feed in feeds:
                feed.fail(error)
            raise
        finally:
            self._accepted.set(None)
        # Once and for all: only at the end is it known whether a batch was stored.
        self._some_cannot_be_flushed |= not all(feed.can_be_flushed for feed in feeds)
        return {feed for feed in feeds if feed.is_awaited} if feeds else None

    def _accept(self, uri: str) -> None:
        """Make the feed at *uri* ready for the item that it has accepted."""
        accepted = self._accepted.get()
        if accepted is None:
            return
        # Now, since a full batch may be closed during the export.
        feed = self._feed_of(next(slot for slot in self._slots if slot.uri_template == uri))
        accepted.append(feed)
        try:
            feed.open_for_item(refuses_torn=self._refuses_torn)
        except TornFeedError as error:  # a later batch, or an item before had no room
            if not self._is_ending:
                self._is_ending = True
                logger.error("%s", error)
                self._end_early(TORN_FEED)
            raise

    # The ends of feeds.

    def _slot_closed(self, slot: FeedSlot) -> None:
        feed = self._feed_of(slot)
        del self._feeds[slot]
        stored, failed = self._count_stored()
        # Stats tell no slot from others: a failure of another one meanwhile counts for both.
        feed.end(is_complete=stored > feed.counts[0] and failed == feed.counts[1])
        self._some_have_failed |= slot.itemcount > 0 and not feed.is_stored

    def _count_stored(self) -> tuple[int, int]:
        """Return how many feeds Scrapy has stored, and how many it could not, as its stats say."""
        assert self._crawler.stats
        counts = self._crawler.stats.get_stats().items()
        stored, failed = (
            sum(count for name, count in counts if name.startswith(f"feedexport/{kind}_count/"))
            for kind in ("success", "failed")
        )
        return stored, failed

    def _exporter_closed(self) -> None:
        self._are_closed = True
        for feed in self._feeds.values():
            feed.end(is_complete=False)  # Scrapy never closed it: as if its last bytes had no room
        for call in self._call_when_closed:
            call()

    async def wait_until_closed(self, seconds: float) -> bool:
        """Wait until Scrapy has closed and stored all feeds; return whether it did in time."""
        if self._exporter is None or self._are_closed:
            return True
        return await wait_for_call(seconds, self._call_when_closed.append)

    # Whether items are safe.

    @property
    def can_be_flushed(self) -> bool:
        """Whether items are safe before their feed is closed.

        They are not in compressed feeds, in those that are uploaded when they are complete, and
        with storages and exporters of other packages, which may keep items back.
        """
        return not self._some_cannot_be_flushed

    def flush(self) -> None:
        """Hand everything that was exported to the operating system; raises OSError."""
        for feed in self._feeds.values():
            feed.flush()

    @property
    def are_stored(self) -> bool:
        """Whether all feeds were closed and stored without an error."""
        return not (self._some_have_failed or any(slot.itemcount for slot in self._feeds))


class _ReportingFilter(ItemFilter):
    """The filter of a feed, which reports each item that it accepts.

    The original filter is asked once an item: it may count, or accept an item only once.
    """

    def __init__(self, item_filter: Any, uri: str, report: Callable[[str], None]) -> None:
        self._filter = item_filter
        self._uri = uri
        self._report = report

    def accepts(self, item: Any) -> bool:
        if not self._filter.accepts(item):
            return False
        self._report(self._uri)
        return True

    def __getattr__(self, name: str) -> Any:  # what an exporter of the project's own asks it
        return getattr(self._filter, name)


def _has_other_consumer(crawler: "Crawler") -> bool:
    """Return whether a pipeline, or a receiver of the signal item_scraped, may store items.

    All are assumed to store them but ours and Scrapy's own, which only count, or store files.
    """
    assert crawler.engine
    # Another package's item processor need not have pipelines.
    pipelines = getattr(crawler.engine.scraper.itemproc, "middlewares", None)
    if pipelines is None:
        return True
    receivers = dispatcher.liveReceivers(
        dispatcher.getAllReceivers(crawler.signals.sender, signals.item_scraped)
    )
    owners = [*pipelines, *(getattr(one, "__self__", one) for one in receivers)]
    packages = {type(owner).__module__.partition(".")[0] for owner in owners}
    return not packages <= {"dedup", "scrapy"}
