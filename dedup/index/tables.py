"""Many fingerprints, found by their blocks."""

from typing import Any

import numpy as np

from dedup.arrays import (
    Array,
    lower_limits,
    run_positions_in_parts,
    sort_unique,
    unique_pairs,
)
from dedup.index.blocks import Blocks
from dedup.index.design import Design, most_candidates
from dedup.index.repeats import Repeats
from dedup.index.rows import NO_MATCHES
from dedup.index.values import Inline, Positions
from dedup.methods.fingerprints import Fingerprints

# Up to so many, the candidates of all tables are compared in one operation. Beyond, copying them
# together costs more than it saves.
_COMPARED_AT_ONCE = 8192


class Tables:
    """Fingerprints in the tables of a design.

    The buckets contain a value for each fingerprint (`dedup.index.values`). Each table has it once,
    and the first table also the oldest page; further pages are in `Repeats`.
    """

    def __init__(self, prints: Fingerprints, design: Design, rows: Array, pages: Array) -> None:
        self._prints = prints
        self._max_distance = design.max_distance
        self._repeats = Repeats(prints)
        rows, pages = self._repeats.take_repeats(rows, pages)
        self._count = len(rows)
        self._values = (Inline if prints.words == 1 else Positions)(prints, rows)
        self._blocks = Blocks(prints, design, rows, self._values.of_all(rows), pages)
        self._first = self._blocks.first

    def add(self, fingerprint: int, page: int, *, is_new: bool = False) -> None:
        """Store *fingerprint*. Pass *is_new* if it is known not to be stored yet.

        If memory runs out, nothing changes.
        """
        if not is_new and (place := self._find(fingerprint)) is not None:
            pages = self._pages
            older, newer = sorted((page, int(pages[place])))
            self._repeats.add(fingerprint, newer)
            pages[place] = older
            return
        value = self._values.add(fingerprint)
        try:
            self._blocks.add(fingerprint, value, page)
        except BaseException:
            self._values.free(value)
            raise
        self._count += 1

    def discard(self, fingerprint: int, page: int) -> bool:
        """Remove *page* of *fingerprint*; return False if it is not stored."""
        is_repeat = self._repeats.discard(fingerprint, page)
        place = self._find(fingerprint)
        if place is None or self._pages[place] != page:
            return is_repeat
        oldest = self._repeats.take_oldest(fingerprint)
        if oldest is None:
            value = self._first.columns[0][place]
            self._blocks.remove(fingerprint, value)
            self._values.free(int(value))
            self._count -= 1
        else:
            self._pages[place] = oldest
        return True

    def _find(self, fingerprint: int) -> int | None:
        """Return the place of a fingerprint in the first table, or ``None`` if it is not stored."""
        run = self._blocks.run(fingerprint)
        rows = self._values.rows_of(self._first.columns[0][run])
        equal = self._prints.equal(rows, self._prints.row(fingerprint))
        return run.start + int(equal.argmax()) if equal.any() else None

    @property
    def _pages(self) -> Array:
        """The oldest page of each fingerprint, by its place in the first table."""
        return self._first.columns[1]

    def _pages_of(self, values: Array, rows: Array) -> Array:
        """Return the oldest page of each of *rows*, whose *values* are unique and sorted."""
        if len(values) == 1:  # the most frequent case
            place = self._find(*self._prints.integers(rows))
            return self._pages[place : place + 1] if place is not None else NO_MATCHES[0]
        pages = np.empty(len(values), np.uint32)
        starts, sizes = self._blocks.runs(rows)
        _, once = np.unique(starts, return_index=True)
        for _, places in run_positions_in_parts(starts[once], sizes[once]):
            stored = self._first.columns[0][places]
            which = np.minimum(np.searchsorted(values, stored), len(values) - 1)
            equal = values[which] == stored
            pages[which[equal]] = self._pages[places[equal]]
        return pages

    def matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        """Return pages and distances of all matches, each page once.

        With *nearest*, only the oldest page of each fingerprint, and perhaps not all fingerprints
        that are farther than the nearest.
        """
        row = self._prints.row(fingerprint)
        values = self._near_values(fingerprint, row, nearest)
        if not len(values):
            return NO_MATCHES
        rows = self._values.rows_of(values)
        pages, distances = self._pages_of(values, rows), self._prints.distances(rows, row)
        if nearest or not self._repeats:
            return pages, distances
        which, pages = self._repeats.expand(rows, pages)
        return pages, distances[which]

    def _near_values(self, fingerprint: int, row: Any, nearest: bool) -> Array:
        """Return the unique, sorted values of the fingerprints within the threshold.

        With *nearest*, perhaps not all that are farther than the nearest.
        """
        candidates = self._blocks.candidates(fingerprint, self._count)
        if candidates is None:
            return self._scan(row, nearest)
        if sum(map(len, candidates)) <= _COMPARED_AT_ONCE:
            candidates = [np.concatenate(candidates)]
        limit = self._max_distance
        found = []
        for values in candidates:
            distances = self._prints.distances(self._values.rows_of(values), row)
            if len(distances) and (closest := int(distances.min())) <= limit:
                limit = closest if nearest else limit
                found.append(values[distances <= limit])
        return sort_unique(np.concatenate(found)) if found else candidates[0][:0]

    def _scan(self, row: Any, nearest: bool) -> Array:
        """Return the same as `_near_values` by comparing everything."""
        distances = self._prints.distances(self._values.all_rows(self._first), row)
        values = self._first.columns[0][:0]
        while not len(values) and (closest := int(distances.min())) <= self._max_distance:
            places = np.flatnonzero(distances <= (closest if nearest else self._max_distance))
            values = self._values.stored_at(places, self._first, self._blocks.runs)
            distances[places] = self._max_distance + 1
        return np.sort(values)

    def matches_of_many(
        self, queries: Array, *, nearest: bool = False
    ) -> tuple[Array, Array, Array]:
        """Return query numbers, and pages and distances as `matches` does for each query."""
        owners, values = self._near_values_of_many(queries, nearest)
        rows = self._values.rows_of(values)
        distances = self._prints.distances(queries[owners], rows)
        once, which = np.unique(values, return_inverse=True)
        pages = self._pages_of(once, self._values.rows_of(once))[which]
        if nearest or not self._repeats:
            return owners, pages, distances
        which, pages = self._repeats.expand(rows, pages)
        return owners[which], pages, distances[which]

    def _near_values_of_many(self, queries: Array, nearest: bool) -> tuple[Array, Array]:
        """Return query numbers and values as `_near_values` does for each, each pair once."""
        tables = list(self._blocks.candidates_of_many(queries))
        met = np.sum([sizes.sum(axis=1) for _, _, sizes in tables], axis=0)
        scanned = met > most_candidates(self._count)
        owners, found = [np.empty(0, np.intp)], [tables[0][0][:0]]
        for number in np.flatnonzero(scanned).tolist():
            found.append(self._scan(queries[number], nearest))
            owners.append(np.full(len(found[-1]), number))
        limits = np.full(len(queries), self._max_distance)
        for column, starts, sizes in tables:
            sizes[scanned] = 0
            for probes, places in run_positions_in_parts(starts.ravel(), sizes.ravel()):
                owner, values = probes // sizes.shape[1], column[places]
                distances = self._prints.distances(queries[owner], self._values.rows_of(values))
                near = distances <= limits[owner]
                owners.append(owner[near])
                found.append(values[near])
                if nearest:
                    lower_limits(limits, owners[-1], distances[near])
        return unique_pairs(np.concatenate(owners), np.concatenate(found))

    def everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no particular order."""
        places = self._first.rows()
        rows = self._values.rows_of(self._first.columns[0][places])
        further, pages = self._repeats.everything()
        return np.concatenate([rows, further]), np.concatenate([self._pages[places], pages])

    def __len__(self) -> int:
        return self._count + len(self._repeats)

    @property
    def nbytes(self) -> int:
        return self._blocks.nbytes + self._repeats.nbytes + self._values.nbytes
