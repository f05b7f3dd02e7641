"""The add-on, and the extension: it builds the parts, and they begin and end with a crawl."""

import gc
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings
from scrapy.utils.defer import deferred_from_coro

from dedup import scrapy_plugin
from dedup.claim import Claim
from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.page import PageReader
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.canonicals import Canonicals
from dedup.scrapy_plugin.checkpoints import Checkpoints
from dedup.scrapy_plugin.ending import end_crawl
from dedup.scrapy_plugin.feed import Feed, when_all_closed
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.judging import OPEN_BATCH, Judge
from dedup.scrapy_plugin.links import Links
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.open_store import open_store, read_store
from dedup.scrapy_plugin.response_state import ResponseStates
from dedup.scrapy_plugin.saved_requests.saver import RequestSaver
from dedup.scrapy_plugin.setting_values import SettingError
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores import LedgerError, finished
from dedup.url_advice.contents import Contents
from dedup.workers import InlinePool, WorkerPool

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from dedup.scrapy_plugin.dropped_file import DroppedFile

logger = get_logger(__name__)

_COMPONENTS = (
    ("EXTENSIONS", "Extension", 500),
    # Outermost: it sees the items of a page after all other middlewares, with what these have set.
    ("SPIDER_MIDDLEWARES", "SpiderMiddleware", -1000),
    # Innermost: no other middleware handles an exception of a callback before it.
    ("SPIDER_MIDDLEWARES", "InnerSpiderMiddleware", 10_000),
    # First: no other pipeline works on an item that is dropped, or replaces it beforehand.
    ("ITEM_PIPELINES", "ItemPipeline", 0),
    # It is the last to see a response before the spider.
    ("DOWNLOADER_MIDDLEWARES", "DownloaderMiddleware", 10),
)


class Addon:
    """Adds the extension, the middlewares and the item pipeline.

    If DEDUP_PREFER is set, it also sets the queue of requests, unless the project sets its own.

    ``ADDONS = {"dedup.scrapy_plugin.Addon": 500}``
    """

    def update_settings(self, settings: BaseSettings) -> None:
        for setting, name, order in _COMPONENTS:
            component = getattr(scrapy_plugin, name)
            settings.setdefault_in_component_priority_dict(setting, component, order)
        if settings.get("DEDUP_PREFER"):
            settings.set("SCHEDULER_PRIORITY_QUEUE", scrapy_plugin.PreferenceQueue, "addon")


