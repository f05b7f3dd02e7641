"""What a request hands on to its callback, and how much of an item is made of it.

A callback that passes a half-built item on to the next page's callback yields an item of two pages,
and the last response alone says little of it: "no reviews yet" stands under every product.
"""

import re
from collections import deque
from collections.abc import (
    Callable,
    Collection,
    Container,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    ValuesView,
)  # fmt: skip
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import partial
from hashlib import blake2b
from pathlib import PurePath
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from itemadapter import ItemAdapter
from itemloaders import ItemLoader
from parsel import Selector
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK

PAGES = "dedup_pages"
"""The meta key under which a request names pages that it hands on: their digests by URL."""

# What Scrapy and others keep in meta for themselves; of "dedup" ours.
_PLUMBING = re.compile(
    "(?:_auth_proxy|_scheme_proxy|dedup|dedup_pages|depth|rule|cookiejar|proxy|bindaddress"
    "|download_(?:slot|timeout|latency|maxsize|warnsize|fail_on_dataloss)"
    "|redirect_(?:urls|reasons|times|ttl)|(?:max_)?retry_times|priority_adjust|is_start_request"
    "|ftp_(?:user|password|local_filename)|http_(?:user|pass|auth_domain)|referrer_policy"
    "|give_up_log_level|verbatim_url|allow_offsite|handle_httpstatus_(?:all|list))$"
    "|dont_|autothrottle|playwright|_?splash|zyte|_?crawlera|selenium|impersonate|inject"
)
_MOST_LEAVES = 10_000
_DEEPEST = 20
# A value is looked for inside of longer ones only up to this length: a word may be in any text. One
# that is longer than a word is in none by chance. A short one or a number has to be a word of it.
_LONGEST_AROUND = 300
_LONGER_THAN_WORDS = 40
_SHORTEST_PART = 3
_WORD = re.compile(r"\w+(?:[.,]\d+)?")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)?")
_URL = re.compile(r"\A(?:(?:[a-z][a-z0-9+.-]*+:)?+//\S++|/[^\s/]\S*+|data:\S++)\Z", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+)")
_CLOCK_SKEW = timedelta(minutes=1)
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Leaves:
    """Single values, each as text, under the names that lead to them."""

    values: list[tuple[str, str]] = field(default_factory=list)
    urls: list[tuple[str, str]] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.values or self.urls or self.responses)


class UnclearBaggageError(Exception):
    """A request hands on more than can be compared, or what cannot be read."""


@dataclass(slots=True)
class Baggage:
    """What the request of a response hands on: in cb_kwargs, meta, attributes, and its callback.

    Values of an item or the like (a dict, an ItemLoader, a response) count for every item of the
    response; a single value counts for an item that has it.
    """

    since: datetime = _NEVER
    pages: Mapping[str, str] = field(default_factory=dict)
    """Digests of pages that the request hands on, by their URLs."""
    is_clear: bool = True
    _items: _Leaves = field(default_factory=_Leaves)
    _singles: _Leaves = field(default_factory=_Leaves)

    @classmethod
    def of(
        cls, request: Request, since: datetime, arguments: Container[str] | None = None
    ) -> "Baggage":
        """Read what *request* hands on; *since*: when the crawl began.

        Times between then and now say when a page was fetched, so they do not count. To be called
        before the callback runs, which may change what it is given. *arguments*: those of its
        cb_kwargs that count, by default all.
        """
        handed_on = list(_handed_on(request, arguments))
        if not handed_on:  # as with most requests
            return NOTHING
        pages = request.meta.get(PAGES)
        baggage = cls(since, pages if isinstance(pages, dict) else {})
        items, singles = _Reader(baggage._items, since), _Reader(baggage._singles, since)
        for name, value in handed_on:
            if isinstance(value, bool):  # a flag
                continue
            try:
                (items if _is_item_like(value) else singles).read(name, value)
            except UnclearBaggageError:
                baggage.is_clear = False
        return baggage

    @property
    def urls(self) -> set[str]:
        """The URLs among the values."""
        return {url for leaves in (self._items, self._singles) for _, url in leaves.urls}

    def within(self, item: Any, own_urls: Collection[str]) -> "Parts":
        """Return what *item* has of it; raises UnclearBaggageError.

        *own_urls*: those of the page itself, which say nothing of others.
        """
        if not self.is_clear:
            raise UnclearBaggageError
        values, urls = list(self._items.values), list(self._items.urls)
        if self._singles:
            there = _Leaves()
            _Reader(there, self.since).read("", item)
            values += _found(self._singles.values, there, own_urls)
            known = [url for _, url in there.urls]
            urls += [leaf for leaf in self._singles.urls if any(map(_ending(leaf[1]), known))]
        hosts = {_host(url) for url in (*own_urls, *self.pages)}
        return Parts(
            sorted(values),
            sorted(self._name(url, hosts) for _, url in urls if url not in own_urls),
            [*self._items.responses, *self._singles.responses],
        )

    def _name(self, url: str, hosts: Container[str]) -> str:
        """Return what counts of a URL: the page it names, if that handed it on, else all of it.

        But for the host where that is one of *hosts*, where the pages are: a mirror has another.
        """
        if url in self.pages:
            return f"page {self.pages[url]}"
        host = _host(url)
        return url.partition(f"//{host}")[2] if host and host in hosts else url


