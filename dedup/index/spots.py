"""The index of SpotSigs: partitions by length, and postings of the rarest spots."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence

import numpy as np

from dedup.arrays import Array
from dedup.index.keys import KeyIndex
from dedup.methods.base import KeyMethod
from dedup.methods.digests import jaccard_distance
from dedup.methods.hashing import mix

# More spots than a page can have.
_LARGEST = 1 << 40


class SpotIndex(KeyIndex):
    """Finds the stored pages within the threshold of SpotSigs, all of them and no others.

    Sketches are partitioned by their number of spots; each partition has postings for each spot. A
    query searches its own partition and the neighbours on both sides that can contain a match: two
    sketches of n < m spots have a J of at most n/m. In each partition it reads the postings of its
    rarest spots, until a page without any of them has too few spots left to match. It does not
    read the long postings of common spots. It compares those pages that can still match: a page
    first met after d of the query's q spots shares at most q - d spots, and at most its own number.

    The rarity of a spot is judged by all its postings, also those of discarded pages. Any order of
    the spots would find all matches.

    Source: Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008, section 4. Unlike in its reference
    code, the bounds are exact whichever sketch is longer or was stored first, and rare spots are
    not left out.
    """

    def __init__(self, method: KeyMethod) -> None:
        super().__init__(method)
        self._partitions = Partitions(method.max_distance)

    def _keys(self, sketch: Array) -> Array:
        return _keys(sketch, np.uint64(self._partitions.number(len(sketch))))

    def _keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        spots, sizes, payloads = super()._keys_of_many(sketches)
        different, which = np.unique(sizes, return_inverse=True)
        partitions = np.array([self._partitions.number(size) for size in different.tolist()])
        of_spots = np.repeat(partitions[which].astype(np.uint64), sizes)
        return _keys(spots, of_spots), sizes, payloads

    def _candidates(self, sketch: Array, within: float) -> list[int]:
        """Return the positions of the sketches that may be *within* the distance, each once."""
        partitions = self._partitions.near(len(sketch))
        return [
            position
            for partition in partitions
            for position in self._candidates_in(partition, sketch, within)
        ]

    def _candidates_in(self, partition: int, sketch: Array, within: float) -> list[int]:
        keys = _keys(sketch, np.uint64(partition))
        first, _ = self._partitions.bounds(partition)
        needed = min_shared_spots(len(sketch), first, within)
        rarest = np.argsort(self._table.counts(keys), kind="stable")[: len(sketch) - needed + 1]
        spots_before, positions = self._find(keys[rarest])
        in_order = np.argsort(spots_before, kind="stable")
        positions, first_met = np.unique(positions[in_order], return_index=True)
        spots_before = spots_before[in_order]
        stored = self._payloads.lengths(positions) // 8
        shared_at_most = np.minimum(len(sketch) - spots_before[first_met], stored)
        bound = jaccard_distance(shared_at_most, len(sketch), stored)
        candidates: list[int] = positions[bound <= within].tolist()
        return candidates


def _keys(spots: Array, partitions: Array | np.uint64) -> Array:
    """Return the keys of *spots*, uint64, in one partition or in one for each spot."""
    return mix(spots ^ mix(np.atleast_1d(partitions)))


class Partitions:
    """Ranges of sketch sizes: from 1 on without gaps, each wider than two matches can differ.

    >>> partitions = Partitions(0.5)
    >>> partitions.number(30), [partitions.bounds(number) for number in range(4)]
    (3, [(1, 3), (4, 9), (10, 21), (22, 45)])

    Source: Theobald, Siddharth, Paepcke, "SpotSigs", SIGIR 2008, section 4.1.
    """

    def __init__(self, max_distance: float) -> None:
        self._max_distance = max_distance
        self._lasts: list[int] = []

    def number(self, size: int) -> int:
        """Return the number, from 0, of the partition for sketches of *size* spots."""
        while not self._lasts or self._lasts[-1] < size:
            self._lasts.append(self._last(self._lasts[-1] + 1 if self._lasts else 1))
        return bisect_left(self._lasts, size)

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the least and the greatest size in partition *number*, which must exist."""
        return (self._lasts[number - 1] + 1 if number else 1), self._lasts[number]

    def near(self, size: int) -> Iterator[int]:
        """Yield the numbers of all existing partitions that can contain a match of *size* spots.

        Partitions exist up to the greatest that `number` has returned; later ones are empty.
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
        return bool(jaccard_distance(smaller, smaller, larger) <= self._max_distance)


def min_shared_spots(size: int, least_size: int, max_distance: float) -> int:
    """Return how many spots a sketch of *size* must share with a match of *least_size* or more.

    The result is 1 or more, and above *size* if there cannot be such a match.
    """

    def suffices(shared: int) -> bool:
        return bool(jaccard_distance(shared, size, max(shared, least_size)) <= max_distance)

    return bisect_left(range(1, size + 1), True, key=suffices) + 1
