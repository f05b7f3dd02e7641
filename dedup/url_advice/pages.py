"""The URLs of a crawl, and which of them have the same content."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
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
    """The URLs of a crawl in alphabetical order, each as written, and their contents, as numbers.

    Nearness is not transitive: a may be near b and b near c, but a not near c.
    """

    def __init__(self, pages: Iterable[tuple[str, Hashable]], near: Near) -> None:
        """Take pairs of a URL and its content, ``None`` if that is unknown; *near*: see `Near`."""
        self.urls: dict[Url, str] = {}
        self.contents: dict[Url, int] = {}
        self.by_host: dict[str, list[Url]] = defaultdict(list)
        self._near = near
        self._neighbours: dict[int, set[int]] = defaultdict(set)
        self._contents: list[Hashable] = []
        numbers: dict[Hashable, int] = {}
        for text, content in sorted(pages, key=itemgetter(0)):
            if not (url := Url.parse(text)):
                continue
            new = len(self._contents)
            number = new if content is None else numbers.setdefault(content, new)
            if url in self.urls and self.contents[url] != number:
                number, content = new, None  # written in two ways, with two contents
            if number == new:
                self._contents.append(content)
            if url not in self.urls:
                self.urls[url] = text
                self.by_host[url.host].append(url)
            self.contents[url] = number

    def evidence(self, classes: Iterable[Sequence[Url]]) -> tuple[int, int]:
        """Return how many URLs of *classes* a crawl could skip, and how many of these agreed.

        It would fetch one URL of each class.
        """
        contents = [[self.contents[url] for url in urls] for urls in classes if len(urls) > 1]
        different = (sorted(set(each)) for each in contents)
        self.compare(
            pair
            for numbers in different
            if len(numbers) <= _MOST_CONTENTS
            for pair in combinations(numbers, 2)
        )
        return sum(map(len, contents)) - len(contents), sum(map(self._count_agreeing, contents))

    def compare(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Find out which of *pairs* of contents are near each other."""
        rest = iter(pairs)
        while batch := list(islice(rest, _PAIRS_AT_ONCE)):
            by_contents = {
                (self._contents[a], self._contents[b]): (a, b)
                for a, b in batch
                if a != b and None not in (self._contents[a], self._contents[b])
            }
            for pair in self._near(by_contents.keys()) if by_contents else ():
                a, b = by_contents[pair]
                self._neighbours[a].add(b)
                self._neighbours[b].add(a)

    def are_same(self, one: Url, other: Url) -> bool:
        """Return whether two URLs have the same content, as far as they were compared."""
        a, b = self.contents[one], self.contents[other]
        return a == b or b in self.neighbours(a)

    def is_in(self, content: int, counts: Mapping[int, int]) -> bool:
        """Return whether *counts* has a content that is the same as *content*."""
        return any(counts[near] > 0 for near in (content, *self.neighbours(content)))

    def neighbours(self, content: int) -> Collection[int]:
        """Return the contents that are known to be near *content*, without itself."""
        return self._neighbours.get(content, ())

    def _count_agreeing(self, contents: Sequence[int]) -> int:
        """Return how many pages of a class agree with the one that a crawl would fetch.

        The result is averaged over the choice of the fetched page and rounded down, so it is all of
        the others only if every two contents are the same.
        """
        counts = Counter(contents)
        pairs = sum(
            count
            * (count - 1 + sum(counts[other] for other in counts.keys() & self.neighbours(content)))
            for content, count in counts.items()
        )
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
