"""The extension: holds what the middleware and the pipeline share, for the length of a crawl."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from functools import partial
from typing import TYPE_CHECKING

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.page import PageReader
from dedup.preference import canonical
from dedup.scrapy_plugin.awaiting import Backlog
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.canonicals import Canonicals
from dedup.scrapy_plugin.closing import Closing
from dedup.scrapy_plugin.course import Course
from dedup.scrapy_plugin.crawling import is_crawl
from dedup.scrapy_plugin.ending import end_crawl
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.judging import Judge
from dedup.scrapy_plugin.keeper import Keeper
from dedup.scrapy_plugin.links import Links
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.opening import (
    connected,
    detector_with,
    is_reset,
    open_store,
    shared_store,
    store_when_free,
)
from dedup.scrapy_plugin.outages import Outages
from dedup.scrapy_plugin.provenance import Provenance
from dedup.scrapy_plugin.quarantine import Quarantine
from dedup.scrapy_plugin.reporting import Reporting
from dedup.scrapy_plugin.reservations import Reservations
from dedup.scrapy_plugin.response_pages import ResponsePages
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.settings.values import SettingError
from dedup.scrapy_plugin.visits import Visits
from dedup.stores import LedgerError, LedgerInUseError, MemoryStore, Store, finished
from dedup.workers import InlinePool, WorkerPool

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

_PAGES_WAITING = 48
_PAGES_WAITING_PER_WORKER = 16


class Extension:
    """Builds what judges pages and items, connects it to the crawl, and reports at its end."""

    def __init__(self, settings: DedupSettings, crawler: "Crawler") -> None:
        assert crawler.stats
        self.settings = settings
        self._crawler = crawler
        reader = PageReader(settings.extractor, settings.method)
        self._pool = (
            WorkerPool(reader, workers=settings.workers, page_timeout=settings.page_timeout)
            if settings.workers
            else InlinePool(reader)
        )
        self._feeds = Feeds(crawler)
        self._reporting = Reporting(settings, crawler.stats)
        self.summary = self._reporting.summary
        self.notices = Notices(self.summary.count)
        self.quarantine = Quarantine(settings.duplicates) if settings.duplicates else None
        self.visits = Visits(self._end_claim)
        self.backlog = Backlog(_PAGES_WAITING + _PAGES_WAITING_PER_WORKER * settings.workers)
        self._bodies = BodyReader(self._pool, self.backlog, self._reporting.halvings)
        self.pages = ResponsePages(
            self._bodies,
            self.visits,
            count=self.summary.count,
            record_time=self.summary.record_time,
        )
        self.provenance = Provenance(
            self.visits, self._bodies, self.notices, settings.max_page_bytes
        )
        # Items are judged by themselves with an item field, and name nothing.
        believes = settings.enabled and canonical in settings.prefer.criteria
        self._canonicals = (
            Canonicals(
                crawler,
                self.visits.gone,
                self.notices,
                timeout=settings.wait_timeout,
                count=self.summary.count,
            )
            if believes and not settings.item_field
            else None
        )
        self._components: set[str] = set()
        self._table = ""
        self._is_open = False
        self._outages = Outages(settings.store_down, crawler, self.summary.count)
        self._connections = ExitStack()
        # For the store, which is used from then on.
        self._wait: Callable[[], Awaitable[Store]] | None = None
        store = self._store_at_once()
        self._use(finished(detector_with(store, settings, self.summary.count)))

    def _store_at_once(self) -> Store:
        """Return the store of the crawl, or another one if it has to be waited for."""
        settings, crawler = self.settings, self._crawler
        if settings.is_shared:
            store = shared_store(settings, crawler)
            self._wait = partial(connected, store, is_reset=is_reset(settings, crawler))
            return MemoryStore()
        try:
            return open_store(settings, crawler)
        except LedgerInUseError as error:
            if settings.index_in_use != "wait":
                raise
            # Without the advice to have it wait.
            why = str(error.__cause__).partition(";")[0].partition(": one crawl at a time")[0]
            logger.warning("This crawl waits: %s", why)
            self._wait = partial(store_when_free, settings, crawler)
            return MemoryStore()

    def _use(self, detector: Detector) -> None:
        """Build what compares pages with those that *detector* knows."""
        if self._reporting.losses and len(detector):
            self._reporting.losses.expect_past()
        self._keeper = Keeper(
            detector,
            self.settings,
            self._feeds,
            self.summary.count,
            self.notices,
            self._outages,
        )
        self.judge = Judge(
            self.settings,
            self.pages,
            detector,
            self.provenance,
            Reservations(
                self.settings,
                detector,
                self.visits,
                self.summary,
                self.notices,
                self._join,
                self._outages,
                self._canonicals,
            ),
            self.summary,
            self.visits,
            self.notices,
            Closing(self._crawler, self.settings.close_unchanged),
        )
        self._links = (
            None
            if self.settings.follow_duplicates
            else Links(self.settings, self.pages, self.notices)
        )
        self.course = Course(
            self.settings,
            self.visits,
            self.provenance,
            self.judge,
            self._links,
            self._canonicals,
            self._feeds,
            self.summary,
            self.notices,
        )
        self._connections.close()  # those of the time of waiting
        manager = self._crawler.signals
        for name in ("item_scraped", "item_dropped", "item_error"):
            handler, signal = getattr(self.course, name), getattr(signals, name)
            manager.connect(handler, signal)
            self._connections.callback(manager.disconnect, handler, signal)

    async def wait_for_ledger(self) -> None:
        """Wait until another crawl gives the ledger back, or for a server that crawls share.

        Raises LedgerError if it cannot be used then.
        """
        if self._wait:
            try:
                store = await self._wait()
                detector = await detector_with(store, self.settings, self.summary.count)
            except LedgerError as error:
                logger.error("The crawl does not start: %s", error)
                # Scrapy logs a traceback; without those of the client of a server.
                raise error.with_traceback(None) from None
            self._wait = None
            self._use(detector)

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "Extension":
        try:
            settings = DedupSettings.from_crawler(crawler)
            if not settings.enabled and not settings.fields:
                raise NotConfigured
            extension = cls(settings, crawler)
        except (LedgerError, SettingError) as error:
            logger.error("The crawl does not start: %s", error)
            raise
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        return extension

    @classmethod
    def of(cls, crawler: "Crawler", component: str) -> "Extension":
        """Return the extension of *crawler* for its *component*, which it will not miss then.

        Raises NotConfigured if dedup is switched off, ValueError if the extension is missing.
        """
        if extension := crawler.get_extension(cls):
            extension._components.add(component)
            return extension
        if is_crawl(crawler) and crawler.settings.getbool("DEDUP_ENABLED", True):
            raise ValueError("EXTENSIONS lacks dedup.scrapy_plugin.Extension")
        raise NotConfigured

    def spider_opened(self) -> None:
        self._is_open = True
        self._feeds.take_over()
        self._keeper.start()
        if self._wait:
            logger.error("ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline, which waits for "
                         "the ledger: it is not used")  # fmt: skip
        self._pool.start()
        if engine := self._crawler.engine:
            self.provenance.watch(engine)
            if self._links and engine.scheduler is not None:
                self._links.watch(engine.scheduler)
                self._crawler.signals.connect(
                    self._links.request_scheduled, signals.request_scheduled
                )
            if self._canonicals and engine.scheduler is not None:
                if "DownloaderMiddleware" in self._components:
                    self._canonicals.watch(engine.scheduler)
                else:
                    logger.warning("No page waits for its canonical one: DOWNLOADER_MIDDLEWARES "
                                   "lacks dedup.scrapy_plugin.DownloaderMiddleware")  # fmt: skip
        for setting, component in (
            ("SPIDER_MIDDLEWARES", "SpiderMiddleware"),
            ("ITEM_PIPELINES", "ItemPipeline"),
        ):
            if component not in self._components:
                logger.warning("%s lacks dedup.scrapy_plugin.%s", setting, component)
        if self.settings.prefer and "PreferenceQueue" not in self._components:
            logger.warning(
                "DEDUP_PREFER orders no requests: the scheduler does not use "
                "dedup.scrapy_plugin.PreferenceQueue (SCHEDULER_PRIORITY_QUEUE)"
            )

    async def _join(self) -> None:
        assert self._crawler.spider
        await self._keeper.join(self._crawler.spider.name)

    def _end_claim(self, claim: Claim, is_stored: bool) -> None:
        self._keeper.end_claim(claim, is_stored)
        self.summary.claim_ends(claim, is_stored=is_stored)

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        async with AsyncExitStack() as ending:  # whatever fails, the others are closed
            ending.callback(self._keeper.close)
            ending.push_async_callback(self._keeper.disconnect)
            ending.callback(self._reporting.close)
            ending.callback(self._pool.close)
            self.visits.gone.settle()
            if self.settings.enabled and self._is_open:
                self._table = await end_crawl(
                    spider,
                    reason,
                    settings=self.settings,
                    summary=self.summary,
                    texts=self._reporting.texts,
                    keeper=self._keeper,
                    copies=self._reporting.copies,
                    other_bytes=self._bodies.nbytes,
                )

    def engine_stopped(self) -> None:
        # Not before: Scrapy's dump of all stats would push the table out of sight.
        if self._table:
            logger.info("Dedup report:\n%s", self._table, extra={"spider": self._crawler.spider})
