"""The URLs of a crawl and their contents, and which contents are near each other."""

from collections.abc import Collection, Hashable, Iterator
from typing import NamedTuple

from dedup.limits import LONGEST_URL
from dedup.methods.base import Method
from dedup.url_advice.advice import UrlAdvice
from dedup.url_advice.advising import url_advice

MOST_URLS = 100_000
"""The number of URLs that are remembered."""

# In place of a content's number: an unknown content, and one that the URL no longer has.
_UNKNOWN, _PAST = -1, -2


class Content(NamedTuple):
    """The content of a page.

    *text* identifies the text within its *scope*. *sketch* is the method's, or ``None`` if it is
    unknown or not compared; then *original* may be the *text* of a content that this one is near.
    *is_past*: the URL has another content by now.
    """

    text: Hashable
    scope: str = ""
    sketch: bytes | None = None
    original: Hashable | None = None
    is_past: bool = False


class Contents:
    """The contents of the first 100,000 URLs of a crawl.

    Two contents of the same scope are the same if their texts are equal, or their sketches are
    within the threshold of *method*. The detector's verdicts do not count: they depend on the order
    of the pages. Without a method, sketches are not compared. There are no rules unless all URLs
    are known and *is_whole*: an unknown URL may be the only page of its kind.
    """

    def __init__(self, method: Method | None = None, *, is_whole: bool = True) -> None:
        self._method = method
        self._is_whole = is_whole
        self._urls: dict[str, int] = {}
        self._numbers: dict[tuple[str, Hashable], int] = {}
        # By the number of a content.
        self._scopes: list[str] = []
        self._payloads: list[bytes | None] = []
        self._originals: dict[int, tuple[str, Hashable]] = {}

    def add(self, url: str, content: Content | None) -> None:
        """Note that *url* has *content*, ``None`` for an unknown one.

        If a URL is given several contents that are not past, its content is unknown.
        """
        if not url.startswith(("http://", "https://")):
            return
        if len(url) > LONGEST_URL or (url not in self._urls and len(self._urls) >= MOST_URLS):
            self._is_whole = False
            return
        before = self._urls.get(url, _PAST)
        if content and content.is_past:
            self._urls[url] = before
            return
        number = _UNKNOWN if content is None else self._number(content)
        self._urls[url] = number if before in (number, _PAST) else _UNKNOWN

    def advice(self) -> UrlAdvice:
        """Return the parts of the URLs that never changed the content."""
        pages = ((url, None if n in (_UNKNOWN, _PAST) else n) for url, n in self._urls.items())
        return url_advice(pages, self._near, with_rules=self._is_whole)

    def _number(self, content: Content) -> int:
        key = content.scope, content.text
        number = self._numbers.setdefault(key, len(self._numbers))
        if number == len(self._scopes):
            self._scopes.append(content.scope)
            self._payloads.append(None)
        # Any page of a content may bring its sketch or original.
        sketch, method = content.sketch, self._method
        if method and sketch is not None and self._payloads[number] is None:
            self._payloads[number] = method.payload(method.from_bytes(sketch))
        if content.original is not None:
            self._originals.setdefault(number, (content.scope, content.original))
        return number

    def _near(self, pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        comparable = []
        for a, b in pairs:
            if self._scopes[a] != self._scopes[b]:
                continue
            if None not in (self._payloads[a], self._payloads[b]):
                comparable.append((a, b))
            elif self._is_original_of(a, b) or self._is_original_of(b, a):
                yield a, b
        method = self._method
        if method and comparable:
            firsts, seconds = (
                [self._payloads[n] for n in column] for column in zip(*comparable, strict=True)
            )
            is_near = method.distances_of_pairs(firsts, seconds) <= method.max_distance
            if method.finds_parts:
                is_near &= method.distances_of_pairs(seconds, firsts) <= method.max_distance
            yield from (pair for pair, near in zip(comparable, is_near, strict=True) if near)

    def _is_original_of(self, original: int, content: int) -> bool:
        key = self._originals.get(content)
        return key is not None and self._numbers.get(key) == original
