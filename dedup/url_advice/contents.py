"""The URLs of a crawl and their contents, and which contents are near each other."""

from collections.abc import Collection, Hashable, Iterator
from typing import NamedTuple

from dedup.limits import LONGEST_URL
from dedup.methods.base import Method
from dedup.url_advice.advice import UrlAdvice, url_advice

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
        self._known: list[Content] = []

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
        pages = ((url, number if number >= 0 else None) for url, number in self._urls.items())
        return url_advice(pages, self._near, with_rules=self._is_whole)

    def _number(self, content: Content) -> int:
        number = self._numbers.setdefault((content.scope, content.text), len(self._known))
        if number == len(self._known):
            self._known.append(content)
        known = self._known[number]
        # Any page of a content may bring its sketch or original.
        if known.sketch is None:
            known = known._replace(sketch=content.sketch)
        if known.original is None:
            known = known._replace(original=content.original)
        self._known[number] = known
        return number

    def _near(self, pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        method, comparable, sketches = self._method, [], []
        for pair in pairs:
            one, other = (self._known[number] for number in pair)
            if one.scope != other.scope:
                continue
            if method and one.sketch is not None and other.sketch is not None:
                comparable.append(pair)
                sketches.append((one.sketch, other.sketch))
            elif one.text == other.original or other.text == one.original:
                yield pair
        if method and comparable:
            firsts, seconds = (
                [method.payload(method.from_bytes(sketch)) for sketch in column]
                for column in zip(*sketches, strict=True)
            )
            is_near = method.distances_of_pairs(firsts, seconds) <= method.max_distance
            if method.finds_parts:
                is_near &= method.distances_of_pairs(seconds, firsts) <= method.max_distance
            yield from (pair for pair, near in zip(comparable, is_near, strict=True) if near)
