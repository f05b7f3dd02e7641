"""Many fingerprints: in buckets by the value of each block."""

from abc import ABC, abstractmethod
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from dedup.index.buckets import Buckets, different, spread_in_parts
from dedup.index.design import Design, is_cheaper_scanned
from dedup.index.repeats import Repeats
from dedup.index.rows import NO_MATCHES, longer
from dedup.methods.fingerprints import Fingerprints
from dedup.methods.hashing import Array

# Below, the candidates of all tables are compared in one operation; above, copying them together
# would cost more than it saves.
_COMPARED_AT_ONCE = 8192


class Tables(ABC):
    """Fingerprints in buckets by the value of each block, for adding and removing at any time.

    A value in a bucket stands for a fingerprint: how, is what the two kinds of tables differ in.
    The tables have each fingerprint once, with its oldest page; further pages are `Repeats`.
    """

    def __init__(self, prints: Fingerprints, design: Design, rows: Array, pages: Array) -> None:
        self._prints = prints
        self._max_distance = design.max_distance
        self._repeats = Repeats()
        if prints.any_equal(rows):
            rows, pages = self._once(rows, pages)
        self._count = len(rows)
        # For each table: how far to shift a fingerprint and which bits to keep for its key, what
        # to flip in it (None: nothing), and the buckets.
        self._tables: list[tuple[int, int, Array | None, Buckets]] = []
        columns = self._take(rows, pages)
        for table in design.tables:
            [(shift, width)] = table.segments
            buckets = Buckets(width, [column.dtype for column in columns])
            buckets.fill(prints.bits_of(rows, shift, width).astype(np.int64), *columns)
            flipped = flips(width, table.radius).astype(np.int64) if table.radius else None
            self._tables.append((shift, (1 << width) - 1, flipped, buckets))
            columns = columns[:1]

    def _once(self, rows: Array, pages: Array) -> tuple[Array, Array]:
        """Return the different rows with the oldest page of each; the others become repeats."""
        order = np.argsort(pages, kind="stable")
        rows, pages = rows[order], pages[order]
        rows, oldest, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        again = np.delete(np.arange(len(pages)), oldest)
        repeated = self._prints.integers(rows[which.ravel()[again]])
        for fingerprint, page in zip(repeated, pages[again].tolist(), strict=True):
            self._repeats.add(fingerprint, page)
        return rows, pages[oldest]

    @abstractmethod
    def _take(self, rows: Array, pages: Array) -> list[Array]:
        """Take over different rows; return the columns of the first table, the values first.

        The other tables have the values only.
        """

    @abstractmethod
    def _put(self, fingerprint: int, page: int) -> Any:
        """Return the value of a new fingerprint."""

    @abstractmethod
    def _drop(self, value: Any) -> None:
        """Forget what `_put` gave."""

    @abstractmethod
    def _rows_of(self, values: Array) -> Array:
        """Return the fingerprints that *values* stand for."""

    @property
    @abstractmethod
    def _page_column(self) -> Array:
        """The oldest page of each fingerprint, at its `_page_place`."""

    @abstractmethod
    def _page_place(self, place: Any, value: Any) -> Any:
        """Return where the page of *value* is, which stands at *place* of the first table."""

    @abstractmethod
    def _pages_of(self, values: Array) -> Array:
        """Return the oldest page of each of different, sorted values."""

    @abstractmethod
    def _all_rows(self) -> Array:
        """Return all fingerprints, and rows among them that are not stored any more."""

    @abstractmethod
    def _stored_at(self, places: Array) -> Array:
        """Return the values of those *places* of `_all_rows` where one is stored."""

    def add(self, fingerprint: int, page: int, *, is_new: bool = False) -> None:
        """Store *fingerprint*; *is_new*: it is known that it is not stored yet.

        When memory runs out, everything is as before.
        """
        if not is_new and (place := self._find(fingerprint)) is not None:
            pages, at = self._page_column, self._page_place_at(place)
            older, newer = sorted((page, int(pages[at])))
            self._repeats.add(fingerprint, newer)
            pages[at] = older
            return
        value = self._put(fingerprint, page)
        done = 0
        try:
            for shift, mask, _, buckets in self._tables:
                buckets.append((fingerprint >> shift) & mask, value, page)
                done += 1
        except BaseException:
            for shift, mask, _, buckets in self._tables[:done]:
                key = (fingerprint >> shift) & mask
                buckets.remove(key, buckets.run(key).stop - 1)
            self._drop(value)
            raise
        self._count += 1

    def discard(self, fingerprint: int, page: int) -> bool:
        """Forget *page* of *fingerprint*; return False if it is not stored."""
        is_repeat = self._repeats.discard(fingerprint, page)
        place = self._find(fingerprint)
        if place is None or self._page_column[self._page_place_at(place)] != page:
            return is_repeat
        oldest = self._repeats.take_oldest(fingerprint)
        if oldest is not None:
            self._page_column[self._page_place_at(place)] = oldest
            return True
        value = self._tables[0][-1].columns[0][place]
        for shift, mask, _, buckets in self._tables:
            key = (fingerprint >> shift) & mask
            run = buckets.run(key)
            buckets.remove(key, run.start + int((buckets.columns[0][run] == value).argmax()))
        self._count -= 1
        self._drop(value)
        return True

    def _find(self, fingerprint: int) -> int | None:
        """Return the place of a fingerprint in the first table, ``None`` if it is not stored."""
        shift, mask, _, buckets = self._tables[0]
        run = buckets.run((fingerprint >> shift) & mask)
        rows = self._rows_of(buckets.columns[0][run])
        equal = self._prints.equal(rows, self._prints.row(fingerprint))
        return run.start + int(equal.argmax()) if equal.any() else None

    def _page_place_at(self, place: int) -> Any:
        return self._page_place(place, self._tables[0][-1].columns[0][place])

    def matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        """Return pages and distances of all within the threshold; a page once.

        *nearest*: only the oldest page of each fingerprint, and of those that are farther than
        others not all.
        """
        row = self._prints.row(fingerprint)
        values = self._near(fingerprint, row, nearest)
        if not len(values):
            return NO_MATCHES
        rows = self._rows_of(values)
        pages, distances = self._pages_of(values), self._prints.distances(rows, row)
        if nearest or not self._repeats:
            return pages, distances
        which, pages = self._with_repeats(rows, pages)
        return pages, distances[which]

    def _near(self, fingerprint: int, row: Any, nearest: bool) -> Array:
        """Return the values of the fingerprints within the threshold, different and sorted.

        *nearest*: of those that are farther than others not all.
        """
        candidates = self._candidates(fingerprint)
        if candidates is None:
            return self._scan(row, nearest)
        if sum(map(len, candidates)) <= _COMPARED_AT_ONCE:
            candidates = [np.concatenate(candidates)]
        limit = self._max_distance
        found = []
        for values in candidates:
            distances = self._prints.distances(self._rows_of(values), row)
            if len(distances) and (closest := int(distances.min())) <= limit:
                limit = closest if nearest else limit
                found.append(values[distances <= limit])
        return different(np.concatenate(found)) if found else candidates[0][:0]

    def _candidates(self, fingerprint: int) -> list[Array] | None:
        """Return the values to compare, of each table; ``None``: all."""
        candidates, probed = [], []
        for shift, mask, flipped, buckets in self._tables:
            key = (fingerprint >> shift) & mask
            if flipped is None:
                candidates.append(buckets.columns[0][buckets.run(key)])
            else:
                probed.append((buckets, *buckets.runs(flipped ^ key)))
        if is_cheaper_scanned(sum(int(sizes.sum()) for *_, sizes in probed), self._count):
            return None
        return candidates + [buckets.members(starts, sizes) for buckets, starts, sizes in probed]

    def _scan(self, row: Any, nearest: bool) -> Array:
        """Return what `_near` does, by comparing everything."""
        distances = self._prints.distances(self._all_rows(), row)
        values = self._stored_at(np.empty(0, np.intp))
        while not len(values) and (closest := int(distances.min())) <= self._max_distance:
            places = np.flatnonzero(distances <= (closest if nearest else self._max_distance))
            values = self._stored_at(places)
            distances[places] = self._max_distance + 1
        return np.sort(values)

    def matches_of(self, queries: Array, *, nearest: bool = False) -> tuple[Array, Array, Array]:
        """Return the numbers of *queries*, and what `matches` does for each; no pair twice."""
        owners, values = self._near_of(queries, nearest)
        rows = self._rows_of(values)
        distances = self._prints.distances(queries[owners], rows)
        once, which = np.unique(values, return_inverse=True)
        pages = self._pages_of(once)[which]
        if nearest or not self._repeats:
            return owners, pages, distances
        which, pages = self._with_repeats(rows, pages)
        return owners[which], pages, distances[which]

    def _near_of(self, queries: Array, nearest: bool) -> tuple[Array, Array]:
        """Return numbers of *queries*, and what `_near` finds for each; no pair twice."""
        limits = np.full(len(queries), self._max_distance)
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
            found.append(self._scan(queries[number], nearest))
            owners.append(np.full(len(found[-1]), number))
        for (starts, sizes), (_, _, flipped, buckets) in zip(runs, self._tables, strict=True):
            probing = np.repeat(np.arange(len(queries)), 1 if flipped is None else len(flipped))
            sizes[scanned[probing]] = 0
            for probes, positions in spread_in_parts(starts, sizes):
                owner, values = probing[probes], buckets.columns[0][positions]
                distances = self._prints.distances(queries[owner], self._rows_of(values))
                near = distances <= limits[owner]
                owners.append(owner[near])
                found.append(values[near])
                if nearest:
                    lower_to_least(limits, owners[-1], distances[near])
        return distinct(np.concatenate(owners), np.concatenate(found))

    def _with_repeats(self, rows: Array, pages: Array) -> tuple[Array, Array]:
        """Return numbers of *rows* as often as each has pages, and all the pages."""
        further = [self._repeats.pages_of(value) for value in self._prints.integers(rows)]
        which = np.repeat(np.arange(len(rows)), [len(each) for each in further])
        return (
            np.concatenate([np.arange(len(rows)), which]),
            np.concatenate([pages, *further]),
        )

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no order."""
        buckets = self._tables[0][-1]
        places = buckets.rows()
        values = buckets.columns[0][places]
        pages = self._page_column[self._page_place(places, values)]
        further, further_pages = self._repeats.everything()
        rows = np.concatenate([self._rows_of(values), self._prints.array(further)])
        return rows, np.concatenate([pages, further_pages])

    def __len__(self) -> int:
        return self._count + len(self._repeats)

    @property
    def nbytes(self) -> int:
        return self._repeats.nbytes + sum(buckets.nbytes for *_, buckets in self._tables)


class InlineTables(Tables):
    """Tables of fingerprints of up to 64 bits, which stand in the buckets themselves.

    So a bucket is compared in one sweep of memory, however full it is: real fingerprints are
    skewed. The first table has the pages, too.
    """

    def _take(self, rows: Array, pages: Array) -> list[Array]:
        return [rows, pages]

    def _put(self, fingerprint: int, page: int) -> int:
        return fingerprint

    def _drop(self, value: Any) -> None:
        pass

    def _rows_of(self, values: Array) -> Array:
        return values

    @property
    def _page_column(self) -> Array:
        return self._tables[0][-1].columns[1]

    def _page_place(self, place: Any, value: Any) -> Any:
        return place

    def _pages_of(self, values: Array) -> Array:
        shift, mask, _, buckets = self._tables[0]
        if len(values) == 1:
            place = self._find(int(values[0]))
            assert place is not None
            return buckets.columns[1][place : place + 1]
        keys = different(self._prints.bits_of(values, shift, mask.bit_length()).astype(np.int64))
        pages = np.empty(len(values), np.uint32)
        for _, positions in spread_in_parts(*buckets.runs(keys)):
            stored = buckets.columns[0][positions]
            which = np.minimum(np.searchsorted(values, stored), len(values) - 1)
            equal = values[which] == stored
            pages[which[equal]] = buckets.columns[1][positions[equal]]
        return pages

    def _all_rows(self) -> Array:
        return self._tables[0][-1].all_rows()

    def _stored_at(self, places: Array) -> Array:
        shift, mask, _, buckets = self._tables[0]
        values = buckets.columns[0][places]
        keys = self._prints.bits_of(values, shift, mask.bit_length())
        starts, sizes = buckets.runs(keys.astype(np.int64))
        stored: Array = values[(places >= starts) & (places < starts + sizes)]
        return stored


class PositionTables(Tables):
    """Tables of wide fingerprints, which stand in one array: the buckets have their positions."""

    def _take(self, rows: Array, pages: Array) -> list[Array]:
        self._rows, self._pages, self._used = rows, pages, len(rows)
        self._free: list[int] = []
        return [np.arange(len(rows), dtype=np.uint32)]

    def _put(self, fingerprint: int, page: int) -> int:
        if self._used == len(self._pages) and not self._free:
            # The pages last: they are the longer one if memory runs out in between.
            self._rows, self._pages = longer(self._rows), longer(self._pages)
        position = self._free.pop() if self._free else self._used
        self._used = max(self._used, position + 1)
        self._rows[position] = self._prints.row(fingerprint)
        self._pages[position] = page
        return position

    def _drop(self, value: Any) -> None:
        self._free.append(int(value))

    def _rows_of(self, values: Array) -> Array:
        return self._rows[values]

    @property
    def _page_column(self) -> Array:
        return self._pages

    def _page_place(self, place: Any, value: Any) -> Any:
        return value

    def _pages_of(self, values: Array) -> Array:
        return self._pages[values]

    def _all_rows(self) -> Array:
        return self._rows[: self._used]

    def _stored_at(self, places: Array) -> Array:
        return places[np.isin(places, self._free, invert=True)].astype(np.uint32)

    @property
    def nbytes(self) -> int:
        return super().nbytes + self._rows.nbytes + self._pages.nbytes


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
    is_first = np.ones(len(owners), bool)
    is_first[1:] = (owners[1:] != owners[:-1]) | (values[1:] != values[:-1])
    return owners[is_first], values[is_first]


def lower_to_least(limits: Array, owners: Array, distances: Array) -> None:
    """Lower the limit of each of the sorted *owners* to the least of its *distances*."""
    if len(owners):
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        limits[owners[firsts]] = np.minimum.reduceat(distances, firsts)
