"""The exact index over fingerprints: sorted tables, and a short tail that is compared in full."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from dedup.arrays import Array, run_positions_in_parts, sort_unique, unique_pairs
from dedup.index.base import Match, PageFilter
from dedup.index.fingerprint_tables import NO_PAGE, FingerprintTables
from dedup.index.sorted_table import scan_cost

# Of a query in a batch: with more candidates, it is faster by itself.
_MOST_IN_BATCH = 1 << 11
_BATCH = 1 << 12
_COMPARED_AT_ONCE = 1 << 17


class HammingIndex(FingerprintTables):
    """Finds fingerprints within a Hamming distance. Exact: misses no match and invents none.

    There is one sorted table for each block of bits (`best_blocks`), which has each fingerprint
    once. New ones are in a short unsorted tail, until the tables take them in. Whenever the number
    of fingerprints has doubled, the blocks are chosen again by a sample: the runs of real text are
    long, and ask for wider blocks. While a scan is cheaper, there are no tables.

    For use by one thread at a time.

    Sources: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3; Norouzi, Punjani, Fleet, "Fast Search in Hamming Space with Multi-Index Hashing",
    CVPR 2012, section 3.
    """

    def query(self, sketch: int, counts: PageFilter | None = None) -> Match | None:
        """Return the nearest stored page within *max_distance*, ties to the oldest, or ``None``.

        *counts* says which pages to consider; by default all.

        >>> index = HammingIndex(64, 3)
        >>> index.add(0b1000)
        0
        >>> index.query(0b1100)
        Match(page=0, distance=1)

        Raises ValueError for a fingerprint of more than *bits* bits.
        """
        return self._nearest(*self._near(self._prints.to_integer(sketch)), counts)

    def query_all(self, sketch: int) -> list[Match]:
        return list(self._in_order(*self._near(self._prints.to_integer(sketch))))

    def nearest_beyond(
        self, sketches: Iterable[int], within: float, counts: PageFilter | None = None
    ) -> Iterator[Match | None]:
        """Yield the nearest page beyond *max_distance* and up to *within* for each fingerprint.

        Exact: each is compared with all stored fingerprints.
        """
        for sketch in sketches:
            row = self._prints.row(self._prints.to_integer(sketch))
            places, distances = self._scan(0, row, int(min(within, self.bits)))
            is_beyond = distances > self.max_distance
            yield self._nearest(places[is_beyond], distances[is_beyond], counts)

    def _nearest(self, places: Array, distances: Array, counts: PageFilter | None) -> Match | None:
        if not len(places):
            return None
        least = distances.min()
        page = int(self._pages[places[distances == least]].min())
        if counts is None or counts(page):
            return Match(page, int(least))
        others = islice(self._in_order(places, distances), 1, None)
        return next((match for match in others if counts(match.page)), None)

    def _in_order(self, places: Array, distances: Array) -> Iterator[Match]:
        """Yield the matches at these places, the nearest first, ties by page number."""
        which, pages = self._with_further(places)
        distances = distances[which]
        # There may be thousands, of which one of the first counts.
        for number in np.lexsort((pages, distances)):
            yield Match(int(pages[number]), int(distances[number]))

    def _with_further(self, places: Array) -> tuple[Array, Array]:
        """Return numbers of *places* and all pages there."""
        which, pages = [np.arange(len(places))], [self._pages[places]]
        if self._further:
            for number, fingerprint in enumerate(self._prints.integers(self._rows[places])):
                if places[number] < self._sorted and fingerprint in self._further:
                    pages.append(np.frombuffer(self._further[fingerprint], np.uint32))
                    which.append(np.full(len(pages[-1]), number))
        return np.concatenate(which), np.concatenate(pages)

    def _near(self, fingerprint: int) -> tuple[Array, Array]:
        """Return places and distances of all fingerprints within the threshold."""
        self._merge_if_long()
        row = self._prints.row(fingerprint)
        keys = [table.key(fingerprint) for table in self._tables]
        candidates = [table.candidates(key) for table, key in zip(self._tables, keys, strict=True)]
        if not keys or sum(cost for _, cost in candidates) > scan_cost(self._used):
            return self._scan(0, row, self.max_distance)
        of_tail, distances = self._scan(self._sorted, row, self.max_distance)
        near = [
            table.near(key, where, self.max_distance)
            for table, key, (where, _) in zip(self._tables, keys, candidates, strict=True)
        ]
        places = sort_unique(np.concatenate(near))
        if not len(places):
            return of_tail, distances
        places = np.append(places, of_tail)
        distances = self._prints.distances(self._rows[places], row)
        is_match = (distances <= self.max_distance) & (self._pages[places] != NO_PAGE)
        return places[is_match], distances[is_match]

    def _scan(self, first: int, row: Any, max_distance: int) -> tuple[Array, Array]:
        """Return places, from *first* on, and distances of the fingerprints within the distance."""
        distances = self._prints.distances(self._rows[first : self._used], row)
        near = np.flatnonzero(distances <= max_distance)
        distances = distances[near]
        near += first
        is_stored = self._pages[near] != NO_PAGE
        return near[is_stored], distances[is_stored]

    def query_many(self, fingerprints: Any) -> tuple[Array, Array]:
        """Return each fingerprint's nearest page and its distance, shape (n,), int64; -1 for none.

        The answers of `query`; where few are near, in a fraction of the time.
        """
        rows = self._prints.array(fingerprints)
        pages, distances = np.full((2, len(rows)), -1)
        for start, owners, places, found in self._blocks_of_matches(rows):
            of_places = self._pages[places]
            order = np.lexsort((of_places, found, owners))
            owners, firsts = np.unique(owners[order], return_index=True)
            pages[start + owners] = of_places[order[firsts]]
            distances[start + owners] = found[order[firsts]]
        return pages, distances

    def compare_many(self, sketches: Any) -> Iterator[tuple[Array, Array, Array]]:
        rows = self._prints.array(sketches)
        for start, owners, places, distances in self._blocks_of_matches(rows):
            which, pages = self._with_further(places)
            yield start + owners[which], pages, distances[which]

    def _blocks_of_matches(self, rows: Array) -> Iterator[tuple[int, Array, Array, Array]]:
        for start in range(0, len(rows), _BATCH):
            yield start, *self._near_of_many(rows[start : start + _BATCH])

    def _near_of_many(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return numbers of *rows*, places and distances of all matches, each pair once."""
        self._merge_if_long()
        keys = [table.keys_of(rows) for table in self._tables]
        runs = [table.runs(of_rows) for table, of_rows in zip(self._tables, keys, strict=True)]
        is_alone = np.zeros(len(rows), np.bool_)
        if runs:
            is_alone = np.sum([sizes.sum(axis=1) for _, sizes in runs], axis=0) > _MOST_IN_BATCH
        found = []
        for number in np.flatnonzero(is_alone).tolist():
            [fingerprint] = self._prints.integers(rows[number : number + 1])
            places, distances = self._near(fingerprint)
            found.append((np.full(len(places), number), places, distances))
        others = np.flatnonzero(~is_alone)
        tail = self._rows[self._first_scanned : self._used]
        for part in np.array_split(others, 1 + len(others) * tail.size // _COMPARED_AT_ONCE):
            distances = self._prints.distances(rows[part][:, None], tail)
            of_part, of_tail = np.nonzero(distances <= self.max_distance)
            places = of_tail + self._first_scanned
            found.append((part[of_part], places, distances[of_part, of_tail]))
        in_tables = [(others[:0], others[:0])]
        for table, of_rows, (starts, sizes) in zip(self._tables, keys, runs, strict=True):
            sizes[is_alone] = 0
            for probes, at in run_positions_in_parts(starts.ravel(), sizes.ravel()):
                owners = probes // sizes.shape[1]
                near = np.bitwise_count(table.keys[at] ^ of_rows[owners]) <= self.max_distance
                in_tables.append((owners[near], table.places[at[near]]))
        owners, places = unique_pairs(*map(np.concatenate, zip(*in_tables, strict=True)))
        found.append((owners, places, self._prints.distances(self._rows[places], rows[owners])))
        owners, places, distances = map(np.concatenate, zip(*found, strict=True))
        is_match = (distances <= self.max_distance) & (self._pages[places] != NO_PAGE)
        return owners[is_match], places[is_match], distances[is_match]
