"""Pairs of positions, and the runs of what is equal."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array, run_positions, run_positions_in_parts

SHORT = 256
"""In a run of so many members or fewer, each is compared with each."""


class Pairs(NamedTuple):
    """Positions of pairs, each the earlier one's and the later one's, shape (n,)."""

    earlier: Array
    later: Array

    def parts(self, size: int) -> "Iterator[Pairs]":
        """Yield them in their order, up to *size* at a time."""
        for begin in range(0, len(self.earlier), size):
            yield Pairs(self.earlier[begin : begin + size], self.later[begin : begin + size])


def all_pairs(starts: Array, ends: Array) -> Iterator[Pairs]:
    """Yield all pairs inside of the runs from *starts* to before *ends*, about a million a time."""
    sizes = ends - starts
    members = run_positions(starts, sizes)
    behind = np.repeat(ends, sizes) - members - 1
    for which, later in run_positions_in_parts(members + 1, behind):
        yield Pairs(members[which], later)


def pairs_of_leaders(first: int, last: int, end: int) -> Pairs:
    """Return the pairs of each position from *first* to before *last* with all later ones.

    >>> [part.tolist() for part in pairs_of_leaders(0, 2, 4)]
    [[0, 0, 0, 1, 1], [1, 2, 3, 2, 3]]
    """
    leaders = np.arange(first, last)
    behind = end - leaders - 1
    return Pairs(np.repeat(leaders, behind), run_positions(leaders + 1, behind))


def runs_of(keys: Array) -> tuple[Array, Array, Array]:
    """Return an order of *keys*, and where runs of equal ones start and end in it."""
    order = np.argsort(keys)
    borders = np.flatnonzero(np.diff(keys[order]) != 0) + 1
    starts, ends = np.append(0, borders), np.append(borders, len(keys))
    is_run = ends - starts > 1
    return order, starts[is_run], ends[is_run]


def joined(parts: list[Pairs]) -> Pairs:
    """Return the pairs of all *parts*, of which there is one at least, in their order."""
    return Pairs(*(np.concatenate(side) for side in zip(*parts, strict=True)))


class DistinctPairs:
    """Pairs that may be found several times, until they are over *most*."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._codes = [np.empty(0, np.uint64)]
        self._fresh = 0
        self.are_too_many = False

    def add(self, parts: Iterable[Pairs], members: Array | None = None) -> None:
        """Add pairs of positions, or of positions among *members*; none once there are too many."""
        for part in parts:
            ones, others = part if members is None else (members[side] for side in part)
            self._codes.append(_codes(ones, others))
            self._fresh += len(ones)
            if self._fresh > self._most:
                self._unite()
                if self.are_too_many:
                    return

    def pairs(self) -> Pairs | None:
        """Return each once, or ``None`` if they are too many."""
        self._unite()
        [codes] = self._codes
        if self.are_too_many:
            return None
        return Pairs(
            (codes >> np.uint64(32)).astype(np.intp), codes.astype(np.uint32).astype(np.intp)
        )

    def _unite(self) -> None:
        self._codes, self._fresh = [np.unique(np.concatenate(self._codes))], 0
        self.are_too_many = len(self._codes[0]) > self._most


def _codes(ones: Array, others: Array) -> Array:
    """Return pairs as numbers that are equal if they are, whichever comes first."""
    codes = np.minimum(ones, others).astype(np.uint64) << np.uint64(32)
    return codes | np.maximum(ones, others).astype(np.uint64)
