"""The extension: has the parts of the plug-in begin, wait and end with a crawl."""

from collections.abc import Awaitable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured

from dedup.logs import get_logger
from dedup.scrapy_plugin.ending import end_crawl
from dedup.scrapy_plugin.parts import Parts, PartsOwner
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.settings.values import SettingError
from dedup.stores import LedgerError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)


class Extension(PartsOwner):
    """Tells the parts of the plug-in what Scrapy signals."""

    def __init__(self, settings: DedupSettings, crawler: "Crawler") -> None:
        self._settings = settings
        self._crawler = crawler
        super().__init__(Parts(settings, crawler))
        self._table = ""
        self._is_open = False

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

    def spider_opened(self) -> None:
        parts = self.parts
        self._is_open = True
        parts.feeds.take_over()
        parts.keeper.start()
        if parts.opening.is_awaited:
            logger.error("ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline, which waits for "
                         "the ledger: it is not used")  # fmt: skip
        parts.pool.start()
        if engine := self._crawler.engine:
            if parts.links and engine.scheduler is not None:
                parts.links.watch(engine.scheduler)
                self._crawler.signals.connect(
                    parts.links.request_scheduled, signals.request_scheduled
                )
            if parts.canonicals and engine.scheduler is not None:
                if "DownloaderMiddleware" in self.components:
                    parts.canonicals.watch(engine.scheduler)
                else:
                    logger.warning("No page waits for its canonical one: DOWNLOADER_MIDDLEWARES "
                                   "lacks dedup.scrapy_plugin.DownloaderMiddleware")  # fmt: skip
        for setting, component in (
            ("SPIDER_MIDDLEWARES", "SpiderMiddleware"),
            ("SPIDER_MIDDLEWARES", "InnerSpiderMiddleware"),
            ("ITEM_PIPELINES", "ItemPipeline"),
        ):
            if component not in self.components:
                logger.warning("%s lacks dedup.scrapy_plugin.%s", setting, component)
        if self._settings.prefer and "PreferenceQueue" not in self.components:
            logger.warning(
                "DEDUP_PREFER orders no requests: the scheduler does not use "
                "dedup.scrapy_plugin.PreferenceQueue (SCHEDULER_PRIORITY_QUEUE)"
            )

    # Each is told to the course of now: while the ledger is waited for, it is another one.

    def item_scraped(self, item: Any, response: Any, spider: Spider) -> Awaitable[None] | None:
        return self.parts.course.item_scraped(item, response, spider)

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
                    other_bytes=parts.bodies.nbytes,
                )

    def engine_stopped(self) -> None:
        # Not before: Scrapy's dump of all stats would push the table out of sight.
        if self._table:
            logger.info("Dedup report:\n%s", self._table, extra={"spider": self._crawler.spider})
