"""Many short byte strings in one or two large arrays instead of one object each."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from sys import getsizeof
from typing import Any

import numpy as np

_ROWS_AT_ONCE = 10_000


class Packed:
    """An append-only list of byte strings; while all have one length, it stores no offsets."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._size = 0
        self._width = 0
        # The offset at which each string ends, once their lengths differ.
        self._ends: array[int] | None = None

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
        widths = set(map(len, values))
        if not self._size and widths:
            self._width = len(values[0])
        if self._ends is None and not widths <= {self._width}:
            self._ends = self._equal_ends()
        if self._ends is not None:
            self._ends.extend(accumulate(map(len, values), initial=len(self._data)))
            del self._ends[self._size]  # the start of the first one
        self._data += b"".join(values)
        self._size += len(values)

    def _equal_ends(self) -> "array[int]":
        return array("Q", (self._width * (number + 1) for number in range(self._size)))

    def rows(self, width: int) -> bytearray:
        """Return all strings concatenated; raises ValueError unless each has *width* bytes."""
        if self._size and (self._ends is not None or self._width != width):
            raise ValueError(f"not all of {self._size} have {width} bytes")
        return self._data

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

    def __getitem__(self, number: int) -> bytes:
        if not 0 <= number < self._size:
            raise IndexError(f"number must be from 0 to {self._size - 1}, got {number}")
        if self._ends is None:
            start, end = self._width * number, self._width * (number + 1)
        else:
            start, end = self._ends[number - 1] if number else 0, self._ends[number]
        return bytes(self._data[start:end])

    def lengths(self, numbers: Any) -> Any:
        """Return the lengths in bytes of the strings at *numbers*, shape (n,), int64."""
        if self._ends is None:
            return np.full(len(numbers), self._width)
        ends = np.frombuffer(self._ends, np.int64)
        return ends[numbers] - np.where(numbers, ends[np.maximum(numbers, 1) - 1], 0)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        """The memory that this takes, in bytes."""
        return getsizeof(self._data) + (0 if self._ends is None else getsizeof(self._ends))
