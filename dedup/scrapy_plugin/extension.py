"""The extension: holds what the middleware and the pipeline share, for the length of a crawl."""

import logging
import sys
from collections.abc import Awaitable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response

from dedup.claims import Claim
from dedup.detector import Detector, Kind, Verdict
from dedup.ledger import LedgerError
from dedup.page import Page, PageReader
from dedup.report import Summary, TextStore, as_text, write_html, write_json
from dedup.scopes import SCOPES
from dedup.scrapy_plugin.awaiting import Backlog, called_within, result_of
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
from dedup.scrapy_plugin.opening import detector_with, open_ledger
from dedup.scrapy_plugin.outcomes import Outcomes
from dedup.scrapy_plugin.quarantine import Quarantine
from dedup.scrapy_plugin.reading import BodyReader, reason_to_skip
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.workers import InlinePool, ReadError, WorkerPool
from dedup.workers.protocol import Task

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

MARK_FIELD = "dedup"
_PAGES_WAITING = 48
_PAGES_WAITING_PER_WORKER = 16


@dataclass(slots=True, eq=False)
class _Judged:
    """A page on its way: its verdict, what was read of it, and its response while there is one."""

    verdict: Verdict
    page: Page | None = None
    key: str = ""
    response: "ref[Response] | None" = None


