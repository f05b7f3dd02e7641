"""An index that looks at every fingerprint: slow, obviously right."""

from collections.abc import Iterable, Iterator

import numpy as np

from dedup.index.base import Index, Match


class LinearIndex(Index):
    """Compares a fingerprint with all stored ones, at any distance.

    The oracle that faster indexes are tested against: a query takes half a millisecond per million
    fingerprints of 64 bits.
    """

    def __init__(self, max_distance: int = 3) -> None:
        """Create an empty index; *max_distance* is inclusive, in bits."""
        self.max_distance = max_distance
        self._size = 0
        self._fingerprints = np.empty(64, np.uint64)
        self._pages = np.empty(64, np.uint32)

    def add(self, sketch: int, page: int | None = None) -> int:
        number = self._size if page is None else page
        if self._size == len(self._fingerprints):
            self._fingerprints = np.concatenate([self._fingerprints, self._fingerprints])
            self._pages = np.concatenate([self._pages, self._pages])
        self._fingerprints[self._size] = sketch
        self._pages[self._size] = number
        self._size += 1
        return number

    def query(self, sketch: int) -> Match | None:
        distances = np.bitwise_count(self.fingerprints ^ np.uint64(sketch))
        if not len(distances) or (nearest := int(distances.min())) > self.max_distance:
            return None
        return Match(int(self.pages[distances == nearest].min()), nearest)

    def query_all(self, sketch: int) -> list[Match]:
        distances = np.bitwise_count(self.fingerprints ^ np.uint64(sketch))
        near = distances <= self.max_distance
        return sorted(map(Match, self.pages[near].tolist(), distances[near].tolist()))

    def nearest_beyond(self, sketches: Iterable[int], within: float) -> Iterator[Match | None]:
        for sketch in sketches:
            distances = [(sketch ^ stored).bit_count() for stored in self.fingerprints.tolist()]
            matches = map(Match, self.pages.tolist(), distances)
            yield min(
                (match for match in matches if self.max_distance < match.distance <= within),
                default=None,
            )

    @property
    def fingerprints(self) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        """The stored fingerprints in the order they were added; a view, shape (n,)."""
        return self._fingerprints[: self._size]

    @property
    def pages(self) -> "np.ndarray[tuple[int], np.dtype[np.uint32]]":
        """Their page numbers; a view, shape (n,)."""
        return self._pages[: self._size]

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self._fingerprints.nbytes + self._pages.nbytes
