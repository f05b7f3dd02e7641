"""The exact block index over 64-bit fingerprints, for distances up to 3."""

from array import array

import numpy as np

from dedup.index.base import Index, Match
from dedup.index.linear import LinearIndex

_BLOCKS = 4
_BLOCK_BITS = 16
_BUCKETS = 1 << _BLOCK_BITS
# Up to here a scan of everything is faster than four look-ups, and takes 12 bytes a fingerprint
# where the empty tables of buckets take 3 MB: a crawl with one index a host may keep many of them.
_SCANNED_UP_TO = 4096


class HammingIndex(Index):
    """Finds fingerprints within Hamming distance 3, exactly, through four blocks of 16 bits.

    Two fingerprints that differ in at most 3 bits agree in at least one of 4 blocks (pigeonhole),
    so only the four buckets of a fingerprint's own blocks need be looked at. A bucket is a run of
    fingerprints in one large array per block, compared with one vectorised operation.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3, with hashed blocks in place of sorted tables.
    """

    LARGEST_DISTANCE = _BLOCKS - 1

    def __init__(self, max_distance: int = 3) -> None:
        """Create an empty index; *max_distance* is inclusive, from 0 to 3 bits.

        Raises ValueError if *max_distance* is outside that range.
        """
        if not 0 <= max_distance <= self.LARGEST_DISTANCE:
            raise ValueError(
                f"max_distance must be from 0 to {self.LARGEST_DISTANCE}, got {max_distance!r}"
            )
        self.max_distance = max_distance
        self._few: LinearIndex | None = LinearIndex(max_distance)
        self._tables: list[_BlockTable] = []
        self._size = 0

    def add(self, sketch: int, page: int) -> None:
        self._size += 1
        if self._few is not None:
            self._few.add(sketch, page)
            if len(self._few) > _SCANNED_UP_TO:
                self._build_tables(self._few)
                self._few = None
        else:
            for table in self._tables:
                table.add(sketch, page)

    def query(self, sketch: int) -> Match | None:
        if self._few is not None:
            return self._few.query(sketch)
        nearest, found = self.max_distance + 1, set[int]()
        wanted = np.uint64(sketch)
        for table in self._tables:
            bucket = table.bucket(sketch)
            distances = np.bitwise_count(bucket ^ wanted)
            closest = int(distances.min(initial=nearest))
            if closest < nearest:
                nearest, found = closest, set()
            if closest == nearest <= self.max_distance:
                found.update(bucket[distances == nearest].tolist())
        if not found:
            return None
        return Match(
            nearest, min(self._tables[0].oldest_page(fingerprint) for fingerprint in found)
        )

    def _build_tables(self, few: LinearIndex) -> None:
        self._tables = [_BlockTable(block) for block in range(_BLOCKS)]
        for sketch, page in zip(few.fingerprints.tolist(), few.pages.tolist(), strict=True):
            for table in self._tables:
                table.add(sketch, page)

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in (self._tables if self._few is None else [self._few]))


class _BlockTable:
    """The fingerprints by the value of one block; the first block's also know their pages."""

    def __init__(self, block: int) -> None:
        self._shift = block * _BLOCK_BITS
        self._starts = array("I", bytes(4 * _BUCKETS))
        self._sizes = array("I", bytes(4 * _BUCKETS))
        self._capacities = array("I", bytes(4 * _BUCKETS))
        self._free: dict[int, list[int]] = {}
        self._used = 0
        self._fingerprints = np.empty(4 * _SCANNED_UP_TO, np.uint64)
        # One block's table is enough to tell the pages of a fingerprint, once it was found.
        self._pages = np.empty(len(self._fingerprints) if block == 0 else 0, np.uint32)

    def bucket(self, sketch: int) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
        return self._fingerprints[self._slice(sketch)]

    def oldest_page(self, sketch: int) -> int:
        where = self._slice(sketch)
        return int(self._pages[where][self._fingerprints[where] == np.uint64(sketch)].min())

    def add(self, sketch: int, page: int) -> None:
        key = self._key(sketch)
        if self._sizes[key] == self._capacities[key]:
            self._grow(key)
        position = self._starts[key] + self._sizes[key]
        self._fingerprints[position] = sketch
        if len(self._pages):
            self._pages[position] = page
        self._sizes[key] += 1

    def _key(self, sketch: int) -> int:
        return (sketch >> self._shift) & (_BUCKETS - 1)

    def _slice(self, sketch: int) -> slice:
        key = self._key(sketch)
        start = self._starts[key]
        return slice(start, start + self._sizes[key])

    def _grow(self, key: int) -> None:
        old, size = self._starts[key], self._sizes[key]
        new_capacity = size + size // 2 + 1
        new = self._allocate(new_capacity)
        for pool in (self._fingerprints, self._pages):
            if len(pool):
                pool[new : new + size] = pool[old : old + size]
        if size:
            self._free.setdefault(size, []).append(old)
        self._starts[key], self._capacities[key] = new, new_capacity

    def _allocate(self, capacity: int) -> int:
        if reusable := self._free.get(capacity):
            return reusable.pop()
        start, self._used = self._used, self._used + capacity
        if self._used > len(self._fingerprints):
            length = max(self._used, len(self._fingerprints) * 3 // 2)
            self._fingerprints = np.resize(self._fingerprints, length)
            if len(self._pages):
                self._pages = np.resize(self._pages, length)
        return start

    @property
    def nbytes(self) -> int:
        bookkeeping = (self._starts, self._sizes, self._capacities)
        return (
            self._fingerprints.nbytes
            + self._pages.nbytes
            + sum(numbers.itemsize * len(numbers) for numbers in bookkeeping)
        )
