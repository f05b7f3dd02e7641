"""The further pages of fingerprints that are stored more than once."""

from array import array
from bisect import insort
from sys import getsizeof

import numpy as np

from dedup.arrays import Array
from dedup.methods.fingerprints import Fingerprints


class Repeats:
    """Further pages by fingerprint; the oldest page of each is in the tables.

    However often a fingerprint is stored, the tables have it once, so that their buckets stay
    short.
    """

    def __init__(self, prints: Fingerprints) -> None:
        self._prints = prints
        # In ascending order.
        self._pages: dict[int, array[int]] = {}
        self._size = 0

    def take_repeats(self, rows: Array, pages: Array) -> tuple[Array, Array]:
        """Store the further pages of equal *rows*; return unique rows and oldest pages."""
        if not self._prints.any_equal(rows):
            return rows, pages
        order = np.argsort(pages, kind="stable")
        rows, pages = rows[order], pages[order]
        rows, oldest, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        again = np.delete(np.arange(len(pages)), oldest)
        repeated = self._prints.integers(rows[which.ravel()[again]])
        for fingerprint, page in zip(repeated, pages[again].tolist(), strict=True):
            self.add(fingerprint, page)
        return rows, pages[oldest]

    def add(self, fingerprint: int, page: int) -> None:
        insort(self._pages.setdefault(fingerprint, array("I")), page)
        self._size += 1

    def expand(self, rows: Array, pages: Array) -> tuple[Array, Array]:
        """Return the row number and page of every page of *rows*.

        *pages*: the page of each row that is in the tables; these come first.
        """
        nothing = array("I")
        further = [self._pages.get(each, nothing) for each in self._prints.integers(rows)]
        which = np.repeat(np.arange(len(rows)), [len(each) for each in further])
        pages = np.concatenate([pages, *further]).astype(np.uint32)
        return np.append(np.arange(len(rows)), which), pages

    def take_oldest(self, fingerprint: int) -> int | None:
        """Remove and return the lowest page of *fingerprint*, or ``None`` if it has none."""
        if fingerprint not in self._pages:
            return None
        oldest, *others = self._pages[fingerprint]
        self._put(fingerprint, others)
        return oldest

    def discard(self, fingerprint: int, page: int) -> bool:
        """Remove *page* of *fingerprint*; return False if it is not stored here."""
        before = self._size
        self._put(
            fingerprint, [other for other in self._pages.get(fingerprint, ()) if other != page]
        )
        return self._size < before

    def _put(self, fingerprint: int, pages: list[int]) -> None:
        self._size += len(pages) - len(self._pages.pop(fingerprint, ()))
        if pages:
            self._pages[fingerprint] = array("I", pages)

    def everything(self) -> tuple[Array, Array]:
        """Return all pages, and the fingerprint of each as a row."""
        fingerprints = [each for each, pages in self._pages.items() for _ in pages]
        pages = np.concatenate([np.empty(0, np.uint32), *self._pages.values()])
        return self._prints.array(fingerprints), pages.astype(np.uint32)

    def __len__(self) -> int:
        """Return the number of pages."""
        return self._size

    @property
    def nbytes(self) -> int:
        arrays = sum(getsizeof(pages) + getsizeof(key) for key, pages in self._pages.items())
        return getsizeof(self._pages) + arrays
