"""How much of an item is made of what a request has handed on to its callback.

A callback that passes a half-built item on to the next page's callback yields an item of two pages,
and the last response alone says little of it: "no reviews yet" stands under every product.
"""

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from hashlib import blake2b, md5, sha1, sha256
from typing import Any, TypeAlias
from urllib.parse import urldefrag, urlsplit

from scrapy import Request
from scrapy.http import Response

from dedup.scrapy_plugin.fetch_times import FetchTimes
from dedup.scrapy_plugin.handover import PAGES, is_item_like, values_of
from dedup.scrapy_plugin.leaves import OPAQUE, UnclearBaggageError, leaves_of
from dedup.scrapy_plugin.link_texts import LINK_TEXT, LinkText
from dedup.scrapy_plugin.page_words import PageWords
from dedup.text import to_utf8

# A longer text is compared by those of its words that do not stand on the page.
_LONGEST_VALUE = 300
# What is longer than a word is a part of another text by no chance.
_LONGER_THAN_WORDS = 40
_URL = re.compile(r"\A(?:(?:[a-z][a-z0-9+.-]*+:)?+//\S++|/[^\s/]\S*+|data:\S++)\Z", re.IGNORECASE)

Leaves: TypeAlias = list[tuple[str, str]]
"""Single values, each as text, under the names that lead to them."""


@dataclass(slots=True)
class _Leaves:
    """What values are made of."""

    fetch_times: FetchTimes = field(default_factory=FetchTimes)
    values: Leaves = field(default_factory=list)
    urls: Leaves = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)
    has_opaque: bool = False

    def read(self, name: str, whole: Any) -> None:
        """Add what *whole* is made of; raises UnclearBaggageError."""
        for path, value in leaves_of(name, whole):
            if isinstance(value, Response):
                self.responses.append(value)
            elif value is OPAQUE:
                self.has_opaque = True
            else:
                self._add(path, value)

    def _add(self, name: str, value: Any) -> None:
        text = _text_of(value)
        is_text = isinstance(value, str)
        if not text or self.fetch_times.among(text if is_text else value):
            return
        if is_text and _URL.match(text):
            self.urls.append((name, text))
        else:
            self.values.append((name, text.casefold()))


def _text_of(value: Any) -> str:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, bytes | bytearray):
        return blake2b(value).hexdigest()
    return value.isoformat() if isinstance(value, date) else str(value)


