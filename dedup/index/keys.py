"""The index over block keys: candidates share a key, and the method computes their distance."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import getsizeof
from typing import Any

import numpy as np

from dedup.arrays import Array, Packed, sort_unique
from dedup.index.base import LAST_PAGE, Index, Match, PageFilter
from dedup.index.key_table import KeyTable, newest
from dedup.methods.base import KeyMethod

# The page at a position whose sketch was discarded.
_NO_PAGE = LAST_PAGE + 1
# Gaps are closed when they outnumber the stored sketches by so many: rarely enough to be cheap.
_MOST_GAPS = 1024
_MOVED_AT_ONCE = 4096


class KeyIndex(Index):
    """Finds the nearest of the sketches that share a block key. Stores only their payloads."""

    def __init__(self, method: KeyMethod) -> None:
        super().__init__()
        self._method = method
        self._table = KeyTable()
        # Both by position.
        self._payloads = Packed()
        self._pages = array("I")
        self._count = 0
        self._last: tuple[object, Array] | None = None

    def _store(self, sketch: Any, page: int) -> None:
        keys, payload = self._keys(sketch), self._method.payload(sketch)
        position = len(self._payloads)
        # A slice: what ran out of memory before it had a payload is gone.
        self._pages[position:] = array("I", [page])
        self._payloads.append(payload)
        self._table.add(keys, position)
        self._count += 1

    def _store_many(self, sketches: Sequence[bytes], pages: Array) -> None:
        keys, counts, payloads = self._method.keys_of_many(sketches)
        first = len(self._payloads)
        positions = np.arange(first, first + len(payloads), dtype=np.uint32)
        self._pages[first:] = array("I", pages.tobytes())
        self._payloads.extend(payloads)
        self._table.add(keys, np.repeat(positions, counts))
        self._count += len(payloads)

    def discard(self, sketch: Any, page: int) -> bool:
        _, candidates = self._find(self._keys(sketch))
        of_page = sort_unique(candidates[self._page_numbers()[candidates] == page]).tolist()
        payload = self._method.payload(sketch)
        positions = [position for position in of_page if self._payloads[position] == payload]
        for position in positions:
            self._pages[position] = _NO_PAGE
        self._count -= len(positions)
        if len(self._pages) - self._count > self._count + _MOST_GAPS:
            self._close_gaps()
        return bool(positions)

    def _close_gaps(self) -> None:
        """Move all stored sketches to the lowest positions, in the same order."""
        pages = self._page_numbers()
        is_stored = pages != _NO_PAGE
        self._table.renumber(np.cumsum(is_stored, dtype=np.uint64) - np.uint64(1), is_stored)
        payloads, stored = Packed(), np.flatnonzero(is_stored).tolist()
        for start in range(0, len(stored), _MOVED_AT_ONCE):
            part = stored[start : start + _MOVED_AT_ONCE]
            payloads.extend([self._payloads[position] for position in part])
        self._payloads, self._pages = payloads, array("I", pages[is_stored].tobytes())

    def _page_numbers(self) -> Array:
        """Return the page at each position as an array; valid until the next change."""
        return np.frombuffer(self._pages, np.uint32)

    def query_all(self, sketch: Any) -> list[Match]:
        return sorted(self._within(sketch, self._method.max_distance))

    def nearest_beyond(
        self, sketches: Iterable[Any], within: float, counts: PageFilter | None = None
    ) -> Iterator[Match | None]:
        """Yield for each of *sketches* the nearest page beyond the threshold, or ``None``.

        Only pages that share a block key are compared: the farther a page, the less likely it does.
        """
        limit = self._method.max_distance
        for sketch in sketches:
            matches = sorted(m for m in self._within(sketch, within) if m.distance > limit)
            yield next((m for m in matches if counts is None or counts(m.page)), None)

    def _within(self, sketch: Any, distance: float) -> list[Match]:
        """Return the candidates within *distance*, unsorted."""
        positions = self._candidates(sketch, distance)
        if not positions:
            return []
        own, others = self._method.payload(sketch), [self._payloads[at] for at in positions]
        distances = self._method.distances_of_pairs([own] * len(others), others)
        return [
            Match(self._pages[positions[number]], distances[number].item())
            for number in np.flatnonzero(distances <= distance).tolist()
        ]

    def _candidates(self, sketch: Any, within: float) -> list[int]:
        """Return the positions of the candidates for *sketch*, each once."""
        keys = self._keys(sketch)
        needed = self._method.least_shared_keys(len(keys), within)
        if needed > 1:  # it has one of the rarest, then, and long lists of others are not read
            rarest = np.argsort(self._table.counts(keys), kind="stable")
            keys = keys[rarest[: len(keys) - needed + 1]]
        numbers, positions = self._find(keys)
        most = self._method.candidates_per_key
        if most is not None and len(positions) > most:
            positions = positions[newest(numbers, self._page_numbers()[positions], most)]
        return sort_unique(positions).tolist()  # type: ignore[no-any-return]

    def _find(self, keys: Array) -> tuple[Array, Array]:
        """Return numbers of *keys*, and a position of a stored sketch with the key for each."""
        numbers, positions = self._table.find(keys)
        if not len(positions):
            return numbers, positions
        is_stored = self._page_numbers()[positions] != _NO_PAGE
        return numbers[is_stored], positions[is_stored]

    def _keys(self, sketch: Any) -> Array:
        # Most sketches are queried just before they are added.
        if self._last is None or self._last[0] is not sketch:
            keys = set(self._method.keys(sketch))
            self._last = (sketch, np.fromiter(keys, np.uint64, len(keys)))
        return self._last[1]

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._payloads.nbytes + getsizeof(self._pages) + self._table.nbytes
