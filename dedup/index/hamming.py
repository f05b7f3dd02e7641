"""The exact index over fingerprints: sorted tables, and a short tail that is compared in full."""

from array import array
from bisect import insort
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from math import isqrt
from sys import getsizeof
from typing import Any

import numpy as np

from dedup.arrays import Array, is_number, run_positions, sort_unique, unique_pairs
from dedup.fingerprints import Fingerprints
from dedup.index.base import LAST_PAGE, Index, Match, PageFilter
from dedup.index.sorted_table import Block, SortedTable, best_blocks, scan_cost

# The page of a fingerprint that was discarded: higher than any other.
_NO_PAGE = LAST_PAGE + 1
_SHORTEST_TAIL = 1 << 10
# Of a query in a batch: with more candidates, it is faster by itself.
_MOST_IN_BATCH = 1 << 11
_BATCH = 1 << 9
_COMPARED_AT_ONCE = 1 << 17


class HammingIndex(Index):
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

    def __init__(self, bits: int = 64, max_distance: int = 3) -> None:
        """Create an empty index over fingerprints of *bits* bits, from 32 to 384.

        *max_distance* is inclusive, from 0 to *bits* - 1. Raises ValueError if one is out of range.
        """
        super().__init__()
        self._prints = Fingerprints(bits)
        if not (is_number(max_distance) and 0 <= max_distance < bits):
            raise ValueError(f"max_distance must be from 0 to {bits - 1}, got {max_distance!r}")
        self.bits, self.max_distance = int(bits), int(max_distance)
        self._blocks: list[Block] = []
        self._chosen_for = 0
        self._is_asked_in_batches = False
        # By place, with room for more: fingerprints, and the oldest page of each.
        self._rows, self._pages = self._prints.array([]), np.empty(0, np.uint32)
        # Those before `_sorted` are in the tables, each fingerprint once. Without tables, all are
        # compared.
        self._used = self._sorted = self._count = 0
        self._tables: list[SortedTable] = []
        # The further pages of fingerprints in the tables, sorted.
        self._further: dict[int, array[int]] = {}

    def add_many(self, sketches: Any, pages: Any = None) -> Array:
        """Store many fingerprints; return their page numbers, shape (n,), uint32.

        *sketches*: an array, integers, or `Packed` bytes from `FingerprintMethod.to_bytes`.
        """
        return super().add_many(self._prints.array(sketches), pages)

    def _store(self, sketch: int, page: int) -> None:
        row = self._prints.row(self._prints.to_integer(sketch))
        self._make_room(1)
        self._rows[self._used], self._pages[self._used] = row, page
        self._used += 1
        self._count += 1

    def _store_many(self, sketches: Array, pages: Array) -> None:
        self._make_room(len(sketches))
        end = self._used + len(sketches)
        self._rows[self._used : end], self._pages[self._used : end] = sketches, pages
        self._used = end
        self._count += len(sketches)

    def _make_room(self, count: int) -> None:
        end = self._used + count
        if end > len(self._rows):
            more = max(64, end + len(self._rows) // 8) - len(self._rows)
            self._rows, self._pages = (
                np.concatenate([values, np.empty((more, *values.shape[1:]), values.dtype)])
                for values in (self._rows, self._pages)
            )

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
        is_match = (distances <= self.max_distance) & (self._pages[places] != _NO_PAGE)
        return places[is_match], distances[is_match]

    def _scan(self, first: int, row: Any, max_distance: int) -> tuple[Array, Array]:
        """Return places, from *first* on, and distances of the fingerprints within the distance."""
        distances = self._prints.distances(self._rows[first : self._used], row)
        near = np.flatnonzero(distances <= max_distance)
        distances = distances[near]
        near += first
        is_stored = self._pages[near] != _NO_PAGE
        return near[is_stored], distances[is_stored]

    def compare_many(self, sketches: Any) -> Iterator[tuple[Array, Array, Array]]:
        rows = self._prints.array(sketches)
        self._is_asked_in_batches = len(rows) > 1
        for start in range(0, len(rows), _BATCH):
            owners, places, distances = self._near_of_many(rows[start : start + _BATCH])
            which, pages = self._with_further(places)
            yield start + owners[which], pages, distances[which]

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
            at = run_positions(starts.ravel(), sizes.ravel())
            owners = np.repeat(np.arange(len(rows)), sizes.sum(axis=1))
            near = np.bitwise_count(table.keys[at] ^ of_rows[owners]) <= self.max_distance
            in_tables.append((owners[near], table.places[at[near]]))
        owners, places = unique_pairs(*map(np.concatenate, zip(*in_tables, strict=True)))
        found.append((owners, places, self._prints.distances(self._rows[places], rows[owners])))
        owners, places, distances = map(np.concatenate, zip(*found, strict=True))
        is_match = (distances <= self.max_distance) & (self._pages[places] != _NO_PAGE)
        return owners[is_match], places[is_match], distances[is_match]

    def _merge_if_long(self) -> None:
        """Take a long tail into the tables, before anything is looked for.

        What is added in many pieces meanwhile is taken in at once.
        """
        # To scan a tail of twice the length takes as much time as to merge one of half of it.
        if self._used - self._sorted >= max(_SHORTEST_TAIL, 8 * isqrt(self._sorted)):
            with suppress(MemoryError):
                self._merge()

    def _merge(self) -> None:
        """Take the tail into the tables, or everything into new ones.

        If that fails, there are no tables, and nothing else has changed.
        """
        gone = np.count_nonzero(self._pages[: self._used] == _NO_PAGE)
        tables, self._tables = self._tables, []
        are_others = self._choose_blocks() or len(tables) != len(self._blocks)
        if is_rebuilt := are_others or 4 * gone > self._used:
            tables = [SortedTable(self.bits, block) for block in self._blocks]
            rows, pages = self._everything()
        else:
            is_stored = self._pages[self._sorted : self._used] != _NO_PAGE
            rows = self._rows[self._sorted : self._used][is_stored]
            pages = self._pages[self._sorted : self._used][is_stored]
        repeats: list[tuple[int, int, int | None]] = []
        if tables:
            rows, pages, repeats = self._without_repeats(tables[0], rows, pages)
        first = 0 if is_rebuilt else self._sorted
        for table in tables:
            table.insert(rows, first)
        end = first + len(rows)
        if is_rebuilt:
            self._rows, self._pages, self._further = rows, pages, {}
        else:
            self._rows[first:end], self._pages[first:end] = rows, pages
        self._used = self._sorted = end
        self._tables = tables
        for fingerprint, page, place in repeats:
            if place is not None:
                oldest, page = sorted((page, int(self._pages[place])))
                self._pages[place] = oldest
            if page != _NO_PAGE:
                insort(self._further.setdefault(fingerprint, array("I")), page)

    def _without_repeats(
        self, table: SortedTable, rows: Array, pages: Array
    ) -> tuple[Array, Array, list[tuple[int, int, int | None]]]:
        """Return those of *rows* that are new to *table*, each once with its oldest page.

        Of the others, the fingerprint is returned, the page, and its place if that is in the table.
        """
        by_page = pages.argsort(kind="stable")
        rows, pages = rows[by_page], pages[by_page]
        _, firsts = np.unique(rows, axis=0, return_index=True)
        which, places = self._equal(table, rows)
        is_new = np.zeros(len(rows), np.bool_)
        is_new[firsts] = True
        is_new[which] = False
        stored_at = dict(zip(which.tolist(), places.tolist(), strict=True))
        others = np.flatnonzero(~is_new)
        numbers = zip(self._prints.integers(rows[others]), others.tolist(), strict=True)
        repeats = [(print_, int(pages[n]), stored_at.get(n)) for print_, n in numbers]
        return rows[is_new], pages[is_new], repeats

    def _equal(self, table: SortedTable, rows: Array) -> tuple[Array, Array]:
        """Return numbers of *rows* and the places of their fingerprints in *table*."""
        which, places = table.equal(table.keys_of(rows))
        is_equal = self._prints.distances(rows[which], self._rows[places]) == 0
        return which[is_equal], places[is_equal]

    def _choose_blocks(self) -> bool:
        """Choose the blocks again if there are twice as many; return whether others are better."""
        if self._used < max(1, 2 * self._chosen_for):
            return False
        before = self._blocks
        rows = self._rows[: self._used]
        self._blocks = best_blocks(
            self.bits, self.max_distance, rows, in_batches=self._is_asked_in_batches
        )
        self._chosen_for = self._used
        return self._blocks != before

    def discard(self, sketch: int, page: int) -> bool:
        fingerprint = self._prints.to_integer(sketch)
        places, distances = self._near(fingerprint)
        for place in places[distances == 0].tolist():
            further = self._further.get(fingerprint) if place < self._sorted else None
            if self._pages[place] == page:
                self._pages[place] = further.pop(0) if further else _NO_PAGE
            elif further and page in further:
                further.remove(page)
            else:
                continue
            if further is not None and not further:
                del self._further[fingerprint]
            self._count -= 1
            return True
        return False

    @property
    def _first_scanned(self) -> int:
        return self._sorted if self._tables else 0

    def _everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no particular order."""
        is_stored = self._pages[: self._used] != _NO_PAGE
        rows, pages = self._rows[: self._used][is_stored], self._pages[: self._used][is_stored]
        counts = [len(further) for further in self._further.values()]
        repeated = np.repeat(self._prints.array(self._further), counts, axis=0)
        further = np.array([page for own in self._further.values() for page in own], np.uint32)
        return np.concatenate([rows, repeated]), np.concatenate([pages, further])

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        further = sum(map(getsizeof, self._further.values()))
        tables = sum(table.nbytes for table in self._tables)
        return self._rows.nbytes + self._pages.nbytes + tables + further