@dataclass(slots=True)
class Baggage:
    """What the request of a response hands on: in cb_kwargs, meta, attributes, and its callback.

    All values of an item or the like (a dict, an ItemLoader, a response) count for every item of
    the response. Of any other value nobody knows what the callback makes of it: of cents a price,
    of a number a name. So where there is one, the values of the item itself count.
    """

    is_clear: bool = True
    fetch_times: FetchTimes = field(default_factory=FetchTimes)
    pages: Mapping[str, str] = field(default_factory=dict)
    """Digests of pages that the request hands on, by their URLs."""
    has_others: bool = False
    """Whether it hands on what is not like an item."""
    _items: _Leaves = field(default_factory=_Leaves)
    _others: _Leaves = field(default_factory=_Leaves)
    _link_text: str = ""
    _words: PageWords | None = None

    @classmethod
    def of(
        cls,
        request: Request,
        fetch_times: FetchTimes,
        arguments: Container[str] | None = None,
        url: str = "",
    ) -> "Baggage":
        """Read what *request* hands on; times among *fetch_times* do not count.

        To be called before the callback runs, which may change what it is given. *arguments*: those
        of its cb_kwargs that count, by default all. *url*: that of its response. If it is not the
        one that was asked for, the body is not what the spider asked for either: a middleware has
        had another server ask for the page (scrapy-splash).
        """
        pages = request.meta.get(PAGES)
        baggage = cls(
            fetch_times=fetch_times,
            pages=pages if isinstance(pages, dict) else {},
            _items=_Leaves(fetch_times),
            _others=_Leaves(fetch_times),
        )
        for name, value in values_of(request, arguments):
            if name == LINK_TEXT and "rule" in request.meta:  # that of a CrawlSpider
                baggage._link_text = _text_of(value).casefold()
            else:
                baggage._read(name, value)
        if request.body and urldefrag(request.url).url == urldefrag(url).url:
            baggage._read("body", request.body)
        return baggage

    def _read(self, name: str, value: Any) -> None:
        is_item = is_item_like(value)
        leaves = self._items if is_item else self._others
        try:
            leaves.read(name, value)
        except UnclearBaggageError:
            self.is_clear &= not is_item
            self.has_others = True
        self.has_others |= leaves.has_opaque or bool(self._others.values or self._others.urls)

    def within(
        self,
        item: Any,
        own_urls: Collection[str],
        body: Callable[[], str],
        *,
        has_downloads: bool = False,
    ) -> "Parts":
        """Return what *item* is made of besides its page; raises UnclearBaggageError.

        *own_urls*: those of the page itself, which say nothing of others; *body* returns its text.
        *has_downloads*: the callback has other pages, too.
        """
        if not self.is_clear:
            raise UnclearBaggageError
        values, urls = list(self._items.values), list(self._items.urls)
        responses = [*self._items.responses, *self._others.responses]
        # Nor does anybody know what it takes from a page, of which the main text is compared.
        takes_others = self.has_others or has_downloads or bool(responses)
        if takes_others or self._link_text:
            own = _Leaves(self.fetch_times.and_now())
            own.read("", item)
            if own.has_opaque:
                raise UnclearBaggageError
            if takes_others:
                values += self._own_values(own.values, own_urls, body)
                urls += own.urls
            # A pipeline may read it in a response that the item has.
            elif own.responses or LinkText(self._link_text).is_used(
                (text for _, text in own.values), body
            ):
                values.append((LINK_TEXT, self._link_text))
        hosts = {_host(url) for url in (*own_urls, *self.pages)}
        return Parts(
            sorted(values),
            sorted(self._name(url, hosts) for _, url in urls if url not in own_urls),
            responses,
        )

    def _own_values(
        self, values: Leaves, own_urls: Collection[str], body: Callable[[], str]
    ) -> Leaves:
        """Return those of an item's *values* that its page alone does not explain.

        All short ones count, even where the page has them: two products are told apart by numbers
        that stand on the same page of reviews, by chance or chosen by what was handed on.
        """
        found = []
        for name, text in values:
            if len(text) <= _LONGEST_VALUE:
                if not _is_hash_of(text, own_urls):
                    found.append((name, text))
                continue
            if self._words is None:
                self._words = PageWords(body())
            if others := self._words.others(text):
                found.append((name, " ".join(others)))
            found += [
                (name, single)
                for name, single in self._others.values
                if len(single) >= _LONGER_THAN_WORDS and single in text
            ]
        return found

    def _name(self, url: str, hosts: Container[str]) -> str:
        """Return what counts of a URL: the page it names, if that handed it on, else all of it.

        But for the host where that is one of *hosts*, where the pages are: a mirror has another.
        """
        if url in self.pages:
            return f"page {self.pages[url]}"
        host = _host(url)
        return url.partition(f"//{host}")[2] if host and host in hosts else url


UNREADABLE = Baggage(is_clear=False)
"""That of a request whose values cannot be read: nobody knows what its items are made of."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What an item is made of besides its page: values by name, places, and whole responses."""

    values: Leaves = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    responses: list[Response] = field(default_factory=list)

    def digest(self, responses: Iterable[bytes]) -> bytes:
        """Return the 16 bytes that stand for it, *responses* standing for the responses."""
        digest = blake2b(digest_size=16)
        parts = [repr(self.values), repr(self.places), *(part.hex() for part in responses)]
        for part in parts:
            data = to_utf8(part)
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.digest()


def notes_on(
    request: Request, urls: Container[str], fetch_times: FetchTimes
) -> tuple[set[str], set[float]]:
    """Return which of *urls* and of *fetch_times* are among the values that *request* hands on."""
    named: set[str] = set()
    times: set[float] = set()
    for name, whole in values_of(request):
        with suppress(UnclearBaggageError):
            for _, value in leaves_of(name, whole):
                if isinstance(value, Response):
                    value = value.url
                if isinstance(value, str) and (text := value.strip()) in urls:
                    named.add(text)
                times.update(fetch_times.among(value))
    return named, times


def _is_hash_of(text: str, urls: Iterable[str]) -> bool:
    """Return whether *text* is a usual hash of one of *urls*, which says what that says."""
    make = _HASHES.get(len(text))
    return make is not None and any(make(url.encode()).hexdigest() == text for url in urls)


def _host(url: str) -> str:
    """Return the host of *url* with what else stands there, "" if there is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:  # such as a bracket that is not closed
        return ""


_HASHES: dict[int, Callable[[bytes], Any]] = {
    32: partial(md5, usedforsecurity=False),
    40: partial(sha1, usedforsecurity=False),
    64: sha256,
}
