"""The further pages of fingerprints that are stored more than once."""

import sys
from array import array
from collections.abc import Callable

import numpy as np

from dedup.index.fingerprints import Array


class Repeats:
    """Pages by fingerprint, beside the one that a table holds.

    However often a fingerprint is stored, the tables have it once: their buckets stay short.
    """

    def __init__(self) -> None:
        self._pages: dict[int, array[int]] = {}
        self._size = 0

    def add(self, fingerprint: int, page: int) -> None:
        self._pages.setdefault(fingerprint, array("I")).append(page)
        self._size += 1

    def pages_of(self, fingerprint: int) -> Array:
        """Return the pages of *fingerprint*, as uint32, in no order."""
        return np.array(self._pages.get(fingerprint, ()), np.uint32)

    def take_oldest(self, fingerprint: int) -> int | None:
        """Remove and return the lowest page of *fingerprint*, ``None`` if there is none."""
        if fingerprint not in self._pages:
            return None
        oldest = int(self.pages_of(fingerprint).min())
        self._keep(fingerprint, lambda pages: np.arange(len(pages)) != pages.argmin())
        return oldest

    def remove(self, page: int) -> bool:
        """Forget *page*, of every fingerprint; return False if it is of none."""
        of_page = [fingerprint for fingerprint, pages in self._pages.items() if page in pages]
        for fingerprint in of_page:
            self._keep(fingerprint, lambda pages: pages != page)
        return bool(of_page)

    def _keep(self, fingerprint: int, chosen: Callable[[Array], Array]) -> None:
        pages = self.pages_of(fingerprint)
        kept = pages[chosen(pages)]
        self._size -= len(pages) - len(kept)
        if len(kept):
            self._pages[fingerprint] = array("I", kept.tobytes())
        else:
            del self._pages[fingerprint]

    def everything(self) -> tuple[list[int], Array]:
        """Return fingerprints, as often as each has pages here, and their pages."""
        fingerprints = [
            fingerprint for fingerprint, pages in self._pages.items() for _ in range(len(pages))
        ]
        pages = [np.array(pages, np.uint32) for pages in self._pages.values()]
        return fingerprints, np.concatenate([np.empty(0, np.uint32), *pages])

    def __len__(self) -> int:
        """Return the number of pages."""
        return self._size

    @property
    def nbytes(self) -> int:
        arrays = sum(
            sys.getsizeof(pages) + sys.getsizeof(key) for key, pages in self._pages.items()
        )
        return sys.getsizeof(self._pages) + arrays
