"""The extension: has the parts of the plug-in begin, wait and end with a crawl."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured

from dedup.logs import get_logger
from dedup.scrapy_plugin.crawling import is_crawl
from dedup.scrapy_plugin.ending import end_crawl
from dedup.scrapy_plugin.opening import (
    connected,
    detector_with,
    is_reset,
    open_store,
    shared_store,
    store_when_free,
)
from dedup.scrapy_plugin.parts import Parts
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.settings.values import SettingError
from dedup.stores import LedgerError, LedgerInUseError, MemoryStore, Store, finished

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)


class Extension:
    """Tells the parts of the plug-in what Scrapy signals."""

    def __init__(self, settings: DedupSettings, crawler: "Crawler") -> None:
        self._settings = settings
        self._crawler = crawler
        self.parts = Parts(settings, crawler)
        self._components: set[str] = set()
        self._table = ""
        self._is_open = False
        # For the store, which is used from then on.
        self._wait: Callable[[], Awaitable[Store]] | None = None
        store = self._store_at_once()
        self.parts.use(finished(detector_with(store, settings, self.parts.summary.count)))

    def _store_at_once(self) -> Store:
        """Return the store of the crawl, or another one if it has to be waited for."""
        settings, crawler = self._settings, self._crawler
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

    async def wait_for_ledger(self) -> None:
        """Wait until another crawl gives the ledger back, or for a server that crawls share.

        Raises LedgerError if it cannot be used then.
        """
        if self._wait:
            try:
                store = await self._wait()
                detector = await detector_with(store, self._settings, self.parts.summary.count)
            except LedgerError as error:
                logger.error("The crawl does not start: %s", error)
                # Scrapy logs a traceback; without those of the client of a server.
                raise error.with_traceback(None) from None
            self._wait = None
            self.parts.use(detector)

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
        for name in (
            "spider_opened", "item_scraped", "item_dropped", "item_error", "spider_closed",
            "engine_stopped",
        ):  # fmt: skip
            crawler.signals.connect(getattr(extension, name), getattr(signals, name))
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
        parts = self.parts
        self._is_open = True
        parts.feeds.take_over()
        parts.keeper.start()
        if self._wait:
            logger.error("ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline, which waits for "
                         "the ledger: it is not used")  # fmt: skip
        parts.pool.start()
        if engine := self._crawler.engine:
            parts.provenance.watch(engine)
            if parts.links and engine.scheduler is not None:
                parts.links.watch(engine.scheduler)
                self._crawler.signals.connect(
                    parts.links.request_scheduled, signals.request_scheduled
                )
            if parts.canonicals and engine.scheduler is not None:
                if "DownloaderMiddleware" in self._components:
                    parts.canonicals.watch(engine.scheduler)
                else:
                    logger.warning("No page waits for its canonical one: DOWNLOADER_MIDDLEWARES "
                                   "lacks dedup.scrapy_plugin.DownloaderMiddleware")  # fmt: skip
        for setting, component in (
            ("SPIDER_MIDDLEWARES", "SpiderMiddleware"),
            ("ITEM_PIPELINES", "ItemPipeline"),
        ):
            if component not in self._components:
                logger.warning("%s lacks dedup.scrapy_plugin.%s", setting, component)
        if self._settings.prefer and "PreferenceQueue" not in self._components:
            logger.warning(
                "DEDUP_PREFER orders no requests: the scheduler does not use "
                "dedup.scrapy_plugin.PreferenceQueue (SCHEDULER_PRIORITY_QUEUE)"
            )

    # Each is told to the course of now: while the ledger is waited for, it is another one.

    def item_scraped(self, item: Any, response: Any, spider: Spider) -> None:
        self.parts.course.item_scraped(item, response, spider)

    def item_dropped(self, response: Any) -> None:
        self.parts.course.item_dropped(response)

    def item_error(self, response: Any) -> None:
        self.parts.course.item_error(response)

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        parts = self.parts
        async with AsyncExitStack() as ending:  # whatever fails, the others are closed
            ending.callback(parts.keeper.close)
            ending.push_async_callback(parts.keeper.disconnect)
            ending.callback(parts.reporting.close)
            ending.callback(parts.pool.close)
            parts.visits.gone.settle()
            if self._settings.enabled and self._is_open:
                self._table = await end_crawl(
                    spider,
                    reason,
                    settings=self._settings,
                    summary=parts.summary,
                    texts=parts.reporting.texts,
                    keeper=parts.keeper,
                    copies=parts.reporting.copies,
                    other_bytes=parts.bodies.nbytes,
                )

    def engine_stopped(self) -> None:
        # Not before: Scrapy's dump of all stats would push the table out of sight.
        if self._table:
            logger.info("Dedup report:\n%s", self._table, extra={"spider": self._crawler.spider})
