"""The index over block keys: candidates share one, and the method says how far they are."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from sys import getsizeof

import numpy as np

from dedup.index.base import Index, Match, check_pages, checked_page
from dedup.index.key_table import KeyTable
from dedup.methods import KeyMethod
from dedup.packed import Packed


class KeyIndex(Index):
    """Finds the nearest of the sketches that share a block key; they are kept as bytes."""

    def __init__(self, method: KeyMethod) -> None:
        self._method = method
        self._table = KeyTable(method.key_bits)
        self._sketches = Packed()
        self._pages = array("I")
        self._next_page = 0
        self._last: tuple[object, set[int]] | None = None

    def add(self, sketch: object, page: int | None = None) -> int:
        number = checked_page(page, self._next_page)
        keys = self._keys(sketch)
        position = self._sketches.append(self._method.kept(sketch))
        self._pages.append(number)
        self._table.add(keys, position)
        self._next_page = max(self._next_page, number + 1)
        return number

    def add_many(self, sketches: Sequence[bytes], pages: Sequence[int]) -> None:
        """Store many *sketches*, as `Method.to_bytes` gave them, each under its one of *pages*.

        Raises ValueError for bytes that are no sketch of the method; the index is then unchanged.
        """
        check_pages(pages)
        keys, counts, kept = self._method.split(sketches)
        first = len(self._sketches)
        positions = np.arange(first, first + len(kept), dtype=np.uint32)
        self._sketches.extend(kept)
        self._pages.extend(pages)
        self._table.add_many(keys, np.repeat(positions, counts))
        self._next_page = max(self._next_page, 1 + max(pages, default=-1))

    def query(self, sketch: object) -> Match | None:
        return min(self.query_all(sketch), default=None)

    def query_all(self, sketch: object) -> list[Match]:
        limit = self._method.max_distance
        return sorted(match for match in self._candidates(sketch) if match.distance <= limit)

    def nearest_beyond(self, sketches: Iterable[object], within: float) -> Iterator[Match | None]:
        """Yield for each the nearest page that is farther than the threshold.

        Of the pages that share a key: the farther, the less likely one does.
        """
        limit = self._method.max_distance
        for sketch in sketches:
            farther = (m for m in self._candidates(sketch) if limit < m.distance <= within)
            yield min(farther, default=None)

    def _candidates(self, sketch: object) -> list[Match]:
        """Return the pages that share a key, with their distances."""
        positions = self._table.positions(
            self._keys(sketch), self._method.candidates_per_key
        ).tolist()
        if not positions:
            return []
        kept = [self._sketches[position] for position in positions]
        distances = self._method.distances(sketch, kept)
        return [
            Match(self._pages[position], distance)
            for position, distance in zip(positions, distances, strict=True)
        ]

    def _keys(self, sketch: object) -> set[int]:
        # What is added was mostly asked for just before.
        if self._last is None or self._last[0] is not sketch:
            self._last = (sketch, set(self._method.keys(sketch)))
        return self._last[1]

    def __len__(self) -> int:
        return len(self._sketches)

    @property
    def nbytes(self) -> int:
        return self._sketches.nbytes + getsizeof(self._pages) + self._table.nbytes
