"""All pairs of near fingerprints."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dedup.index.buckets import run_positions, run_positions_in_parts
from dedup.index.compact import permute, restore
from dedup.index.design import Design
from dedup.index.growing import GrowingIndex
from dedup.methods.hashing import Array

_ROWS_AT_ONCE = 1 << 20
_QUERIES_AT_ONCE = 4096


def chunks(rows: Array) -> Iterator[tuple[int, Array]]:
    """Yield the start and the rows of as many as are asked for at once."""
    for start in range(0, len(rows), _QUERIES_AT_ONCE):
        yield start, rows[start : start + _QUERIES_AT_ONCE]


def batch_matches(
    batch: GrowingIndex, parts: Sequence[tuple[Array, Array]]
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield pages of *batch*, pages of *parts* and distances of all matches between the two.

    *parts*: rows of fingerprints and their pages.
    """
    for rows, pages in parts:
        for start, part in chunks(rows):
            owners, numbers, distances = batch.matches_of_many(part)
            if len(owners):
                yield numbers, pages[start + owners], distances


def pairs_by_lookup(values: Array, index: GrowingIndex) -> Iterator[tuple[Array, Array]]:
    """Yield numbers of all pairs of *values* that *index*, an empty one, finds, each pair once."""
    numbers = index.add_many(values)
    for owners, others, _ in batch_matches(index, [(values, numbers)]):
        once = others < owners
        if once.any():
            yield others[once], owners[once]


def pairs_by_sorting(values: Array, design: Design) -> Iterator[tuple[Array, Array]]:
    """Yield numbers of all pairs of *values* within the distance of *design*, each pair once.

    *values*: sorted, different fingerprints of up to 64 bits, shape (n,). For each table they are
    sorted with its key in front; within a run of equal keys each is compared with the next one,
    with the next but one, and so on to the end of the run.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 4; the tables' radius must be 0.
    """
    earlier: list[np.uint64] = []
    for table in design.tables:
        permuted = permute(values, table, design.bits)
        permuted.sort()
        below = np.uint64(design.bits - table.key_bits)
        for start in range(0, len(permuted), _ROWS_AT_ONCE):
            part = np.arange(start, min(start + _ROWS_AT_ONCE, len(permuted)))
            lag = 1
            while True:
                part = part[: np.searchsorted(part, len(permuted) - lag)]
                first, second = permuted[part], permuted[part + lag]
                same_key = (first ^ second) >> below == 0
                part, first, second = part[same_key], first[same_key], second[same_key]
                if not len(part):
                    break
                near = np.bitwise_count(first ^ second) <= design.max_distance
                if near.any():
                    one, other = restore(np.stack([first[near], second[near]]), table, design.bits)
                    new = _differ_in_all(one ^ other, earlier)
                    yield np.searchsorted(values, one[new]), np.searchsorted(values, other[new])
                lag += 1
        key = sum(((1 << width) - 1) << low for low, width in table.segments)
        earlier.append(np.uint64(key))


def _differ_in_all(differing: Array, keys: list[np.uint64]) -> Array:
    """Return which pairs no table with one of *keys* has found: their bits differ in each."""
    unseen = np.ones(len(differing), bool)
    for key in keys:
        unseen &= (differing & key) != 0
    return unseen


def page_pairs(
    rows: Array, pages: Array, near: Callable[[Array], Iterator[tuple[Array, Array]]]
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the pages (the lower number first) and distances of all near pairs of *rows*.

    *near*: yields numbers of pairs of different rows, in blocks.
    """
    values, which, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    pages = pages[np.lexsort((pages, which.ravel()))]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    # Equal fingerprints: every page with each of those behind it, in the order of pages.
    behind = np.arange(len(rows)) + 1
    for first, second in run_positions_in_parts(behind, np.repeat(ends, sizes) - behind):
        yield pages[first], pages[second], np.zeros(len(first), np.uint8)
    for ones, others in near(values):
        differing = np.bitwise_count(values[ones] ^ values[others])
        distances = differing if values.ndim == 1 else differing.sum(axis=1, dtype=np.uint16)
        # Different ones: every page of the one with every page of the other.
        member = run_positions(starts[ones], sizes[ones])
        pair = np.repeat(np.arange(len(ones)), sizes[ones])
        for first, second in run_positions_in_parts(starts[others][pair], sizes[others][pair]):
            one, other = pages[member[first]], pages[second]
            yield np.minimum(one, other), np.maximum(one, other), distances[pair[first]]
