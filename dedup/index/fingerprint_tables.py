"""Fingerprints in sorted tables, with a short unsorted tail: adding, merging and discarding."""

from array import array
from bisect import insort
from contextlib import suppress
from math import isqrt
from sys import getsizeof
from typing import Any

import numpy as np

from dedup.arrays import Array, is_number
from dedup.fingerprints import Fingerprints
from dedup.index.base import LAST_PAGE, Index
from dedup.index.sorted_table import Block, SortedTable, best_blocks

# The page of a fingerprint that was discarded: higher than any other.
NO_PAGE = LAST_PAGE + 1
_SHORTEST_TAIL = 1 << 10


class FingerprintTables(Index):
    """What a `HammingIndex` stores, for its queries."""

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

    def _merge_if_long(self) -> None:
        """Take a long tail into the tables, before anything is looked for.

        What is added in many pieces meanwhile is taken in at once.
        """
        # To scan a tail of twice the length takes as much time as to merge one of half of it.
        if self._used - self._sorted >= max(_SHORTEST_TAIL, 8 * isqrt(self._sorted)):
            with suppress(MemoryError):
                self._merge()

    def _make_room(self, count: int) -> None:
        end = self._used + count
        if end > len(self._rows):
            size = max(64, end + len(self._rows) // 8)
            self._rows, self._pages = _resized(self._rows, size), _resized(self._pages, size)

    def _merge(self) -> None:
        """Take the tail into the tables, or everything into new ones.

        If that fails, there are no tables, and nothing else has changed.
        """
        gone = np.count_nonzero(self._pages[: self._used] == NO_PAGE)
        tables, self._tables = self._tables, []
        are_others = self._choose_blocks() or len(tables) != len(self._blocks)
        if is_rebuilt := are_others or 4 * gone > self._used:
            tables = [SortedTable(self.bits, block) for block in self._blocks]
            rows, pages = self._everything()
        else:
            is_stored = self._pages[self._sorted : self._used] != NO_PAGE
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
            if page != NO_PAGE:
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
        self._blocks = best_blocks(self.bits, self.max_distance, self._rows[: self._used])
        self._chosen_for = self._used
        return self._blocks != before

    def discard(self, sketch: int, page: int) -> bool:
        self._merge_if_long()
        fingerprint = self._prints.to_integer(sketch)
        for place in self._places_of(fingerprint).tolist():
            further = self._further.get(fingerprint) if place < self._sorted else None
            if self._pages[place] == page:
                self._pages[place] = further.pop(0) if further else NO_PAGE
            elif further and page in further:
                further.remove(page)
            else:
                continue
            if further is not None and not further:
                del self._further[fingerprint]
            self._count -= 1
            return True
        return False

    def _places_of(self, fingerprint: int) -> Array:
        """Return all places of a fingerprint, in the tables and then in the tail."""
        row = self._prints.row(fingerprint)
        first = self._first_scanned
        of_tail = first + np.flatnonzero(self._prints.equal(self._rows[first : self._used], row))
        if not self._tables:
            return of_tail
        _, places = self._equal(self._tables[0], self._prints.array([fingerprint]))
        return np.append(places, of_tail)

    @property
    def _first_scanned(self) -> int:
        return self._sorted if self._tables else 0

    def _everything(self) -> tuple[Array, Array]:
        """Return all fingerprints and their pages, in no particular order."""
        is_stored = self._pages[: self._used] != NO_PAGE
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


def _resized(values: Array, size: int) -> Array:
    """Return a copy of *values* with room for *size*."""
    array = np.empty((size, *values.shape[1:]), values.dtype)
    array[: len(values)] = values[:size]
    return array
