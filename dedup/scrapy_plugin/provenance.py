"""What an item is made of besides the page of its response.

That is what the request of the response has handed on (`baggage`), what the callback has downloaded
by itself, and the callback where another one has made items of the page before. An item that has
such parts is a duplicate only if they are equal, too.
"""

import sys
from collections.abc import Awaitable, Callable, Coroutine
from time import time
from types import FrameType
from typing import Any
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.core.engine import ExecutionEngine
from scrapy.http import HtmlResponse, Response, TextResponse

from dedup.evidence import NAMES, VIEW, Evidence
from dedup.record import PageRecord, digest_with
from dedup.scrapy_plugin.baggage import UNREADABLE, Baggage, Parts, notes_on
from dedup.scrapy_plugin.bodies import BodyReader, digest_of_body, reason_not_to_read
from dedup.scrapy_plugin.callbacks import FirstCallbacks, note_first_callback
from dedup.scrapy_plugin.fetch_times import FetchTimes
from dedup.scrapy_plugin.handover import PAGES, TIMES
from dedup.scrapy_plugin.leaves import UnclearBaggageError
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.visits import Visit, Visits
from dedup.workers.base import ReadError


class Provenance:
    """Knows of each item on its way which other pages and values it is made of."""

    def __init__(
        self, visits: Visits, bodies: BodyReader, notices: Notices, max_page_bytes: int
    ) -> None:
        self._visits = visits
        self._bodies = bodies
        self._notices = notices
        self._max_page_bytes = max_page_bytes
        self._callbacks = FirstCallbacks()
        self._began = time()
        self._sent: WeakKeyDictionary[Request, tuple[float, frozenset[str]]] = WeakKeyDictionary()
        self._identities: WeakKeyDictionary[Response, bytes] = WeakKeyDictionary()

    def request_is_sent(self, request: Request) -> None:
        """Note when, and which arguments *request* has for its callback.

        Others are injected with the page. So does scrapy-poet with page objects, which are made of
        the page itself.
        """
        self._sent[request] = time(), frozenset(request.cb_kwargs)

    def callback_begins(self, response: Response) -> None:
        """Read what the request of *response* hands on, which the callback may change."""
        visit = self._visits.of(response)
        visit.callback_begins()
        visit.baggage = UNREADABLE  # unless it turns out to be readable
        if (request := response.request) is None:
            visit.baggage = None
        else:
            sent, arguments = self._sent.get(request, (time(), None))
            times = FetchTimes.about(self._began, sent, noted=request.meta.get(TIMES))
            visit.baggage = Baggage.of(request, times, arguments, response.url)

    async def request_leaves(self, request: Request, response: Response) -> None:
        """Tell *request* what stands on the pages whose URLs it hands on, if *response* knows.

        So that an item with the URL of the page that it began on is compared by what that says. And
        which of the times that it hands on tell of fetching: it may wait for hours to be sent.
        """
        baggage = self._visits.of(response).baggage or UNREADABLE
        own = urls_of(response)
        if response.request is not None:
            note_first_callback(request, response.request, is_same_page=request.url in own)
        urls, times = notes_on(request, {*own, *baggage.pages}, baggage.fetch_times.and_now())
        pages = {url: baggage.pages[url] for url in urls - own}
        if urls & own:
            pages |= dict.fromkeys(urls & own, (await self._identity(response)).hex())
        for key, note in ((PAGES, pages), (TIMES, sorted(times))):
            if note:
                request.meta[key] = note
            elif key in request.meta:  # copied from the request of the response
                del request.meta[key]

    async def of(self, item: Any, visit: Visit, response: Response, key: str) -> bytes:
        """Return a digest of what *item* is made of besides *response*; b"" if there is nothing.

        *key*: what the page is known by.

        Raises UnclearBaggageError if that is not known.
        """
        if visit.baggage is None and response.request is not None:
            self.callback_begins(response)  # another middleware kept that from us
        parts = self._parts(item, visit, response)
        for place, download in enumerate(visit.downloads):
            if isinstance(download, Response):  # not kept longer: it may refer to *response*
                visit.downloads[place] = await self._identity(download)
        downloads = [one for one in visit.downloads if isinstance(one, bytes)]
        others = [await self._identity(one) for one in parts.responses if one is not response]
        callback = self._callbacks.other(key, response.request) if response.request else b""
        if not (parts.values or parts.places or others or downloads or callback):
            return b""
        # In any order: those of parallel downloads come as they like.
        return parts.digest([*others, *sorted(downloads), *([callback] if callback else [])])

    def _parts(self, item: Any, visit: Visit, response: Response) -> Parts:
        def body() -> str:
            return response.text if isinstance(response, TextResponse) else ""

        baggage = visit.baggage or Baggage()
        try:
            return baggage.within(
                item, urls_of(response), body, has_downloads=bool(visit.downloads)
            )
        except UnclearBaggageError:
            self._notices.tell_once(
                "Items are kept unjudged, since nobody can tell what their requests hand on: hand "
                "on plain values, not more than 10,000, or set DEDUP_ITEM_FIELD. One is of <%s>",
                response.url,
            )
            raise

    async def _identity(self, response: Response) -> bytes:
        """Return what stands for the content of *response*: what is read of it, or its bytes."""
        identity = self._identities.get(response)
        if identity is None:
            identity = digest_of_body(response)
            readable = reason_not_to_read(response, self._max_page_bytes) is None
            if isinstance(response, HtmlResponse) and readable:
                try:
                    page, _ = await self._bodies.read(response)
                    identity = _content_of(page.record) or identity
                except ReadError:
                    pass
            self._identities[response] = identity
        return identity

    def watch(self, engine: ExecutionEngine) -> None:
        """Note from now on which responses callbacks download by themselves, with `await`."""
        download: Callable[[Request], Coroutine[Any, Any, Response]] = engine.download_async

        def download_async(request: Request) -> Coroutine[Any, Any, Response]:
            return _noted(download(request), self._visits_that_ask())

        engine.download_async = download_async  # type: ignore[method-assign]  # there is no signal

    def _visits_that_ask(self) -> list[Visit]:
        """Return the visits whose callbacks may be running this code.

        It is the one whose response is a variable of a function between here and Scrapy. A task of
        the spider's own has no such function: it may be of every callback that is not done.
        """
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            # The engine's older way to download calls the newer one.
            if module.startswith("scrapy.") and module != "scrapy.core.engine":
                return []
            for value in frame.f_locals.values():
                visit = self._visits.known(value)
                if visit and visit.is_in_callback:  # not one that was handed on
                    return [visit]
            frame = frame.f_back
        return self._visits.in_callbacks()


async def _noted(download: Awaitable[Response], visits: list[Visit]) -> Response:
    response = await download
    for visit in visits:
        visit.downloads.append(response)
    return response


def _content_of(record: PageRecord) -> bytes | None:
    """Return what stands for the content of a page; ``None`` without a main text.

    Its main text and its names; all that it shows, too, where the main text says too little.
    """
    if record.digest is None or record.evidence is None:
        return record.digest
    is_weak = Evidence.from_bytes(record.evidence).weakness is not None
    return digest_with(record.digest, record.evidence[NAMES] + record.evidence[VIEW] * is_weak)


def urls_of(response: Response) -> set[str]:
    """Return the URLs under which *response* was asked for and found."""
    urls = {response.url}
    if response.request is not None:
        urls.add(response.request.url)
        redirects = response.request.meta.get("redirect_urls")
        urls.update(redirects if isinstance(redirects, list) else ())
    return {url for url in urls if isinstance(url, str)}
