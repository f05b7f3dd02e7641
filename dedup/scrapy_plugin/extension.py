"""The extension: holds what the middleware and the pipeline share, for the length of a crawl."""

from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response

from dedup.claims import Claim
from dedup.detector import Kind, Verdict
from dedup.ledger import LedgerError
from dedup.page import PageReader
from dedup.report import Summary, TextStore, as_text, write_html, write_json
from dedup.scrapy_plugin.checkpoints import Checkpoints
from dedup.scrapy_plugin.exceptions import (
    DuplicatePage,
    ExactDuplicate,
    NearDuplicate,
    UnchangedPage,
)
from dedup.scrapy_plugin.expected import ExpectedItems
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.items import get_field, set_field
from dedup.scrapy_plugin.judging import Judge, Judged
from dedup.scrapy_plugin.logs import logger_named
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.opening import detector_with, open_ledger
from dedup.scrapy_plugin.outcomes import Outcomes
from dedup.scrapy_plugin.quarantine import Quarantine
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.url_advice import Contents
from dedup.workers import InlinePool, ReadError, WorkerPool

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logger_named(__name__)

MARK_FIELD = "dedup"


class Extension:
    """Has pages and items judged, carries verdicts out, and reports at the end of the crawl."""

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
        shows_texts = settings.report or (settings.enabled and settings.index)
        self._texts = TextStore(settings.report_texts if shows_texts else 0)
        self._summary = Summary(
            crawler.stats,
            settings.shown,
            drops=settings.action == "drop",
            texts=self._texts,
            contents=Contents(settings.method),
            min_tokens=settings.min_tokens,
        )
        self._ledger = open_ledger(settings, crawler.spider)
        self._detector = detector_with(self._ledger, settings)
        self._checkpoints = self._ledger and Checkpoints(
            self._ledger,
            self._feeds,
            interval=settings.checkpoint_interval,
            fsync=settings.fsync,
            count=self._summary.count,
        )
        self._quarantine = Quarantine(settings.duplicates) if settings.duplicates else None
        self._notices = Notices(self._summary)
        self.outcomes = Outcomes(self._end_claim)
        self._judge = Judge(
            settings,
            self._pool,
            self._detector,
            self._summary,
            self.outcomes,
            self._notices,
            self._begin,
        )
        self._expected: ExpectedItems[Judged] = ExpectedItems()
        self._components: set[str] = set()
        self._table = ""

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "Extension":
        settings = DedupSettings.from_settings(crawler.settings)
        if not settings.enabled and not settings.fields:
            raise NotConfigured
        extension = cls(settings, crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        crawler.signals.connect(extension.engine_stopped, signal=signals.engine_stopped)
        crawler.signals.connect(extension.item_scraped, signal=signals.item_scraped)
        crawler.signals.connect(extension.item_dropped, signal=signals.item_dropped)
        crawler.signals.connect(extension.item_error, signal=signals.item_error)
        return extension

    @classmethod
    def of(cls, crawler: "Crawler", component: str) -> "Extension":
        """Return the extension of *crawler* for its *component*, which it will not miss then.

        Raises NotConfigured if dedup is switched off, ValueError if the extension is missing.
        """
        if extension := crawler.get_extension(cls):
            extension._components.add(component)
            return extension
        if crawler.settings.getbool("DEDUP_ENABLED", True):
            raise ValueError("EXTENSIONS lacks dedup.scrapy_plugin.Extension")
        raise NotConfigured

    def spider_opened(self) -> None:
        self._feeds.take_over()
        if self._ledger and self._checkpoints:
            self._checkpoints.start()
            for path in self._feeds.overwritten() if len(self._detector) else ():
                logger.warning(
                    "%s is overwritten, and %s knows %d pages, which are not stored again while "
                    "they are unchanged: append (-o), use another file, or start afresh (-a "
                    "dedup_reset=1)", path, self._ledger.path, len(self._detector),
                )  # fmt: skip
        self._pool.start()
        for setting, component in (
            ("SPIDER_MIDDLEWARES", "SpiderMiddleware"),
            ("ITEM_PIPELINES", "ItemPipeline"),
        ):
            if component not in self._components:
                logger.warning("%s lacks dedup.scrapy_plugin.%s", setting, component)

    def _begin(self) -> None:
        """Begin to use the ledger, with the first page: a crawl without items is none to it."""
        if self._ledger and not self._ledger.has_begun:
            assert self._crawler.spider
            try:
                self._ledger.begin(self._crawler.spider.name)
            except LedgerError as error:
                self._notices.tell_once("The ledger is not written: %s", error)

    def item_scraped(self, item: Any, response: Any, spider: Spider) -> None:
        stored = False
        try:
            self._feeds.export(item, spider)
            stored = True
        finally:
            self.outcomes.item_ends(item, response, stored=stored, failed=not stored)

    def item_dropped(self, item: Any, response: Any) -> None:
        self.outcomes.item_ends(item, response, stored=False)

    def item_error(self, item: Any, response: Any) -> None:
        self.outcomes.item_ends(item, response, stored=False, failed=True)

    def _end_claim(self, claim: Claim, is_stored: bool) -> None:
        if is_stored:
            self._detector.commit(claim)
        else:
            self._detector.release(claim)
        self._summary.count("claims/committed" if is_stored else "claims/released")

    async def spider_closed(self, spider: Spider, reason: str) -> None:
        with ExitStack() as ending:  # whatever fails, the others are closed
            if self._ledger and self._checkpoints:
                ending.callback(self._ledger.close)
                ending.callback(self._checkpoints.close)
            ending.callback(self._texts.close)
            if self._quarantine:
                ending.callback(self._quarantine.close)
            ending.callback(self._pool.close)
            if self.settings.enabled:
                await self._finish(spider, reason)

    async def _finish(self, spider: Spider, reason: str) -> None:
        """Make the last checkpoint, and the reports."""
        if self._checkpoints:
            await self._checkpoints.finish()
        numbers = {
            "spider": spider.name,
            **self._summary.finish(self._detector, self._judge.bodies.nbytes, self._ledger),
        }
        self._table = as_text(numbers, DedupSettings.defaults())
        if self._ledger and self._checkpoints:
            texts = list(self._texts)
            await self._checkpoints.note_end(partial(self._ledger.finish, reason, numbers, texts))
        if folder := self.settings.report:
            try:
                path = write_json(numbers, folder)
                write_html(numbers, self._texts, path.with_suffix(".html"))
            except OSError as error:
                logger.warning("Dedup report could not be written: %s", error)
            else:
                logger.info("Dedup report written to %s and .html", path, extra={"spider": spider})

    def engine_stopped(self) -> None:
        # Not before: Scrapy's dump of all stats would push the table out of sight.
        if self._table:
            logger.info("Dedup report:\n%s", self._table, extra={"spider": self._crawler.spider})

    async def room_for_pages(self) -> None:
        """Wait while many pages wait to be read."""
        await self._judge.backlog.room()

    async def expect_item(self, item: Any, response: Response) -> None:
        """Remember that *item* of *response* is on its way, with the verdict on the page."""
        judged = (
            self._judge.undecided(response)
            if self.settings.item_field
            else await self._judge.of_response(response)
        )
        self._expected.expect(item, response, judged)

    async def holds_back_links(self, response: Response) -> bool:
        """Return whether a link of *response* is not to be followed, and count it."""
        if self.settings.follow_duplicates or not await self._judge.repeats_links(response):
            return False
        self._summary.count("links_held_back")
        return True

    async def carry_out(self, item: Any) -> None:
        """Drop or mark *item* as the verdict says, and fill its fields.

        Raises ExactDuplicate or NearDuplicate to drop it.
        """
        try:
            await self._carry_out(item)
        except DuplicatePage:
            raise
        except Exception:
            self._notices.count_error("an item of %s", type(item).__name__)

    async def _carry_out(self, item: Any) -> None:
        judged = self._expected.take(item)
        if self.settings.item_field:
            judged = await self._judge.of_item(item, judged)
        if judged is None:
            self._summary.count("items/unknown")
            self._notices.tell_once(
                "Items of unknown pages are not judged, such as those from start(), from errbacks, "
                "or replaced by an earlier pipeline; DEDUP_ITEM_FIELD judges any item. One is a %s",
                type(item).__name__,
            )
            return
        verdict = judged.verdict
        if reason := self._reason_to_drop(verdict):
            if self._quarantine and verdict.is_duplicate:
                self._quarantine.add(item, judged.key, verdict)
            self._summary.count("items/dropped")
            raise reason(verdict, self.settings.log_level)
        if self.settings.fields:
            await self._fill(item, judged)
        if self.settings.action == "mark" and verdict.kind is not Kind.SKIPPED:
            self._mark(item, verdict)

    def _reason_to_drop(self, verdict: Verdict) -> type[DuplicatePage] | None:
        if self.settings.action != "drop":
            return None
        if verdict.kind is Kind.UNCHANGED and self.settings.revisits == "keep":
            return None
        return _REASONS.get(verdict.kind)

    async def _fill(self, item: Any, judged: Judged) -> None:
        """Set the fields of *item* that DEDUP_FIELDS names and the spider left empty."""
        response = judged.response() if judged.response else None
        if judged.page and judged.page.text is None and isinstance(response, HtmlResponse):
            try:
                judged.page = await self._judge.bodies.read_again(response)
            except ReadError as error:
                logger.debug("Dedup cannot read <%s> again: %.500s", response.url, error)
                judged.page = None
            self._summary.count("bodies_read_again")
        if judged.page is None:
            return
        for key, field in self.settings.fields.items():
            present = get_field(item, field)
            if not (present is None or (isinstance(present, str) and not present)):
                continue
            if not set_field(item, field, getattr(judged.page, key)):
                self._notices.tell_once("Items cannot hold the field %r of DEDUP_FIELDS", field)

    def _mark(self, item: Any, verdict: Verdict) -> None:
        mark = {
            "verdict": verdict.kind.value,
            "original": verdict.original,
            "distance": verdict.distance,
            "method": verdict.method,
        }
        if set_field(item, MARK_FIELD, mark):
            self._summary.count("items/marked")
        else:
            self._summary.count("items/unmarked")
            self._notices.tell_once(
                "Items of %s cannot be marked: they have no field %r, or are frozen",
                type(item).__name__,
                MARK_FIELD,
            )


_REASONS = {
    Kind.EXACT: ExactDuplicate,
    Kind.NEAR: NearDuplicate,
    Kind.UNCHANGED: UnchangedPage,
}