class Extension:
    """Judges pages and items, carries verdicts out, counts, and reports at the end of the crawl."""

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
        self._backlog = Backlog(_PAGES_WAITING + _PAGES_WAITING_PER_WORKER * settings.workers)
        self._bodies = BodyReader(self._pool, settings.method, self._backlog)
        self._feeds = Feeds(crawler)
        shows_texts = settings.report or (settings.enabled and settings.index)
        self._texts = TextStore(settings.report_texts if shows_texts else 0)
        self._summary = Summary(
            crawler.stats, settings.shown, drops=settings.action == "drop", texts=self._texts
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
        self._scope = SCOPES[settings.scope]
        self.outcomes = Outcomes(self._end_claim)
        self._judged: WeakKeyDictionary[Response, _Judged] = WeakKeyDictionary()
        self._pages: WeakKeyDictionary[Response, Page] = WeakKeyDictionary()
        # All pages read, to tell whose links are repeated: those of pages without items, too, for
        # which no item may be dropped, since they store nothing.
        self._links = Detector(
            settings.method, min_tokens=settings.min_tokens, short_pages=settings.short_pages
        )
        self._held_back: WeakKeyDictionary[Response, bool] = WeakKeyDictionary()
        self._expected: ExpectedItems[_Judged] = ExpectedItems()
        self._components: set[str] = set()
        self._told: set[str] = set()
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
                    "%s is overwritten, and %s knows %d pages that are not stored again while they "
                    "are unchanged", path, self._ledger.path, len(self._detector),
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
                self._tell_once("The ledger is not written: %s", error)

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
            **self._summary.finish(self._detector, self._bodies.nbytes, self._ledger),
        }
        self._table = as_text(numbers)
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
        await self._backlog.room()

    async def expect_item(self, item: Any, response: Response) -> None:
        """Remember that *item* of *response* is on its way, with the verdict on the page."""
        if self.settings.item_field:
            judged = self._judged.get(response)
            if judged is None:
                judged = self._judged[response] = _Judged(_UNDECIDED, response=ref(response))
        else:
            judged = await self._judge_response(response)
        self._expected.expect(item, response, judged)

    async def holds_back_links(self, response: Response) -> bool:
        """Return whether a link of *response* is not to be followed, and count it."""
        if self.settings.follow_duplicates:
            return False
        if response not in self._held_back:
            await self._kept_on_failure(self._read_for_links(response), response.url)
        held_back = self._held_back.setdefault(response, False)
        if held_back:
            self._summary.count("links_held_back")
        return held_back

    async def _read_for_links(self, response: Response) -> _Judged:
        if not self.settings.enabled or _is_switched_off(response):
            return _Judged(self._detector.skipped("switched_off"))
        if reason := reason_to_skip(response, self.settings.max_page_bytes):
            return _Judged(self._detector.skipped(reason))
        return _Judged(_UNDECIDED, await self._read(response))

    async def carry_out(self, item: Any) -> None:
        """Drop or mark *item* as the verdict says, and fill its fields.

        Raises ExactDuplicate or NearDuplicate to drop it.
        """
        try:
            await self._carry_out(item)
        except DuplicatePage:
            raise
        except Exception:
            self._count_error("an item of %s", type(item).__name__)

    async def _carry_out(self, item: Any) -> None:
        judged = self._expected.take(item)
        if self.settings.item_field:
            judged = await self._judge_item(item, judged)
        if judged is None:
            self._summary.count("items/unknown")
            self._tell_once(
                "Items of unknown pages are not judged, such as those from start(), from errbacks, "
                "or replaced by an earlier pipeline; DEDUP_ITEM_FIELD judges any item. One is a %s",
                type(item).__name__,
            )
            return
        verdict = judged.verdict
        if reason := self._reason_to_drop(verdict):
            if self._quarantine:
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

    async def _judge_response(self, response: Response) -> _Judged:
        judged = self._judged.get(response)
        if judged is None:
            judged = await self._kept_on_failure(self._read_and_judge(response), response.url)
            judged.response, judged.key = ref(response), response.url
            self._judged[response] = judged
            self._summary.record(
                judged.verdict,
                response.url,
                len(response.body),
                judged.page,
                self._scope(response.url),
            )
        return judged

    async def _read_and_judge(self, response: Response) -> _Judged:
        switched_off = not self.settings.enabled or _is_switched_off(response)
        if switched_off and not self.settings.fields:
            return _Judged(self._detector.skipped("switched_off"))
        if reason := reason_to_skip(response, self.settings.max_page_bytes):
            return _Judged(self._detector.skipped(reason))
        page = await self._read(response)
        if switched_off:
            return _Judged(self._detector.skipped("switched_off"), page)
        verdict, claim = await self._judge(response.url, page)
        if claim:
            self.outcomes.claimed(claim, response)
        return _Judged(verdict, page)

    async def _read(self, response: Response) -> Page:
        page = self._pages.get(response)
        if page is None:
            assert isinstance(response, HtmlResponse)
            start = perf_counter()
            page, repeated = await self._bodies.read(response)
            self._count_reading(page, repeated, perf_counter() - start)
            self._pages[response] = page
            if not self.settings.follow_duplicates:
                verdict = self._links.judge(response.url, page, self._scope(response.url))
                self._held_back[response] = verdict.is_duplicate
        return page

    async def _judge_item(self, item: Any, of_page: _Judged | None) -> _Judged:
        response = of_page.response() if of_page and of_page.response else None
        url = get_field(item, "url")
        key = url if isinstance(url, str) and url else (response.url if response else "")
        value = get_field(item, self.settings.item_field or "")
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            value = "\n".join(value)  # as item loaders leave it
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
        if response is not None and _is_switched_off(response):
            judged = _Judged(self._detector.skipped("switched_off"))
        elif content is None:
            judged = _Judged(self._detector.skipped("no_field"))
            self._tell_once(
                "Items without text in the field %r (DEDUP_ITEM_FIELD) are not judged. One is a %s",
                self.settings.item_field,
                type(item).__name__,
            )
        elif len(content) > self.settings.max_page_bytes:
            judged = _Judged(self._detector.skipped("too_big"))
        else:
            judging = self._read_and_judge_field(value, key, item, response)
            judged = await self._kept_on_failure(judging, key)
        judged.key = key
        self._summary.record(
            judged.verdict, key, len(content or b""), judged.page, self._scope(key)
        )
        return judged

    async def _read_and_judge_field(
        self, value: str, key: str, item: Any, response: Response | None
    ) -> _Judged:
        start = perf_counter()
        with self._backlog.one_more():
            page = await result_of(self._pool.submit(Task("field", value)))
        self._count_reading(page, False, perf_counter() - start)
        verdict, claim = await self._judge(key, page)
        if claim:
            self.outcomes.claimed(claim, response, item)
        return _Judged(verdict, page)

    async def _judge(self, key: str, page: Page) -> tuple[Verdict, Claim | None]:
        """Return the verdict and, if the page is new, the claim on its content.

        While a near page is being stored, wait for what becomes of it.
        """
        self._begin()
        begin = monotonic()
        while True:
            start = perf_counter()
            verdict, claim = self._detector.reserve(key, page, self._scope(key))
            self._summary.record_time("index", perf_counter() - start)
            if verdict:
                return verdict, claim
            assert claim
            left = self.settings.wait_timeout - (monotonic() - begin)
            if left <= 0:
                return self._detector.skipped("unresolved"), None
            self._summary.count("claims/waited")
            await called_within(left, claim.when_ended)

    async def _kept_on_failure(self, judging: Awaitable[_Judged], key: str) -> _Judged:
        """Return what *judging* gives; if it fails, a verdict that keeps the item.

        Dedup must never lose an item, or a page's other items, by its own fault.
        """
        try:
            return await judging
        except ReadError as error:
            self._summary.count(f"unread/{error.cause}")
            logger.debug("Dedup cannot read <%s> (%s): %.500s", key, error.cause, error)
            self._tell_once(f"A page cannot be read ({error.cause}): <%s>: %.500s", key, error)
            return _Judged(self._detector.skipped("extraction_failed"))
        except Exception:
            self._count_error("<%s>", key)
            return _Judged(self._detector.skipped("error"))

    def _count_reading(self, page: Page, repeated: bool, waited: float) -> None:
        if repeated:
            self._summary.count("bodies_repeated")
            self._summary.count("seconds_saved", sum(page.seconds.values()))
            return
        for stage, seconds in page.seconds.items():
            self._summary.record_time(stage, seconds)
        self._summary.record_time("waiting", waited - sum(page.seconds.values()))

    async def _fill(self, item: Any, judged: _Judged) -> None:
        """Set the fields of *item* that DEDUP_FIELDS names and the spider left empty."""
        response = judged.response() if judged.response else None
        if judged.page and judged.page.text is None and isinstance(response, HtmlResponse):
            try:
                judged.page = await self._bodies.read_again(response)
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
                self._tell_once("Items cannot hold the field %r of DEDUP_FIELDS", field)

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
            self._tell_once(
                "Items of %s cannot be marked: they have no field %r, or are frozen",
                type(item).__name__,
                MARK_FIELD,
            )

    def _count_error(self, what: str, name: str) -> None:
        """Count the exception being handled, a fault of ours, and log the first of its type."""
        self._summary.count("errors")
        error = type(sys.exception()).__name__
        if error not in self._told:
            self._told.add(error)
            logger.exception(f"Dedup failed on {what}; the item is kept", name)

    def _tell_once(self, message: str, *arguments: Any) -> None:
        if message not in self._told:
            self._told.add(message)
            logger.warning(message, *arguments)


_REASONS = {
    Kind.EXACT: ExactDuplicate,
    Kind.NEAR: NearDuplicate,
    Kind.UNCHANGED: UnchangedPage,
}
_UNDECIDED = Verdict(Kind.SKIPPED, "", reason="undecided")


def _is_switched_off(response: Response) -> bool:
    return response.meta.get("dedup", True) is False
