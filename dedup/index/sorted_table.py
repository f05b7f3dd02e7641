"""Fingerprints sorted by one block of their bits, and the choice of the blocks."""

import math
from itertools import combinations

import numpy as np

from dedup.arrays import Array, run_positions
from dedup.fingerprints import Fingerprints, split_bits

_ALL_BITS = 2**64 - 1

# Microseconds on one machine: only their ratios matter, to choose the cheapest way.
_SCANNED, _TABLE, _CANDIDATE = 0.00125, 5.0, 0.0018
_PROBED_TABLE, _PROBE, _PROBED_CANDIDATE = 14.0, 0.04, 0.005
_MOST_PROBES = 4096
_SAMPLE, _QUERIED = 1 << 14, 64

Block = tuple[int, int, int]
"""A block of a fingerprint: its lowest bit, its width, and in how many bits a match may differ."""

Candidates = slice | tuple[Array, Array]
"""Where some are in a table: between two ends, or in runs with these starts and sizes."""


class SortedTable:
    """Fingerprints in the order of one block of bits, then of the bits below it.

    A key is 64 bits from the top of the block downwards; the highest bit follows the lowest. Up to
    64 bits, that is the whole fingerprint. The keys with the same first bits of the block are a
    run; a query compares its own run, and those whose first bits differ in up to *radius* bits.
    """

    def __init__(self, bits: int, block: Block) -> None:
        start, width, radius = block
        self._bits, self._end, self._shift = bits, start + width, 64 - width
        each = [1 << bit for bit in range(width)]
        flips = [sum(bits) for r in range(radius + 1) for bits in combinations(each, r)]
        self._flips = np.array(flips)
        self.keys, self.places = np.empty(0, np.uint64), np.empty(0, np.uint32)
        # Where each run begins, and the last one ends.
        self.starts = np.zeros((1 << width) + 1, np.int64)

    def key(self, fingerprint: int) -> int:
        if self._bits > 64:
            below = self._end - 64
            return (fingerprint >> below if below > 0 else fingerprint << -below) & _ALL_BITS
        high = fingerprint << 64 - self._end & _ALL_BITS
        return high | fingerprint >> self._end << 64 - self._bits

    def keys_of(self, rows: Array) -> Array:
        if rows.ndim > 1:
            start, width = max(0, self._end - 64), min(64, self._end)
            values = Fingerprints(self._bits).bits_of(rows, start, width)
            return values << np.uint64(64 - width)
        keys = rows << np.uint64(64 - self._end)
        # NumPy leaves it undefined to shift by all 64 bits.
        if self._end < 64:
            keys |= rows >> np.uint64(self._end) << np.uint64(64 - self._bits)
        return keys

    def insert(self, rows: Array, first_place: int) -> None:
        """Add *rows*, which are at *first_place* and the places after it."""
        keys = self.keys_of(rows)
        order = keys.argsort()
        keys, places = keys[order], (order + first_place).astype(np.uint32)
        at = self.keys.searchsorted(keys)
        self.keys, self.places = np.insert(self.keys, at, keys), np.insert(self.places, at, places)
        added = np.bincount(self._first_bits(keys), minlength=len(self.starts) - 1)
        self.starts[1:] += added.cumsum()

    def _first_bits(self, keys: Array) -> Array:
        return (keys >> np.uint64(self._shift)).astype(np.int64)

    def runs(self, keys: Array) -> tuple[Array, Array]:
        """Return starts and sizes of the runs of *keys*, shape (keys, probes)."""
        first_bits = self._first_bits(keys)[:, None] ^ self._flips
        starts = self.starts[first_bits]
        return starts, self.starts[first_bits + 1] - starts

    def candidates(self, key: int) -> tuple[Candidates, float]:
        """Return where they are, and estimate the microseconds it takes to compare them."""
        if len(self._flips) == 1:
            first_bits = key >> self._shift
            start, end = self.starts[first_bits : first_bits + 2].tolist()
            return slice(start, end), _CANDIDATE * (end - start)
        starts, sizes = self.runs(np.array([key], np.uint64))
        return (starts[0], sizes[0]), _PROBED_CANDIDATE * int(sizes.sum())

    def near(self, key: int, candidates: Candidates, max_distance: int) -> Array:
        """Return the places of the candidates whose keys differ in so few bits."""
        at = candidates if isinstance(candidates, slice) else run_positions(*candidates)
        near = np.bitwise_count(self.keys[at] ^ np.uint64(key)) <= max_distance
        return self.places[at][near]  # type: ignore[no-any-return]

    def equal(self, keys: Array) -> tuple[Array, Array]:
        """Return numbers of *keys* and places with an equal key."""
        starts = self.keys.searchsorted(keys)
        sizes = self.keys.searchsorted(keys, "right") - starts
        return np.repeat(np.arange(len(keys)), sizes), self.places[run_positions(starts, sizes)]

    def query_cost(self, sample: Array, size: int, *, in_batches: bool = False) -> float:
        """Estimate the microseconds of a query among *size* fingerprints by a *sample* of them."""
        self.insert(sample, 0)
        _, sizes = self.runs(self.keys_of(sample[:: max(1, len(sample) // _QUERIED)]))
        # Each finds itself.
        candidates = (float(sizes.sum(axis=1).mean()) - 1) * size / len(sample)
        if len(self._flips) == 1 and not in_batches:
            return _TABLE + _CANDIDATE * candidates
        # What a query costs whatever it finds is shared by a batch.
        fixed = 0.0 if in_batches else _PROBED_TABLE
        return fixed + _PROBE * len(self._flips) + _PROBED_CANDIDATE * candidates

    @property
    def nbytes(self) -> int:
        return self.keys.nbytes + self.places.nbytes + self.starts.nbytes


def scan_cost(size: int) -> float:
    """Estimate the microseconds of comparing all of *size* fingerprints."""
    return _SCANNED * size


def best_blocks(
    bits: int, max_distance: int, rows: Array, *, in_batches: bool = False
) -> list[Block]:
    """Return the blocks whose tables make a query among *rows* cheapest; none, if a scan is.

    *in_batches*: queries come many at a time.

    Two fingerprints within distance k that are split into b blocks differ in at most k // b bits
    in one of the first k % b + 1 blocks, or in fewer in one of the others.
    """
    sample = np.unique(rows[:: max(1, len(rows) // _SAMPLE)], axis=0)
    best: list[Block] = []
    least = scan_cost(len(rows))
    for count in range(1, min(max_distance + 1, bits // 4) + 1):
        blocks = _blocks(bits, max_distance, count, len(rows))
        if sum(math.comb(width, radius) for _, width, radius in blocks) <= _MOST_PROBES:
            tables = (SortedTable(bits, block) for block in blocks)
            cost = sum(t.query_cost(sample, len(rows), in_batches=in_batches) for t in tables)
            if cost < least:
                best, least = blocks, cost
    return best


def _blocks(bits: int, max_distance: int, count: int, size: int) -> list[Block]:
    radius, over = divmod(max_distance, count)
    # There is no use in more runs than fingerprints.
    most = max(8, size.bit_length() - 1)
    return [
        (start + max(0, width - most), min(width, most), radius - (number > over))
        for number, (start, width) in enumerate(split_bits(bits, count))
        if radius >= (number > over)
    ]
