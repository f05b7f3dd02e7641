"""Positions by key, in a few sorted runs."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from sys import getsizeof
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array, run_positions, sort_unique

# A run is merged with the one before it, unless that is so many times as long.
_RATIO = 16
_SHORTEST_RUN = 1 << 10
_BITS = np.uint64(32)
_POSITION = np.uint64(2**32 - 1)


class _Found(NamedTuple):
    """The rows of keys in a run: numbers of keys, where the rows of each begin, and how many."""

    run: Array
    keys: Array
    starts: Array
    sizes: Array

    def of_keys(self, is_asked: Array) -> "_Found":
        """Return those of some keys, by whether each is asked for, shape (keys,)."""
        own = is_asked[self.keys]
        return _Found(self.run, self.keys[own], self.starts[own], self.sizes[own])


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
            while len(self._runs) > 1 and len(self._runs[-2]) < max(
                _SHORTEST_RUN, _RATIO * len(self._runs[-1])
            ):
                rows = np.concatenate(self._runs[-2:])
                rows.sort(kind="stable")  # fast on sorted parts
                self._runs[-2:] = [rows]

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
        return _expand(self._found(keys, most))

    def find_one(self, key: int, most: int) -> list[int]:
        """Return at least the highest *most* positions under *key*, in a few microseconds."""
        first = np.uint64(key & int(_POSITION)) << _BITS
        ends = np.array([first, first | _POSITION])
        found: list[int] = []
        for run in self._runs:
            start, end = run.searchsorted(ends).tolist()
            found += (run[max(start, end - most) : end] & _POSITION).tolist()
        return found

    def find_in_parts(
        self, keys: Array, size: int, most: int | None = None
    ) -> Iterator[tuple[Array, Array]]:
        """Yield what `find` returns, about *size* positions at a time, those of a key together."""
        found = list(self._found(keys, most))
        parts = np.cumsum(_counts(found, len(keys))) // size
        for part in sort_unique(parts).tolist():  # in order already
            is_asked = parts == part
            yield _expand(of_run.of_keys(is_asked) for of_run in found)

    def counts(self, keys: Array, most: int | None = None) -> Array:
        """Return how many positions `find` returns for each of *keys*, int64."""
        return _counts(self._found(keys, most), len(keys))

    def _found(self, keys: Array, most: int | None) -> Iterator[_Found]:
        """Yield what each run has of *keys*."""
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
            yield _Found(run, order[which], starts, ends - starts)

    @property
    def nbytes(self) -> int:
        return getsizeof(self._runs) + sum(run.nbytes for run in self._runs)


def _counts(found: Iterable[_Found], keys: int) -> Array:
    counts = np.zeros(keys, np.int64)
    for _, rows, _, sizes in found:
        counts[rows] += sizes
    return counts


def _expand(found: Iterable[_Found]) -> tuple[Array, Array]:
    numbers, positions = [np.empty(0, np.int64)], [np.empty(0, np.uint32)]
    for run, rows, starts, sizes in found:
        numbers.append(np.repeat(rows, sizes))
        positions.append(run[run_positions(starts, sizes)].astype(np.uint32))
    return np.concatenate(numbers), np.concatenate(positions)


def newest(keys: Array, pages: Array, most: int) -> Array:
    """Return which rows have one of the highest *most* of *pages* that have the same key.

    *keys*: int64, shape (n,), from 0; *pages*: shape (n,).
    """
    is_newest = np.ones(len(keys), np.bool_)
    for key in np.flatnonzero(np.bincount(keys) > most).tolist():
        rows = np.flatnonzero(keys == key)
        is_newest[rows[np.argpartition(pages[rows], -most)[:-most]]] = False
    return is_newest
