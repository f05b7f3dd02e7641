"""Exports the items of a crawl in Scrapy's place, and knows whether they are safe."""

from collections.abc import Callable
from contextvars import ContextVar
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from scrapy import Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.extensions.feedexport import FeedExporter, FeedSlot, ItemFilter
from scrapy.utils.defer import deferred_from_coro, ensure_awaitable

from dedup.logs import get_logger
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.feeds.appending import TornFeedError
from dedup.scrapy_plugin.feeds.feed import Batch, Feed
from dedup.scrapy_plugin.feeds.item_consumers import has_other_consumer
from dedup.scrapy_plugin.feeds.overwriting import overwritten_files, overwritten_uris
from dedup.stores.server_url import without_secrets

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

TORN_FEED = "dedup_torn_feed"
"""The finish reason of a crawl that cannot append to one of its feeds."""
OVERWRITTEN_FEED = "dedup_overwritten_feed"
"""That of one that would overwrite a feed whose items its ledger knows."""

Exported: TypeAlias = set[Batch] | None
"""The batches on which it depends whether an item is stored; ``None`` if no feed has taken it."""


class Feeds:
    """Exports items in Scrapy's place, and makes sure that they have left the process.

    Scrapy does not say whether an export failed, so its feed exporter is called from here.
    """

    def __init__(self, crawler: "Crawler") -> None:
        self._crawler = crawler
        self._exporter: FeedExporter | None = None
        # Those that are not closed, by the identity of the slot.
        self._feeds: dict[int, Feed] = {}
        # The feeds that have accepted the item that is being exported, if one is: asynchronous
        # exporters may export several at once.
        self._accepted: ContextVar[list[Feed] | None] = ContextVar("dedup accepted", default=None)
        self._are_closed = False
        self._call_when_closed: list[Callable[[], None]] = []
        self._some_cannot_be_flushed = self._some_have_failed = False
        self._removed_file = ""
        self._refuses_torn = self._is_told_of_marks = False
        self._items_accepted = self._items_refused = 0

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
            self._mark(self._feed_of(slot))

    def _mark(self, feed: Feed) -> None:
        try:
            feed.mark()
        except OSError as error:
            if not self._is_told_of_marks:
                self._is_told_of_marks = True
                logger.warning("If this crawl is killed, the next one will not know that %s may "
                               "be torn: %s", feed.slot.uri, error)  # fmt: skip

    def refuse_torn(self) -> None:
        """From now on, append to no file that could not be read afterwards.

        Raises CloseSpider if one of the feeds is such a file.
        """
        self._refuses_torn = True
        slots = self._exporter.slots if self._exporter else []
        try:
            for slot in slots:
                self._feed_of(slot).check()
        except TornFeedError as error:
            self._refuse(TORN_FEED, str(error))

    def _refuse(self, reason: str, why: str) -> NoReturn:
        """End the crawl before it begins, and leave the files as they are."""
        for slot in self._exporter.slots if self._exporter else []:
            slot.store_empty = False  # else Scrapy writes to it at its end
        logger.error("%s", why)
        raise CloseSpider(reason)

    def _feed_of(self, slot: FeedSlot) -> Feed:
        if id(slot) not in self._feeds:
            self._feeds[id(slot)] = Feed(slot, self._count_stored())
        return self._feeds[id(slot)]

    def refuse_overwriting(self, why: str) -> None:
        """Raise CloseSpider if a local file with items is overwritten; warn of other feeds.

        *why* says what the ledger knows of the items that were in it.
        """
        slots = self._exporter.slots if self._exporter else []
        if paths := list(overwritten_files(slots)):
            self._refuse(
                OVERWRITTEN_FEED,
                f"The crawl does not start: it would overwrite {paths[0]}, and {why}. Append to it "
                "(-o), name another file (%(time)s in it), or start afresh (-a dedup_reset=1)",
            )
        try:
            uris = list(overwritten_uris(slots))
        except Exception as error:  # storages may be anybody's, and a crawl does not need this
            kind = type(error).__name__
            logger.warning("Dedup cannot tell whether feeds are overwritten: %s: %s", kind, error)
            return
        for uri in uris:
            logger.warning(
                "If there is a file at %s, it is overwritten, and %s. Append to it, have the time "
                "in its name (%%(time)s), or start afresh (-a dedup_reset=1)",
                without_secrets(uri) if "://" in uri else uri, why,
            )  # fmt: skip

    @property
    def has_storage(self) -> bool:
        """Whether anybody, a feed or another component, stores items, as far as can be told."""
        return self._exporter is not None or has_other_consumer(self._crawler)

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
            return self._exported_to(feeds)
        except BaseException as error:
            for feed in feeds:
                self._some_have_failed |= feed.fail(error)
            raise
        finally:
            self._accepted.set(None)

    def _exported_to(self, feeds: list[Feed]) -> Exported:
        for feed in feeds:
            feed.flush()
            if feed.batch.is_stored is False:  # it was the last item of it
                raise OSError(f"{feed.slot.uri} could not be stored")
        for feed in feeds:
            # Once and for all: only at the end is it known whether a batch was stored.
            self._some_cannot_be_flushed |= not feed.can_be_flushed
        self._items_accepted += bool(feeds)
        self._items_refused += not feeds
        return {feed.batch for feed in feeds if feed.waits_for_its_end} if feeds else None

    def _accept(self, uri: str) -> None:
        """Make the feed at *uri* ready for the item that it has accepted."""
        accepted = self._accepted.get()
        if self._exporter is None or accepted is None:
            return
        # Now, since a full batch may be closed during the export.
        feed = self._feed_of(next(s for s in self._exporter.slots if s.uri_template == uri))
        if feed.slot.file is None and self._refuses_torn:
            self._refuse_batch(feed)
        self._mark(feed)
        accepted.append(feed)
        feed.begin()
        self._note_removal(feed)

    def _refuse_batch(self, feed: Feed) -> None:
        """End the crawl with a TornFeedError if nobody could read what is appended to *feed*."""
        try:
            feed.check()
        except TornFeedError as error:
            logger.error("%s", error)
            assert self._crawler.engine
            deferred_from_coro(self._crawler.engine.close_spider_async(reason=TORN_FEED))
            raise

    def _slot_closed(self, slot: FeedSlot) -> None:
        feed = self._feed_of(slot)
        del self._feeds[id(slot)]
        stored, failed = self._count_stored()
        # Stats tell no slot from others: a failure of another one meanwhile counts for both.
        is_stored = stored > feed.counts[0] and failed == feed.counts[1]
        self._some_have_failed |= not feed.end(is_stored=is_stored)

    def _count_stored(self) -> tuple[int, int]:
        """Return how many feeds Scrapy has stored, and how many it could not, as its stats say."""
        stored = failed = 0
        assert self._crawler.stats
        for name, count in self._crawler.stats.get_stats().items():
            stored += count if name.startswith("feedexport/success_count/") else 0
            failed += count if name.startswith("feedexport/failed_count/") else 0
        return stored, failed

    def _exporter_closed(self) -> None:
        self._are_closed = True
        for feed in self._feeds.values():  # as if its last bytes had no room
            feed.batch.close(is_stored=False)
            if feed.slot.file is None:
                feed.unmark()
        for call in self._call_when_closed:
            call()
        if self._items_refused and not self._items_accepted:
            logger.warning(
                "No feed accepted any item (%d refused), so none counts as stored: nothing was "
                "dropped as their duplicate, and none is remembered",
                self._items_refused,
            )

    async def wait_until_closed(self, seconds: float) -> bool:
        """Wait until Scrapy has closed and stored all feeds; return whether it did in time."""
        if self._exporter is None or self._are_closed:
            return True
        return await wait_for_call(seconds, self._call_when_closed.append)

    @property
    def can_be_flushed(self) -> bool:
        """Whether items are safe before their feed is closed.

        They are not in compressed feeds, in those that are uploaded when they are complete, and
        with storages and exporters of other packages, which may keep items back.
        """
        return not self._some_cannot_be_flushed

    @property
    def held_back(self) -> list[str]:
        """The URIs of open feeds that cannot be flushed; they may have passwords."""
        slots = self._exporter.slots if self._exporter else []
        return [slot.uri for slot in slots if not self._feed_of(slot).can_be_flushed]

    def flush(self) -> None:
        """Hand everything that was exported to the operating system.

        Raises OSError if that fails, or if somebody removed a file while it was written.
        """
        for feed in self._feeds_with_items():
            feed.flush()
            self._note_removal(feed)
        if self._removed_file:
            raise OSError(f"{self._removed_file} was removed while it was written")

    def _feeds_with_items(self) -> list[Feed]:
        return [feed for feed in self._feeds.values() if feed.slot.itemcount]

    def _note_removal(self, feed: Feed) -> None:
        if feed.is_removed:
            self._removed_file = feed.slot.uri

    @property
    def are_stored(self) -> bool:
        """Whether all feeds were closed and stored without an error."""
        return not (self._some_have_failed or self._feeds_with_items())


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

    def __getattr__(self, name: str) -> Any:
        return getattr(self._filter, name)
