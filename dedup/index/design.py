"""How a Hamming index splits fingerprints into keys, and what that costs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from dedup.methods.bit_runs import Segment, split_bits

# The cost of a query in ns, measured with up to 10^7 fingerprints of 64 bits on one core: per
# bucket and per candidate in it; for a table that is probed at a radius, per table, per probe, and
# per candidate, gathered from many places; and per fingerprint of a scan.
_BUCKET, _CANDIDATE = 1_200.0, 1.0
_PROBED_TABLE, _PROBE, _GATHERED = 7_500.0, 17.0, 5.0
_SCANNED = 0.5
# Fingerprints of real text meet so many times the candidates of uniform ones, over all tables.
_SKEW = 3
# A table takes 12 bytes per key, so there should be 2**4 fingerprints for each key.
MOST_KEY_BITS, _ROWS_OF_A_KEY = 24, 4
# Up to this size a scan of everything is faster than look-ups. It takes 12 bytes per fingerprint,
# while empty tables take 3 MB: a crawl with one index per host may have many small indexes.
SCANNED_UP_TO = 12_288
# How much larger arrays are, on average, than their contents.
_ROOM, _ROOM_OF_A_BUCKET = 1.55, 3.0
# Bytes for the record of a free run, and the rows of a bucket when it starts to leave such runs.
_FREE_RUN, _MOVES_FROM = 100, 12


@dataclass(frozen=True)
class Table:
    """A table whose key is the bits of *segments*; a query probes all keys within *radius*."""

    segments: tuple[Segment, ...]
    radius: int = 0

    @property
    def key_bits(self) -> int:
        return sum(width for _, width in self.segments)

    @property
    def probes(self) -> int:
        return sum(math.comb(self.key_bits, flips) for flips in range(self.radius + 1))


@dataclass(frozen=True)
class Design:
    """Tables that find every pair of fingerprints of *bits* bits within *max_distance*.

    Without tables, a query compares everything.

    >>> [multi_index(64, distance, blocks=4).probes for distance in (3, 7, 10)]
    [4, 68, 428]
    """

    name: str
    bits: int
    max_distance: int
    tables: tuple[Table, ...]

    @cached_property
    def probes(self) -> int:
        """The number of look-ups of one query."""
        return sum(table.probes for table in self.tables)

    def expected_candidates(self, size: int) -> float:
        """Return how many of *size* uniform fingerprints a query is expected to compare."""
        if not self.tables:
            return size
        return math.fsum(size * table.probes / 2.0**table.key_bits for table in self.tables)

    def query_cost(self, size: int) -> float:
        """Estimate the ns of a query without a match among *size* fingerprints of real text."""
        if not self.tables:
            return size * _SCANNED * -(-self.bits // 64)
        cost = 0.0
        for table in self.tables:
            candidates = _SKEW * size * table.probes / 2.0**table.key_bits
            if table.radius:
                cost += _PROBED_TABLE + _PROBE * table.probes + _GATHERED * candidates
            else:
                cost += _BUCKET + _CANDIDATE * candidates
        return cost

    def describe(self, size: int) -> str:
        """Return a line about the design and its cost for *size* fingerprints."""
        if not self.tables:
            return f"{self.name}: compares all {size:,}"
        bits = "-".join(map(str, sorted({table.key_bits for table in self.tables})))
        return (
            f"{self.name}: {len(self.tables)} tables of {bits} prefix bits, "
            f"{self.probes:,} probes, {self.expected_candidates(size):,.1f} candidates expected "
            f"among {size:,}"
        )


def best_design(bits: int, max_distance: int, expected_size: int) -> Design:
    """Return the cheapest design of blocks for a query among *expected_size* fingerprints."""
    widest = min(MOST_KEY_BITS, max(16, expected_size.bit_length() - _ROWS_OF_A_KEY))
    most_blocks = max(-(-bits // 16), min(max_distance + 1, bits // 4))
    designs = [
        multi_index(bits, max_distance, blocks)
        for blocks in range(-(-bits // widest), most_blocks + 1)
    ]
    designs.append(linear_scan(bits, max_distance))
    return min(designs, key=lambda design: design.query_cost(expected_size))


def most_candidates(size: int) -> float:
    """Return the number of gathered candidates that cost as much as a scan of *size*."""
    return size * _SCANNED / _GATHERED if _GATHERED else math.inf


def growing_form_bytes(design: Design, size: int) -> float:
    """Estimate the bytes per fingerprint when *size* of them are added one by one."""
    words = -(-design.bits // 64)
    if not design.tables or size <= SCANNED_UP_TO:
        return 1.25 * (8 * words + 4)
    inline = words == 1
    width = 8 if inline else 4
    each = 4.0 if inline else 1.25 * (8 * words + 4)
    for table in design.tables:
        buckets = 1 << table.key_bits
        room = _ROOM + _ROOM_OF_A_BUCKET / (size / buckets + _ROOM_OF_A_BUCKET / 2)
        books = 12 * buckets + _FREE_RUN * min(buckets, size / _MOVES_FROM)
        each += width * room + books / max(size, 1)
    return each


def linear_scan(bits: int, max_distance: int) -> Design:
    """Return the design without tables."""
    return Design("linear scan", bits, max_distance, ())


def multi_index(bits: int, max_distance: int, blocks: int) -> Design:
    """Return the design with one table per block, probed at a radius.

    Let *max_distance* = *blocks* * r + a with 0 <= a < *blocks*. Two fingerprints within that
    distance differ in at most r bits in one of the first a + 1 blocks, or in at most r - 1 bits in
    one of the others. With *max_distance* + 1 blocks this is Manku's first design: all radii are 0.

    Source: Norouzi, Punjani, Fleet, "Fast Search in Hamming Space with Multi-Index Hashing", CVPR
    2012, section 3.
    """
    if not 1 <= blocks <= bits:
        raise ValueError(f"blocks must be from 1 to {bits}, got {blocks}")
    radius, over = divmod(max_distance, blocks)
    radii = [radius if block <= over else radius - 1 for block in range(blocks)]
    tables = tuple(
        Table((segment,), radius)
        for segment, radius in zip(split_bits(0, bits, blocks), radii, strict=True)
        if radius >= 0
    )
    return Design(f"multi-index {blocks}", bits, max_distance, tables)


def permuted_tables(bits: int, max_distance: int, blocks: int) -> Design:
    """Return Manku's design: the key of each table is all but *max_distance* of *blocks* blocks.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3.1.
    """
    _check_blocks(bits, max_distance, blocks)
    keys = combinations(split_bits(0, bits, blocks), blocks - max_distance)
    return Design(f"permuted {blocks}", bits, max_distance, tuple(map(Table, keys)))


def nested_tables(bits: int, max_distance: int, blocks: int) -> Design:
    """Return Manku's design with a key of one block and a piece of the rest.

    For each of *blocks* blocks, the remaining bits are split into as many pieces.
    """
    _check_blocks(bits, max_distance, blocks)
    tables = []
    for block in split_bits(0, bits, blocks):
        rest = [segment for segment in split_bits(0, bits, blocks) if segment != block]
        for pieces in _split_segments(rest, blocks):
            tables.append(Table((block, *pieces)))
    return Design(f"nested {blocks}", bits, max_distance, tuple(tables))


def _check_blocks(bits: int, max_distance: int, blocks: int) -> None:
    if not max_distance < blocks <= bits:
        expected = f"more than max_distance ({max_distance}) and at most {bits}"
        raise ValueError(f"blocks must be {expected}, got {blocks}")


def segments_in_order(table: Table, bits: int) -> list[Segment]:
    """Return segments that cover *bits* bits: the key of *table* first, then the rest."""
    rest, position = [], 0
    for start, width in sorted(table.segments):
        if position < start:
            rest.append((position, start - position))
        position = start + width
    if position < bits:
        rest.append((position, bits - position))
    return [*table.segments, *rest]


def _split_segments(segments: list[Segment], count: int) -> Iterator[list[Segment]]:
    """Split *segments* into *count* lists of nearly equal total width, and yield these."""
    total = sum(width for _, width in segments)
    for begin, width in split_bits(0, total, count):
        piece, offset = [], 0
        for start, length in segments:
            low, high = max(begin, offset), min(begin + width, offset + length)
            if low < high:
                piece.append((start + low - offset, high - low))
            offset += length
        yield piece
