"""Bookkeeping of the unused parts of an array."""

import sys
from collections import defaultdict
from itertools import islice

_TRIED = 4


class FreeRuns:
    """The free runs of an array, merged with their neighbours and found by size."""

    def __init__(self) -> None:
        self._length_at: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        # Starts by the bit length of the run's length, and a bit mask of the bit lengths in use.
        self._by_magnitude: defaultdict[int, set[int]] = defaultdict(set)
        self._magnitudes = 0

    def add(self, start: int, length: int) -> None:
        if (before := self._start_before.get(start)) is not None:
            length += self._remove(before)
            start = before
        if start + length in self._length_at:
            length += self._remove(start + length)
        self._length_at[start] = length
        self._start_before[start + length] = start
        magnitude = length.bit_length()
        self._by_magnitude[magnitude].add(start)
        self._magnitudes |= 1 << magnitude

    def take(self, length: int) -> int | None:
        """Take a run of *length*; return its start, or ``None`` if no free run is long enough."""
        magnitude = length.bit_length()
        # Try a few runs of the same magnitude; every run of a higher one is long enough.
        for start in islice(self._by_magnitude.get(magnitude, ()), _TRIED):
            if self._length_at[start] >= length:
                break
        else:
            higher = self._magnitudes >> (magnitude + 1)
            if not higher:
                return None
            magnitude += (higher & -higher).bit_length()
            start = next(iter(self._by_magnitude[magnitude]))
        rest = self._remove(start) - length
        if rest:
            self.add(start + length, rest)
        return start

    @property
    def nbytes(self) -> int:
        numbers = 2 * len(self._length_at) * sys.getsizeof(1 << 30)
        books = [self._length_at, self._start_before, *self._by_magnitude.values()]
        return numbers + sum(map(sys.getsizeof, books))

    def _remove(self, start: int) -> int:
        length = self._length_at.pop(start)
        del self._start_before[start + length]
        magnitude = length.bit_length()
        self._by_magnitude[magnitude].discard(start)
        if not self._by_magnitude[magnitude]:
            del self._by_magnitude[magnitude]
            self._magnitudes &= ~(1 << magnitude)
        return length
