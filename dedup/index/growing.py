"""The growing form of the Hamming index: buckets that take a fingerprint at any time."""

import sys
from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from dedup.index.buckets import Buckets, spread, spread_in_parts
from dedup.index.design import Design, is_cheaper_scanned
from dedup.index.fingerprints import Array, Fingerprints
from dedup.index.repeats import Repeats

# Up to here a scan of everything is faster than look-ups, and takes 12 bytes a fingerprint where
# the empty tables take 3 MB: a crawl with one index a host may keep many of them.
SCANNED_UP_TO = 12_288
# Below, the candidates of all tables are compared in one operation; above, copying them together
# would cost more than it saves.
_COMPARED_AT_ONCE = 8192
# How much larger arrays are, on average, than what stands in them.
_ROOM, _ROOM_OF_A_BUCKET = 1.55, 3.0
# The books of a free run, and how many rows a bucket has when it starts to leave runs behind.
_FREE_RUN, _MOVES_FROM = 100, 12


class GrowingIndex:
    """Fingerprints in buckets by the value of each block, for adding and removing at any time.

    Up to 64 bits, the fingerprints themselves stand in the buckets, so that a bucket is compared in
    one sweep of memory, however full it is: real fingerprints are skewed. Wider ones stand in one
    array, and their positions in the buckets. The first table knows the oldest page of each,
    further ones are `Repeats`.

    Without tables, while they are few or if *design* has none, all rows stand in arrays as they
    come, and a query compares each.
    """

    def __init__(self, design: Design) -> None:
        self.design = design
        self._prints = Fingerprints(design.bits)
        self._inline = self._prints.words == 1
        self._scanned_up_to = SCANNED_UP_TO if design.tables else sys.maxsize
        # For each table: how far to shift a fingerprint and which bits to keep for its key, what
        # to flip in it (None: nothing), and the buckets.
        self._tables: list[tuple[int, int, Array | None, Buckets]] = []
        # Without tables: all rows. With them: the rows by position, of wide fingerprints only.
        self._rows = self._prints.array([])
        self._pages = np.empty(0, np.uint32)
        self._count = 0
        self._free: list[int] = []
        self._repeats = Repeats()

    def add(self, fingerprint: int, page: int, *, is_new: bool = False) -> None:
        """Store *fingerprint*; *is_new*: it is known that it is not stored yet.

        When memory runs out, everything is as before.
        """
        if not self._tables:
            self._store(fingerprint, page)
            count = self._count + 1
            if count > self._scanned_up_to:
                self._build(self._rows[:count], self._pages[:count])
            else:
                self._count = count
            return
        if not is_new and (place := self._place_of(fingerprint)) is not None:
            pages = self._page_column
            older, newer = sorted((page, int(pages[place])))
            self._repeats.add(fingerprint, newer)
            pages[place] = older
            return
        value = fingerprint if self._inline else self._store(fingerprint, page)
        done = 0
        try:
            for shift, mask, _, buckets in self._tables:
                buckets.append((fingerprint >> shift) & mask, value, page)
                done += 1
        except BaseException:
            for shift, mask, _, buckets in self._tables[:done]:
                key = (fingerprint >> shift) & mask
                buckets.remove(key, buckets.run(key).stop - 1)
            raise
        if not self._inline and self._free:
            self._free.pop()
        self._count += 1

    def add_many(self, rows: Array, pages: Array) -> None:
        if len(rows) < self._count // 4:
            for fingerprint, page in zip(self._prints.integers(rows), pages.tolist(), strict=True):
                self.add(fingerprint, page)
            return
        old_rows, old_pages = self.everything()
        rows, pages = np.concatenate([old_rows, rows]), np.concatenate([old_pages, pages])
        if self._tables or len(rows) > self._scanned_up_to:
            self._build(rows, pages)
        else:
            self._rows, self._pages = rows.copy(), pages.astype(np.uint32)
            self._count = len(rows)

    def matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        """Return pages and distances of all within the threshold; a page once.

        *nearest*: only the oldest page of each fingerprint, and of those that are farther than
        others not all.
        """
        row = self._prints.row(fingerprint)
        if not self._tables:
            distances = self._prints.distances(self._rows[: self._count], row)
            limit = self.design.max_distance
            if not self._count or (closest := int(distances.min())) > limit:
                return _NO_PAGES, _NO_DISTANCES
            near = np.flatnonzero(distances <= (closest if nearest else limit))
            return self._pages[near], distances[near]
        values, distances = self._near(fingerprint, row, nearest)
        if not len(values):
            return _NO_PAGES, _NO_DISTANCES
        pages = self._pages_of(values)
        if nearest or not self._repeats:
            return pages, distances
        rows = values if self._inline else self._rows[values]
        which, pages = self._with_repeats(rows, pages)
        return pages, distances[which]

    def _near(self, fingerprint: int, row: Any, nearest: bool) -> tuple[Array, Array]:
        """Return the different fingerprints (of wide ones: positions) and their distances.

        *nearest*: only those that are nearest.
        """
        candidates, probed = [], []
        for shift, mask, flipped, buckets in self._tables:
            key = (fingerprint >> shift) & mask
            if flipped is None:
                candidates.append(buckets.columns[0][buckets.run(key)])
            else:
                probed.append((buckets, *buckets.runs(flipped ^ key)))
        if probed:
            if is_cheaper_scanned(sum(int(sizes.sum()) for *_, sizes in probed), self._count):
                return self._scan(row, nearest)
            candidates += [
                buckets.columns[0][spread(starts, sizes)] for buckets, starts, sizes in probed
            ]
        if sum(map(len, candidates)) <= _COMPARED_AT_ONCE:
            candidates = [np.concatenate(candidates)]
        limit = self.design.max_distance
        found = []
        for values in candidates:
            rows = values if self._inline else self._rows[values]
            distances = self._prints.distances(rows, row)
            if len(distances) and (closest := int(distances.min())) <= limit:
                limit = closest if nearest else limit
                found.append(values[distances <= limit])
        if not found:
            return candidates[0][:0], _NO_DISTANCES
        values = np.unique(np.concatenate(found))
        distances = self._prints.distances(values if self._inline else self._rows[values], row)
        near = distances <= limit
        return values[near], distances[near]

    def _scan(self, row: Any, nearest: bool) -> tuple[Array, Array]:
        """Return what `_near` does, by comparing everything."""
        values = self._tables[0][-1].all_rows() if self._inline else self._rows[: self._used]
        distances = self._prints.distances(values, row)
        closest = int(distances.min())
        while closest <= self.design.max_distance:
            limit = closest if nearest else self.design.max_distance
            places = np.flatnonzero(distances <= limit)
            if len(stored := places[self._are_stored(places)]):
                values = values[stored] if self._inline else stored.astype(np.uint32)
                order = np.argsort(values)
                return values[order], distances[stored][order]
            distances[places] = self.design.max_distance + 1
            closest = int(distances.min())
        return np.empty(0, values.dtype if self._inline else np.uint32), _NO_DISTANCES

    def _are_stored(self, places: Array) -> Array:
        """Return at which places stand rows that were not moved or removed."""
        if not self._inline:
            return np.isin(places, self._free, invert=True)
        shift, mask, _, buckets = self._tables[0]
        keys = self._prints.bits_of(buckets.columns[0][places], shift, mask.bit_length())
        starts, sizes = buckets.runs(keys.astype(np.int64))
        stored: Array = (places >= starts) & (places < starts + sizes)
        return stored

    @property
    def _used(self) -> int:
        """How many positions of wide fingerprints have been used."""
        return self._count + len(self._free)

    def matches_of(self, queries: Array, *, nearest: bool = False) -> tuple[Array, Array, Array]:
        """Return the numbers of *queries*, and what `matches` does for each; no pair twice."""
        if not self._tables:
            rows, pages = self._rows[: self._count], self._pages[: self._count]
            owners, places, distances = self._prints.scan(
                queries, rows, self.design.max_distance, nearest=nearest
            )
            return owners, pages[places], distances
        owners, values = self._near_of(queries, nearest)
        rows = values if self._inline else self._rows[values]
        distances = self._prints.distances(queries[owners], rows)
        different, which = np.unique(values, return_inverse=True)
        pages = self._pages_of(different)[which]
        if nearest or not self._repeats:
            return owners, pages, distances
        which, pages = self._with_repeats(rows, pages)
        return owners[which], pages, distances[which]

    def _near_of(self, queries: Array, nearest: bool) -> tuple[Array, Array]:
        """Return numbers of *queries*, and what `_near` finds for each; no pair twice."""
        limits = np.full(len(queries), self.design.max_distance)
        runs = []
        met = np.zeros(len(queries), np.int64)
        for shift, mask, flipped, buckets in self._tables:
            keys = self._prints.bits_of(queries, shift, mask.bit_length()).astype(np.int64)
            probed = keys if flipped is None else (keys[:, None] ^ flipped).ravel()
            starts, sizes = buckets.runs(probed)
            met += sizes.reshape(len(queries), -1).sum(axis=1)
            runs.append((starts, sizes))
        scanned = is_cheaper_scanned(met, self._count)
        owners = [np.empty(0, np.intp)]
        found = [self._tables[0][-1].columns[0][:0]]
        for number in np.flatnonzero(scanned).tolist():
            values, _ = self._scan(queries[number], nearest)
            owners.append(np.full(len(values), number))
            found.append(values)
        for (starts, sizes), (_, _, flipped, buckets) in zip(runs, self._tables, strict=True):
            probing = np.repeat(np.arange(len(queries)), 1 if flipped is None else len(flipped))
            sizes[scanned[probing]] = 0
            for probes, positions in spread_in_parts(starts, sizes):
                owner, values = probing[probes], buckets.columns[0][positions]
                rows = values if self._inline else self._rows[values]
                distances = self._prints.distances(queries[owner], rows)
                near = distances <= limits[owner]
                owners.append(owner[near])
                found.append(values[near])
                if nearest:
                    lower_to_least(limits, owners[-1], distances[near])
        return distinct(np.concatenate(owners), np.concatenate(found))

    def _place_of(self, fingerprint: int) -> int | None:
        """Return the place of a fingerprint in `_page_column`, ``None`` if it is not stored."""
        shift, mask, _, buckets = self._tables[0]
        run = buckets.run((fingerprint >> shift) & mask)
        values = buckets.columns[0][run]
        if self._inline:
            equal = values == np.uint64(fingerprint)
            return run.start + int(equal.argmax()) if equal.any() else None
        equal = (self._rows[values] == self._prints.row(fingerprint)).all(axis=1)
        return int(values[equal.argmax()]) if equal.any() else None

    def _place_of_stored(self, fingerprint: int) -> int:
        place = self._place_of(fingerprint)
        assert place is not None
        return place

    @property
    def _page_column(self) -> Array:
        return self._tables[0][-1].columns[1] if self._inline else self._pages

    def _pages_of(self, values: Array) -> Array:
        """Return the oldest page of each of different, sorted fingerprints (or positions)."""
        if not self._inline:
            return self._pages[values]
        shift, mask, _, buckets = self._tables[0]
        if len(values) == 1:
            place = self._place_of_stored(int(values[0]))
            return buckets.columns[1][place : place + 1]
        keys = np.unique(self._prints.bits_of(values, shift, mask.bit_length()).astype(np.int64))
        pages = np.empty(len(values), np.uint32)
        for _, positions in spread_in_parts(*buckets.runs(keys)):
            stored = buckets.columns[0][positions]
            which = np.minimum(np.searchsorted(values, stored), len(values) - 1)
            equal = values[which] == stored
            pages[which[equal]] = buckets.columns[1][positions[equal]]
        return pages

    def _with_repeats(self, rows: Array, pages: Array) -> tuple[Array, Array]:
        """Return numbers of *rows* as often as each has pages, and all the pages."""
        further = [self._repeats.pages_of(value) for value in self._prints.integers(rows)]
        which = np.repeat(np.arange(len(rows)), [len(each) for each in further])
        return (
            np.concatenate([np.arange(len(rows)), which]),
            np.concatenate([pages, *further]),
        )

    def remove(self, page: int) -> bool:
        """Forget *page*; return False if it is not stored."""
        if not self._tables:
            places = np.flatnonzero(self._pages[: self._count] == page)
            for place in places[::-1].tolist():
                self._count -= 1
                self._rows[place] = self._rows[self._count]
                self._pages[place] = self._pages[self._count]
            return bool(len(places))
        forgotten = self._repeats.remove(page)
        for fingerprint in self._prints.integers(self._rows_of(page)):
            oldest = self._repeats.take_oldest(fingerprint)
            if oldest is None:
                self._remove_row(fingerprint)
            else:
                self._page_column[self._place_of_stored(fingerprint)] = oldest
            forgotten = True
        return forgotten

    def _rows_of(self, page: int) -> Array:
        """Return the fingerprints that the tables hold with *page*."""
        buckets = self._tables[0][-1]
        places = buckets.rows()
        if self._inline:
            of_page: Array = buckets.columns[0][places[buckets.columns[1][places] == page]]
            return of_page
        positions = buckets.columns[0][places]
        wide: Array = self._rows[positions[self._pages[positions] == page]]
        return wide

    def _remove_row(self, fingerprint: int) -> None:
        place = self._place_of_stored(fingerprint)
        value = np.uint64(fingerprint) if self._inline else place
        for shift, mask, _, buckets in self._tables:
            key = (fingerprint >> shift) & mask
            run = buckets.run(key)
            buckets.remove(key, run.start + int((buckets.columns[0][run] == value).argmax()))
        self._count -= 1
        if not self._inline:
            self._free.append(place)

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no order."""
        if not self._tables:
            return self._rows[: self._count].copy(), self._pages[: self._count].copy()
        buckets = self._tables[0][-1]
        places = buckets.rows()
        values = buckets.columns[0][places]
        if self._inline:
            rows, pages = values, buckets.columns[1][places]
        else:
            rows, pages = self._rows[values], self._pages[values]
        further, further_pages = self._repeats.everything()
        rows = np.concatenate([rows, self._prints.array(further)])
        return rows, np.concatenate([pages, further_pages])

    def _store(self, fingerprint: int, page: int) -> int:
        """Put a row into the arrays, and return its position."""
        position = self._free[-1] if self._free else self._count
        if position == len(self._pages):
            # The pages last: they are the longer one if memory runs out in between.
            self._rows, self._pages = _longer(self._rows), _longer(self._pages)
        self._rows[position] = self._prints.row(fingerprint)
        self._pages[position] = page
        return position

    def _build(self, rows: Array, pages: Array) -> None:
        """Make the tables of *rows*, and take them in place of everything."""
        repeats = Repeats()
        pages = pages.astype(np.uint32)
        if self._prints.any_equal(rows):
            rows, pages = self._once(rows, pages, repeats)
        positions = np.arange(len(rows), dtype=np.uint32)
        tables: list[tuple[int, int, Array | None, Buckets]] = []
        for table in self.design.tables:
            [(shift, width)] = table.segments
            columns = [rows if self._inline else positions]
            if self._inline and not tables:
                columns.append(pages)
            buckets = Buckets(width, [column.dtype for column in columns])
            buckets.fill(self._prints.bits_of(rows, shift, width).astype(np.int64), *columns)
            flipped = flips(width, table.radius).astype(np.int64) if table.radius else None
            tables.append((shift, (1 << width) - 1, flipped, buckets))
        self._tables, self._repeats, self._count, self._free = tables, repeats, len(rows), []
        empty = self._prints.array([]), np.empty(0, np.uint32)
        self._rows, self._pages = empty if self._inline else (rows, pages)

    def _once(self, rows: Array, pages: Array, repeats: Repeats) -> tuple[Array, Array]:
        """Return the different rows with the oldest page of each; the others go into *repeats*."""
        order = np.argsort(pages, kind="stable")
        rows, pages = rows[order], pages[order]
        rows, oldest, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        is_oldest = np.zeros(len(pages), bool)
        is_oldest[oldest] = True
        again = np.flatnonzero(~is_oldest)
        repeated = self._prints.integers(rows[which.ravel()[again]])
        for fingerprint, page in zip(repeated, pages[again].tolist(), strict=True):
            repeats.add(fingerprint, page)
        return rows, pages[oldest]

    def __len__(self) -> int:
        return self._count + len(self._repeats)

    @staticmethod
    def bytes_per_fingerprint(design: Design, size: int) -> float:
        """Estimate the bytes for each of *size* fingerprints that were added one by one."""
        prints = Fingerprints(design.bits)
        if not design.tables or size <= SCANNED_UP_TO:
            return 1.25 * (8 * prints.words + 4)
        inline = prints.words == 1
        width = 8 if inline else 4
        each = 4.0 if inline else 1.25 * (8 * prints.words + 4)
        for table in design.tables:
            buckets = 1 << table.key_bits
            room = _ROOM + _ROOM_OF_A_BUCKET / (size / buckets + _ROOM_OF_A_BUCKET / 2)
            books = 12 * buckets + _FREE_RUN * min(buckets, size / _MOVES_FROM)
            each += width * room + books / max(size, 1)
        return each

    @property
    def nbytes(self) -> int:
        tables = sum(buckets.nbytes for *_, buckets in self._tables)
        return tables + self._rows.nbytes + self._pages.nbytes + self._repeats.nbytes


_NO_PAGES = np.empty(0, np.uint32)
_NO_DISTANCES = np.empty(0, np.uint8)


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


def lower_to_least(limits: Array, owners: Array, distances: Array) -> None:
    """Lower the limit of each of the sorted *owners* to the least of its *distances*."""
    if len(owners):
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        limits[owners[firsts]] = np.minimum.reduceat(distances, firsts)


def _longer(values: Array) -> Array:
    longer = np.empty((max(64, len(values) * 3 // 2), *values.shape[1:]), values.dtype)
    longer[: len(values)] = values
    return longer


def chunks(rows: Array, size: int) -> Iterator[tuple[int, Any]]:
    """Yield the start and the rows of every *size* rows."""
    for start in range(0, len(rows), size):
        yield start, rows[start : start + size]
