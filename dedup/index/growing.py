"""The index over fingerprints that a crawl needs: it grows one page at a time."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from dedup.arrays import Array
from dedup.index.base import Index, Match, PageFilter
from dedup.index.design import MOST_KEY_BITS, SCANNED_UP_TO, Design, best_design
from dedup.index.rows import Rows
from dedup.index.tables import Tables
from dedup.methods.arguments import is_number
from dedup.methods.fingerprints import Fingerprints


class GrowingIndex(Index):
    """Finds fingerprints within a Hamming distance. Exact: misses no match and invents none.

    Stores them in `Rows` while they are few, or if *design* has no tables; later in `Tables`.
    For use by one thread at a time.
    """

    loaded_at_once = sys.maxsize  # one call that builds the tables is fastest

    def __init__(
        self,
        bits: int = 64,
        max_distance: int = 3,
        *,
        expected_size: int = 1_000_000,
        design: Design | None = None,
        scanned_up_to: int = SCANNED_UP_TO,
    ) -> None:
        """Create an empty index over fingerprints of *bits* bits, from 32 to 384.

        *max_distance* is inclusive, from 0 to *bits* - 1. *expected_size* is the number of
        fingerprints that the design is chosen for; any number can be stored. *design* is a
        `multi_index` or `linear_scan`, by default the one with the cheapest queries. Up to
        *scanned_up_to* fingerprints, a query compares all of them.

        Raises ValueError for a value out of range, or a design for other bits or distances.
        """
        super().__init__()
        self._prints = Fingerprints(bits)
        if not (is_number(max_distance) and 0 <= max_distance < bits):
            raise ValueError(f"max_distance must be from 0 to {bits - 1}, got {max_distance!r}")
        if not (is_number(expected_size) and expected_size >= 0):
            raise ValueError(f"expected_size must be 0 or more, got {expected_size!r}")
        self.bits = int(bits)
        self.max_distance = int(max_distance)
        # With fewer, the design hardly matters; and there may be more than expected.
        expected_size = max(expected_size, 1 << 16)
        self.design = design or best_design(self.bits, self.max_distance, expected_size)
        self._check_design("design", self.design)
        for table in self.design.tables:
            if len(table.segments) > 1 or table.key_bits > MOST_KEY_BITS:
                raise ValueError(
                    f"design must have tables of one segment of up to {MOST_KEY_BITS} bits, got "
                    f"{self.design.name} with {table}; compact_design takes any"
                )
        self._scanned_up_to = scanned_up_to if self.design.tables else sys.maxsize
        self._stored: Rows | Tables
        self._clear()

    def _check_design(self, name: str, design: Design) -> None:
        if (design.bits, design.max_distance) != (self.bits, self.max_distance):
            raise ValueError(
                f"{name} must be for {self.bits} bits and distance {self.max_distance}, got one "
                f"for {design.bits} and {design.max_distance}"
            )

    def _clear(self) -> None:
        nothing = self._prints.array([]), np.empty(0, np.uint32)
        self._stored = Rows(self._prints, self.max_distance, *nothing)

    def add_many(self, sketches: Any, pages: Any = None) -> Array:
        """Store many fingerprints; return their page numbers, shape (n,), uint32.

        *sketches*: an array, integers, or `Packed` bytes from `FingerprintMethod.to_bytes`.
        """
        return super().add_many(self._prints.array(sketches), pages)

    def _store(self, sketch: int, page: int, *, is_new: bool = False) -> None:
        fingerprint = self._prints.to_integer(sketch)
        if isinstance(self._stored, Rows) and len(self._stored) >= self._scanned_up_to:
            self._store_many(self._prints.array([fingerprint]), np.array([page], np.uint32))
        else:
            self._stored.add(fingerprint, page, is_new=is_new)

    def _store_many(self, sketches: Array, pages: Array) -> None:
        if 4 * len(sketches) < len(self._stored) and isinstance(self._stored, Tables):
            for row in zip(self._prints.integers(sketches), pages.tolist(), strict=True):
                self._stored.add(*row)
            return
        stored, stored_pages = self._stored.everything()
        rows, pages = np.concatenate([stored, sketches]), np.concatenate([stored_pages, pages])
        if len(rows) <= self._scanned_up_to and isinstance(self._stored, Rows):
            self._stored = Rows(self._prints, self.max_distance, rows, pages)
        else:
            self._stored = Tables(self._prints, self.design, rows, pages)

    def discard(self, sketch: int, page: int) -> bool:
        return self._stored.discard(self._prints.to_integer(sketch), page)

    def query(self, sketch: int, counts: PageFilter | None = None) -> Match | None:
        """Return the nearest stored page within *max_distance*, ties to the oldest, or ``None``.

        *counts* says which pages to consider; by default all.

        >>> index = GrowingIndex(64, 3)
        >>> index.add(0b1000)
        0
        >>> index.query(0b1100)
        Match(page=0, distance=1)

        Raises ValueError for a fingerprint of more than *bits* bits.
        """
        fingerprint = self._prints.to_integer(sketch)
        pages, distances = self._matches(fingerprint, nearest=True)
        if not len(pages):
            return None
        nearest = distances.min()
        match = Match(int(pages[distances == nearest].min()), int(nearest))
        if counts is None or counts(match.page):
            return match
        pages, distances = self._matches(fingerprint)
        # There may be thousands, of which one of the first counts.
        for place in np.lexsort((pages, distances))[1:]:
            if counts(page := int(pages[place])):
                return Match(page, int(distances[place]))
        return None

    def query_all(self, sketch: int) -> list[Match]:
        """Return all pages within *max_distance*, the nearest first, ties by page number."""
        pages, distances = self._matches(self._prints.to_integer(sketch))
        return sorted(map(Match, pages.tolist(), distances.tolist()))

    def _matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        """Return pages and distances of all matches; with *nearest*, at least of the nearest."""
        return self._stored.matches(fingerprint, nearest=nearest)

    def matches_of_many(self, rows: Array, *, nearest: bool = False) -> tuple[Array, Array, Array]:
        """Return row numbers, pages and distances of all matches of *rows*, each pair once.

        With *nearest*, the nearest and oldest page of each row, and perhaps not all others.
        """
        return self._stored.matches_of_many(rows, nearest=nearest)

    def nearest_beyond(
        self, sketches: Iterable[int], within: float, counts: PageFilter | None = None
    ) -> Iterator[Match | None]:
        """Yield the nearest page beyond *max_distance* and up to *within* for each fingerprint.

        Exact: each is compared with all stored fingerprints.
        """
        rows, pages = self._everything()
        limit = int(min(within, self.bits))
        for sketch in sketches:
            distances = self._prints.distances(
                rows, self._prints.row(self._prints.to_integer(sketch))
            )
            near = np.flatnonzero((distances > self.max_distance) & (distances <= limit))
            matches = (
                Match(int(pages[place]), int(distances[place]))
                for place in near[np.lexsort((pages[near], distances[near]))]
            )
            yield next((m for m in matches if counts is None or counts(m.page)), None)

    def _everything(self) -> tuple[Array, Array]:
        return self._stored.everything()

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def nbytes(self) -> int:
        return self._stored.nbytes
