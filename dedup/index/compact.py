"""The compact form of the Hamming index: a sorted, permuted copy for every table of a design."""

from typing import Any

import numpy as np

from dedup.index.buckets import spread, spread_in_parts
from dedup.index.design import Design, Table, segments_in_order
from dedup.index.fingerprints import Array, Fingerprints
from dedup.index.growing import distinct, flips

_NOT_STORED = np.uint32(2**32 - 1)


class CompactIndex:
    """Fingerprints of up to 64 bits in sorted arrays, which may be files mapped into memory.

    Table *i* holds every fingerprint with the bits of its segments moved to the front, in order;
    a key is then a range, found by binary search. The first table knows the pages. Nothing can be
    added; pages can be forgotten.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3 (with a radius: Norouzi et al. 2012).
    """

    def __init__(self, design: Design, tables: list[Array], pages: Array) -> None:
        """Take over *tables* and *pages* as `build` makes them."""
        self.design = design
        self._prints = Fingerprints(design.bits)
        self.tables = tables
        self.pages = pages
        self._masks = [flips(t.key_bits, t.radius) for t in design.tables if design.pays]
        self._size = len(pages)

    @classmethod
    def build(cls, design: Design, rows: Array, pages: Array) -> "CompactIndex":
        if not design.pays:  # it is scanned, in the order it comes
            return cls(design, [rows.copy()], pages.astype(np.uint32))
        tables = []
        for number, table in enumerate(design.tables):
            permuted = permute(rows, table, design.bits)
            if number == 0:
                order = np.argsort(permuted, kind="stable")
                tables.append(permuted[order])
                pages = pages[order].astype(np.uint32)
            else:
                permuted.sort()
                tables.append(permuted)
        return cls(design, tables, pages)

    def matches_of(self, queries: Array) -> tuple[Array, Array, Array]:
        """Return the numbers of *queries*, pages and distances of all matches; no pair twice."""
        if not self.design.pays:
            distance = self.design.max_distance
            owner, places, distances = self._prints.scan(queries, self.tables[0], distance)
            there = self.pages[places] != _NOT_STORED
            return owner[there], self.pages[places][there], distances[there]
        owners, found = [np.empty(0, np.intp)], [queries[:0]]
        for table, stored, masks in zip(self.design.tables, self.tables, self._masks, strict=True):
            wanted = permute(queries, table, self.design.bits)
            probing = np.repeat(np.arange(len(queries)), len(masks))
            for probes, places in spread_in_parts(*self._ranges(stored, table, wanted, masks)):
                owner, values = probing[probes], stored[places]
                near = self._prints.distances(wanted[owner], values) <= self.design.max_distance
                owners.append(owner[near])
                found.append(restore(values[near], table, self.design.bits))
        owner, values = distinct(np.concatenate(owners), np.concatenate(found))
        first = permute(values, self.design.tables[0], self.design.bits)
        starts = np.searchsorted(self.tables[0], first, "left")
        sizes = np.searchsorted(self.tables[0], first, "right") - starts
        which, places = np.repeat(np.arange(len(values)), sizes), spread(starts, sizes)
        pages = self.pages[places]
        there = pages != _NOT_STORED
        which, pages = which[there], pages[there]
        owner = owner[which]
        return owner, pages, self._prints.distances(queries[owner], values[which])

    def _ranges(
        self, stored: Array, table: Table, wanted: Array, masks: Array
    ) -> tuple[Array, Array]:
        below = np.uint64(self.design.bits - table.key_bits)
        lowest = ((wanted >> below)[:, None] ^ masks).ravel() << below
        highest = lowest | np.uint64((1 << int(below)) - 1)
        starts = np.searchsorted(stored, lowest, "left")
        return starts, np.searchsorted(stored, highest, "right") - starts

    def remove(self, page: int) -> bool:
        """Forget *page*; return False if it is not stored."""
        places = np.flatnonzero(self.pages == page)
        if not len(places):
            return False
        self.pages[places] = _NOT_STORED
        self._size -= len(places)
        return True

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no order."""
        there = np.flatnonzero(self.pages != _NOT_STORED)
        rows = self.tables[0][there]
        if self.design.pays:
            rows = restore(rows, self.design.tables[0], self.design.bits)
        return rows, self.pages[there]

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self.pages.nbytes + sum(table.nbytes for table in self.tables)


def permute(rows: Array, table: Table, bits: int) -> Array:
    """Return fingerprints with the bits of the segments of *table* moved to the front."""
    permuted = np.zeros_like(rows)
    for start, width in segments_in_order(table, bits):
        permuted = (permuted << np.uint64(width % 64)) | (
            (rows >> np.uint64(start)) & np.uint64((1 << width) - 1)
        )
    return permuted


def restore(permuted: Array, table: Table, bits: int) -> Array:
    """Return the fingerprints that `permute` was given."""
    rows: Any = np.zeros_like(permuted)
    left = bits
    for start, width in segments_in_order(table, bits):
        left -= width
        piece = (permuted >> np.uint64(left)) & np.uint64((1 << width) - 1)
        rows = rows | (piece << np.uint64(start))
    return rows  # type: ignore[no-any-return]
