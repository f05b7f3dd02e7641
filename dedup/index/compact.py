"""The compact form of the Hamming index: a sorted, permuted copy for every table of a design."""

from typing import Any, Literal

import numpy as np

from dedup.arrays import (
    Array,
    lower_limits,
    run_positions,
    run_positions_in_parts,
    unique_pairs,
)
from dedup.index.blocks import flip_masks
from dedup.index.design import Design, Table, most_candidates, segments_in_order
from dedup.methods.fingerprints import Fingerprints

_NOT_STORED = np.uint32(2**32 - 1)
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class CompactIndex:
    """Fingerprints of up to 64 bits in sorted arrays, which may be files mapped into memory.

    Each table holds every fingerprint once, sorted, with the bits of the table's segments moved to
    the front; the rows of a key are a range, found by binary search. The oldest page of a
    fingerprint belongs to the first table; further pages are in two separate columns, sorted by
    fingerprint and page. Without tables, all rows are in one unsorted array. Pages can be
    discarded, but none can be added.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3 (with a radius: Norouzi et al. 2012).
    """

    def __init__(self, design: Design, arrays: list[Array]) -> None:
        """Use the *arrays* of another one: pages, further rows, further pages, and the tables."""
        self.design = design
        self.arrays = arrays
        self._pages, self._further_rows, self._further_pages, *self._tables = arrays
        self._prints = Fingerprints(design.bits)
        self._flips = [flip_masks(table.key_bits, table.radius) for table in design.tables]
        self._size = sum(
            int((pages != _NOT_STORED).sum()) for pages in (self._pages, self._further_pages)
        )

    @classmethod
    def build(cls, design: Design, rows: Array, pages: Array) -> "CompactIndex":
        if not design.tables:
            return cls(design, [pages.astype(np.uint32), rows[:0], pages[:0], rows.copy()])
        first, *others = design.tables
        rows = permute(rows, first, design.bits)
        order = np.lexsort((pages, rows))
        rows, pages = rows[order], pages[order].astype(np.uint32)
        is_first = np.diff(rows, prepend=~rows[:1]) != 0
        further = restore(rows[~is_first], first, design.bits), pages[~is_first]
        rows, pages = rows[is_first], pages[is_first]
        tables = [rows]
        for table in others:
            tables.append(permute(restore(rows, first, design.bits), table, design.bits))
            tables[-1].sort()
        order = np.lexsort(further[::-1])
        return cls(design, [pages, further[0][order], further[1][order], *tables])

    def matches_of_many(
        self, queries: Array, *, nearest: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return query numbers, pages and distances of all matches, each pair once.

        With *nearest*, only the oldest page of each fingerprint, and perhaps not all fingerprints
        that are farther than the nearest.
        """
        if not self.design.tables:
            distance = self.design.max_distance
            owners, places, distances = self._prints.scan(
                queries, self._tables[0], distance, nearest=nearest and self._is_complete
            )
            there = self._pages[places] != _NOT_STORED
            return owners[there], self._pages[places][there], distances[there]
        owners, values = self._near_values_of_many(queries, nearest)
        first = permute(values, self.design.tables[0], self.design.bits)
        pages = self._pages[np.searchsorted(self._tables[0], first)]
        there = pages != _NOT_STORED
        owners, values, pages = owners[there], values[there], pages[there]
        distances = self._prints.distances(queries[owners], values)
        if nearest or not len(self._further_rows):
            return owners, pages, distances
        starts = np.searchsorted(self._further_rows, values)
        sizes = np.searchsorted(self._further_rows, values, "right") - starts
        further = self._further_pages[run_positions(starts, sizes)]
        which = np.repeat(np.arange(len(values)), sizes)[further != _NOT_STORED]
        which = np.concatenate([np.arange(len(values)), which])
        pages = np.concatenate([pages, further[further != _NOT_STORED]])
        return owners[which], pages, distances[which]

    def _near_values_of_many(self, queries: Array, nearest: bool) -> tuple[Array, Array]:
        """Return query numbers and the fingerprints within the threshold, each pair once."""
        bits, distance = self.design.bits, self.design.max_distance
        ranges = [
            self._ranges(queries, *table)
            for table in zip(self.design.tables, self._tables, self._flips, strict=True)
        ]
        met = sum(sizes.reshape(len(queries), -1).sum(axis=1) for _, sizes in ranges)
        scanned = met > most_candidates(len(self._pages))
        asked = np.flatnonzero(scanned)
        wanted = permute(queries, self.design.tables[0], bits)
        numbers, places, _ = self._prints.scan(wanted[asked], self._tables[0], distance)
        owners = [asked[numbers]]
        found = [restore(self._tables[0][places], self.design.tables[0], bits)]
        limits = np.full(len(queries), distance)
        for (starts, sizes), table, stored in zip(
            ranges, self.design.tables, self._tables, strict=True
        ):
            wanted = permute(queries, table, bits)
            probing = np.repeat(np.arange(len(queries)), table.probes)
            sizes[scanned[probing]] = 0
            for probes, places in run_positions_in_parts(starts, sizes):
                owner, values = probing[probes], stored[places]
                distances = self._prints.distances(wanted[owner], values)
                near = distances <= limits[owner]
                owners.append(owner[near])
                found.append(restore(values[near], table, bits))
                if nearest and self._is_complete:
                    lower_limits(limits, owners[-1], distances[near])
        return unique_pairs(np.concatenate(owners), np.concatenate(found))

    def _ranges(
        self, queries: Array, table: Table, stored: Array, flipped: Array
    ) -> tuple[Array, Array]:
        below = np.uint64(self.design.bits - table.key_bits)
        wanted = permute(queries, table, self.design.bits)
        lowest = ((wanted >> below)[:, None] ^ flipped).ravel() << below
        highest = lowest | np.uint64((1 << int(below)) - 1)
        starts = np.searchsorted(stored, lowest, "left")
        return starts, np.searchsorted(stored, highest, "right") - starts

    @property
    def _is_complete(self) -> bool:
        """Whether nothing was discarded, so that the nearest row has a page."""
        return self._size == len(self._pages) + len(self._further_pages)

    def discard(self, row: Any, page: int) -> bool:
        """Remove *page* of the fingerprint *row*; return False if it is not stored."""
        before = self._size
        for place in self._places_of(row):
            further = slice(*(np.searchsorted(self._further_rows, row, side) for side in _SIDES))
            # The oldest page is the first.
            pages = np.append(self._pages[place], self._further_pages[further])
            left = pages[(pages != page) & (pages != _NOT_STORED)]
            self._size -= int((pages != _NOT_STORED).sum()) - len(left)
            pages[: len(left)], pages[len(left) :] = left, _NOT_STORED
            self._pages[place], self._further_pages[further] = pages[0], pages[1:]
        return self._size < before

    def _places_of(self, row: Any) -> list[int]:
        """Return the places of *row* in the first table: without tables there may be several."""
        if self.design.tables:
            row = permute(np.array([row], np.uint64), self.design.tables[0], self.design.bits)[0]
            start, stop = (np.searchsorted(self._tables[0], row, side) for side in _SIDES)
            return list(range(int(start), int(stop)))
        return np.flatnonzero(self._tables[0] == row).tolist()

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no particular order."""
        rows = self._tables[0]
        if self.design.tables:
            rows = restore(rows, self.design.tables[0], self.design.bits)
        rows = np.concatenate([rows, self._further_rows])
        pages = np.concatenate([self._pages, self._further_pages])
        there = np.flatnonzero(pages != _NOT_STORED)
        return rows[there], pages[there]

    def __len__(self) -> int:
        return self._size

    @staticmethod
    def bytes_per_fingerprint(design: Design) -> int:
        return 8 * max(1, len(design.tables)) + 4

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays)


def permute(rows: Array, table: Table, bits: int) -> Array:
    """Return the fingerprints with the bits of *table*'s segments moved to the front."""
    permuted = np.zeros_like(rows)
    for start, width in segments_in_order(table, bits):
        permuted = (permuted << np.uint64(width % 64)) | (
            (rows >> np.uint64(start)) & np.uint64((1 << width) - 1)
        )
    return permuted


def restore(permuted: Array, table: Table, bits: int) -> Array:
    """Return the fingerprints of which `permute` made *permuted*."""
    rows: Any = np.zeros_like(permuted)
    left = bits
    for start, width in segments_in_order(table, bits):
        left -= width
        piece = (permuted >> np.uint64(left)) & np.uint64((1 << width) - 1)
        rows = rows | (piece << np.uint64(start))
    return rows  # type: ignore[no-any-return]
