"""Operations on arrays and on runs of positions in them, and byte strings packed into one."""

from array import array
from collections.abc import Iterator, Sequence
from sys import getsizeof
from typing import Any, Self

import numpy as np

Array = np.ndarray[Any, Any]
_HALF = np.uint64(32)


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
    """Return the unique pairs of *owners* and *values*, sorted, as int64 and uint32.

    Both are whole numbers of up to 32 bits.
    """
    pairs = sort_unique(owners.astype(np.uint64) << _HALF | values.astype(np.uint64))
    return (pairs >> _HALF).astype(np.int64), pairs.astype(np.uint32)


class Packed(Sequence[bytes]):
    """An append-only list of byte strings in one array; offsets only if their lengths differ."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._size = 0
        self._width = 0
        # The offset at which each string ends, once their lengths differ.
        self._ends: array[int] | None = None

    @classmethod
    def of(cls, data: bytes | bytearray, lengths: Array) -> Self:
        """Return the strings that follow one another in *data*, with *lengths*, shape (n,), int64.

        The lengths together are that of *data*.
        """
        packed = cls()
        packed._data += data
        packed._size = len(lengths)
        packed._width = int(lengths[0]) if len(lengths) else 0
        if (lengths != packed._width).any():
            packed._ends = array("Q", np.cumsum(lengths).tobytes())
        return packed

    @classmethod
    def of_rows(cls, rows: Array) -> Self:
        """Return the rows of an array, shape (n, size), uint8."""
        return cls.of(rows.tobytes(), np.full(len(rows), rows.shape[1]))

    def append(self, value: bytes) -> int:
        """Add *value* and return its number: 0, 1, 2, ..."""
        if not self._size:
            self._width = len(value)
        elif self._ends is None and len(value) != self._width:
            self._ends = self._equal_ends()
        self._data += value
        if self._ends is not None:
            self._ends.append(len(self._data))
        self._size += 1
        return self._size - 1

    def extend(self, values: Sequence[bytes]) -> None:
        """Add all of *values*."""
        if not isinstance(values, Packed):
            values = Packed.of(b"".join(values), lengths_of(values))
        if not self._size:
            self._width = values._width
        differ = values._ends is not None or values._width != self._width
        if self._ends is None and differ and len(values):
            self._ends = self._equal_ends()
        if self._ends is not None:
            self._ends.frombytes((np.cumsum(values.lengths()) + len(self._data)).tobytes())
        self._data += values._data
        self._size += len(values)

    def _equal_ends(self) -> "array[int]":
        return array("Q", (np.arange(1, self._size + 1) * self._width).tobytes())

    def rows(self, size: int) -> Array:
        """Return all strings as the rows of an array, shape (n, size), uint8.

        Nothing can be added while that is used. Raises ValueError unless each has *size* bytes.
        """
        if self._size and (self._ends is not None or self._width != size):
            raise ValueError(f"not all of {self._size} have {size} bytes")
        return np.frombuffer(self._data, np.uint8).reshape(self._size, size)

    def __iter__(self) -> Iterator[bytes]:
        """Yield the strings that are present when the iteration starts."""
        data, start = bytes(self._data), 0
        for end in self._equal_ends() if self._ends is None else self._ends[:]:
            yield data[start:end]
            start = end

    def __getitem__(self, number: int) -> bytes:  # type: ignore[override]  # no part of it
        if not 0 <= number < self._size:
            raise IndexError(f"number must be from 0 to {self._size - 1}, got {number}")
        if self._ends is None:
            start, end = self._width * number, self._width * (number + 1)
        else:
            start, end = self._ends[number - 1] if number else 0, self._ends[number]
        return bytes(self._data[start:end])

    def lengths(self) -> Array:
        """Return the lengths of all strings in bytes, shape (n,), int64."""
        if self._ends is None:
            return np.full(len(self), self._width)
        return np.diff(np.frombuffer(self._ends, np.int64), prepend=0)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """The memory that this takes, in bytes."""
        return getsizeof(self._data) + (0 if self._ends is None else getsizeof(self._ends))


def lengths_of(values: Sequence[bytes | str]) -> Array:
    """Return the lengths of strings, shape (n,), int64."""
    if isinstance(values, Packed):
        return values.lengths()
    return np.fromiter(map(len, values), np.int64, len(values))


def is_number(value: Any) -> bool:
    """Return whether *value* is an integer of Python or NumPy, but not a bool."""
    # The first test is fast, for the most frequent case.
    return type(value) is int or (
        isinstance(value, int | np.integer) and not isinstance(value, bool)
    )
