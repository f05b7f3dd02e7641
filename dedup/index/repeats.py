"""The further pages of fingerprints that are stored more than once."""

from array import array
from bisect import insort
from sys import getsizeof

import numpy as np

from dedup.methods.hashing import Array


class Repeats:
    """Pages by fingerprint, beside the one that a table has.

    However often a fingerprint is stored, the tables have it once: their buckets stay short.
    """

    def __init__(self) -> None:
        # The lowest page first.
        self._pages: dict[int, array[int]] = {}
        self._size = 0

    def add(self, fingerprint: int, page: int) -> None:
        insort(self._pages.setdefault(fingerprint, array("I")), page)
        self._size += 1

    def pages_of(self, fingerprint: int) -> Array:
        """Return the pages of *fingerprint*, as uint32, the oldest first."""
        return np.array(self._pages.get(fingerprint, ()), np.uint32)

    def take_oldest(self, fingerprint: int) -> int | None:
        """Remove and return the lowest page of *fingerprint*, ``None`` if there is none."""
        if fingerprint not in self._pages:
            return None
        oldest, *others = self._pages[fingerprint]
        self._put(fingerprint, others)
        return oldest

    def discard(self, fingerprint: int, page: int) -> bool:
        """Forget *page* of *fingerprint*; return False if it is not there."""
        before = self._size
        self._put(
            fingerprint, [other for other in self._pages.get(fingerprint, ()) if other != page]
        )
        return self._size < before

    def _put(self, fingerprint: int, pages: list[int]) -> None:
        self._size += len(pages) - len(self._pages.pop(fingerprint, ()))
        if pages:
            self._pages[fingerprint] = array("I", pages)

    def everything(self) -> tuple[list[int], Array]:
        """Return fingerprints, as often as each has pages here, and their pages."""
        fingerprints = [each for each, pages in self._pages.items() for _ in pages]
        return fingerprints, np.array(
            [p for pages in self._pages.values() for p in pages], np.uint32
        )

    def __len__(self) -> int:
        """Return the number of pages."""
        return self._size

    @property
    def nbytes(self) -> int:
        arrays = sum(getsizeof(pages) + getsizeof(key) for key, pages in self._pages.items())
        return getsizeof(self._pages) + arrays
