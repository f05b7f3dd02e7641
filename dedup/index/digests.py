"""The index over digests of texts: which pages have exactly this one."""

from array import array
from collections.abc import Sequence

import numpy as np

from dedup.index.growing import GrowingIndex
from dedup.packed import Packed


class DigestIndex:
    """Finds the pages of a digest of 16 bytes, at some 30 bytes a page.

    A dictionary would take five times as much. The first half of a digest is looked up as a
    fingerprint at distance 0, the second half compared.
    """

    def __init__(self) -> None:
        self._halves = GrowingIndex(64, 0)
        self._rest = array("Q")
        self._pages = array("I")

    def add(self, digest: bytes, page: int) -> None:
        """Store *page*, a number from 0 to 2**32 - 2, under *digest*."""
        self._halves.add(int.from_bytes(digest[:8], "little"), len(self._pages))
        self._rest.append(int.from_bytes(digest[8:], "little"))
        self._pages.append(page)

    def add_many(self, digests: Packed, pages: Sequence[int]) -> None:
        """Store many pages at once; raises ValueError if a digest has not 16 bytes."""
        halves = np.frombuffer(digests.rows(16), "<u8").astype(np.uint64).reshape(-1, 2)
        positions = np.arange(len(self._pages), len(self._pages) + len(halves))
        self._halves.add_many(halves[:, 0].copy(), positions)
        self._rest.frombytes(halves[:, 1].tobytes())
        self._pages.extend(pages)

    def pages(self, digest: bytes) -> list[int]:
        """Return the pages of *digest*, in the order in which they were stored."""
        half, rest = (int.from_bytes(part, "little") for part in (digest[:8], digest[8:]))
        positions = [match.page for match in self._halves.query_all(half)]
        return [self._pages[position] for position in positions if self._rest[position] == rest]

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def nbytes(self) -> int:
        """The memory that the stored digests take, in bytes."""
        columns = (self._rest, self._pages)
        return self._halves.nbytes + sum(column.itemsize * len(column) for column in columns)
