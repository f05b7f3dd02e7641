"""Few fingerprints, in an unsorted array that a query compares completely."""

import numpy as np

from dedup.arrays import Array, enlarge
from dedup.methods.fingerprints import Fingerprints

NO_MATCHES = np.empty(0, np.uint32), np.empty(0, np.uint8)


class Rows:
    """Fingerprints in one array, and their pages in another."""

    def __init__(self, prints: Fingerprints, max_distance: int, rows: Array, pages: Array) -> None:
        self._prints = prints
        self._max_distance = max_distance
        self._rows, self._pages, self._count = rows.copy(), pages.copy(), len(rows)

    def add(self, fingerprint: int, page: int, *, is_new: bool = False) -> None:
        """Store *fingerprint*, whether it is new or not. If memory runs out, nothing changes."""
        if self._count == len(self._pages):
            # The pages last: if memory runs out between the two, they still have the old length.
            self._rows, self._pages = enlarge(self._rows), enlarge(self._pages)
        self._rows[self._count] = self._prints.row(fingerprint)
        self._pages[self._count] = page
        self._count += 1

    def discard(self, fingerprint: int, page: int) -> bool:
        """Remove *page* of *fingerprint*; return False if it is not stored."""
        rows, pages = self._used_part()
        of_page = np.flatnonzero(pages == page)
        equal = self._prints.equal(rows[of_page], self._prints.row(fingerprint))
        places = of_page[equal].tolist()
        for place in reversed(places):
            self._count -= 1
            self._rows[place] = self._rows[self._count]
            self._pages[place] = self._pages[self._count]
        return bool(places)

    def matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        """Return pages and distances of all matches; with *nearest*, of the nearest only."""
        rows, pages = self._used_part()
        distances = self._prints.distances(rows, self._prints.row(fingerprint))
        limit = self._max_distance
        if not self._count or (closest := int(distances.min())) > limit:
            return NO_MATCHES
        near = np.flatnonzero(distances <= (closest if nearest else limit))
        return pages[near], distances[near]

    def matches_of_many(
        self, queries: Array, *, nearest: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return query numbers, and pages and distances as `matches` does for each query."""
        rows, pages = self._used_part()
        owners, places, distances = self._prints.scan(
            queries, rows, self._max_distance, nearest=nearest
        )
        return owners, pages[places], distances

    def _used_part(self) -> tuple[Array, Array]:
        return self._rows[: self._count], self._pages[: self._count]

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no particular order."""
        rows, pages = self._used_part()
        return rows.copy(), pages.copy()

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes + self._pages.nbytes
