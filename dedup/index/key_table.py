"""Positions by key, in a few sorted runs."""

from collections.abc import Iterator
from contextlib import suppress
from sys import getsizeof

import numpy as np

from dedup.arrays import Array, run_positions

# A run is merged with the one before it, unless that is so many times as long.
_RATIO = 16
_SHORTEST_RUN = 1 << 10
_BITS = np.uint64(32)
_POSITION = np.uint64(2**32 - 1)


class KeyTable:
    """A multimap from keys, uint64, to positions up to 2**32 - 2: 8 bytes for each of them.

    Only the lowest 32 bits of keys are compared, so a look-up may also return positions of others.

    Source: Bentley, Saxe, "Decomposable Searching Problems", Journal of Algorithms 1 (1980).
    """

    def __init__(self) -> None:
        # Of keys and positions, in the order of both: the key is in the high half.
        self._runs: list[Array] = []

    def add(self, keys: Array, positions: Array | int) -> None:
        """Store *positions*, one for all or one for each, under *keys*."""
        rows = keys << _BITS | np.asarray(positions, np.uint64)
        rows.sort()
        self._runs.append(rows)
        with suppress(MemoryError):  # more runs take longer to search, but have the same rows
            while len(self._runs) > 1 and len(self._runs[-2]) < self._least_length():
                rows = np.concatenate(self._runs[-2:])
                rows.sort(kind="stable")  # fast on sorted parts
                self._runs[-2:] = [rows]

    def _least_length(self) -> int:
        return max(_SHORTEST_RUN, _RATIO * len(self._runs[-1]))

    def renumber(self, positions: Array, is_kept: Array) -> None:
        """Replace each position by ``positions[position]``, in the same order; drop some.

        Both arrays are by position: uint64, and bool.
        """
        for number, run in enumerate(self._runs):
            rows = run[is_kept[run & _POSITION]]
            self._runs[number] = rows >> _BITS << _BITS | positions[rows & _POSITION]

    def find(self, keys: Array, most: int | None = None) -> tuple[Array, Array]:
        """Return numbers of *keys* (int64) and a position under the key for each (uint32).

        They are in no particular order. With *most*, at least the highest *most* of each key.
        """
        numbers: list[Array] = []
        positions: list[Array] = []
        for run, rows, starts, sizes in self._found(keys, most):
            numbers.append(np.repeat(rows, sizes))
            positions.append(run[run_positions(starts, sizes)].astype(np.uint32))
        if not numbers:
            return np.empty(0, np.int64), np.empty(0, np.uint32)
        return np.concatenate(numbers), np.concatenate(positions)

    def counts(self, keys: Array, most: int | None = None) -> Array:
        """Return how many positions `find` returns for each of *keys*, int64."""
        counts = np.zeros(len(keys), np.int64)
        for _, rows, _, sizes in self._found(keys, most):
            counts[rows] += sizes
        return counts

    def _found(self, keys: Array, most: int | None) -> Iterator[tuple[Array, Array, Array, Array]]:
        """Yield each run, which of *keys* it has, where their rows begin there, and how many."""
        first = keys << _BITS
        # Many in ascending order are found in a fifth of the time: what they read is in the cache.
        order = np.argsort(first)
        first = first[order]
        last = first | _POSITION  # there is no such position
        for run in self._runs:
            starts = run.searchsorted(first)
            # Most keys are in none, and have no end to be looked for.
            which = np.flatnonzero(starts < len(run))
            which = which[run[starts[which]] < last[which]]
            starts, ends = starts[which], run.searchsorted(last[which])
            if most is not None:
                starts = np.maximum(starts, ends - most)
            yield run, order[which], starts, ends - starts

    @property
    def nbytes(self) -> int:
        return getsizeof(self._runs) + sum(run.nbytes for run in self._runs)


def newest(keys: Array, pages: Array, most: int) -> Array:
    """Return which rows have one of the highest *most* of *pages* that have the same key.

    *keys*: int64, shape (n,), from 0; *pages*: shape (n,).
    """
    is_newest = np.ones(len(keys), np.bool_)
    for key in np.flatnonzero(np.bincount(keys) > most).tolist():
        rows = np.flatnonzero(keys == key)
        is_newest[rows[np.argpartition(pages[rows], -most)[:-most]]] = False
    return is_newest
