"""The URLs of a crawl and their contents, and which contents are near each other."""

from collections.abc import Collection, Hashable, Iterator
from typing import NamedTuple

from dedup.limits import LONGEST_URL
from dedup.methods.base import Method
from dedup.url_advice.advice import UrlAdvice, url_advice

MOST_URLS = 100_000
"""The number of URLs that are remembered."""


class Content(NamedTuple):
    """The content of a page.

    *text* identifies the text within its *scope*. *sketch* is the method's, or ``None`` if it is
    not compared.
    """

    text: Hashable
    scope: str = ""
    sketch: bytes | None = None


class Contents:
    """The contents of the first 100,000 URLs of a crawl.

    Two contents of the same scope are the same if their texts are equal, or their sketches are
    within the threshold of *method*. The detector's verdicts do not count: they depend on the order
    of the pages. Without a method, sketches are not compared.
    """

    def __init__(self, method: Method | None = None) -> None:
        self._method = method
        # The number of the content of each, which may be unknown.
        self._urls: dict[str, int | None] = {}
        self._numbers: dict[tuple[str, Hashable], int] = {}
        self._known: list[Content] = []

    def add(self, url: str, content: Content | None) -> None:
        """Note that *url* has *content*, ``None`` for an unknown one.

        If a URL is given several contents, its content is unknown.
        """
        if len(url) > LONGEST_URL or not url.startswith(("http://", "https://")):
            return
        if url not in self._urls and len(self._urls) >= MOST_URLS:
            return
        number = None
        if content:
            number = self._numbers.setdefault((content.scope, content.text), len(self._known))
            if number == len(self._known):
                self._known.append(content)
        self._urls[url] = number if self._urls.get(url, number) == number else None

    def advice(self) -> UrlAdvice:
        return url_advice(self._urls.items(), self._near)

    def _near(self, pairs: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        method, comparable, sketches = self._method, [], []
        for pair in pairs:
            one, other = (self._known[number] for number in pair)
            has_sketches = one.sketch is not None and other.sketch is not None
            if has_sketches and one.scope == other.scope:
                comparable.append(pair)
                sketches.append((one.sketch, other.sketch))
        if method and comparable:
            firsts, seconds = (
                [method.payload(method.from_bytes(sketch)) for sketch in column]
                for column in zip(*sketches, strict=True)
            )
            is_near = method.distances_of_pairs(firsts, seconds) <= method.max_distance
            if method.finds_parts:
                is_near &= method.distances_of_pairs(seconds, firsts) <= method.max_distance
            yield from (pair for pair, near in zip(comparable, is_near, strict=True) if near)
