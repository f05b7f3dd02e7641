"""The parts of an array that are free to be used again."""

import sys
from collections import defaultdict
from itertools import islice

_TRIED = 4


class FreeRuns:
    """Free runs of an array: merged with their neighbours, found by size."""

    def __init__(self) -> None:
        self._length_at: dict[int, int] = {}
        self._start_before: dict[int, int] = {}
        # Runs by the number of bits of their length, and which of these there are, as bits.
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
        """Return the start of a run of *length*, no longer free, or ``None`` if there is none."""
        magnitude = length.bit_length()
        # Every run of a higher magnitude is long enough; of the same one, a few are tried.
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
