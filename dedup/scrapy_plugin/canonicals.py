"""Pages that name another one as their canonical page: they wait for it, and give way to it."""

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.utils.response import get_base_url

from dedup.canonical import canonical_of
from dedup.preference import are_same_url
from dedup.scopes import domain
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.notices import Notices

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_MOST_KNOWN = 100_000
"""How many requests are followed on their way."""
_MOST_WAITING = 64
_SECONDS_BETWEEN_LOOKS = 1.0


def canonical_url(response: Response) -> str | None:
    """Return the URL that *response* names as its canonical one, in its head or a Link header."""
    headers = [value.decode("latin-1") for value in response.headers.getlist("Link")]
    html, base = "", response.url
    if isinstance(response, HtmlResponse):
        html, base = response.text, get_base_url(response)
    return canonical_of(html, base, headers)


class Canonicals:
    """Has a page wait for the canonical page that it names, which may be stored in its place.

    A page waits before it claims anything, so nobody waits for it but those that name it; and it
    does not wait for one that waits for itself. It waits while the other one is on its way: from
    the scheduler to its verdict.
    """

    def __init__(
        self,
        crawler: "Crawler",
        notices: Notices,
        *,
        timeout: float,
        count: Callable[[str], object],
    ) -> None:
        """Create it; *timeout*: seconds. *count* is called with the names of counters."""
        self._crawler = crawler
        self._notices = notices
        self._timeout = timeout
        self._count = count
        self._most_bytes = crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE") // 2
        # By the fingerprints of their requests.
        self._on_their_way: set[bytes] = set()
        self._arrived: set[bytes] = set()
        self._waiting: dict[bytes, bytes] = {}
        self._bytes_waiting = 0
        self._to_call: dict[bytes, list[Callable[[], None]]] = {}

    @staticmethod
    def named_by(response: Response) -> str | None:
        """Return the URL of the other page that *response* names as canonical, or ``None``.

        Only one of the same registered domain counts.
        """
        url = canonical_url(response)
        if url is None or are_same_url(url, response.url):
            return None
        return url if domain(url) == domain(response.url) else None

    def request_comes(self, request: Request, is_accepted: bool) -> None:
        """*request* has come to the scheduler, which takes it, or filters it."""
        for url in request.meta.get("redirect_urls", ())[-1:]:
            self.request_ends(Request(url))
        if is_accepted and len(self._on_their_way) < _MOST_KNOWN and (key := self._key(request)):
            self._on_their_way.add(key)

    def response_arrives(self, response: Response) -> None:
        """The callback of *response* is about to run."""
        key = response.request and self._key(response.request)
        if key in self._on_their_way:
            assert key
            self._arrived.add(key)

    def request_ends(self, request: Request | None) -> None:
        """The page of *request* is judged, or will never be."""
        if request is None or not self._on_their_way:
            return
        key = self._key(request)
        if key in self._on_their_way:
            assert key
            self._on_their_way.discard(key)
            self._arrived.discard(key)
            for call in self._to_call.pop(key, ()):
                call()

    async def wait_for(self, url: str, response: Response) -> None:
        """Wait for the page at *url*, which *response* names, while it is on its way."""
        page = response.request and self._key(response.request)
        canonical = self._key(Request(url))
        size = max(len(response.body), 1024)
        if not (self._timeout and page and canonical in self._on_their_way):
            return
        assert canonical
        if page in self._waiting or self._waits_for(canonical, page):
            return
        if len(self._waiting) >= _MOST_WAITING or self._bytes_waiting + size > self._most_bytes:
            self._count("canonicals/too_many")
            return
        self._count("canonicals/waited")
        self._waiting[page] = canonical
        self._bytes_waiting += size
        try:
            await self._wait(canonical)
        finally:
            self._bytes_waiting -= size
            del self._waiting[page]

    def _waits_for(self, waiting: bytes, page: bytes) -> bool:
        """Return whether *waiting* is *page*, or waits for it, maybe by way of others."""
        while waiting != page and waiting in self._waiting:
            waiting = self._waiting[waiting]
        return waiting == page

    async def _wait(self, canonical: bytes) -> None:
        begin = monotonic()
        while canonical in self._on_their_way:
            left = self._timeout - (monotonic() - begin)
            if left <= 0:
                self._count("canonicals/late")
                return
            calls = self._to_call.setdefault(canonical, [])
            await wait_for_call(min(left, _SECONDS_BETWEEN_LOOKS), calls.append)
            if canonical not in self._arrived and not self._may_come:
                return

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

    def _key(self, request: Request) -> bytes | None:
        assert self._crawler.request_fingerprinter
        try:
            return self._crawler.request_fingerprinter.fingerprint(request)
        except Exception:  # of somebody else's
            self._notices.count_error("the fingerprint of the request of <%s>", request.url)
            return None
