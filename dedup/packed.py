"""Many short byte strings in one or two large arrays, instead of an object each."""

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from sys import getsizeof
from typing import Any

import numpy as np


class Packed:
    """A list of byte strings that only grows; as long as all have one length, that is all it is."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._size = 0
        self._width = 0
        # Where each ends, once they have different lengths.
        self._ends: array[int] | None = None

    def append(self, value: bytes) -> int:
        """Add *value*, and return its number: 0, 1, 2, ..."""
        if not self._size:
            self._width = len(value)
        elif self._ends is None and len(value) != self._width:
            self._ends = self._ends_of_equal()
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
            self._ends = self._ends_of_equal()
        if self._ends is not None:
            self._ends.extend(accumulate(map(len, values), initial=len(self._data)))
            del self._ends[self._size]  # where the first one starts
        self._data += b"".join(values)
        self._size += len(values)

    def _ends_of_equal(self) -> "array[int]":
        return array("Q", (self._width * (number + 1) for number in range(self._size)))

    def rows(self, width: int) -> bytearray:
        """Return all in a row; raises ValueError if one of them has not *width* bytes."""
        if self._size and (self._ends is not None or self._width != width):
            raise ValueError(f"not all of {self._size} have {width} bytes")
        return self._data

    def __iter__(self) -> Iterator[bytes]:
        """Yield all that is there when it begins."""
        data, ends = bytes(self._data), self._ends
        if ends is None and self._width:
            for start in range(0, len(data), self._width):
                yield data[start : start + self._width]
            return
        start = 0
        for end in self._ends_of_equal() if ends is None else ends[:]:
            yield data[start:end]
            start = end

    def __getitem__(self, number: int) -> bytes:
        if not 0 <= number < self._size:
            raise IndexError(f"there is no number {number} of {self._size}")
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
        """The memory that it takes, in bytes."""
        return getsizeof(self._data) + (0 if self._ends is None else getsizeof(self._ends))
