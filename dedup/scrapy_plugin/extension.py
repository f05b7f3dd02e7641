"""The extension: holds what the middleware and the pipeline share, for the length of a crawl."""

import json
import logging
from collections.abc import Awaitable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.http import HtmlResponse, Response

from dedup.detector import Detector, Kind, Verdict
from dedup.page import Page, PageReader
from dedup.report import Summary, as_text
from dedup.scopes import SCOPES
from dedup.scrapy_plugin.awaiting import result_of
from dedup.scrapy_plugin.exceptions import ExactDuplicate, NearDuplicate
from dedup.scrapy_plugin.items import get_field, set_field
from dedup.scrapy_plugin.reading import BodyReader, reason_to_skip
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.workers import InlinePool, ReadError, WorkerPool
from dedup.workers.protocol import Task

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

MARK_FIELD = "dedup"


@dataclass(slots=True)
class _Judged:
    """The verdict on a response, and its page where there is one."""

    verdict: Verdict
    page: Page | None = None


@dataclass(slots=True)
class _Expected:
    """An item on its way to the pipeline. The reference keeps its identity from being reused."""

    item: Any
    response: Response
    judged: _Judged | None
    times: int = 1


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
        self._bodies = BodyReader(self._pool, settings.method)
        self._detector = Detector(
            settings.method, min_tokens=settings.min_tokens, short_pages=settings.short_pages
        )
        self._scope = SCOPES[settings.scope]
        self._summary = Summary(crawler.stats, settings.shown)
        self._judged: WeakKeyDictionary[Response, _Judged] = WeakKeyDictionary()
        self._expected: dict[int, _Expected] = {}
        self._warned: set[str] = set()
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
        return extension

    @classmethod
    def of(cls, crawler: "Crawler") -> "Extension":
        """Return the extension of *crawler*, for the other components.

        Raises NotConfigured if dedup is switched off, ValueError if the extension is missing.
        """
        if extension := crawler.get_extension(cls):
            return extension
        if DedupSettings.from_settings(crawler.settings).enabled:
            raise ValueError("EXTENSIONS lacks dedup.scrapy_plugin.Extension")
        raise NotConfigured

    def spider_opened(self) -> None:
        self._pool.start()

    def spider_closed(self, spider: Spider) -> None:
        self._pool.close()
        if not self.settings.enabled:
            return
        numbers = {
            "spider": spider.name,
            **self._summary.finish(self._detector, self._bodies.nbytes),
        }
        self._table = as_text(numbers)
        if folder := self.settings.report:
            started = numbers["started"].replace("+00:00", "Z").replace(":", "")
            path = folder / f"{spider.name}-{started}.json"
            text = json.dumps(numbers, ensure_ascii=False, indent=1, default=str)
            try:
                path.write_text(text, encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                logger.warning("Dedup report could not be written to %s: %s", path, error)
            else:
                logger.info("Dedup report written to %s", path, extra={"spider": spider})

    def engine_stopped(self) -> None:
        # Not before: Scrapy's dump of all stats would push the table out of sight.
        if self._table:
            logger.info("Dedup report:\n%s", self._table, extra={"spider": self._crawler.spider})

    async def expect_item(self, item: Any, response: Response) -> None:
        """Remember that *item* of *response* is on its way, with the verdict on the page."""
        judged = None if self.settings.item_field else await self._judge_response(response)
        expected = self._expected.get(id(item))
        if expected is None:
            self._expected[id(item)] = _Expected(item, response, judged)
        else:
            expected.response, expected.judged = response, judged
            expected.times += 1

    async def holds_back_links(self, response: Response) -> bool:
        """Return whether a link of *response* is not to be followed, and count it."""
        if self.settings.follow_duplicates:
            return False
        held_back = (await self._judge_response(response)).verdict.is_duplicate
        if held_back:
            self._summary.count("links_held_back")
        return held_back

    async def carry_out(self, item: Any) -> None:
        """Drop or mark *item* as the verdict says, and fill its fields.

        Raises ExactDuplicate or NearDuplicate to drop it.
        """
        expected = self._take_expected(item)
        if self.settings.item_field:
            verdict = await self._judge_item(item, expected.response if expected else None)
            page = None
        elif expected and expected.judged:
            verdict, page = expected.judged.verdict, expected.judged.page
        else:
            self._summary.count("items/unknown")
            self._warn_once(
                "Items of unknown pages are not judged, such as those from start(), from errbacks, "
                "or replaced by an earlier pipeline; DEDUP_ITEM_FIELD judges any item. One: %.200r",
                item,
            )
            return
        if verdict.is_duplicate and self.settings.action == "drop":
            self._summary.count("items/dropped")
            duplicate = ExactDuplicate if verdict.kind is Kind.EXACT else NearDuplicate
            raise duplicate(verdict, self.settings.log_level)
        if self.settings.fields and page and expected:
            await self._fill(item, page, expected.response)
        if self.settings.action == "mark" and verdict.kind is not Kind.SKIPPED:
            self._mark(item, verdict)

    def _take_expected(self, item: Any) -> _Expected | None:
        expected = self._expected.get(id(item))
        if expected is not None:
            expected.times -= 1
            if not expected.times:
                del self._expected[id(item)]
        return expected

    async def _judge_response(self, response: Response) -> _Judged:
        judged = self._judged.get(response)
        if judged is None:
            judged = await self._kept_on_failure(self._read_and_judge(response), response.url)
            self._judged[response] = judged
            self._summary.record(judged.verdict, response.url, len(response.body))
        return judged

    async def _read_and_judge(self, response: Response) -> _Judged:
        switched_off = not self.settings.enabled or response.meta.get("dedup", True) is False
        if switched_off and not self.settings.fields:
            return _Judged(self._detector.skipped("switched_off"))
        if reason := reason_to_skip(response, self.settings.max_page_bytes):
            return _Judged(self._detector.skipped(reason))
        assert isinstance(response, HtmlResponse)
        start = perf_counter()
        page, repeated = await self._bodies.read(response)
        self._count_reading(page, repeated, perf_counter() - start)
        if switched_off:
            return _Judged(self._detector.skipped("switched_off"), page)
        return _Judged(self._judge(response.url, page), page)

    async def _judge_item(self, item: Any, response: Response | None) -> Verdict:
        key = str(get_field(item, "url") or (response.url if response else ""))
        if response is not None and response.meta.get("dedup", True) is False:
            judged = _Judged(self._detector.skipped("switched_off"))
        else:
            judged = await self._kept_on_failure(self._read_and_judge_field(item, key), key)
        value = get_field(item, self.settings.item_field or "")
        size = len(value.encode("utf-8", "replace")) if isinstance(value, str) else 0
        self._summary.record(judged.verdict, key, size)
        return judged.verdict

    async def _read_and_judge_field(self, item: Any, key: str) -> _Judged:
        value = get_field(item, self.settings.item_field or "")
        if not isinstance(value, str):
            return _Judged(self._detector.skipped("no_field"))
        if len(value) > self.settings.max_page_bytes:
            return _Judged(self._detector.skipped("too_big"))
        start = perf_counter()
        page = await result_of(self._pool.submit(Task("field", value)))
        self._count_reading(page, False, perf_counter() - start)
        return _Judged(self._judge(key, page), page)

    def _judge(self, key: str, page: Page) -> Verdict:
        start = perf_counter()
        verdict = self._detector.judge(key, page, self._scope(key))
        self._summary.record_time("index", perf_counter() - start)
        return verdict

    async def _kept_on_failure(self, judging: Awaitable[_Judged], url: str) -> _Judged:
        """Return what *judging* gives; if it fails, a verdict that keeps the item.

        The one place where any error of ours ends: dedup must never lose an item, or a page's
        other items, by its own fault.
        """
        try:
            return await judging
        except ReadError as error:
            self._summary.count(f"unread/{error.cause}")
            logger.debug("Dedup cannot read <%s>: %s", url, error)
            if error.cause == "start":
                self._warn_once("Dedup judges nothing: %s", error)
            return _Judged(self._detector.skipped("extraction_failed"))
        except Exception as error:
            self._summary.count("errors")
            if type(error).__name__ not in self._warned:
                self._warned.add(type(error).__name__)
                logger.exception("Dedup failed on <%s>; its items are kept", url)
            return _Judged(self._detector.skipped("error"))

    def _count_reading(self, page: Page, repeated: bool, waited: float) -> None:
        if repeated:
            self._summary.count("bodies_repeated")
            self._summary.count("seconds_saved", sum(page.seconds.values()))
            return
        for stage, seconds in page.seconds.items():
            self._summary.record_time(stage, seconds)
        self._summary.record_time("waiting", waited - sum(page.seconds.values()))

    async def _fill(self, item: Any, page: Page, response: Response) -> None:
        """Set the fields of *item* that DEDUP_FIELDS names and the spider left empty."""
        if page.text is None and isinstance(response, HtmlResponse):
            try:
                page = await self._bodies.read_again(response)
            except ReadError as error:
                logger.debug("Dedup cannot read <%s> again: %s", response.url, error)
                return
        for key, field in self.settings.fields.items():
            value = getattr(page, key)
            if not get_field(item, field) and not set_field(item, field, value):
                self._warn_once("Items cannot hold the field %r of DEDUP_FIELDS", field)

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
            self._warn_once(
                "Items of %s cannot be marked: they have no field %r, or are frozen",
                type(item).__name__,
                MARK_FIELD,
            )

    def _warn_once(self, message: str, *arguments: Any) -> None:
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message, *arguments)
