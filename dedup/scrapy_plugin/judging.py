"""Responses and items -> verdicts, whatever happens."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import Any
from weakref import WeakKeyDictionary, ref

from scrapy.http import HtmlResponse, Response

from dedup.claims import Claim
from dedup.detector import Detector, Kind, Verdict
from dedup.page import Page
from dedup.report import Summary
from dedup.scopes import SCOPES
from dedup.scrapy_plugin.awaiting import Backlog, called_within, result_of
from dedup.scrapy_plugin.items import get_field
from dedup.scrapy_plugin.logs import logger_named
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.outcomes import Outcomes
from dedup.scrapy_plugin.reading import BodyReader, reason_to_skip
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.workers import Pool, ReadError
from dedup.workers.protocol import Task

logger = logger_named(__name__)

_PAGES_WAITING = 48
_PAGES_WAITING_PER_WORKER = 16


@dataclass(slots=True, eq=False)
class Judged:
    """A page on its way: its verdict, what was read of it, and its response while there is one."""

    verdict: Verdict
    page: Page | None = None
    key: str = ""
    response: "ref[Response] | None" = None


class Judge:
    """Gives each response one verdict, or each item where items are judged by themselves.

    What fails in dedup itself is a verdict that keeps the item.
    """

    def __init__(
        self,
        settings: DedupSettings,
        pool: Pool,
        detector: Detector,
        summary: Summary,
        outcomes: Outcomes,
        notices: Notices,
        begin: Callable[[], object],
    ) -> None:
        """Create it; *begin* is called before each page is compared."""
        self._settings = settings
        self._pool = pool
        self._detector = detector
        self._summary = summary
        self._outcomes = outcomes
        self._notices = notices
        self._begin = begin
        self._scope = SCOPES[settings.scope]
        self.backlog = Backlog(_PAGES_WAITING + _PAGES_WAITING_PER_WORKER * settings.workers)
        self.bodies = BodyReader(pool, settings.method, self.backlog)
        self._judged: WeakKeyDictionary[Response, Judged] = WeakKeyDictionary()
        self._pages: WeakKeyDictionary[Response, Page] = WeakKeyDictionary()
        # All pages read, to tell whose links are repeated: those of pages without items, too, for
        # which no item may be dropped, since they store nothing.
        self._links = Detector(
            settings.method, min_tokens=settings.min_tokens, short_pages=settings.short_pages
        )
        self._held_back: WeakKeyDictionary[Response, bool] = WeakKeyDictionary()

    def __len__(self) -> int:
        """Return the number of responses that are still there."""
        return len(self._judged)

    def undecided(self, response: Response) -> Judged:
        """Return what stands for *response* where its items are judged by themselves."""
        judged = self._judged.get(response)
        if judged is None:
            judged = self._judged[response] = Judged(_UNDECIDED, response=ref(response))
        return judged

    async def repeats_links(self, response: Response) -> bool:
        """Return whether the links of *response* are those of a page that was read before."""
        if response not in self._held_back:
            await self._kept_on_failure(self._read_for_links(response), response.url)
        return self._held_back.setdefault(response, False)

    async def _read_for_links(self, response: Response) -> Judged:
        if not self._settings.enabled or _is_switched_off(response):
            return Judged(self._detector.skipped("switched_off"))
        if reason := reason_to_skip(response, self._settings.max_page_bytes):
            return Judged(self._detector.skipped(reason))
        return Judged(_UNDECIDED, await self._read(response))

    async def of_response(self, response: Response) -> Judged:
        """Return the verdict on the page of *response*, the same one each time."""
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

    async def _read_and_judge(self, response: Response) -> Judged:
        switched_off = not self._settings.enabled or _is_switched_off(response)
        if switched_off and not self._settings.fields:
            return Judged(self._detector.skipped("switched_off"))
        if reason := reason_to_skip(response, self._settings.max_page_bytes):
            return Judged(self._detector.skipped(reason))
        page = await self._read(response)
        if switched_off:
            return Judged(self._detector.skipped("switched_off"), page)
        verdict, claim = await self._judge(response.url, page)
        if claim:
            self._outcomes.claimed(claim, response)
        return Judged(verdict, page)

    async def _read(self, response: Response) -> Page:
        page = self._pages.get(response)
        if page is None:
            assert isinstance(response, HtmlResponse)
            start = perf_counter()
            page, repeated = await self.bodies.read(response)
            self._count_reading(page, repeated, perf_counter() - start)
            self._pages[response] = page
            if not self._settings.follow_duplicates:
                verdict = self._links.judge(response.url, page, self._scope(response.url))
                self._held_back[response] = verdict.is_duplicate
        return page

    async def of_item(self, item: Any, of_page: Judged | None) -> Judged:
        """Return the verdict on *item* by its own field; *of_page*: what stands for its page."""
        response = of_page.response() if of_page and of_page.response else None
        url = get_field(item, "url")
        key = url if isinstance(url, str) and url else (response.url if response else "")
        value = get_field(item, self._settings.item_field or "")
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            value = "\n".join(value)  # as item loaders leave it
        content = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else None
        if response is not None and _is_switched_off(response):
            judged = Judged(self._detector.skipped("switched_off"))
        elif content is None:
            judged = Judged(self._detector.skipped("no_field"))
            self._notices.tell_once(
                "Items without text in the field %r (DEDUP_ITEM_FIELD) are not judged. One is a %s",
                self._settings.item_field,
                type(item).__name__,
            )
        elif len(content) > self._settings.max_page_bytes:
            judged = Judged(self._detector.skipped("too_big"))
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
    ) -> Judged:
        start = perf_counter()
        with self.backlog.one_more():
            page = await result_of(self._pool.submit(Task("field", value)))
        self._count_reading(page, False, perf_counter() - start)
        verdict, claim = await self._judge(key, page)
        if claim:
            self._outcomes.claimed(claim, response, item)
        return Judged(verdict, page)

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
            left = self._settings.wait_timeout - (monotonic() - begin)
            if left <= 0:
                return self._detector.skipped("unresolved"), None
            self._summary.count("claims/waited")
            await called_within(left, claim.when_ended)

    async def _kept_on_failure(self, judging: Awaitable[Judged], key: str) -> Judged:
        """Return what *judging* gives; if it fails, a verdict that keeps the item.

        Dedup must never lose an item, or a page's other items, by its own fault.
        """
        try:
            return await judging
        except ReadError as error:
            self._summary.count(f"unread/{error.cause}")
            logger.debug("Dedup cannot read <%s> (%s): %.500s", key, error.cause, error)
            self._notices.tell_once(
                f"A page cannot be read ({error.cause}): <%s>: %.500s", key, error
            )
            return Judged(self._detector.skipped("extraction_failed"))
        except Exception:
            self._notices.count_error("<%s>", key)
            return Judged(self._detector.skipped("error"))

    def _count_reading(self, page: Page, repeated: bool, waited: float) -> None:
        if repeated:
            self._summary.count("bodies_repeated")
            self._summary.count("seconds_saved", sum(page.seconds.values()))
            return
        for stage, seconds in page.seconds.items():
            self._summary.record_time(stage, seconds)
        self._summary.record_time("waiting", waited - sum(page.seconds.values()))


_UNDECIDED = Verdict(Kind.SKIPPED, "", reason="undecided")


def _is_switched_off(response: Response) -> bool:
    return response.meta.get("dedup", True) is False
