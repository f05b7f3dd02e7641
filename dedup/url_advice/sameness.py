"""Which contents are the same: equal ones, and those that are near each other."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations, islice
from typing import Any

Near = Callable[[Collection[tuple[Any, Any]]], Iterable[tuple[Any, Any]]]
"""Given pairs of different contents, returns those that are near each other."""

_PAIRS_AT_ONCE = 1 << 16
# Of URLs that would be one, with more contents than that, only equal ones are the same: such a
# content changes with each visit, and the pairs would be too many.
_MOST_COMPARED = 16


class Sameness:
    """Says which contents are the same, of those pairs that it was told to compare.

    Being near does not carry over: of three contents in a row, the outer ones may be different.
    """

    def __init__(self, near: Near) -> None:
        self._near = near
        self._neighbours: dict[Any, set[Any]] = defaultdict(set)

    def compare(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        """Find out which of *pairs* of contents are near each other."""
        rest = iter(pairs)
        while some := {pair for pair in islice(rest, _PAIRS_AT_ONCE) if pair[0] != pair[1]}:
            for one, other in self._near(some):
                self._neighbours[one].add(other)
                self._neighbours[other].add(one)

    def compare_within(self, classes: Iterable[Collection[Any]]) -> None:
        """Find out which contents of each class are near each other."""
        different = (sorted(set(contents)) for contents in classes)
        self.compare(
            pair
            for contents in different
            if len(contents) <= _MOST_COMPARED
            for pair in combinations(contents, 2)
        )

    def same(self, one: Any, other: Any) -> bool:
        return one == other or other in self._neighbours.get(one, ())

    def agreeing(self, contents: Sequence[Any]) -> int:
        """Return how many others of a class have the content of the one that stays.

        On average over which one stays, rounded down: all, only if each is the same as each.
        """
        if len(contents) == 2:
            return int(self.same(*contents))
        counts = Counter(contents)
        pairs = sum(
            count
            * (count - 1 + sum(counts[other] for other in counts.keys() & self.neighbours(one)))
            for one, count in counts.items()
        )
        return pairs // len(contents)

    def is_left(self, content: Any, left: Mapping[Any, int]) -> bool:
        """Return whether something that is the same as *content* is *left*, by how often."""
        return left[content] > 0 or any(
            left[other] > 0 for other in self._neighbours.get(content, ())
        )

    def neighbours(self, content: Any) -> Collection[Any]:
        """Return what is known to be near *content*, and not equal."""
        return self._neighbours.get(content, ())
