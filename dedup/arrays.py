"""Operations on arrays, and on runs of positions in them."""

from collections.abc import Iterator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_MEMBERS_AT_ONCE = 1 << 20


def run_positions_in_parts(starts: Array, sizes: Array) -> Iterator[tuple[Array, Array]]:
    """Yield run numbers and the positions in these runs, about a million positions at a time."""
    ends = np.cumsum(sizes)
    first = 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        last = int(np.searchsorted(ends, before + _MEMBERS_AT_ONCE, "right"))
        if last > first:
            part = slice(first, last)
            yield (
                np.repeat(np.arange(first, last), sizes[part]),
                run_positions(starts[part], sizes[part]),
            )
            first = last
            continue
        # A single run longer than a part.
        end = int(starts[first] + sizes[first])
        for begin in range(int(starts[first]), end, _MEMBERS_AT_ONCE):
            positions = np.arange(begin, min(begin + _MEMBERS_AT_ONCE, end))
            yield np.full(len(positions), first), positions
        first += 1


def run_positions(starts: Array, sizes: Array) -> Array:
    """Return the positions in all runs: start, start + 1, ... for each run in turn.

    >>> run_positions(np.array([10, 50]), np.array([3, 2])).tolist()
    [10, 11, 12, 50, 51]
    """
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    positions: Array = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
    return positions


def sort_unique(numbers: Array) -> Array:
    """Sort *numbers* in place and return the unique ones; for few, faster than np.unique."""
    numbers.sort()
    is_first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=is_first[1:])
    return numbers[is_first]


def sort_runs(values: Array, sizes: Array) -> tuple[Array, Array]:
    """Sort each run of *values* in place; return where each different one of a run is first.

    The runs follow one another and have these *sizes*, shape (n,). Also returned is how many
    different values each run has, shape (n,). Many short sorts take a quarter of the time of one
    over all runs.

    >>> values = np.array([7, 5, 7, 7])
    >>> firsts, counts = sort_runs(values, np.array([3, 0, 1]))
    >>> values.tolist(), firsts.tolist(), counts.tolist()
    ([5, 7, 7, 7], [0, 1, 3], [2, 0, 1])
    """
    ends = np.cumsum(sizes)
    start = 0
    for end in ends.tolist():
        values[start:end].sort()
        start = end
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    is_first[(ends - sizes)[sizes > 0]] = True
    firsts = np.flatnonzero(is_first)
    return firsts, np.diff(np.searchsorted(firsts, ends), prepend=0)


def unique_pairs(owners: Array, values: Array) -> tuple[Array, Array]:
    """Return the unique pairs of *owners* and *values*, sorted."""
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    is_first = np.ones(len(owners), bool)
    is_first[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
    return owners[is_first], values[is_first]
