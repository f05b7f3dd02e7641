"""The extension: has the parts of the plug-in begin, wait and end with a crawl."""

from collections.abc import Awaitable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured

from dedup.logs import get_logger
from dedup.scrapy_plugin.ending import end_crawl
from dedup.scrapy_plugin.parts import Parts, PartsOwner
from dedup.scrapy_plugin.scheduler_watch import watch
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.settings.values import SettingError
from dedup.stores import LedgerError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)


class Extension(PartsOwner):
    """Tells the parts of the plug-in what Scrapy signals."""

    def __init__(self, crawler: "Crawler") -> None:
        super().__init__()
        self._crawler = crawler
        self._table = ""
        self._is_open = False

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "Extension":
        extension = cls(crawler)
        if crawler.crawling:
            extension.begin()
        return extension  # else what is to come is not known yet: a shell, a test, a crawl

    def begin(self) -> None:
        """Build the parts, if they are not there; raises NotConfigured if dedup is switched off."""
        if self.has_begun:
            return
        crawler = self._crawler
        try:
            self._settings = DedupSettings.from_crawler(crawler)
            if not self._settings.enabled and not self._settings.fields:
                raise NotConfigured
            self.parts = Parts(self._settings, crawler)
        except (LedgerError, SettingError) as error:
            logger.error("The crawl does not start: %s", error)
            raise
        for name in (
            "spider_opened", "item_scraped", "item_dropped", "item_error", "spider_closed",
            "engine_stopped",
        ):  # fmt: skip
            crawler.signals.connect(getattr(self, name), getattr(signals, name))

    def spider_opened(self) -> None:
        parts = self.parts
        self._is_open = True
        parts.feeds.take_over()
        parts.keeper.start()
        if parts.opening.is_awaited:
            logger.error("ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline, which waits for "
                         "the ledger: it is not used")  # fmt: skip
        parts.pool.start()
        engine = self._crawler.engine
        if (parts.links or parts.canonicals) and engine and engine.scheduler is not None:
            watch(engine.scheduler, parts.course.request_comes)
        if parts.canonicals and "DownloaderMiddleware" not in self.components:
            logger.warning("No page waits for its canonical one: DOWNLOADER_MIDDLEWARES lacks "
                           "dedup.scrapy_plugin.DownloaderMiddleware")  # fmt: skip
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
