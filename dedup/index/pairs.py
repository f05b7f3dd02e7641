"""Matches of many fingerprints at once, and all pairs of near ones."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from dedup.arrays import Array, run_positions, run_positions_in_parts
from dedup.index.compact import permute, restore
from dedup.index.design import Design
from dedup.index.growing import GrowingIndex

_ROWS_AT_ONCE = 1 << 20
_QUERIES_AT_ONCE = 4096


def chunks(rows: Array) -> Iterator[tuple[int, Array]]:
    """Yield start and rows of consecutive parts, each as long as is queried at once."""
    for start in range(0, len(rows), _QUERIES_AT_ONCE):
        yield start, rows[start : start + _QUERIES_AT_ONCE]


def nearest_of_many(index: GrowingIndex, rows: Array) -> tuple[Array, Array]:
    """Return the nearest page of each of *rows* in *index*, and its distance; -1 for none."""
    rows, which = np.unique(rows, axis=0, return_inverse=True)
    nearest_pages = np.full(len(rows), -1, np.int64)
    nearest = np.full(len(rows), -1, np.int64)
    for start, part in chunks(rows):
        owners, pages, distances = index.matches_of_many(part, nearest=True)
        order = np.lexsort((pages, distances, owners))
        owners, pages, distances = owners[order], pages[order], distances[order]
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        nearest_pages[start + owners[first]] = pages[first]
        nearest[start + owners[first]] = distances[first]
    return nearest_pages[which.ravel()], nearest[which.ravel()]


def batch_matches(
    batch: GrowingIndex, parts: Sequence[tuple[Array, Array]]
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield pages of *batch*, pages of *parts* and distances of all matches between the two.

    *parts*: pairs of fingerprint rows and their pages.
    """
    for rows, pages in parts:
        for start, part in chunks(rows):
            owners, numbers, distances = batch.matches_of_many(part)
            if len(owners):
                yield numbers, pages[start + owners], distances


def pairs_by_lookup(values: Array, index: GrowingIndex) -> Iterator[tuple[Array, Array]]:
    """Yield the numbers of all pairs of *values* that match, each once; *index* must be empty."""
    numbers = index.add_many(values)
    for owners, others, _ in batch_matches(index, [(values, numbers)]):
        once = others < owners
        if once.any():
            yield others[once], owners[once]


def pairs_by_sorting(values: Array, design: Design) -> Iterator[tuple[Array, Array]]:
    """Yield the numbers of all pairs of *values* within the distance of *design*, each once.

    *values*: sorted, unique fingerprints of up to 64 bits, shape (n,). For each table they are
    sorted with its key in front. Within a run of equal keys, each is compared with the next one,
    then with the one after that, and so on to the end of the run.

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
                    pairs = restore(np.stack([first[near], second[near]]), table, design.bits)
                    pairs = pairs[:, _differ_in_all(pairs[0] ^ pairs[1], earlier)]
                    yield np.searchsorted(values, pairs[0]), np.searchsorted(values, pairs[1])
                lag += 1
        key = sum(((1 << width) - 1) << low for low, width in table.segments)
        earlier.append(np.uint64(key))


def _differ_in_all(differing: Array, keys: list[np.uint64]) -> Array:
    """Return which pairs differ in each of *keys*, so that no earlier table has found them."""
    unseen = np.ones(len(differing), bool)
    for key in keys:
        unseen &= (differing & key) != 0
    return unseen


def page_pairs(
    rows: Array, pages: Array, near: Callable[[Array], Iterator[tuple[Array, Array]]]
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield lower pages, higher pages and distances of all pairs of *rows* that match.

    *near* yields the numbers of pairs of unique rows, in blocks.
    """
    values, which, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    pages = pages[np.lexsort((pages, which.ravel()))]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    # Equal fingerprints: each page with all higher ones.
    behind = np.arange(len(rows)) + 1
    for first, second in run_positions_in_parts(behind, np.repeat(ends, sizes) - behind):
        yield pages[first], pages[second], np.zeros(len(first), np.uint8)
    for ones, others in near(values):
        differing = np.bitwise_count(values[ones] ^ values[others])
        distances = differing if values.ndim == 1 else differing.sum(axis=1, dtype=np.uint16)
        # Unequal fingerprints: each page of the first with each page of the second.
        member = run_positions(starts[ones], sizes[ones])
        pair = np.repeat(np.arange(len(ones)), sizes[ones])
        for first, second in run_positions_in_parts(starts[others][pair], sizes[others][pair]):
            left, right = pages[member[first]], pages[second]
            yield np.minimum(left, right), np.maximum(left, right), distances[pair[first]]
