"""Buckets: many small growing runs of numbers in one large array."""

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from dedup.arrays import Array, run_positions
from dedup.index.free_runs import FreeRuns

_FIRST = 4
_STEP = 8


class Buckets:
    """A table of buckets by key, each a contiguous run in one shared array.

    A full run moves to a place half as large again. The old places merge with their free neighbours
    and are used again; two old generations of a run together are larger than the next one (1.5 is
    below the golden ratio), so little stays unused.
    """

    def __init__(self, key_bits: int, dtypes: Sequence[Any]) -> None:
        """Create empty buckets for keys of *key_bits* bits, with one or two columns of *dtypes*."""
        count = 1 << key_bits
        self._starts = array("I", bytes(4 * count))
        self._sizes = array("I", bytes(4 * count))
        self._capacities = array("I", bytes(4 * count))
        self.columns: list[Array] = [np.empty(0, dtype) for dtype in dtypes]
        self._used = 0
        self._free = FreeRuns()

    def run(self, key: int) -> slice:
        """Return the run of *key* in the columns; valid until the next change."""
        start = self._starts[key]
        return slice(start, start + self._sizes[key])

    def runs(self, keys: Array) -> tuple[Array, Array]:
        """Return the starts and sizes of the runs of *keys*."""
        return _view(self._starts)[keys].astype(np.int64), _view(self._sizes)[keys].astype(np.int64)

    def append(self, key: int, value: int, second: int = 0) -> None:
        """Add *value* to the bucket of *key*, and *second* if there is a second column."""
        size = self._sizes[key]
        if size == self._capacities[key]:
            self._move(key, size + max(_STEP, size // 2) if size else _FIRST)
        position = self._starts[key] + size
        self.columns[0][position] = value
        if len(self.columns) == 2:
            self.columns[1][position] = second
        self._sizes[key] = size + 1

    def extend(self, keys: Array, *columns: Array) -> None:
        """Add a row to the bucket of each of *keys*, with the same result as `append` in order."""
        order, sizes = self._by_bucket(keys)
        in_order = [values[order] for values in columns]
        own = np.flatnonzero(sizes)
        stops = np.cumsum(sizes[own]).tolist()
        for key, start, stop in zip(own.tolist(), [0, *stops], stops, strict=False):
            size, more = self._sizes[key], stop - start
            if size + more > self._capacities[key]:
                self._move(key, max(size + more, size + max(_STEP, size // 2) if size else _FIRST))
            position = self._starts[key] + size
            for column, values in zip(self.columns, in_order, strict=True):
                column[position : position + more] = values[start:stop]
            self._sizes[key] = size + more
        rows = int(_view(self._sizes).sum(dtype=np.int64))
        if len(self.columns[-1]) > rows * 3 // 2 + _STEP * len(self._sizes):
            self._close_up()

    def _close_up(self) -> None:
        """Move all buckets to new columns without gaps, with room for a quarter more rows."""
        sizes = _view(self._sizes).astype(np.int64)
        capacities = sizes + sizes // 4
        ends = np.cumsum(capacities)
        moves = list(zip(self._starts, (ends - capacities).tolist(), self._sizes, strict=True))
        for number, column in enumerate(self.columns):
            closed_up = np.empty(int(ends[-1]), column.dtype)
            for old, new, size in moves:
                closed_up[new : new + size] = column[old : old + size]
            self.columns[number] = closed_up
        _view(self._starts)[:] = ends - capacities
        _view(self._capacities)[:] = capacities
        self._used, self._free = int(ends[-1]), FreeRuns()

    def remove(self, key: int, position: int) -> None:
        """Remove the row at *position*, which must be in the bucket of *key*."""
        last = self._starts[key] + self._sizes[key] - 1
        for column in self.columns:
            column[position] = column[last]
        self._sizes[key] -= 1
        if not self._sizes[key]:
            self._free.add(self._starts[key], self._capacities[key])
            self._capacities[key] = 0

    def rows(self) -> Array:
        """Return the positions of all rows."""
        return run_positions(
            _view(self._starts).astype(np.int64), _view(self._sizes).astype(np.int64)
        )

    def all_rows(self) -> Array:
        """Return the first column, including stale rows that were moved or removed."""
        return self.columns[0][: self._used]

    def fill(self, keys: Array, *columns: Array) -> None:
        """Fill the buckets, which must all be empty, with room for a quarter more rows."""
        order, sizes = self._by_bucket(keys)
        capacities = sizes + sizes // 4
        ends = np.cumsum(capacities)
        starts = ends - capacities
        rows = run_positions(starts, sizes)
        _view(self._starts)[:] = starts
        _view(self._sizes)[:] = sizes
        _view(self._capacities)[:] = capacities
        self._used = int(ends[-1])
        for number, values in enumerate(columns):
            self.columns[number] = np.empty(self._used, values.dtype)
            self.columns[number][rows] = values[order]

    def _by_bucket(self, keys: Array) -> tuple[Array, Array]:
        """Return the stable order of *keys* by bucket, and the number of rows of each bucket."""
        # NumPy sorts 16-bit numbers by radix, six times as fast.
        narrow = len(self._sizes) <= 1 << 16
        order = np.argsort(keys.astype(np.uint16) if narrow else keys, kind="stable")
        return order, np.bincount(keys, minlength=len(self._sizes))

    def _move(self, key: int, capacity: int) -> None:
        old, size = self._starts[key], self._sizes[key]
        new = self._place(capacity)
        for column in self.columns:
            column[new : new + size] = column[old : old + size]
        if self._capacities[key]:
            self._free.add(old, self._capacities[key])
        self._starts[key], self._capacities[key] = new, capacity

    def _place(self, length: int) -> int:
        start = self._free.take(length)
        if start is not None:
            return start
        start, end = self._used, self._used + length
        # The last column is the shortest if memory once ran out between the two.
        if end > len(self.columns[-1]):
            room = max(end, len(self.columns[-1]) * 9 // 8, 1024)
            for number, column in enumerate(self.columns):
                if not column.flags.owndata:  # as it comes out of a pickle
                    self.columns[number] = column = column.copy()
                # This calls realloc, which often moves memory without copying it. No view of a
                # column outlives the method that made it.
                column.resize(room, refcheck=False)
        self._used = end
        return start

    @property
    def nbytes(self) -> int:
        books = 3 * 4 * len(self._starts) + self._free.nbytes
        return books + sum(column.nbytes for column in self.columns)


def _view(numbers: "array[int]") -> Array:
    """Return *numbers* as a NumPy array; single elements are read faster from the original."""
    return np.frombuffer(numbers, np.uint32)