class Extension:
    """Has the parts of the plug-in, each built with those that it asks.

    The components of Scrapy get them by `of`.
    """

    settings: DedupSettings
    dropped_file: "DroppedFile | None" = None

    def __init__(self, crawler: "Crawler") -> None:
        self._crawler = crawler
        self._components = {"Extension"}
        self._table = ""
        self._is_open = self._is_read = False

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "Extension":
        extension = cls(crawler)
        if crawler.crawling:
            extension._begin()
        return extension  # else what is to come is not known yet: a shell, a test, a crawl

    @classmethod
    def of(cls, crawler: "Crawler", component: str) -> "Extension":
        """Return that of *crawler* for its *component*, which will not be missed then.

        Raises NotConfigured if dedup is switched off, ValueError if the extension is missing.
        """
        if extension := crawler.get_extension(cls):
            extension._begin()
            extension._components.add(component)
            return extension
        if _is_crawl(crawler) and crawler.settings.getbool("DEDUP_ENABLED", True):
            raise ValueError("EXTENSIONS lacks dedup.scrapy_plugin.Extension")
        raise NotConfigured

    def _begin(self) -> None:
        """Build the parts, if they are not there; raises NotConfigured if dedup is switched off."""
        crawler = self._crawler
        if hasattr(self, "settings"):
            return
        if not _is_crawl(crawler):
            raise NotConfigured
        try:
            settings = DedupSettings.from_settings(crawler.settings, crawler.spider)
            if not settings.enabled and not settings.fields:
                raise NotConfigured
            self._build(settings, crawler)
            self.settings = settings
        except (LedgerError, SettingError) as error:
            logger.error("The crawl does not start: %s", error)
            raise error from None  # Scrapy would show the tracebacks of all causes
        for name in (
            "spider_opened", "item_scraped", "item_dropped", "item_error", "spider_closed",
            "engine_stopped",
        ):  # fmt: skip
            crawler.signals.connect(getattr(self, name), getattr(signals, name))

    def _build(self, settings: DedupSettings, crawler: "Crawler") -> None:
        assert crawler.stats
        # The report is written, or the ledger keeps it; else, nobody sees more than the table.
        has_report = bool(settings.enabled and (settings.report or settings.index.place))
        summary = self.summary = Summary(
            crawler.stats,
            settings.shown,
            drops=settings.action == "drop",
            with_lost_text=settings.enabled,
            contents=Contents(settings.method) if has_report else None,
            min_tokens=settings.min_tokens,
            has_report=has_report,
        )
        reader = PageReader(settings.extractor, settings.method, with_sequences=settings.enabled)
        self.pool = (
            WorkerPool(reader, workers=settings.workers, page_timeout=limits.PAGE_TIMEOUT)
            if settings.workers
            else InlinePool(reader)
        )
        notices = self.notices = Notices(summary.count)
        self.feeds = Feeds(crawler, notices, self._end_early)
        if settings.duplicates:
            from dedup.scrapy_plugin.dropped_file import DroppedFile  # with all formats of files

            self.dropped_file = DroppedFile(settings.duplicates)
        states = self.states = ResponseStates(self._end_claim, self._renew)
        self.pages = BodyReader(self.pool, summary, states)
        self.canonicals = Canonicals(crawler, notices, settings)
        self.detector = detector = Detector(
            settings.method,
            settings.rule,
            store=open_store(settings, crawler),
            several_a_key=settings.item_field is not None,
            count=summary.count,
        )
        self.checkpoints = Checkpoints(
            detector, settings, self.feeds, notices, self._end_early
        )  # fmt: skip
        self.judge = Judge(
            settings, self.pages, detector, self.canonicals, summary, notices,
            self.checkpoints.begin_outage, self._end_early,
        )  # fmt: skip
        assert crawler.request_fingerprinter
        self.links = (
            None
            if settings.follow_duplicates
            else Links(settings, self.pages, notices, crawler.request_fingerprinter.fingerprint)
        )
        self.saver: RequestSaver | None = None
        if settings.enabled and (settings.revisits.need_leaves or settings.skip_urls):
            self.saver = RequestSaver(
                settings, crawler, detector.store, summary, notices, self.judge.page_is_unchanged
            )
            states.settled = self.saver.page_settles
        if not detector.store.is_shared:
            finished(self.read_store())

    async def read_store(self) -> None:
        """Learn what earlier crawls have stored, once: with a store that crawls share, this waits.

        Raises LedgerError if it cannot be used.
        """
        if self._is_read:
            return
        await read_store(self.detector, self._crawler)
        is_shared = self.detector.store.is_shared
        self.summary.events.has_past = is_shared or len(self.detector) > 0
        self._is_read = True

    def _end_early(self, reason: str) -> None:
        """Have the crawl end, once its requests under way are done."""
        if engine := self._crawler.engine:
            deferred_from_coro(engine.close_spider_async(reason=reason))

    def _end_claim(self, claim: Claim, is_stored: bool, batches: Collection[Feed]) -> None:
        """End *claim*, if its content *is_stored* only when all *batches* with it are closed."""
        if is_stored and batches:
            if not when_all_closed(batches, partial(self._end_claim, claim, batches=())):
                claim.put_off(OPEN_BATCH)
        elif claim.is_open:
            (self.detector.follower.commit if is_stored else self.detector.follower.release)(claim)
            self.summary.claim_ends(claim, is_stored=is_stored)

    def _renew(self, record: PageRecord, said: Mapping[int, Collection[bytes]]) -> None:
        try:
            self.detector.renew(record, said)
        except Exception:
            self.notices.count_error("what <%s> says no more", record.key)

    async def spider_opened(self, spider: Spider) -> None:
        self._is_open = True
        self.feeds.take_over()
        await self.checkpoints.start(str(spider.name))
        self.pool.start()
        # What was imported stays: the collector need not look at it again and again. What an
        # earlier crawl of this process left does not.
        gc.collect()
        gc.freeze()
        engine = self._crawler.engine
        if self.canonicals.are_asked and engine and engine.scheduler is not None:
            self.canonicals.watch(engine.scheduler)
        queue = ("SCHEDULER_PRIORITY_QUEUE", "PreferenceQueue", 0)
        needs = {
            "DownloaderMiddleware": self.canonicals.are_asked,
            "PreferenceQueue": self.settings.prefer,
        }
        for setting, name, _ in (*_COMPONENTS, queue):
            if needs.get(name, True) and name not in self._components:
                logger.warning("%s lacks dedup.scrapy_plugin.%s", setting, name)

    async def item_scraped(self, item: Any, response: Any, spider: Spider) -> None:
        """Export *item*, which has passed the pipelines."""
        try:
            batches = await self.feeds.export(item, spider)
        except BaseException:
            self.states.item_ends(response, stored=False, failed=True)
            raise
        awaited = batches if batches and self.settings.index.waits_for_feeds else ()
        self.states.item_ends(response, stored=batches is not None, batches=awaited)

    def item_dropped(self, response: Any) -> None:
        self.states.item_ends(response, stored=False)

    def item_error(self, response: Any) -> None:
        self.states.item_ends(response, stored=False, failed=True)

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        async with AsyncExitStack() as ending:  # whatever fails, the others are closed
            ending.callback(gc.unfreeze)
            ending.push_async_callback(self.checkpoints.close)
            ending.callback(self.summary.events.close)
            if self.saver:
                ending.callback(self.saver.close, reason)
            ending.callback(self.pool.close)
            if self.settings.enabled and self._is_open:
                self._table = await end_crawl(self, spider, reason)

    def engine_stopped(self) -> None:
        # Not before: Scrapy's dump of all stats would push the table out of sight.
        if self._table:
            logger.info("Dedup report:\n%s", self._table, extra={"spider": self._crawler.spider})


def _is_crawl(crawler: "Crawler") -> bool:
    """Return whether *crawler* crawls, no matter whether a command, a script or a service began it.

    It does not in ``scrapy shell``, ``fetch``, ``view``, ``parse``, ``check`` and ``bench``, which
    build a crawler with all components.
    """
    # The shell opens the engine itself. The others crawl, but replace the start of the spider by
    # one of their own.
    start = getattr(crawler.spidercls, "start", None)
    module = str(getattr(start, "__module__", ""))
    return crawler.crawling and not module.startswith("scrapy.commands.")
