"""The URLs of a crawl, and which of them have the same content."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import combinations, islice
from operator import itemgetter
from typing import Any

from dedup.url_advice.urls import Url

Near = Callable[[Collection[tuple[Any, Any]]], Iterable[tuple[Any, Any]]]
"""Takes pairs of different contents; returns those that are near each other."""

_PAIRS_AT_ONCE = 1 << 16
# In a class of URLs with more contents than this, only equal contents are the same: such contents
# change with each visit, and there would be too many pairs.
_MOST_CONTENTS = 16


class Pages:
    """The URLs of a crawl in alphabetical order, each as written, and their contents.

    Nearness is not transitive: a may be near b and b near c, but a not near c.
    """

    def __init__(self, pages: Iterable[tuple[str, Hashable]], near: Near) -> None:
        """Take pairs of a URL and its content, ``None`` if that is unknown; *near*: see `Near`."""
        self.urls: dict[Url, str] = {}
        self.contents: dict[Url, Hashable] = {}
        self._near = near
        self._neighbours: dict[Hashable, set[Hashable]] = defaultdict(set)
        for text, content in sorted(pages, key=itemgetter(0)):
            if not (url := Url.parse(text)):
                continue
            # A URL that is written in two ways may have two contents.
            if content is None or self.contents.get(url, content) != content:
                content = object()  # unlike any other
            self.urls.setdefault(url, text)
            self.contents[url] = content

    def evidence(self, classes: Iterable[Sequence[Url]]) -> tuple[int, int]:
        """Return how many URLs of *classes* a crawl could skip, and how many of these agreed.

        It would fetch one URL of each class.
        """
        contents = [[self.contents[url] for url in urls] for urls in classes if len(urls) > 1]
        different = map(dict.fromkeys, contents)
        self.compare(
            pair
            for some in different
            if len(some) <= _MOST_CONTENTS
            for pair in combinations(some, 2)
        )
        return sum(map(len, contents)) - len(contents), sum(map(self._count_agreeing, contents))

    def compare(self, pairs: Iterable[tuple[Hashable, Hashable]]) -> None:
        """Find out which of *pairs* of contents are near each other."""
        known = ((a, b) for a, b in pairs if a != b and object not in (type(a), type(b)))
        while batch := dict.fromkeys(islice(known, _PAIRS_AT_ONCE)):
            for a, b in self._near(batch.keys()):
                self._neighbours[a].add(b)
                self._neighbours[b].add(a)

    def are_same(self, one: Url, other: Url) -> bool:
        """Return whether two URLs have the same content, as far as they were compared."""
        a, b = self.contents[one], self.contents[other]
        return a == b or b in self._neighbours.get(a, ())

    def _count_agreeing(self, contents: Sequence[Hashable]) -> int:
        """Return how many pages of a class agree with the one that a crawl would fetch.

        The result is averaged over the choice of the fetched page and rounded down, so it is all of
        the others only if every two contents are the same.
        """
        counts, pairs = Counter(contents), 0
        for content, count in counts.items():
            near = counts.keys() & self._neighbours.get(content, set())
            pairs += count * (count - 1 + sum(counts[other] for other in near))
        return pairs // len(contents)

    def examples(self, pairs: Iterable[tuple[Url, Url]]) -> Iterator[tuple[tuple[str, str], ...]]:
        """Return two pairs that are the same, and two that differ, as far as there are some."""
        found: tuple[list[tuple[str, str]], ...] = [], []
        for one, other in pairs:
            found[self.are_same(one, other)].append((self.urls[one], self.urls[other]))
            if min(map(len, found)) > 1:
                break
        differing, agreeing = found
        return iter((tuple(agreeing[:2]), tuple(differing[:2])))