NOTHING = Baggage()
UNREADABLE = Baggage(is_clear=False)
"""That of a request whose values cannot be read: nobody knows what its items are made of."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an item is made of besides its page: values by name, places, and whole responses."""

    values: list[tuple[str, str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def digest(self, responses: Iterable[bytes]) -> bytes:
        """Return the 16 bytes that stand for it, *responses* standing for the responses."""
        digest = blake2b(digest_size=16)
        parts = [repr(self.values), repr(self.places), *(part.hex() for part in responses)]
        for part in parts:
            data = part.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.digest()


def hands_on_items(request: Request) -> bool:
    """Return whether *request* hands on an item, or what may become one."""
    return any(_is_item_like(value) for _, value in _handed_on(request))


def urls_of(response: Response) -> set[str]:
    """Return the URLs under which *response* was asked for and found."""
    urls = {response.url}
    if response.request is not None:
        urls.add(response.request.url)
        redirects = response.request.meta.get("redirect_urls")
        urls.update(redirects if isinstance(redirects, list) else ())
    return {url for url in urls if isinstance(url, str)}


def _handed_on(
    request: Request, arguments: Container[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yield names and values that the callback of *request* will find."""
    for name, value in request.meta.items():
        if not (isinstance(name, str) and _PLUMBING.match(name)):
            yield str(name), value
    for name, value in request.cb_kwargs.items():
        if arguments is None or name in arguments:
            yield str(name), value
    if type(request) is not Request:
        names = {*getattr(request, "__dict__", ()), *request.attributes} - {*Request.attributes}
        for name in names:
            if not name.startswith("_") and name not in _OF_REQUESTS:
                yield name, getattr(request, name, None)
    for callback in (request.callback, request.errback):
        yield from _enclosed(callback)


# Attributes of Scrapy's own kinds of request: of JsonRequest, XmlRpcRequest.
_OF_REQUESTS = frozenset({"dumps_kwargs", "encoding"})


def _enclosed(callback: Any) -> Iterator[tuple[str, Any]]:
    """Yield what a callback has within it: arguments of a partial, variables of a closure."""
    if isinstance(callback, partial):
        for number, value in enumerate(callback.args):
            yield f"argument {number}", value
        yield from callback.keywords.items()
        yield from _enclosed(callback.func)
    elif isinstance(callback, MethodType):
        if not isinstance(callback.__self__, Spider):
            yield "object", callback.__self__
    elif isinstance(callback, FunctionType):
        for name, cell in zip(
            callback.__code__.co_freevars, callback.__closure__ or (), strict=True
        ):
            try:
                yield name, cell.cell_contents
            except ValueError:  # not set yet
                continue
        for number, value in enumerate(callback.__defaults__ or ()):
            yield f"default {number}", value
        yield from (callback.__kwdefaults__ or {}).items()
    elif callback is not None and callback is not NO_CALLBACK:
        yield "object", callback


def _is_item_like(value: Any) -> bool:
    """Return whether *value* holds an item, or what an item is made of."""
    if value is None or isinstance(value, str | bytes | int | float):
        return False
    if isinstance(value, ItemLoader | Response | Selector | GeneratorType | AsyncGeneratorType):
        return True
    if isinstance(value, list | tuple | set | frozenset | deque):
        return any(map(_is_item_like, value))
    return bool(ItemAdapter.is_item(value)) and bool(value)


def _found(
    singles: list[tuple[str, str]], there: _Leaves, own_urls: Container[str]
) -> Iterator[tuple[str, str]]:
    """Yield those of *singles* that an item has: as a value, or as a part of one or of a URL."""
    texts = {text for _, text in there.values}
    texts |= {url.casefold() for _, url in there.urls if url not in own_urls}
    numbers = {_number(text) for text in texts}
    everywhere = "\n".join(sorted(texts))
    around = "\n".join(sorted(text for text in texts if len(text) <= _LONGEST_AROUND))
    words = {_number(word) for word in (*_WORD.findall(around), *_DIGITS.findall(around))}
    for name, single in singles:
        if (
            _number(single) in numbers
            or _number(single) in words
            or (len(single) >= _LONGER_THAN_WORDS and single in everywhere)
            or (
                len(single) >= _SHORTEST_PART and not _NUMBER.fullmatch(single) and single in around
            )
        ):
            yield name, single


def _ending(url: str) -> Callable[[str], bool]:
    """Return what says of a URL whether it is *url*, or ends with it if that is a relative one."""
    is_relative = url.startswith("/")
    return lambda whole: whole == url or (is_relative and whole.endswith(url))


def _host(url: str) -> str:
    """Return the host of *url* with what else stands there, "" if there is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:  # such as a bracket that is not closed
        return ""


class _Reader:
    """Takes values apart."""

    def __init__(self, leaves: _Leaves, since: datetime) -> None:
        self._leaves = leaves
        self._since = since - _CLOCK_SKEW
        self._on_the_way: set[int] = set()
        self._count = 0

    def read(self, name: str, value: Any, depth: int = 0) -> None:
        """Add the single values that *value* is made of; raises UnclearBaggageError."""
        if value is None or isinstance(value, Spider):
            return
        self._count += 1
        if self._count > _MOST_LEAVES or depth > _DEEPEST:
            raise UnclearBaggageError
        if isinstance(value, str):
            self._read_text(name, value)
        elif isinstance(value, _SINGLE):
            self._leaves.values.append((name, str(value).casefold()))
        elif isinstance(value, bytes | bytearray):
            self._leaves.values.append((name, blake2b(value).hexdigest()))
        elif isinstance(value, date):
            if not (isinstance(value, datetime) and self._is_of_this_crawl(value)):
                self._leaves.values.append((name, value.isoformat()))
        elif isinstance(value, Response):
            self._leaves.responses.append(value)
        elif id(value) not in self._on_the_way:
            self._on_the_way.add(id(value))
            for part, inner in _parts(value):
                self.read(f"{name}.{part}", inner, depth + 1)
            self._on_the_way.discard(id(value))

    def _read_text(self, name: str, value: str) -> None:
        text = " ".join(value.split())
        if not text:
            return
        if _URL.match(text):
            self._leaves.urls.append((name, text))
        elif not (_TIME.match(text) and self._is_of_this_crawl(_time(text))):
            self._leaves.values.append((name, text.casefold()))

    def _is_of_this_crawl(self, time: datetime | None) -> bool:
        if time is None:
            return False
        now = datetime.now(UTC) + _CLOCK_SKEW
        if time.tzinfo is not None:
            return self._since <= time <= now
        # Of a naive one nobody knows whether it is local or UTC.
        zones: tuple[Callable[[datetime], datetime], ...] = (
            lambda naive: naive.replace(tzinfo=UTC),
            datetime.astimezone,
        )
        return any(self._since <= zone(time) <= now for zone in zones)


def _parts(value: Any) -> Iterable[tuple[str, Any]]:
    """Return names and values of what *value* is made of."""
    if isinstance(value, ItemLoader):
        parts = [("item", value.item), ("values", dict(getattr(value, "_values", {})))]
        return [*parts, ("selector", value.selector)]
    if isinstance(value, Selector):
        response = getattr(value, "response", None)
        return [("response", response if response is not None else value.get())]
    if ItemAdapter.is_item(value):
        return ((str(name), inner) for name, inner in ItemAdapter(value).items())
    if isinstance(value, Mapping):
        return ((str(name), inner) for name, inner in value.items())
    if isinstance(value, list | tuple | deque):
        return ((str(place), inner) for place, inner in enumerate(value))
    if isinstance(value, KeysView | ValuesView | ItemsView):
        return ((str(place), inner) for place, inner in enumerate(list(value)))
    if isinstance(value, Request):
        return [("url", value.url), ("body", value.body), *_handed_on(value)]
    if isinstance(value, set | frozenset):
        return (("", inner) for inner in sorted(value, key=repr))
    if isinstance(value, GeneratorType | AsyncGeneratorType | CoroutineType):
        frame = next(
            (getattr(value, name) for name in ("gi_frame", "ag_frame", "cr_frame")
             if getattr(value, name, None)), None
        )  # fmt: skip
        return list(frame.f_locals.items()) if frame else ()
    if isinstance(value, FunctionType | MethodType | partial):
        return _enclosed(value)
    if type(value).__module__.partition(".")[0] in _TOOLS or isinstance(value, _CODE):
        return ()
    slots = {name for kind in type(value).__mro__ for name in _slots_of(kind)}
    state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    state |= getattr(value, "__dict__", {})
    if not state and type(value) is not object:  # an iterator, or of an extension in C
        raise UnclearBaggageError
    return list(state.items())


def _slots_of(kind: type) -> Iterable[str]:
    slots = vars(kind).get("__slots__", ())
    return [slots] if isinstance(slots, str) else [slot for slot in slots if slot[:2] != "__"]


_CODE = (type, ModuleType, BuiltinFunctionType)
_SINGLE = (int, float, complex, Decimal, Fraction, UUID, PurePath, clock_time, timedelta)
# Objects of these packages are tools, not contents.
_TOOLS = frozenset(
    {"asyncio", "logging", "_thread", "threading", "scrapy", "twisted", "playwright"}
)


def _number(text: str) -> str:
    """Return a number in one form, and any other text as it is."""
    if _NUMBER.fullmatch(text):
        try:
            return str(Decimal(text.replace(",", ".")).normalize())
        except InvalidOperation:  # more digits than a number may have
            return text
    return text


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
