"""Which contents are the same: those that are equal or near each other."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

Near = Callable[[Collection[tuple[Any, Any]]], Iterable[tuple[Any, Any]]]
"""Takes pairs of different contents; returns those that are near each other."""

_PAIRS_AT_ONCE = 1 << 16
# In a class of URLs with more contents than this, only equal contents are the same: such contents
# change with each visit, and there would be too many pairs.
_MOST_CONTENTS = 16


class Sameness:
    """Says which contents are the same, among the pairs that it has compared.

    Nearness is not transitive: a may be near b and b near c, but a not near c.
    """

    def __init__(self, near: Near) -> None:
        self._near = near
        self._neighbours: dict[Any, set[Any]] = defaultdict(set)

    def compare(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Find out which of *pairs* of contents are near each other."""
        rest = iter(pairs)
        while batch := {pair for pair in islice(rest, _PAIRS_AT_ONCE) if pair[0] != pair[1]}:
            for a, b in self._near(batch):
                self._neighbours[a].add(b)
                self._neighbours[b].add(a)

    def compare_within(self, classes: Iterable[Collection[Any]]) -> None:
        """Find out which contents of each class are near each other."""
        different = (sorted(set(contents)) for contents in classes)
        self.compare(
            pair
            for contents in different
            if len(contents) <= _MOST_CONTENTS
            for pair in combinations(contents, 2)
        )

    def are_same(self, a: Any, b: Any) -> bool:
        return a == b or b in self.neighbours(a)

    def count_agreeing(self, contents: Sequence[Any]) -> int:
        """Return how many pages of a class agree with the one that a crawl would fetch.

        *contents*: those of the class. The result is averaged over the choice of the fetched page
        and rounded down, so it is all of the others only if every two contents are the same.
        """
        if len(contents) == 2:
            return int(self.are_same(*contents))
        counts = Counter(contents)
        pairs = sum(
            count
            * (count - 1 + sum(counts[other] for other in counts.keys() & self.neighbours(content)))
            for content, count in counts.items()
        )
        return pairs // len(contents)

    def is_in(self, content: Any, counts: Mapping[Any, int]) -> bool:
        """Return whether *counts* has a content that is the same as *content*."""
        return counts[content] > 0 or any(counts[near] > 0 for near in self.neighbours(content))

    def neighbours(self, content: Any) -> Collection[Any]:
        """Return the contents that are known to be near *content*, without itself."""
        return self._neighbours.get(content, ())
