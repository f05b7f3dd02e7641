"""The growing form of the Hamming index: a table of buckets for every block."""

import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from dedup.index.buckets import Buckets, spread, spread_in_parts
from dedup.index.design import Design, Table
from dedup.index.fingerprints import Array, Fingerprints

# Up to here a scan of everything is faster than look-ups, and takes 12 bytes a fingerprint where
# the empty tables take 3 MB: a crawl with one index a host may keep many of them.
SCANNED_UP_TO = 4096
# Below, the candidates of all tables are compared in one operation; above, copying them together
# would cost more than it saves.
_COMPARED_AT_ONCE = 8192


class GrowingIndex:
    """Fingerprints in buckets by the value of each block, for adding and removing at any time.

    Up to 64 bits, the fingerprints themselves stand in the buckets, so that a bucket is compared in
    one sweep of memory, however full it is: real fingerprints are skewed. Wider ones stand in one
    array, and their positions in the buckets.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self._prints = Fingerprints(design.bits)
        self._inline = self._prints.words == 1
        self._scanned_up_to = SCANNED_UP_TO if design.pays else sys.maxsize
        self._masks = [flips(t.key_bits, t.radius) for t in design.tables if design.pays]
        # One fingerprint's own keys are all there is to look up, and a shift and a mask give each.
        self._is_plain = self._inline and all(len(masks) == 1 for masks in self._masks)
        self._tables: list[Buckets] = []
        self._blocks: list[tuple[int, int, Buckets]] = []
        # Before there are tables: all rows. After: the rows by position, of wide fingerprints only.
        self._rows = self._prints.array([])
        self._pages = np.empty(0, np.uint32)
        self._size = 0
        self._free: list[int] = []

    def add(self, fingerprint: int, page: int) -> None:
        if not self._tables or not self._inline:
            position = self._store(fingerprint, page)
        if not self._tables:
            if self._size > self._scanned_up_to:
                self._build(self._rows[: self._size], self._pages[: self._size])
            return
        if not self._inline:
            for table, buckets in zip(self.design.tables, self._tables, strict=True):
                buckets.append(key_of(table, fingerprint), position)
            return
        self._size += 1
        for shift, mask, buckets in self._blocks:
            buckets.append((fingerprint >> shift) & mask, fingerprint, page)

    def add_many(self, rows: Array, pages: Array) -> None:
        if len(rows) < self._size // 4:
            for fingerprint, page in zip(self._prints.integers(rows), pages.tolist(), strict=True):
                self.add(fingerprint, page)
            return
        old_rows, old_pages = self.everything()
        rows, pages = np.concatenate([old_rows, rows]), np.concatenate([old_pages, pages])
        if len(rows) > self._scanned_up_to:
            self._build(rows, pages)
        else:
            self._rows, self._pages = rows.copy(), pages.astype(np.uint32)
        self._size = len(rows)

    def matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        """Return pages and distances of all within the threshold; a page once.

        *nearest*: those that are farther than others may be left out.
        """
        if self._is_plain and self._tables:
            return self._matches_of_one(fingerprint, nearest)
        _, pages, distances = self.matches_of(self._prints.row(fingerprint)[None])
        return pages, distances

    def _matches_of_one(self, fingerprint: int, nearest: bool) -> tuple[Array, Array]:
        runs = [
            buckets.columns[0][buckets.run((fingerprint >> shift) & mask)]
            for shift, mask, buckets in self._blocks
        ]
        wanted = np.uint64(fingerprint)
        found = []
        together = sum(map(len, runs)) <= _COMPARED_AT_ONCE
        for values in (np.concatenate(runs),) if together else runs:
            distances = np.bitwise_count(values ^ wanted)
            if len(distances) and distances.min() <= self.design.max_distance:
                found.append(values[distances <= self.design.max_distance])
        if not found:
            return _NO_PAGES, _NO_DISTANCES
        values = np.unique(np.concatenate(found))
        if nearest and len(values) > 1:
            distances = np.bitwise_count(values ^ wanted)
            values = values[distances == distances.min()]
        if len(values) > 1:
            _, pages, rows = self._pages_of(values)
            return pages, np.bitwise_count(rows ^ wanted)
        one = int(values[0])
        shift, mask, buckets = self._blocks[0]
        run = buckets.run((one >> shift) & mask)
        pages = buckets.columns[1][run][buckets.columns[0][run] == values[0]]
        return pages, np.full(len(pages), (one ^ fingerprint).bit_count(), np.uint8)

    def matches_of(self, queries: Array) -> tuple[Array, Array, Array]:
        """Return the numbers of *queries*, pages and distances of all matches; no pair twice."""
        if not self._tables:
            rows, pages = self._rows[: self._size], self._pages[: self._size]
            owners, places, distances = self._prints.scan(queries, rows, self.design.max_distance)
            return owners, pages[places], distances
        numbers = [np.empty(0, np.intp)]
        found = [self._tables[0].columns[0][:0]]
        for table, buckets, masks in zip(
            self.design.tables, self._tables, self._masks, strict=True
        ):
            keys = (self._prints.keys(table, queries)[:, None] ^ masks).ravel().astype(np.int64)
            probing = np.repeat(np.arange(len(queries)), len(masks))
            for probes, positions in spread_in_parts(*buckets.runs(keys)):
                owner, values = probing[probes], buckets.columns[0][positions]
                rows = values if self._inline else self._rows[values]
                near = self._prints.distances(queries[owner], rows) <= self.design.max_distance
                numbers.append(owner[near])
                found.append(values[near])
        owner, values = distinct(np.concatenate(numbers), np.concatenate(found))
        if not self._inline:
            return (
                owner,
                self._pages[values],
                self._prints.distances(queries[owner], self._rows[values]),
            )
        different, which = np.unique(values, return_inverse=True)
        place, pages, _ = self._pages_of(different)
        counts = np.bincount(place, minlength=len(different))
        pages = pages[np.argsort(place, kind="stable")]
        ends = np.cumsum(counts)
        pair = np.repeat(np.arange(len(values)), counts[which])
        pages = pages[spread((ends - counts)[which], counts[which])]
        distances = self._prints.distances(queries[owner[pair]], values[pair])
        return owner[pair], pages, distances

    def _pages_of(self, values: Array) -> tuple[Array, Array, Array]:
        """Return, of different sorted fingerprints: the number of each, its page, and itself.

        A fingerprint stored for several pages comes as often.
        """
        table, buckets = self.design.tables[0], self._tables[0]
        keys = np.unique(self._prints.keys(table, values).astype(np.int64))
        positions = spread(*buckets.runs(keys))
        stored = buckets.columns[0][positions]
        place = np.searchsorted(values, stored)
        place[place == len(values)] = 0
        equal = values[place] == stored if len(values) else place.astype(bool)
        return place[equal], buckets.columns[1][positions[equal]], stored[equal]

    def remove(self, page: int) -> bool:
        """Forget *page*; return False if it is not stored."""
        if not self._tables:
            places = np.flatnonzero(self._pages[: self._size] == page)
            for place in places[::-1].tolist():
                self._size -= 1
                self._rows[place], self._pages[place] = (
                    self._rows[self._size],
                    self._pages[self._size],
                )
            return bool(len(places))
        stored = self._prints.integers(self._rows_of(page))
        for fingerprint in stored:
            self._remove_row(fingerprint, page)
        return bool(stored)

    def _rows_of(self, page: int) -> Array:
        """Return the fingerprints that are stored for *page*."""
        if not self._inline:
            rows, pages = self.everything()
            stored: Array = rows[pages == page]
            return stored
        table, buckets = self.design.tables[0], self._tables[0]
        fingerprints, pages = buckets.columns
        places = np.flatnonzero(pages == page)
        # What is behind the end of a bucket was moved or removed.
        starts, sizes = buckets.runs(
            self._prints.keys(table, fingerprints[places]).astype(np.int64)
        )
        live = (places >= starts) & (places < starts + sizes)
        found: Array = fingerprints[places[live]]
        return found

    def _remove_row(self, fingerprint: int, page: int) -> None:
        self._size -= 1
        position = -1
        for table, buckets in zip(self.design.tables, self._tables, strict=True):
            key = key_of(table, fingerprint)
            run = buckets.run(key)
            values = buckets.columns[0][run]
            if self._inline:
                same = values == np.uint64(fingerprint)
                if len(buckets.columns) == 2:
                    same &= buckets.columns[1][run] == page
            elif position < 0:
                equal = self._rows[values] == self._prints.row(fingerprint)
                same = (self._pages[values] == page) & equal.all(axis=1)
                position = int(values[same][0])
            else:
                same = values == position
            buckets.remove(key, run.start + int(np.flatnonzero(same)[0]))
        if not self._inline:
            self._free.append(position)

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no order."""
        if not self._tables:
            return self._rows[: self._size].copy(), self._pages[: self._size].copy()
        places = self._tables[0].rows()
        if self._inline:
            fingerprints, pages = self._tables[0].columns
            return fingerprints[places], pages[places]
        positions = self._tables[0].columns[0][places]
        return self._rows[positions], self._pages[positions]

    def _store(self, fingerprint: int, page: int) -> int:
        """Put a row into the arrays, and return its position."""
        position = self._free.pop() if self._free else self._size
        if position == len(self._rows):
            self._rows, self._pages = _longer(self._rows), _longer(self._pages)
        self._rows[position] = self._prints.row(fingerprint)
        self._pages[position] = page
        self._size += 1
        return position

    def _build(self, rows: Array, pages: Array) -> None:
        rows, pages = rows.copy(), pages.astype(np.uint32)
        positions = np.arange(len(rows), dtype=np.uint32)
        self._tables = []
        for number, table in enumerate(self.design.tables):
            columns = [rows if self._inline else positions]
            if self._inline and number == 0:
                columns.append(pages)
            buckets = Buckets(table.key_bits, [column.dtype for column in columns])
            buckets.fill(self._prints.keys(table, rows).astype(np.int64), *columns)
            self._tables.append(buckets)
        self._blocks = [
            (table.segments[0][0], (1 << table.key_bits) - 1, buckets)
            for table, buckets in zip(self.design.tables, self._tables, strict=True)
        ]
        self._free = []
        if self._inline:
            self._rows, self._pages = self._prints.array([]), np.empty(0, np.uint32)
        else:
            self._rows, self._pages = rows, pages

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        tables = sum(table.nbytes for table in self._tables)
        return tables + self._rows.nbytes + self._pages.nbytes


_NO_PAGES = np.empty(0, np.uint32)
_NO_DISTANCES = np.empty(0, np.uint8)


def key_of(table: Table, fingerprint: int) -> int:
    """Return the key of one fingerprint in *table*."""
    key = 0
    for start, width in table.segments:
        key = (key << width) | ((fingerprint >> start) & ((1 << width) - 1))
    return key


@cache
def flips(key_bits: int, radius: int) -> Array:
    """Return the masks that flip up to *radius* of *key_bits* bits, as uint64."""
    masks = [
        sum(1 << bit for bit in bits)
        for count in range(radius + 1)
        for bits in combinations(range(key_bits), count)
    ]
    return np.array(masks, np.uint64)


def distinct(owners: Array, values: Array) -> tuple[Array, Array]:
    """Return the different pairs of the two columns."""
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    different = np.ones(len(owners), bool)
    different[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
    return owners[different], values[different]


def _longer(values: Array) -> Array:
    longer = np.empty((max(64, len(values) * 3 // 2), *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    return longer


def chunks(rows: Array, size: int) -> Iterator[tuple[int, Any]]:
    """Yield the start and the rows of every *size* rows."""
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]
