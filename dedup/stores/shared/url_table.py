"""URL -> the pages that were stored under it, and in which run; of very many, in little memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from dedup.text import to_utf8


class UrlTable:
    """Finds the numbers and runs of pages by URL; 16 bytes for each.

    By a hash of it: a caller has to look whether a page is one of that URL.

    What is added stands in a dictionary until that is a tenth of all; then it is sorted in. What
    is added by many is sorted in when a page is looked for.
    """

    def __init__(self) -> None:
        self._hashes = np.empty(0, np.uint64)
        self._pages = np.empty((0, 2), np.uint32)
        self._new: dict[int, list[tuple[int, int]]] = {}
        self._count_of_new = 0
        self._many: list[tuple[NDArray[np.uint64], NDArray[np.uint32]]] = []

    def add(self, url: str, number: int, run: int) -> None:
        """Have page *number* of *run* found by *url*."""
        self._new.setdefault(_hash(url), []).append((number, run))
        self._count_of_new += 1
        if self._count_of_new > max(_MOST_NEW, len(self._hashes) // 10):
            self._sort_in()

    def add_many(
        self, hashes: NDArray[np.uint64], numbers: NDArray[Any], runs: NDArray[Any]
    ) -> None:
        """Do what `add` does for each of many pages, by the `hash_of_url` of each, shape (n,)."""
        self._many.append((hashes, np.stack([numbers, runs], 1).astype(np.uint32)))

    def pages(self, url: str) -> Iterator[tuple[int, int]]:
        """Yield the pages that were added with *url*, and rarely others: number and run."""
        if self._many:
            self._sort_in()
        key = _hash(url)
        place = int(np.searchsorted(self._hashes, np.uint64(key)))
        while place < len(self._hashes) and self._hashes[place] == key:
            number, run = self._pages[place].tolist()
            yield number, run
            place += 1
        yield from self._new.get(key, ())

    def _sort_in(self) -> None:
        new = [(key, page) for key, pages in self._new.items() for page in pages]
        self._many += [
            (self._hashes, self._pages),
            (
                np.array([key for key, _ in new], np.uint64),
                np.array([page for _, page in new], np.uint32).reshape(-1, 2),
            ),
        ]
        hashes, pages = map(np.concatenate, zip(*self._many, strict=True))
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._pages = hashes[order], pages[order]
        self._new, self._count_of_new, self._many = {}, 0, []

    def __bool__(self) -> bool:
        return bool(len(self._hashes) or self._new or self._many)

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes; an estimate."""
        unsorted = sum(len(hashes) for hashes, _ in self._many)
        return 16 * (len(self._hashes) + unsorted) + 200 * self._count_of_new


_MOST_NEW = 10_000


def _hash(url: str) -> int:
    return hash_of_url(to_utf8(url))


hash_of_url = xxhash.xxh3_64_intdigest
"""URL in UTF-8 -> what it is found by."""
