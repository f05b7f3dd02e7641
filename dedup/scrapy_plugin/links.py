"""Links of duplicates, which need not be followed (DEDUP_FOLLOW_DUPLICATES = False)."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler
from scrapy.http import Response
from scrapy.utils.asyncio import call_later

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.rule import Kind
from dedup.scrapy_plugin.bodies import reason_not_to_read
from dedup.scrapy_plugin.gone import GoneResponses
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.plain_requests import is_plain_link
from dedup.scrapy_plugin.response_pages import ResponsePages
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.visits import Visit
from dedup.scrapy_plugin.wishes import wishes_of
from dedup.workers.base import ReadError

_HAVE_LINKS_ALREADY = (Kind.EXACT, Kind.NEAR, Kind.REPEATED)
_OWN_HOST = "page.invalid"
_BYTES_OF_LINKS = 1 << 25
_BYTES_BESIDES = 256  # of a page: its URL and what Python takes


class FollowedLinks:
    """The links of pages, 8 bytes each, of which those of the oldest pages are forgotten."""

    def __init__(self, most_bytes: int = _BYTES_OF_LINKS) -> None:
        self._most_bytes = most_bytes
        self._nbytes = 0
        self._links: dict[str, array[int]] = {}

    def keep(self, page: str, links: Collection[int]) -> None:
        """Remember the *links* of the page with this URL, in place of those that it had."""
        self._forget(page)
        self._links[page] = kept = array("Q", sorted(links))
        self._nbytes += _bytes_of(kept)
        while self._nbytes > self._most_bytes:
            self._forget(next(iter(self._links)))

    def has(self, page: str, link: int) -> bool:
        """Return whether that page is known to have had *link*."""
        links = self._links.get(page, ())
        place = bisect_left(links, link)
        return place < len(links) and links[place] == link

    def _forget(self, page: str) -> None:
        if (links := self._links.pop(page, None)) is not None:
            self._nbytes -= _bytes_of(links)


def _bytes_of(links: "array[int]") -> int:
    return _BYTES_BESIDES + links.itemsize * len(links)


@dataclass(slots=True, eq=False)
class _PageLinks:
    """The links of one response on their way to the scheduler."""

    original: str | None = None
    """The page whose text this one repeats, if it does."""
    claim: Claim | None = None
    under_way: int = 0
    accepted: set[int] = field(default_factory=set)
    """Those that have come to the scheduler."""
    has_ended: bool = False
    has_failed: bool = False


class Links:
    """Says which links are those of a page that was read before, also of pages without items.

    A list may have one text on all of its pages, which lead to each other. So a link of a copy is
    held back only if the other page has led to the same: with the same path, query, method, body
    and callback, on its own host if the copy does so, else on the same host.

    A page has its links for itself once its callback has ended without an exception, and at least
    one of them has come to the scheduler; what is near it waits until then. If it does not come to
    that, the links of the next one are followed.
    """

    def __init__(
        self,
        settings: DedupSettings,
        pages: ResponsePages,
        notices: Notices,
        fingerprint: Callable[[Request], bytes],
    ) -> None:
        """Create it; requests with equal results of *fingerprint* ask for the same."""
        self._fingerprint = fingerprint
        self._settings = settings
        self._pages = pages
        self._notices = notices
        self._gone = GoneResponses()
        self._links: WeakKeyDictionary[Response, _PageLinks] = WeakKeyDictionary()
        self._requests: WeakKeyDictionary[Request, tuple[_PageLinks, int]] = WeakKeyDictionary()
        self._followed = FollowedLinks()
        self._detector = Detector(settings.method, settings.rule)
        self._holders: dict[Claim, Visit] = {}

    async def hold_back(
        self, request: Request, response: Response, visit: Visit, may_wait: Callable[[], bool]
    ) -> bool:
        """Return whether *request*, a link of *response*, is not to be followed.

        One that hands on a value is more than a link: the items that are made with it may differ.
        *visit* is that of *response*; if it must not wait for others now, its links are followed.
        """
        # Nor is it known what is shown to whom.
        if not is_plain_link(request) or request.cookies:
            return False
        links = self._links.get(response)
        if links is None:
            links = _PageLinks()
            try:
                await self._decide(links, response, visit, may_wait)
            except ReadError:  # which is told of where its items are judged
                pass
            except Exception:
                self._notices.count_error("the links of <%s>", response.url)
            self._links[response] = links
            self._gone.when_gone(response, self._response_is_gone, links)
        if links.original is None and links.claim is None:
            return False
        link = self._link(request, response)
        if links.original is not None:
            return self._followed.has(links.original, link)
        links.under_way += 1
        self._requests[request] = links, link
        return False

    def _link(self, request: Request, response: Response) -> int:
        """Return what stands for *request*, a link of *response*: 64 bits."""
        url = urlsplit(request.url)
        if url.netloc == urlsplit(response.url).netloc:
            url = url._replace(scheme="http", netloc=_OWN_HOST)
        asked = Request(
            url.geturl(),
            method=request.method,
            headers=request.headers,
            body=request.body,
            meta=request.meta,
        )
        callback = getattr(request.callback, "__qualname__", "")
        digest = blake2b(self._fingerprint(asked) + callback.encode(), digest_size=8)
        return int.from_bytes(digest.digest(), "big")

    async def _decide(
        self, links: _PageLinks, response: Response, visit: Visit, may_wait: Callable[[], bool]
    ) -> None:
        if not (self._settings.enabled and wishes_of(response, self._notices).is_on):
            return
        if reason_not_to_read(response, self._settings.max_page_bytes):
            return
        page = await self._pages.read(response)
        scope = self._settings.scope.name_of(response.url, page.language)
        if scope is None:
            return
        record = page.record.under(response.url, scope)
        while True:
            verdict, claim, _ = await self._detector.reserve(record)
            if verdict:
                self._detector.learn_names(record)
                if verdict.kind in _HAVE_LINKS_ALREADY:
                    links.original = verdict.original
                links.claim = claim
                if claim:
                    self._holders[claim] = visit
                    claim.when_ended(partial(self._holders.pop, claim))
                return
            assert claim
            holder = self._holders[claim]
            if holder.ends_after(visit) or not may_wait():
                return
            visit.waits_for.append(holder)
            try:
                timeout = self._settings.wait_timeout
                has_ended = await self._gone.wait_for_call(timeout, claim.when_ended)
            finally:
                visit.waits_for.remove(holder)
            if not has_ended:
                return

    def output_ends(self, response: Response, *, failed: bool) -> None:
        """The output of the callback for *response* has ended; *failed*: with an exception."""
        if links := self._links.get(response):
            links.has_ended = True
            links.has_failed |= failed
            self._settle(links)

    def watch(self, scheduler: BaseScheduler) -> None:
        """Note from now on which requests come to *scheduler*, also those that it then filters."""
        enqueue: Callable[[Request], bool] = scheduler.enqueue_request

        def enqueue_request(request: Request) -> bool:
            if known := self._requests.get(request):
                links, link = known
                links.accepted.add(link)
            return enqueue(request)

        scheduler.enqueue_request = enqueue_request  # type: ignore[method-assign]  # no signal tells

    def request_scheduled(self, request: Request) -> None:
        """*request* is on its way to the scheduler, where it comes at once, or never."""
        if request in self._requests:
            call_later(0, self._request_is_there, request)

    def _request_is_there(self, request: Request) -> None:
        if known := self._requests.pop(request, None):
            links, _ = known
            links.under_way -= 1
            self._settle(links)

    def _settle(self, links: _PageLinks) -> None:
        if links.has_ended and not links.under_way:
            self._end(links, bool(links.accepted) and not links.has_failed)

    def _response_is_gone(self, links: _PageLinks) -> None:
        self._end(links, False)

    def _end(self, links: _PageLinks, are_followed: bool) -> None:
        if not (links.claim and links.claim.is_open):
            return
        if are_followed:
            self._followed.keep(links.claim.record.key, links.accepted)
            self._detector.commit(links.claim)
        else:
            self._detector.release(links.claim)
