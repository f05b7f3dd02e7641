"""The index over block keys: candidates share a key, and the method computes their distance."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import getsizeof
from typing import Any

import numpy as np

from dedup.arrays import Array, Packed, sort_unique, unique_pairs
from dedup.index.base import LAST_PAGE, Index, Match, PageFilter
from dedup.index.key_table import KeyTable, newest
from dedup.methods.base import Method

# The page at a position whose sketch was discarded.
_NO_PAGE = LAST_PAGE + 1
# Gaps are closed when they outnumber the stored sketches by so many: rarely enough to be cheap.
_MOST_GAPS = 1024
# So that the payloads of all pairs fit into the processor's cache.
_PAIRS_AT_ONCE = 1 << 11
# About 30 MB. Pages of one template may share keys with all others.
_MOST_PAIRS = 1 << 20

_Keys = tuple[Array, Array, Sequence[bytes]]
"""What `Method.keys_of_many` returns."""


class KeyIndex(Index):
    """Finds the nearest of the sketches that share a block key. Stores only their payloads."""

    def __init__(self, method: Method) -> None:
        super().__init__()
        self._method = method
        self._table = KeyTable()
        # Both by position.
        self._payloads = Packed()
        self._pages = array("I")
        self._count = 0
        # Whether a page at a higher position has a higher number, and none was discarded.
        self._is_in_order = True
        self._last: tuple[object, _Keys] | None = None

    def _store(self, sketch: Any, page: int) -> None:
        keys, _, [payload] = self._keys_of(sketch)
        position = len(self._payloads)
        self._is_in_order = self._is_in_order and page >= self._next_page
        # A slice: what ran out of memory before it had a payload is gone.
        self._pages[position:] = array("I", [page])
        self._payloads.append(payload)
        self._table.add(keys, position)
        self._count += 1

    def _store_many(self, sketches: Sequence[bytes], pages: Array) -> None:
        keys, counts, payloads = self._method.keys_of_many(sketches)
        first = len(self._payloads)
        is_later = (pages[:1] >= self._next_page).all() and (pages[1:] > pages[:-1]).all()
        self._is_in_order = self._is_in_order and bool(is_later)
        self._pages[first:] = array("I", pages.tobytes())
        self._payloads.extend(payloads)
        self._table.add(keys, np.repeat(np.arange(first, len(self._payloads)), counts))
        self._count += len(payloads)

    def discard(self, sketch: Any, page: int) -> bool:
        keys, _, [payload] = self._keys_of(sketch)
        _, candidates = self._stored(*self._table.find(keys))
        of_page = sort_unique(candidates[self._page_numbers()[candidates] == page]).tolist()
        positions = [position for position in of_page if self._payloads[position] == payload]
        for position in positions:
            self._pages[position] = _NO_PAGE
        self._count -= len(positions)
        self._is_in_order = False
        if len(self._pages) - self._count > self._count + _MOST_GAPS:
            self._close_gaps()
        return bool(positions)

    def _close_gaps(self) -> None:
        """Move all stored sketches to the lowest positions, in the same order."""
        pages = self._page_numbers()
        is_stored = pages != _NO_PAGE
        self._table.renumber(np.cumsum(is_stored, dtype=np.uint64) - np.uint64(1), is_stored)
        payloads = Packed()
        for position in np.flatnonzero(is_stored).tolist():
            payloads.append(self._payloads[position])
        self._payloads, self._pages = payloads, array("I", pages[is_stored].tobytes())

    def _page_numbers(self) -> Array:
        """Return the page at each position as an array; valid until the next change."""
        return np.frombuffer(self._pages, np.uint32)

    def query_all(self, sketch: Any) -> list[Match]:
        return self._matches(sketch, self._method.max_distance)

    def nearest_beyond(
        self, sketches: Iterable[Any], within: float, counts: PageFilter | None = None
    ) -> Iterator[Match | None]:
        """Yield for each of *sketches* the nearest page beyond the threshold, or ``None``.

        Only pages that share a block key are compared: the farther a page, the less likely it does.
        """
        limit = self._method.max_distance
        for sketch in sketches:
            matches = (m for m in self._matches(sketch, within) if m.distance > limit)
            yield next((m for m in matches if counts is None or counts(m.page)), None)

    def _matches(self, sketch: Any, within: float) -> list[Match]:
        """Return the stored pages within a distance, the nearest first, ties by page number."""
        return sorted(
            Match(page, distance)
            for _, pages, distances in self._compare(self._keys_of(sketch), within)
            for page, distance in zip(pages.tolist(), distances.tolist(), strict=True)
            if distance <= within
        )

    def compare_many(self, sketches: Sequence[bytes]) -> Iterator[tuple[Array, Array, Array]]:
        return self._compare(self._method.keys_of_many(sketches), self._method.max_distance)

    def _compare(self, sketches: _Keys, within: float) -> Iterator[tuple[Array, Array, Array]]:
        """Yield numbers of sketches, and pages and distances of their candidates, each pair once.

        All that are *within* a distance are among them.
        """
        keys, counts, payloads = sketches
        owners = np.repeat(np.arange(len(counts)), counts)
        rows = self._rarest(keys, counts, owners, within)
        keys, owners = keys[rows], owners[rows]
        most = self._method.candidates_per_key
        # The last positions are the latest pages, then, and long lists of others are not read.
        last = most if self._is_in_order else None
        for found in self._table.find_in_parts(keys, _MOST_PAIRS, last):
            numbers, positions = self._stored(*found)
            if most is not None and len(positions) > most:
                is_newest = newest(numbers, self._page_numbers()[positions], most)
                numbers, positions = numbers[is_newest], positions[is_newest]
            pairs = unique_pairs(owners[numbers], positions)
            for start in range(0, len(pairs[0]), _PAIRS_AT_ONCE):
                of_pairs, positions = (side[start : start + _PAIRS_AT_ONCE] for side in pairs)
                distances = self._method.distances_of_pairs(
                    [payloads[number] for number in of_pairs.tolist()],
                    [self._payloads[position] for position in positions.tolist()],
                )
                yield of_pairs, self._page_numbers()[positions], distances

    def _rarest(self, keys: Array, counts: Array, owners: Array, within: float) -> Array | slice:
        """Return rows of *keys* that are enough: what is *within* a distance has one of them."""
        needed = [self._method.least_shared_keys(count, within) for count in counts.tolist()]
        if max(needed, default=1) <= 1:
            return slice(None)
        order = np.lexsort((self._table.counts(keys), owners))
        rank = np.arange(len(keys)) - np.repeat(np.cumsum(counts) - counts, counts)
        enough: Array = order[rank <= (counts - needed)[owners]]
        return enough

    def _stored(self, numbers: Array, positions: Array) -> tuple[Array, Array]:
        """Return those of *numbers* and *positions* where a sketch is stored."""
        if not len(positions):
            return numbers, positions
        is_stored = self._page_numbers()[positions] != _NO_PAGE
        return numbers[is_stored], positions[is_stored]

    def _keys_of(self, sketch: Any) -> _Keys:
        # Most sketches are queried just before they are added.
        if self._last is None or self._last[0] is not sketch:
            self._last = sketch, self._method.keys_of_many([self._method.to_bytes(sketch)])
        return self._last[1]

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._payloads.nbytes + getsizeof(self._pages) + self._table.nbytes
