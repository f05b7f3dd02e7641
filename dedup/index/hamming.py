"""The exact index over fingerprints, at any Hamming distance."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from dedup.arrays import Array
from dedup.index.array_file import read_file, write_file
from dedup.index.base import LAST_PAGE, Match, page_number
from dedup.index.compact import CompactIndex
from dedup.index.design import Design, Table, growing_form_bytes, multi_index, permuted_tables
from dedup.index.growing import GrowingIndex
from dedup.index.pairs import (
    batch_matches,
    chunks,
    nearest_of_many,
    page_pairs,
    pairs_by_lookup,
    pairs_by_sorting,
)
from dedup.methods.arguments import is_number

# Up to this distance, sorting finds all pairs faster than look-ups.
_MOST_PERMUTED = 3


class HammingIndex(GrowingIndex):
    """The growing index, with what batches and researchers need besides.

    New fingerprints go into the growing form, buckets by blocks of bits. `compact` moves them all
    into the compact form, sorted arrays of a third of the size, which is also the form of files.
    Fingerprints that are added later go into a new growing form beside it.

    Sources: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3; Norouzi, Punjani, Fleet, "Fast Search in Hamming Space with Multi-Index Hashing",
    CVPR 2012.
    """

    def __init__(
        self,
        bits: int = 64,
        max_distance: int = 3,
        *,
        expected_size: int = 1_000_000,
        design: Design | None = None,
        compact_design: Design | None = None,
    ) -> None:
        """Create an empty index as `GrowingIndex` does.

        *compact_design*: any design, for the compact form. By default two halves that are probed at
        a radius up to distance 3, and beyond that the design of the growing form.
        """
        super().__init__(bits, max_distance, expected_size=expected_size, design=design)
        self.compact_design = compact_design or (
            multi_index(self.bits, self.max_distance, 2) if max_distance <= 3 else self.design
        )
        self._check_design("compact_design", self.compact_design)
        self._compact: CompactIndex | None = None

    def query_many(self, fingerprints: Any) -> tuple[Array, Array]:
        """Return each fingerprint's nearest page and its distance, shape (n,); -1 for none."""
        return nearest_of_many(self, self._prints.array(fingerprints))

    def check_and_add(self, sketch: int, page: int | None = None) -> Match | None:
        """Return the nearest page; if there is none, store *sketch* and return ``None``."""
        match = self.query(sketch)
        if match is None:
            number = page_number(page, self._next_page)
            self._store(sketch, number, is_new=True)
            self._next_page = max(self._next_page, number + 1)
        return match

    def check_and_add_many(self, fingerprints: Any) -> tuple[Array, Array]:
        """Call `check_and_add` for each in order; return arrays as `query_many` does."""
        rows = self._prints.array(fingerprints)
        found = [self.check_and_add(value) for value in self._prints.integers(rows)]
        pages = np.array([match.page if match else -1 for match in found], np.int64)
        return pages, np.array([match.distance if match else -1 for match in found], np.int64)

    def remove(self, page: int) -> None:
        """Remove *page* after a search through all page numbers.

        Its memory is used again but not returned to the system. Raises KeyError if *page* is not
        stored.
        """
        rows, pages = self._everything()
        of_page = rows[pages == page] if is_number(page) and 0 <= page <= LAST_PAGE else rows[:0]
        if not len(of_page):
            raise KeyError(f"page {page!r} is not stored")
        for fingerprint in self._prints.integers(of_page):
            self.discard(fingerprint, page)

    def discard(self, sketch: int, page: int) -> bool:
        is_stored = super().discard(sketch, page)
        if self._compact is None:
            return is_stored
        return self._compact.discard(np.uint64(sketch), page) or is_stored

    def join(self, fingerprints: Any) -> Iterator[tuple[Array, Array, Array]]:
        """Yield arrays of batch numbers, pages and distances of all matches with a new batch.

        Indexes the batch and reads the stored fingerprints once.

        Source: Manku et al. 2007, section 4.
        """
        batch = self._empty()
        batch.add_many(fingerprints)
        return batch_matches(batch, list(self._parts()))

    def pairs(self) -> Iterator[tuple[Array, Array, Array]]:
        """Yield arrays of lower pages, higher pages and distances of all pairs that match."""
        near = partial(pairs_by_lookup, index=self._empty())
        if self.bits <= 64 and self.max_distance <= _MOST_PERMUTED:
            design = permuted_tables(self.bits, self.max_distance, self.max_distance + 2)
            near = partial(pairs_by_sorting, design=design)
        yield from page_pairs(*self._everything(), near)

    def _empty(self) -> GrowingIndex:
        return GrowingIndex(self.bits, self.max_distance, design=self.design)

    def compact(self) -> None:
        """Move all fingerprints into the compact form.

        Raises ValueError for fingerprints of more than 64 bits, which have no such form.
        """
        if self.bits > 64:
            raise ValueError(f"the compact form is for up to 64 bits, got {self.bits}")
        rows, pages = self._everything()
        self._compact = CompactIndex.build(self.compact_design, rows, pages)
        self._clear()

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield the page and fingerprint of everything stored, by page."""
        rows, pages = self._everything()
        order = np.argsort(pages, kind="stable")
        for _, places in chunks(order):
            yield from zip(pages[places].tolist(), self._prints.integers(rows[places]), strict=True)

    def __len__(self) -> int:
        return super().__len__() + (0 if self._compact is None else len(self._compact))

    @property
    def nbytes(self) -> int:
        return super().nbytes + (0 if self._compact is None else self._compact.nbytes)

    def describe(self, size: int) -> str:
        """Return how *size* fingerprints are searched and at what cost: a line for each form."""
        growing = growing_form_bytes(self.design, size)
        lines = [f"growing, {self.design.describe(size)}, about {growing:.0f} bytes each"]
        if self.bits <= 64:
            compact = CompactIndex.bytes_per_fingerprint(self.compact_design)
            lines.append(f"compact, {self.compact_design.describe(size)}, {compact} bytes each")
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all fingerprints to the file *path*, in the compact form up to 64 bits.

        Writes a temporary file and replaces *path* atomically: a crash leaves the old file.
        """
        rows, pages = self._everything()
        if self.bits <= 64:
            arrays = CompactIndex.build(self.compact_design, rows, pages).arrays
        else:
            arrays = [pages, rows]
        header = {
            "bits": self.bits,
            "max_distance": self.max_distance,
            "design": _as_json(self.design),
            "compact_design": _as_json(self.compact_design),
            "next_page": self._next_page,
        }
        write_file(Path(path), header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the index in a file written by `save`, with its arrays mapped into memory.

        Raises ValueError if the file is not such a file, is damaged or has another version, and
        OSError if it cannot be read.
        """
        header, arrays = read_file(Path(path))
        shape = header["bits"], header["max_distance"]
        index = cls(
            *shape,
            design=_from_json(*shape, header["design"]),
            compact_design=_from_json(*shape, header["compact_design"]),
        )
        if index.bits <= 64:
            index._compact = CompactIndex(index.compact_design, arrays)
        else:
            pages, rows = arrays
            index.add_many(rows, pages)
        index._next_page = header["next_page"]
        return index

    def _matches(self, fingerprint: int, *, nearest: bool = False) -> tuple[Array, Array]:
        found = self._stored.matches(fingerprint, nearest=nearest)
        if self._compact is None:
            return found
        row = self._prints.row(fingerprint)[None]
        _, *more = self._compact.matches_of_many(row, nearest=nearest)
        pages, distances = map(np.concatenate, zip(found, more, strict=True))
        return pages, distances

    def matches_of_many(self, rows: Array, *, nearest: bool = False) -> tuple[Array, Array, Array]:
        found = self._stored.matches_of_many(rows, nearest=nearest)
        if self._compact is None:
            return found
        more = self._compact.matches_of_many(rows, nearest=nearest)
        owners, pages, distances = map(np.concatenate, zip(found, more, strict=True))
        return owners, pages, distances

    def _parts(self) -> Iterator[tuple[Array, Array]]:
        if self._compact is not None:
            yield self._compact.everything()
        yield self._stored.everything()

    def _everything(self) -> tuple[Array, Array]:
        rows, pages = map(np.concatenate, zip(*self._parts(), strict=True))
        return rows, pages


def _as_json(design: Design) -> Any:
    return [design.name, [[table.segments, table.radius] for table in design.tables]]


def _from_json(bits: int, max_distance: int, described: Any) -> Design:
    name, tables = described
    tables = tuple(Table(tuple(map(tuple, segments)), radius) for segments, radius in tables)
    return Design(name, bits, max_distance, tables)
