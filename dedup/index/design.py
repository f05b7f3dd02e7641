"""How a Hamming index splits fingerprints into keys, and what that costs."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from dedup.methods.fingerprints import Fingerprints, Segment, split_bits

# What a query costs, in ns, as measured with up to 10^7 fingerprints of 64 bits on one core: a look
# at one bucket, and at each candidate in it; for a table that is probed at a radius its operations,
# each probe, and each candidate, which are gathered from many places; each fingerprint of a scan.
_BUCKET, _CANDIDATE = 1_200.0, 1.0
_PROBED_TABLE, _PROBE, _GATHERED = 7_500.0, 17.0, 5.0
_SCANNED = 0.5
# How many times as many candidates fingerprints of real text meet, all tables together.
_SKEW = 3
# A table takes 12 bytes a key: there should be 2**4 fingerprints for each.
MOST_KEY_BITS, _ROWS_OF_A_KEY = 24, 4
# Up to here a scan of everything is faster than look-ups, and takes 12 bytes a fingerprint where
# the empty tables take 3 MB: a crawl with one index a host may keep many of them.
SCANNED_UP_TO = 12_288
# How much larger arrays are, on average, than what stands in them.
_ROOM, _ROOM_OF_A_BUCKET = 1.55, 3.0
# The books of a free run, and how many rows a bucket has when it starts to leave runs behind.
_FREE_RUN, _MOVES_FROM = 100, 12


@dataclass(frozen=True)
class Table:
    """A table keyed by the bits of *segments*, probed at every key within *radius* of one's own."""

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
    """The tables through which every pair within *max_distance* of *bits* bits is found.

    Without tables, everything is compared.

    >>> [multi_index(64, distance, blocks=4).probes for distance in (3, 7, 10)]
    [4, 68, 428]
    """

    name: str
    bits: int
    max_distance: int
    tables: tuple[Table, ...]

    @cached_property
    def probes(self) -> int:
        """The look-ups of one query."""
        return sum(table.probes for table in self.tables)

    def expected_candidates(self, size: int) -> float:
        """Return how many of *size* uniform fingerprints one query compares."""
        if not self.tables:
            return size
        return math.fsum(size * table.probes / 2.0**table.key_bits for table in self.tables)

    def query_cost(self, size: int) -> float:
        """Estimate the ns of a query that finds nothing among *size* fingerprints of real text."""
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
        """Return the design and its cost for *size* fingerprints, in a line."""
        if not self.tables:
            return f"{self.name}: each of {size:,} is compared"
        bits = "-".join(map(str, sorted({table.key_bits for table in self.tables})))
        return (
            f"{self.name}: {len(self.tables)} tables of {bits} prefix bits, "
            f"{self.probes:,} probes, {self.expected_candidates(size):,.1f} candidates expected "
            f"among {size:,}"
        )


def best_design(bits: int, max_distance: int, expected_size: int) -> Design:
    """Return the design of blocks by which a query among *expected_size* costs least."""
    widest = min(MOST_KEY_BITS, max(16, expected_size.bit_length() - _ROWS_OF_A_KEY))
    most_blocks = max(-(-bits // 16), min(max_distance + 1, bits // 4))
    designs = [
        multi_index(bits, max_distance, blocks)
        for blocks in range(-(-bits // widest), most_blocks + 1)
    ]
    designs.append(linear_scan(bits, max_distance))
    return min(designs, key=lambda design: design.query_cost(expected_size))


def most_candidates(size: int) -> float:
    """Return how many gathered candidates are compared as fast as all of *size* fingerprints."""
    return size * _SCANNED / _GATHERED if _GATHERED else math.inf


def growing_form_bytes(design: Design, size: int) -> float:
    """Estimate the bytes for each of *size* fingerprints that are added one by one."""
    prints = Fingerprints(design.bits)
    if not design.tables or size <= SCANNED_UP_TO:
        return 1.25 * (8 * prints.words + 4)
    inline = prints.words == 1
    width = 8 if inline else 4
    each = 4.0 if inline else 1.25 * (8 * prints.words + 4)
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
    """Return the design with one table a block, probed at a radius.

    With *max_distance* = *blocks* * r + a and 0 <= a < *blocks*, two fingerprints within it agree
    up to r bits in one of the first a + 1 blocks, or up to r - 1 in one of the others. With as many
    blocks as *max_distance* + 1 this is Manku's first design: every radius is 0.

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
    """Return Manku's design that keys each table by all but *max_distance* of *blocks* blocks.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 3.1.
    """
    _check_blocks(bits, max_distance, blocks)
    keys = combinations(split_bits(0, bits, blocks), blocks - max_distance)
    return Design(f"permuted {blocks}", bits, max_distance, tuple(map(Table, keys)))


def nested_tables(bits: int, max_distance: int, blocks: int) -> Design:
    """Return Manku's design that splits the rest of each of *blocks* blocks into as many again."""
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
    """Return segments that cover *bits* bits: those of the key of *table*, then the rest."""
    rest, position = [], 0
    for start, width in sorted(table.segments):
        if position < start:
            rest.append((position, start - position))
        position = start + width
    if position < bits:
        rest.append((position, bits - position))
    return [*table.segments, *rest]


def _split_segments(segments: list[Segment], count: int) -> Iterator[list[Segment]]:
    """Yield *count* lists of segments that together are *segments*, nearly equal in width."""
    total = sum(width for _, width in segments)
    for begin, width in split_bits(0, total, count):
        piece, offset = [], 0
        for start, length in segments:
            low, high = max(begin, offset), min(begin + width, offset + length)
            if low < high:
                piece.append((start + low - offset, high - low))
            offset += length
        yield piece
