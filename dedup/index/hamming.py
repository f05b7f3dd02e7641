"""The exact index over fingerprints, at any Hamming distance."""

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from dedup.index.base import LAST_PAGE, Index, Match, checked_page
from dedup.index.compact import CompactIndex
from dedup.index.design import MOST_KEY_BITS, Design, Table, best_design, multi_index, permuted
from dedup.index.files import read_file, write_file
from dedup.index.fingerprints import Array, Fingerprints, is_number
from dedup.index.growing import GrowingIndex, chunks
from dedup.index.pairs import near_by_sorting, near_pages

_QUERIES_AT_ONCE = 4096
# Distances up to which sorting for all pairs beats looking each fingerprint up.
_MOST_PERMUTED = 3


class HammingIndex(Index):
    """Finds fingerprints within a Hamming distance: exactly, never misses one, never invents one.

    What is added goes into the growing form, buckets by blocks of bits. `compact` moves all of it
    into the compact form, sorted arrays of a third of the size, in which it is also saved and
    loaded; what is added after that grows in front of it.

    For one thread at a time.

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
        """Create an empty index over fingerprints of *bits* bits, from 32 to 384.

        *max_distance* is inclusive, from 0 to *bits* - 1. *expected_size*: how many fingerprints
        the designs are chosen for; any number can be stored. *design*: how the growing form splits
        the bits, a `multi_index` or `linear_scan`. *compact_design*: any design; by default two
        halves probed at a radius up to distance 3, else that of the growing form.

        Raises ValueError for a value outside its range, and a design for other bits or distance.
        """
        self._prints = Fingerprints(bits)
        if not (is_number(max_distance) and 0 <= max_distance < bits):
            raise ValueError(f"max_distance must be from 0 to {bits - 1}, got {max_distance!r}")
        if not (is_number(expected_size) and expected_size >= 0):
            raise ValueError(f"expected_size must be 0 or more, got {expected_size!r}")
        self.bits = bits = int(bits)
        self.max_distance = max_distance = int(max_distance)
        # Fewer are compared one by one whatever the design, and there may be more than expected.
        expected_size = max(expected_size, 1 << 16)
        self.design = design or best_design(bits, max_distance, expected_size)
        self.compact_design = compact_design or (
            multi_index(bits, max_distance, 2) if max_distance <= 3 else self.design
        )
        for name in ("design", "compact_design"):
            chosen = getattr(self, name)
            if (chosen.bits, chosen.max_distance) != (bits, max_distance):
                raise ValueError(
                    f"{name} must be for {bits} bits and distance {max_distance}, got one for "
                    f"{chosen.bits} and {chosen.max_distance}"
                )
        for table in self.design.tables:
            if len(table.segments) > 1 or table.key_bits > MOST_KEY_BITS:
                raise ValueError(
                    f"design must have tables of one segment of up to {MOST_KEY_BITS} bits, got "
                    f"{self.design.name} with {table}; compact_design takes any"
                )
        self._growing = GrowingIndex(self.design)
        self._compact: CompactIndex | None = None
        self._next_page = 0

    def add(self, sketch: int, page: int | None = None) -> int:
        """Store a fingerprint under the number *page*, by default the next; return the number.

        Raises ValueError for a fingerprint of more than *bits* bits and for a number that is not
        from 0 to 2**32 - 2; the index is then unchanged. Numbers are not checked for repetition.
        """
        fingerprint = self._prints.checked(sketch)
        number = self._checked_page(page)
        self._growing.add(fingerprint, number)
        self._next_page = max(self._next_page, number + 1)
        return number

    def add_many(self, fingerprints: Any, pages: Any = None) -> Array:
        """Store an array of fingerprints; return their page numbers, shape (n,)."""
        rows = self._prints.array(fingerprints)
        if pages is None:
            if len(rows):
                self._checked_page(self._next_page + len(rows) - 1)
            numbers = np.arange(len(rows), dtype=np.uint32) + np.uint32(self._next_page)
        elif isinstance(pages, np.ndarray) and pages.dtype.kind in "iu":
            for page in (pages.min(), pages.max()) if len(pages) else ():
                self._checked_page(page)
            numbers = pages.astype(np.uint32)
        else:
            pages = list(pages)
            if None in pages:
                raise ValueError("a list of pages must have a number for each, got None")
            numbers = np.array([self._checked_page(page) for page in pages], np.uint32)
        if len(numbers) != len(rows):
            raise ValueError(f"{len(rows)} fingerprints need as many pages, got {len(numbers)}")
        self._growing.add_many(rows, numbers)
        if len(numbers):
            self._next_page = max(self._next_page, int(numbers.max()) + 1)
        return numbers

    def query(self, sketch: int) -> Match | None:
        """Return the nearest stored page within *max_distance*, ties to the oldest, or ``None``.

        >>> index = HammingIndex(64, 3)
        >>> index.add(0b1000)
        0
        >>> index.query(0b1100)
        Match(page=0, distance=1)

        Raises ValueError for a fingerprint of more than *bits* bits.
        """
        pages, distances = self._matches(sketch, nearest=True)
        if not len(pages):
            return None
        nearest = distances.min()
        return Match(int(pages[distances == nearest].min()), int(nearest))

    def query_all(self, sketch: int) -> list[Match]:
        """Return all pages within *max_distance*, the nearest first, ties by age."""
        pages, distances = self._matches(sketch)
        return sorted(map(Match, pages.tolist(), distances.tolist()))

    def nearest_beyond(self, sketches: Iterable[int], within: float) -> Iterator[Match | None]:
        """Yield for each fingerprint the nearest page that is farther than *max_distance*.

        Exact, up to the distance *within*: each is compared with all.
        """
        rows, pages = self._everything()
        for sketch in sketches:
            distances = self._prints.distances(rows, self._prints.row(self._prints.checked(sketch)))
            # As of the type's highest value, so that the rows are swept once more only.
            distances[distances <= self.max_distance] = np.iinfo(distances.dtype).max
            nearest = int(distances.min(initial=np.iinfo(distances.dtype).max))
            yield (
                Match(int(pages[distances == nearest].min()), nearest)
                if self.max_distance < nearest <= min(within, self.bits)
                else None
            )

    def query_many(self, fingerprints: Any) -> tuple[Array, Array]:
        """Return the nearest page (-1: none) and its distance for each of an array, shape (n,)."""
        rows = self._prints.array(fingerprints)
        rows, which = np.unique(rows, axis=0, return_inverse=True)
        nearest_pages = np.full(len(rows), -1, np.int64)
        nearest = np.full(len(rows), -1, np.int64)
        for start, part in chunks(rows, _QUERIES_AT_ONCE):
            found = [self._growing.matches_of(part, nearest=True)]
            if self._compact is not None:
                found.append(self._compact.matches_of(part, nearest=True))
            owners, pages, distances = map(np.concatenate, zip(*found, strict=True))
            order = np.lexsort((pages, distances, owners))
            owners, pages, distances = owners[order], pages[order], distances[order]
            first = np.flatnonzero(np.diff(owners, prepend=-1))
            nearest_pages[start + owners[first]] = pages[first]
            nearest[start + owners[first]] = distances[first]
        return nearest_pages[which.ravel()], nearest[which.ravel()]

    def check_and_add(self, sketch: int, page: int | None = None) -> Match | None:
        """Return the nearest page; if there is none, store the fingerprint and return ``None``."""
        match = self.query(sketch)
        if match is None:
            number = self._checked_page(page)
            self._growing.add(int(sketch), number, is_new=True)
            self._next_page = max(self._next_page, number + 1)
        return match

    def check_and_add_many(self, fingerprints: Any) -> tuple[Array, Array]:
        """Check and add one after the other; return what `query_many` would, per fingerprint."""
        rows = self._prints.array(fingerprints)
        found = [self.check_and_add(value) for value in self._prints.integers(rows)]
        pages = np.array([match.page if match else -1 for match in found], np.int64)
        return pages, np.array([match.distance if match else -1 for match in found], np.int64)

    def remove(self, page: int) -> None:
        """Forget *page*. Looks through the numbers of all pages.

        The memory is used again, and not given back. Raises KeyError if it is not stored.
        """
        if not (is_number(page) and 0 <= page <= LAST_PAGE):
            raise KeyError(f"page {page!r} is not stored")
        forgotten = self._growing.remove(page)
        if self._compact is not None:
            forgotten = self._compact.remove(page) or forgotten
        if not forgotten:
            raise KeyError(f"page {page} is not stored")

    def join(self, fingerprints: Any) -> Iterator[tuple[Array, Array, Array]]:
        """Yield numbers of a new batch, pages and distances of all matches between the two.

        The batch is indexed, and what is stored now goes by once.

        Source: Manku et al. 2007, section 4.
        """
        batch = GrowingIndex(self.design)
        rows = self._prints.array(fingerprints)
        batch.add_many(rows, np.arange(len(rows), dtype=np.uint32))
        return self._joined(batch, list(self._parts()))

    def _joined(
        self, batch: GrowingIndex, parts: list[tuple[Array, Array]]
    ) -> Iterator[tuple[Array, Array, Array]]:
        for stored, pages in parts:
            for start, part in chunks(stored, _QUERIES_AT_ONCE):
                owners, numbers, distances = batch.matches_of(part)
                if len(owners):
                    yield numbers, pages[start + owners], distances

    def pairs(self) -> Iterator[tuple[Array, Array, Array]]:
        """Yield first pages, second pages (of a higher number) and distances of all near pairs."""
        near = self._near_by_lookup
        if self.bits <= 64 and self.max_distance <= _MOST_PERMUTED:
            design = permuted(self.bits, self.max_distance, self.max_distance + 2)
            near = partial(near_by_sorting, design=design)
        yield from near_pages(*self._everything(), near)

    def _near_by_lookup(self, values: Array) -> Iterator[tuple[Array, Array]]:
        index = GrowingIndex(self.design)
        index.add_many(values, np.arange(len(values), dtype=np.uint32))
        for start, part in chunks(values, _QUERIES_AT_ONCE):
            owners, others, _ = index.matches_of(part)
            once = start + owners < others
            if once.any():
                yield start + owners[once], others[once]

    def compact(self) -> None:
        """Move all that is stored into the compact form.

        Raises ValueError for fingerprints of more than 64 bits, which have none.
        """
        if self.bits > 64:
            raise ValueError(f"there is no compact form for {self.bits} bits, but up to 64")
        rows, pages = self._everything()
        self._compact = CompactIndex.build(self.compact_design, rows, pages)
        self._growing = GrowingIndex(self.design)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield page and fingerprint of all that is stored, by page."""
        rows, pages = self._everything()
        order = np.argsort(pages, kind="stable")
        for _, places in chunks(order, 65536):
            yield from zip(pages[places].tolist(), self._prints.integers(rows[places]), strict=True)

    def __len__(self) -> int:
        return len(self._growing) + (len(self._compact) if self._compact is not None else 0)

    @property
    def nbytes(self) -> int:
        return self._growing.nbytes + (self._compact.nbytes if self._compact is not None else 0)

    def describe(self, size: int) -> str:
        """Return how *size* fingerprints are searched, and at what cost, in two lines."""
        growing = GrowingIndex.bytes_per_fingerprint(self.design, size)
        lines = [f"growing, {self.design.describe(size)}, about {growing:.0f} bytes each"]
        if self.bits <= 64:
            compact = CompactIndex.bytes_per_fingerprint(self.compact_design)
            lines.append(f"compact, {self.compact_design.describe(size)}, {compact} bytes each")
        return "\n".join(lines)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all that is stored into the file *path*, in the compact form up to 64 bits.

        The file is written aside and put in place at once: a crash leaves the old one.
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
        """Return the index that `save` wrote; its arrays stay in the file, mapped into memory.

        Raises ValueError if the file was not written by `save`, is damaged or of another version;
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
            index._growing.add_many(rows, pages)
        index._next_page = header["next_page"]
        return index

    def _matches(self, sketch: Any, *, nearest: bool = False) -> tuple[Array, Array]:
        fingerprint = self._prints.checked(sketch)
        pages, distances = self._growing.matches(fingerprint, nearest=nearest)
        if self._compact is not None:
            row = self._prints.row(fingerprint)[None]
            _, more, further = self._compact.matches_of(row, nearest=nearest)
            pages, distances = np.concatenate([pages, more]), np.concatenate([distances, further])
        return pages, distances

    def _parts(self) -> Iterator[tuple[Array, Array]]:
        if self._compact is not None:
            yield self._compact.everything()
        yield self._growing.everything()

    def _everything(self) -> tuple[Array, Array]:
        rows, pages = map(np.concatenate, zip(*self._parts(), strict=True))
        return rows, pages

    def _checked_page(self, page: Any) -> int:
        return checked_page(page, self._next_page)


def _as_json(design: Design) -> Any:
    return [design.name, [[table.segments, table.radius] for table in design.tables]]


def _from_json(bits: int, max_distance: int, described: Any) -> Design:
    name, tables = described
    tables = tuple(Table(tuple(map(tuple, segments)), radius) for segments, radius in tables)
    return Design(name, bits, max_distance, tables)
