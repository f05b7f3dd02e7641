"""One table of buckets per block of a fingerprint."""

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array, run_positions
from dedup.index.buckets import Buckets
from dedup.index.design import Design, most_candidates
from dedup.methods.fingerprints import Fingerprints


class _Table(NamedTuple):
    """The buckets of one block; the key is ``fingerprint >> shift & mask``, xor each of *flips*."""

    shift: int
    mask: int
    flips: Array | None
    buckets: Buckets


class Blocks:
    """Values by the blocks of their fingerprints; they can be added and removed at any time.

    The first table may have a second column.
    """

    def __init__(
        self, prints: Fingerprints, design: Design, rows: Array, values: Array, second: Array
    ) -> None:
        """Create the tables of *design*, and store *values* under their fingerprints *rows*."""
        self._prints = prints
        self._tables: list[_Table] = []
        columns = [values, second]
        for table in design.tables:
            [(shift, width)] = table.segments
            buckets = Buckets(width, [column.dtype for column in columns])
            buckets.fill(prints.bits_of(rows, shift, width).astype(np.int64), *columns)
            flipped = flip_masks(width, table.radius).astype(np.int64) if table.radius else None
            self._tables.append(_Table(shift, (1 << width) - 1, flipped, buckets))
            columns = columns[:1]

    def add(self, fingerprint: int, value: int, second: int) -> None:
        """Store *value* under each block. If memory runs out, nothing changes."""
        done = 0
        try:
            for shift, mask, _, buckets in self._tables:
                buckets.append((fingerprint >> shift) & mask, value, second)
                done += 1
        except BaseException:
            for shift, mask, _, buckets in self._tables[:done]:
                key = (fingerprint >> shift) & mask
                buckets.remove(key, buckets.run(key).stop - 1)
            raise

    def remove(self, fingerprint: int, value: int) -> None:
        """Remove *value*, which must be stored, from under each block."""
        for shift, mask, _, buckets in self._tables:
            key = (fingerprint >> shift) & mask
            run = buckets.run(key)
            buckets.remove(key, run.start + int((buckets.columns[0][run] == value).argmax()))

    @property
    def first(self) -> Buckets:
        """The first table."""
        return self._tables[0].buckets

    def run(self, fingerprint: int) -> slice:
        """Return the run of the first table whose fingerprints share a block with this one."""
        shift, mask, _, buckets = self._tables[0]
        return buckets.run((fingerprint >> shift) & mask)

    def runs(self, rows: Array) -> tuple[Array, Array]:
        """Return the starts and sizes of the `run` of each of *rows*."""
        shift, mask, _, buckets = self._tables[0]
        return buckets.runs(self._prints.bits_of(rows, shift, mask.bit_length()).astype(np.int64))

    def candidates(self, fingerprint: int, size: int) -> list[Array] | None:
        """Return each table's values that share a block, up to the flips of the design.

        ``None`` if comparing all *size* fingerprints costs less.
        """
        candidates, probed = [], []
        for shift, mask, flipped, buckets in self._tables:
            key = (fingerprint >> shift) & mask
            if flipped is None:
                candidates.append(buckets.columns[0][buckets.run(key)])
            else:
                probed.append((buckets.columns[0], *buckets.runs(flipped ^ key)))
        if probed:
            if sum(int(sizes.sum()) for *_, sizes in probed) > most_candidates(size):
                return None
            candidates += [column[run_positions(starts, sizes)] for column, starts, sizes in probed]
        return candidates

    def candidates_of_many(self, queries: Array) -> Iterator[tuple[Array, Array, Array]]:
        """Yield each table's column of values, and the starts and sizes of runs of candidates.

        Both have the shape (n, flips): a row for each of *queries*.
        """
        for shift, mask, flipped, buckets in self._tables:
            keys = self._prints.bits_of(queries, shift, mask.bit_length()).astype(np.int64)[:, None]
            starts, sizes = buckets.runs(keys if flipped is None else keys ^ flipped)
            yield buckets.columns[0], starts, sizes

    @property
    def nbytes(self) -> int:
        return sum(table.buckets.nbytes for table in self._tables)


@cache
def flip_masks(key_bits: int, radius: int) -> Array:
    """Return the masks that flip up to *radius* of *key_bits* bits, as uint64."""
    masks = [
        sum(1 << bit for bit in bits)
        for count in range(radius + 1)
        for bits in combinations(range(key_bits), count)
    ]
    return np.array(masks, np.uint64)
