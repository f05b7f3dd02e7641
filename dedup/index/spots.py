"""The index of SpotSigs: partitions by length, and postings of the rarest spots."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

from dedup.index.keys import KeyIndex
from dedup.methods.hashing import Array, mix
from dedup.methods.spotsigs import SpotSigs, jaccard_distance

# More spots than a page can have.
_LARGEST = 1 << 40


class SpotIndex(KeyIndex):
    """Finds the stored pages within the threshold of SpotSigs, all of them and no others.

    The sketches are in partitions by their numbers of spots, and for each partition there are the
    postings of each spot. A query looks into its own partition and, on both sides, into as many as
    can hold a match: sketches of n < m spots have a J of at most n/m. In each it reads the
    postings of its rarest spots, until a page that has had none of them has too few left to reach
    the threshold; the common spots, with their long postings, are not read. Of the pages read,
    those are compared that can still reach it: who is first met after d of the query's q spots
    shares at most q - d of them, and at most its own number.

    How rare a spot is, its bucket tells, which it shares with a few others: whatever the order, no
    match is missed.

    Source: Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008, section 4. The bounds are exact
    whichever of two sketches is the longer and was stored first, unlike those of its reference
    code, and no spot is left out for being rare.
    """

    def __init__(self, method: SpotSigs) -> None:
        super().__init__(method)
        self._partitions = Partitions(method.max_distance)

    def _keys(self, sketch: Array) -> list[int]:
        partition = np.uint64(self._partitions.number(len(sketch)))
        return _keys(sketch, partition).tolist()  # type: ignore[no-any-return]

    def _keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, list[bytes]]:
        spots, sizes, payloads = super()._keys_of_many(sketches)
        different, which = np.unique(sizes, return_inverse=True)
        partitions = np.array([self._partitions.number(size) for size in different.tolist()])
        of_spots = np.repeat(partitions[which].astype(np.uint64), sizes)
        return _keys(spots, of_spots), sizes, payloads

    def _candidates(self, sketch: Array, within: float) -> list[int]:
        """Return the positions of the sketches that may be *within* the distance, each once.

        None of those that are so much longer or shorter that they cannot match.
        """
        partitions = self._partitions.near(len(sketch))
        return [
            position
            for partition in partitions
            for position in self._candidates_in(partition, sketch, within)
        ]

    def _candidates_in(self, partition: int, sketch: Array, within: float) -> list[int]:
        runs = self._table.runs(_keys(sketch, np.uint64(partition)))
        first, _ = self._partitions.bounds(partition)
        needed = min_shared_spots(len(sketch), first, within)
        _, sizes, _ = runs
        rarest = np.argsort(sizes, kind="stable")[: len(sketch) - needed + 1]
        spots_before, positions = self._table.postings(*(column[rarest] for column in runs))
        positions, first_met = np.unique(positions, return_index=True)
        stored = self._payloads.lengths(positions) // 8
        shared_at_most = np.minimum(len(sketch) - spots_before[first_met], stored)
        bound = jaccard_distance(shared_at_most, len(sketch), stored)
        candidates: list[int] = positions[bound <= within].tolist()
        return candidates


def _keys(spots: Array, partitions: Array | np.uint64) -> Array:
    """Return the keys of *spots* in the partition of all, or of each, uint64."""
    return mix(spots ^ mix(np.atleast_1d(partitions)))


class Partitions:
    """Ranges of numbers of spots: from 1 on without gaps, each wider than two matches can differ.

    >>> partitions = Partitions(0.5)
    >>> partitions.number(30), [partitions.bounds(number) for number in range(4)]
    (3, [(1, 3), (4, 9), (10, 21), (22, 45)])

    Source: Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008, section 4.1.
    """

    def __init__(self, max_distance: float) -> None:
        self._max_distance = max_distance
        self._lasts: list[int] = []

    def number(self, size: int) -> int:
        """Return the number, from 0, of the partition that sketches of *size* spots are in."""
        while not self._lasts or self._lasts[-1] < size:
            self._lasts.append(self._last(self._lasts[-1] + 1 if self._lasts else 1))
        return bisect_left(self._lasts, size)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the least and the greatest size in partition *number*, one that is known."""
        return (self._lasts[number - 1] + 1 if number else 1), self._lasts[number]

    def near(self, size: int) -> Iterator[int]:
        """Yield the numbers of all partitions that can hold a match of *size* spots.

        None of those after the greatest of which `number` was asked so far: nothing is in them.
        """
        lowest = highest = self.number(size)
        while lowest and self._may_match(self._lasts[lowest - 1], size):
            lowest -= 1
        while highest + 1 < len(self._lasts) and self._may_match(size, self._lasts[highest] + 1):
            highest += 1
        yield from range(lowest, highest + 1)

    def _last(self, first: int) -> int:
        """Return the last size of the partition from *first*: the least that cannot match it."""
        sizes = range(first + 1, _LARGEST)
        return (
            first + 1 + bisect_left(sizes, True, key=lambda last: not self._may_match(first, last))
        )

    def _may_match(self, smaller: int, larger: int) -> bool:
        return jaccard_distance(smaller, smaller, larger) <= self._max_distance


def min_shared_spots(size: int, least_size: int, max_distance: float) -> int:
    """Return how many spots a sketch of *size* shares with any match of *least_size* or more.

    At least 1. More than *size* if it can have none.
    """

    def suffices(shared: int) -> bool:
        other = max(shared, least_size)
        return jaccard_distance(shared, size, other) <= max_distance

    return bisect_left(range(1, size + 1), True, key=suffices) + 1
