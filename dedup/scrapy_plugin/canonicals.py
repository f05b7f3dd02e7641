"""Pages that name another one as their canonical page: they wait for it, and give way to it."""

from collections import defaultdict
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.http import HtmlResponse, Response
from scrapy.utils.response import get_base_url

from dedup.canonical import canonical_of
from dedup.evidence import Objection
from dedup.page import Page
from dedup.preference import are_same_url, canonical
from dedup.record import PageRecord
from dedup.scopes import domain
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.settings import DedupSettings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_MOST_KNOWN = 100_000
"""How many requests are followed on their way, and pages that others call their canonical one."""
_MOST_WAITING = 64
_MOST_TITLES = 2
_SECONDS_BETWEEN_LOOKS = 1.0


def canonical_url(response: Response, page: Page) -> str | None:
    """Return the URL that *page* names as its canonical one, or a Link header of *response*."""
    headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
    base = get_base_url(response) if isinstance(response, HtmlResponse) else response.url
    return canonical_of(page.canonical, base, headers)


def other_canonical(response: Response, page: Page) -> str | None:
    """Return the URL of the other page that *page* of *response* names as canonical, or ``None``.

    Only one of the same registered domain counts.
    """
    url = canonical_url(response, page)
    if url is None or are_same_url(url, response.url):
        return None
    return url if domain(url) == domain(response.url) else None


class Canonicals:
    """Has a page wait for the canonical page that it names, which may be stored in its place.

    A page waits before it claims anything, so nobody waits for it but those that name it; and it
    does not wait for one that waits. It waits while the other one is on its way: from the scheduler
    to its verdict.

    Pages are believed that say themselves of which page they are a copy, as far as is safe. Sites
    make mistakes: a template may name one page for all, most often the home page. So that is never
    believed, nor are more than two pages with other titles or URLs of each page they match.
    """

    def __init__(self, crawler: "Crawler", notices: Notices, settings: DedupSettings) -> None:
        self._crawler = crawler
        self._notices = notices
        self._rule = settings.rule
        # Items are judged by themselves with an item field, and name nothing.
        are_preferred = settings.enabled and canonical in settings.prefer.criteria
        self.are_asked = are_preferred and not settings.item_field
        """Whether anybody asks what pages name as their canonical ones."""
        # By the fingerprints of the requests, the calls to be made when they have ended.
        self._on_their_way: dict[bytes, list[Callable[[], None]]] = {}
        self._waiting: set[bytes] = set()
        # The pages that were believed, by what they match.
        self._believed: defaultdict[str, set[str]] = defaultdict(set)

    def watch(self, scheduler: BaseScheduler) -> None:
        """Follow the requests that *scheduler* takes.

        ``request_scheduled`` is sent before others may refuse the request, such as for its host.
        """
        enqueue = scheduler.enqueue_request

        def enqueue_request(request: Request) -> bool:
            for url in request.meta.get("redirect_urls", ())[-1:]:
                self.request_ends(Request(url))
            is_accepted = enqueue(request)
            has_room = len(self._on_their_way) < _MOST_KNOWN
            if is_accepted and has_room and (key := self._key(request)):
                self._on_their_way.setdefault(key, [])
            return is_accepted

        scheduler.enqueue_request = enqueue_request  # type: ignore[method-assign]

    def request_ends(self, request: Request | None) -> None:
        """The page of *request* is judged, or will never be."""
        if request and self._on_their_way and (key := self._key(request)):
            for call in self._on_their_way.pop(key, ()):
                call()

    async def wait_for(self, url: str, request: Request) -> None:
        """Wait for the page at *url*, which that of *request* names, while it is on its way."""
        page, other = self._key(request), self._key(Request(url))
        if page not in self._on_their_way or other not in self._on_their_way:
            return
        if not limits.WAIT_TIMEOUT or {page, other} & self._waiting:
            return
        if len(self._waiting) >= _MOST_WAITING or self._is_half_full:
            self._notices.count("canonicals/too_many")
            return
        self._notices.count("canonicals/waited")
        self._waiting.add(page)
        try:
            await self._wait(other)
        finally:
            self._waiting.discard(page)

    async def _wait(self, other: bytes) -> None:
        calls, until = self._on_their_way[other], monotonic() + limits.WAIT_TIMEOUT
        while (left := until - monotonic()) > 0:
            await wait_for_call(min(left, _SECONDS_BETWEEN_LOOKS), calls.append)
            # Not whether it was called: the page may end just after a look.
            if self._on_their_way.get(other) is not calls or not self._may_come:
                return
        self._notices.count("canonicals/late")

    @property
    def _is_half_full(self) -> bool:
        """Whether so much waits in the scraper that the download might soon stop for it."""
        engine = self._crawler.engine
        if engine is None or engine.scraper.slot is None:
            return False
        return engine.scraper.slot.active_size > engine.scraper.slot.max_active_size // 2

    @property
    def _may_come(self) -> bool:
        """Whether anything is downloaded now, or will be: not if the crawl is being closed."""
        engine = self._crawler.engine
        if engine is None or engine.scheduler is None or engine.scraper.slot is None:
            return False
        # So much is under way that nothing is fetched; it is more than what waits here.
        is_full = engine.scraper.slot.needs_backout()
        if engine.downloader.active or is_full:
            return True
        return not engine.needs_backout() and engine.scheduler.has_pending_requests()

    def _key(self, request: Request) -> bytes:
        """Return the fingerprint of *request*, b"" if it has none."""
        assert self._crawler.request_fingerprinter
        try:
            return self._crawler.request_fingerprinter.fingerprint(request)
        except Exception:  # of somebody else's
            self._notices.count_error("the fingerprint of the request of <%s>", request.url)
            return b""

    def believe(
        self, record: PageRecord, canonical: str, objection: Objection, original: str
    ) -> bool:
        """Return whether the page of *record* calls its match *original* its *canonical* page.

        *objection* says that the page has another title or URL than that.
        """
        if (
            objection not in (Objection.TITLE, Objection.ADDRESS)
            or not are_same_url(canonical, original)
            or not self._rule.believes(record.witness, canonical, original)
            or len(self._believed) >= _MOST_KNOWN
        ):
            return False
        believed = self._believed[original]
        if len(believed) < _MOST_TITLES:
            believed.add(record.key)
        return record.key in believed
