"""Many short byte strings in two large arrays, instead of an object each."""

from array import array
from sys import getsizeof


class Packed:
    """A list of byte strings that only grows."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._ends = array("Q")

    def append(self, value: bytes) -> int:
        """Add *value*, and return its number: 0, 1, 2, ..."""
        self._data += value
        self._ends.append(len(self._data))
        return len(self._ends) - 1

    def __getitem__(self, number: int) -> bytes:
        start = self._ends[number - 1] if number else 0
        return bytes(self._data[start : self._ends[number]])

    def __len__(self) -> int:
        return len(self._ends)

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return getsizeof(self._data) + getsizeof(self._ends)
