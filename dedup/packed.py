"""Many short byte strings in one or two large arrays instead of one object each."""

from array import array
from collections.abc import Iterator, Sequence
from sys import getsizeof
from typing import Self

import numpy as np

from dedup.arrays import Array

_ROWS_AT_ONCE = 10_000


class Packed(Sequence[bytes]):
    """An append-only list of byte strings; while all have one length, it stores no offsets."""

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

    def where(self, which: Array) -> "Packed":
        """Return those for which *which*, shape (n,), is true."""
        lengths = self.lengths()
        if self._ends is None:
            octets = self.rows(self._width)[which]
        else:
            octets = np.frombuffer(self._data, np.uint8)[np.repeat(which, lengths)]
        return Packed.of(octets.tobytes(), lengths[which])

    def __iter__(self) -> Iterator[bytes]:
        """Yield the strings that are present when the iteration starts."""
        data, ends = bytes(self._data), self._ends
        if ends is None and self._width:
            rows = np.frombuffer(data, f"V{self._width}")
            for first in range(0, len(rows), _ROWS_AT_ONCE):
                yield from rows[first : first + _ROWS_AT_ONCE].tolist()
            return
        start = 0
        for end in self._equal_ends() if ends is None else ends[:]:
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

    def lengths(self, numbers: Array | None = None) -> Array:
        """Return the lengths in bytes of the strings at *numbers*, or of all: shape (n,), int64."""
        if self._ends is None:
            return np.full(len(self) if numbers is None else len(numbers), self._width)
        ends = np.frombuffer(self._ends, np.int64)
        if numbers is None:
            return np.diff(ends, prepend=0)
        return ends[numbers] - np.where(numbers, ends[np.maximum(numbers, 1) - 1], 0)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """The memory that this takes, in bytes."""
        return getsizeof(self._data) + (0 if self._ends is None else getsizeof(self._ends))


def lengths_of(values: Sequence[bytes]) -> Array:
    """Return the lengths of byte strings, shape (n,), int64."""
    if isinstance(values, Packed):
        return values.lengths()
    return np.fromiter(map(len, values), np.int64, len(values))
