"""Revisits that are not made, or cost a header (DEDUP_REVISITS = "skip" or "ask").

They concern leaves alone: pages that gave items at their last visit, and led to no further request.
So a crawl visits start pages, listings and whatever has links that are followed as ever.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from email.utils import parsedate_to_datetime
from hashlib import blake2b
from time import time
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response

from dedup.logs import get_logger
from dedup.rule import Kind
from dedup.scopes import host
from dedup.scrapy_plugin.feed import when_all_closed
from dedup.scrapy_plugin.requests import (
    ASKS,
    callback_of,
    first_url,
    is_asked_again,
    is_link,
    is_plain_link,
)
from dedup.scrapy_plugin.response_state import ResponseState
from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests, is_a_test
from dedup.scrapy_plugin.setting_values import Revisits
from dedup.stores.base import Leaf, UrlRule
from dedup.stores.sqlite import SqliteStore
from dedup.units import SECONDS_OF_A_DAY

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

NOT_MODIFIED = "not-modified"
_HEADERS = "If-None-Match", "If-Modified-Since"
_OTHERS = (
    *_HEADERS,
    "If-Match",
    "If-Unmodified-Since",
    "If-Range",
    "Range",
    "Cookie",
    "Authorization",
)
_LONGEST_VALIDATOR = 500
_SECONDS_TO_CHANGE = 60.0
"""What was changed so shortly before its download may have changed in the same second again."""


class Leaves:
    """Knows the leaves of earlier crawls, and notes those of this one."""

    def __init__(
        self,
        crawler: "Crawler",
        revisits: Revisits,
        store: SqliteStore,
        put_off: PutOffRequests,
        page_is_unchanged: Callable[[str], object],
    ) -> None:
        """Create it; *page_is_unchanged* is called with the URL of each page answered by 304."""
        assert crawler.request_fingerprinter
        self._fingerprint = crawler.request_fingerprinter.fingerprint
        self._revisits = revisits
        self._store = store
        self._put_off = put_off
        self._page_is_unchanged = page_is_unchanged
        self._spider = str(getattr(crawler.spider, "name", ""))
        # What this crawl has visited itself, Scrapy's own filter knows.
        self._until = time()
        self._since = self._until - revisits.days * SECONDS_OF_A_DAY if revisits.days else 0.0
        # The HTTP cache makes such requests itself, and a login may get other pages.
        of_all = map(str.title, crawler.settings.getdict("DEFAULT_REQUEST_HEADERS"))
        has_login = bool(getattr(crawler.spider, "http_user", "")) or not {*_OTHERS}.isdisjoint(
            of_all
        )
        has_cache = crawler.settings.getbool("HTTPCACHE_ENABLED")
        self._may_ask = revisits.mode == "ask" and not (has_login or has_cache)
        self._tested: set[bytes] = set()
        self._hosts_tested: set[str] = set()
        self._distrusted = {
            rule.host for rule in store.url_rules() if rule.kind == NOT_MODIFIED and rule.broken
        }

    def _key(self, request: Request) -> bytes:
        first = request.replace(url=first_url(request))
        callback = f"{self._spider} {callback_of(request)}".encode("utf-8", "replace")
        return blake2b(self._fingerprint(first) + callback, digest_size=16).digest()

    def _leaf(self, request: Request) -> Leaf | None:
        """Return the leaf that *request* asks for, if it is known and young enough."""
        if is_asked_again(request) or not is_plain_link(request) or request.cookies:
            return None
        leaf = self._store.leaf(self._key(request))
        return leaf if leaf and self._since <= leaf.visited < self._until else None

    def hold_back(self, request: Request) -> bool:
        """Return whether *request*, one of a callback, is for a leaf that needs no visit."""
        if self._revisits.mode != "skip" or self._leaf(request) is None:
            return False
        self._put_off.request_is_saved("leaf")
        return True

    def ask(self, request: Request) -> None:
        """Have *request* ask for a leaf only if that has changed."""
        if request.meta.pop(ASKS, False):  # a retry, or a redirect: another address has others
            _remove_headers(request)
        if not self._may_ask:
            return
        if request.body or request.cookies:  # as of a login: who asks is another one from here on
            self._may_ask = False
        elif is_link(request) and not any(name in request.headers for name in _OTHERS):
            leaf = self._leaf(request)
            if leaf and (leaf.etag or leaf.modified) and host(request.url) not in self._distrusted:
                request.meta[ASKS] = True
                for name, value in zip(_HEADERS, leaf[1:], strict=True):
                    if value:
                        request.headers[name] = value

    def answer(self, request: Request, response: Response) -> Request | Response:
        """Return *response*, or for a 304 what takes its place: the request anew, as a test.

        Or a response that no callback gets.
        """
        if not request.meta.pop(ASKS, False):
            return response
        _remove_headers(request)  # the spider may make others of it
        if response.status != 304:
            return response
        key, name = self._key(request), host(request.url)
        whole = request.replace(dont_filter=True)
        if name not in self._hosts_tested or is_a_test(request.url, self._store.run):
            self._hosts_tested.add(name)
            self._tested.add(key)
            self._put_off.count(f"saved_requests/tests/{NOT_MODIFIED}")
            return whole
        if name in self._distrusted or not self._put_off.add(whole, _reason(name), "not_modified"):
            self._tested.add(key)
            return whole
        self._page_is_unchanged(first_url(request))
        of_nobody = request.replace(callback=_ignore, errback=None)
        of_nobody.meta["handle_httpstatus_list"] = [304]
        response.request = of_nobody
        return response

    def page_settles(self, state: ResponseState, *, failed: bool) -> None:
        """Note whether the page of *state* is a leaf, once all is known of its items."""
        response = state.response
        if response is None or response.request is None or response.request.callback is _ignore:
            return
        request = response.request
        if not is_plain_link(request):
            return
        key = self._key(request)
        if key in self._tested:
            self._tested.discard(key)
            if state.leads_on or _is_other(state):
                self._contradict(host(first_url(request)), first_url(request))
        if failed or state.leads_on or not _is_stored(state):
            if self._store.leaf(key):
                self._store.note_leaf(key, None)
            return
        etag = modified = None
        if first_url(request) == request.url and not request.cookies:
            etag, modified = _header(response, "ETag"), _modified(response)
        leaf = Leaf(state.began, etag, modified)

        def note(are_stored: bool) -> None:
            if are_stored:
                self._store.note_leaf(key, leaf)

        when_all_closed(list(state.batches), note)

    def _contradict(self, name: str, url: str) -> None:
        """The server of *name* has answered 304 for what has changed: believe it no more."""
        if name in self._distrusted:
            return
        self._distrusted.add(name)
        self._store.note_url_rule(UrlRule(NOT_MODIFIED, name, "", tests=1, broken=1))
        self._put_off.count(f"saved_requests/contradictions/{NOT_MODIFIED}")
        sent = len(self._put_off.send(_reason(name)))
        logger.warning(
            "%s answers 304 for what has changed, here <%s>: it is not asked any more, and %d "
            "requests that it answered so are sent again", name, url, sent,
        )  # fmt: skip


def _is_other(state: ResponseState) -> bool:
    """Return whether an item of a page says what it did not say before."""
    return bool(state.kinds & {Kind.NEW, Kind.CHANGED})


def _is_stored(state: ResponseState) -> bool:
    """Return whether the page of *state* gave items, and what they say is stored."""
    is_stored = (stored or (one and one.is_known) for one, stored in state.outcomes)
    return bool(state.outcomes) and all(is_stored)


def _ignore(response: Response) -> Iterator[Any]:
    return iter(())


def _reason(name: str) -> bytes:
    return f"{NOT_MODIFIED} {name}".encode("utf-8", "replace")


def _remove_headers(request: Request) -> None:
    for name in _HEADERS:
        request.headers.pop(name, None)


def _header(response: Response, name: str) -> str | None:
    value = (response.headers.get(name) or b"").decode("latin-1").strip()
    is_sound = value.isascii() and value.isprintable() and len(value) <= _LONGEST_VALIDATOR
    return value if value and is_sound else None


def _modified(response: Response) -> str | None:
    """Return when the page was changed, if it has not changed since (RFC 9110, 8.8.2.2)."""
    value, date = _header(response, "Last-Modified"), _header(response, "Date")
    with suppress(ValueError, TypeError, OverflowError):
        if value is not None:
            answered = parsedate_to_datetime(date).timestamp() if date else time()
            if parsedate_to_datetime(value).timestamp() <= answered - _SECONDS_TO_CHANGE:
                return value
    return None
