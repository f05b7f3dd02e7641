"""The URLs of a crawl and their contents, and which of two contents are near each other."""

from collections.abc import Collection, Hashable, Iterator
from typing import NamedTuple

from dedup.limits import LONGEST_URL
from dedup.methods import Method
from dedup.url_advice.advice import UrlAdvice
from dedup.url_advice.advising import url_advice
from dedup.url_advice.urls import Url

MOST_URLS = 100_000
"""How many URLs are remembered."""

# What stands for the content of a URL that is not known, and for one that it has no more.
_UNKNOWN, _PAST = -1, -2


class Content(NamedTuple):
    """What a page has.

    *text* tells equal texts of the same *scope*, *sketch* is the method's, ``None`` where it is not
    known or not compared; then *original* may be the *text* of a content that it is near. If it
    *is_past*, the URL has another one by now.
    """

    text: Hashable
    scope: str = ""
    sketch: bytes | None = None
    original: Hashable | None = None
    is_past: bool = False


class Contents:
    """What each URL of a crawl has: of the first 100,000 of them.

    Two contents of the same scope are the same if their texts are equal or their sketches within
    the threshold of *method*, whatever the detector said of the pages: that depends on the order in
    which they came. Without a method, sketches are not compared. There are no rules for hosts of
    which not all URLs are known, of none unless *is_whole*: one that is not known may be the only
    page of its kind.
    """

    def __init__(self, method: Method | None = None, *, is_whole: bool = True) -> None:
        self._method = method
        self._is_whole = is_whole
        self._urls: dict[str, int] = {}
        self._numbers: dict[tuple[str, Hashable], int] = {}
        # Of each content, by number.
        self._scopes: list[str] = []
        self._payloads: list[bytes | None] = []
        self._originals: dict[int, tuple[str, Hashable]] = {}
        # Hosts of remembered URLs, of which not all are remembered.
        self._incomplete: set[str] = set()
        self._hosts: set[str] | None = None

    def add(self, url: str, content: Content | None) -> None:
        """Note that *url* has *content*; ``None`` is one that is like no other.

        So is what a URL has that is given several, but for those that are past.
        """
        if len(url) > LONGEST_URL:
            self._leave_out(url)
            return
        if url not in self._urls and len(self._urls) >= MOST_URLS:
            self._forget(url)
            return
        known = self._urls.get(url, _PAST)
        if content and content.is_past:
            self._urls[url] = known
            return
        number = _UNKNOWN if content is None else self._number(content)
        self._urls[url] = number if known in (number, _PAST) else _UNKNOWN

    def advice(self) -> UrlAdvice:
        """Return what in the URLs never changed the content."""
        pages = ((url, None if n in (_UNKNOWN, _PAST) else n) for url, n in self._urls.items())
        incomplete = self._incomplete if self._is_whole else self._known_hosts()
        return url_advice(pages, self._near, incomplete)

    def _leave_out(self, url: str) -> None:
        """Do without a URL that is too long to be kept: what rules do to it will not be known."""
        one = Url.parse(url[:LONGEST_URL])
        if one and len(self._incomplete) < MOST_URLS:
            self._incomplete.add(one.host)
        elif one:
            self._is_whole = False

    def _forget(self, url: str) -> None:
        if self._hosts is None:
            self._hosts = self._known_hosts()
        one = Url.parse(url)
        # A rule for example.com holds for www.example.com too.
        if one and {one.host, one.host.removeprefix("www.")} & self._hosts:
            self._incomplete.add(one.host)

    def _known_hosts(self) -> set[str]:
        return {url.host for url in map(Url.parse, self._urls) if url}

    def _number(self, content: Content) -> int:
        key = content.scope, content.text
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._scopes):
            self._scopes.append(content.scope)
            self._payloads.append(None)
        # What is known of a content, any of its pages may tell.
        sketch, method = content.sketch, self._method
        if method and sketch is not None and self._payloads[number] is None:
            self._payloads[number] = method.payload(method.from_bytes(sketch))
        if content.original is not None:
            self._originals.setdefault(number, (content.scope, content.original))
        return number

    def _near(self, pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yield those of *pairs* of contents that are near each other."""
        compared = []
        for one, other in pairs:
            if self._scopes[one] != self._scopes[other]:
                continue
            if None not in (self._payloads[one], self._payloads[other]):
                compared.append((one, other))
            elif self._repeats(one, other) or self._repeats(other, one):
                yield one, other
        method = self._method
        if method and compared:
            ones, others = (
                [self._payloads[n] for n in column] for column in zip(*compared, strict=True)
            )
            is_near = method.distances_of_pairs(ones, others) <= method.max_distance
            yield from (pair for pair, near in zip(compared, is_near, strict=True) if near)

    def _repeats(self, one: int, other: int) -> bool:
        original = self._originals.get(one)
        return original is not None and self._numbers.get(original) == other
