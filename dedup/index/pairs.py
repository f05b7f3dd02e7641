"""All pairs of near fingerprints, by sorting instead of looking up."""

from collections.abc import Iterator

import numpy as np

from dedup.index.buckets import spread
from dedup.index.compact import permute, restore
from dedup.index.design import Design
from dedup.index.fingerprints import Array

_ROWS_AT_ONCE = 1 << 20


def near_values(values: Array, design: Design) -> tuple[Array, Array]:
    """Return all pairs of *values* within the distance of *design*, the smaller value first.

    *values*: different fingerprints of up to 64 bits, shape (n,). For each table they are sorted
    with its key in front; within a run of equal keys each is compared with the next one, with the
    next but one, and so on to the end of the run.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007,
    section 4; the tables' radius must be 0.
    """
    found = [np.empty((2, 0), np.uint64)]
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
                    pair = np.stack([first[near], second[near]])
                    found.append(restore(pair, table, design.bits))
                lag += 1
    pairs = np.sort(np.concatenate(found, axis=1), axis=0)
    pairs = np.unique(pairs, axis=1)
    return pairs[0], pairs[1]


def near_pages(rows: Array, pages: Array, design: Design) -> Iterator[tuple[Array, Array, Array]]:
    """Yield the pages (the lower number first) and distances of all near pairs of *rows*."""
    order = np.lexsort((pages, rows))
    rows, pages = rows[order], pages[order]
    starts = np.flatnonzero(np.diff(rows, prepend=~rows[:1])) if len(rows) else np.arange(0)
    sizes = np.diff(starts, append=len(rows))
    values = rows[starts]
    for one, other in ((values, values), near_values(values, design)):
        ones, others = np.searchsorted(values, one), np.searchsorted(values, other)
        distances = np.bitwise_count(one ^ other)
        # Every page of one value with every page of the other, some values at a time.
        products = sizes[ones] * sizes[others]
        if one is values:
            repeated = np.flatnonzero(sizes > 1)
            ones, others, distances = ones[repeated], others[repeated], distances[repeated]
            products = products[repeated]
        for part in _parts(products):
            pair = np.repeat(np.arange(len(ones))[part], products[part])
            within = spread(np.zeros(len(products[part]), np.int64), products[part])
            width = sizes[others[pair]]
            first = pages[starts[ones[pair]] + within // width]
            second = pages[starts[others[pair]] + within % width]
            once = first < second if one is values else np.ones(len(first), bool)
            lower, higher = np.minimum(first, second)[once], np.maximum(first, second)[once]
            if len(lower):
                yield lower, higher, distances[pair][once]


def _parts(products: Array) -> Iterator[slice]:
    """Yield slices of *products* whose sums are at most about a million each."""
    ends = np.cumsum(products)
    start = 0
    while start < len(products):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + _ROWS_AT_ONCE, "right")))
        yield slice(start, end)
        start = end
