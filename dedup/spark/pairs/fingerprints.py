"""Which fingerprints of a run are near."""

from collections.abc import Iterator

import numpy as np

from dedup.arrays import Array, run_positions
from dedup.methods.hashing import mix, seeds
from dedup.spark.pairs.pairs import SHORT, DistinctPairs, Pairs, joined, runs_of

_ROWS_AT_ONCE = 1 << 16


def near_in_short_runs(values: Array, starts: Array, ends: Array, max_distance: int) -> Pairs:
    """Return the pairs of *values* within *max_distance* inside of runs, which should be short.

    *values*: fingerprints, shape (n, words), uint64. In each step all are compared with those so
    many places behind.
    """
    sizes = ends - starts
    members = run_positions(starts, sizes)
    end_of_member = np.repeat(ends, sizes)
    found = [Pairs(members[:0], members[:0])]
    for begin in range(0, len(members), _ROWS_AT_ONCE):
        part, end_of = (rows[begin : begin + _ROWS_AT_ONCE] for rows in (members, end_of_member))
        lag = 1
        while len(part := part[(goes_on := part + lag < end_of)]):
            end_of = end_of[goes_on]
            near = part[_are_near(values, part, part + lag, max_distance)]
            if len(near):
                found.append(Pairs(near, near + lag))
            lag += 1
    return joined(found)


def near_pairs(values: Array, max_distance: int, most: int) -> Pairs | None:
    """Return all pairs of *values* within *max_distance*, each once, or ``None`` if over *most*.

    *values*: unique fingerprints, shape (n, words), uint64. What is long is split on the bits in
    which its members differ: of one more piece of these bits than may differ, near ones agree in
    one. So is each part, until it is short: no number of bits that all share makes it slow.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section
    3 (the pieces).
    """
    found = DistinctPairs(most)
    long = [np.arange(len(values))]
    while long and not found.are_too_many:
        members = long.pop()
        rows = values[members]
        for order, starts, ends in _parts(rows, max_distance):
            is_long = ends - starts > SHORT
            # Where as many bits differ as may, all are near.
            if len(members) == len(order) == (ends - starts).max(initial=0):
                is_long[:] = False
                if len(order) * (len(order) - 1) // 2 > most:
                    return None
            long += [
                members[order[start:end]]
                for start, end in zip(starts[is_long], ends[is_long], strict=True)
            ]
            near = near_in_short_runs(rows[order], starts[~is_long], ends[~is_long], max_distance)
            found.add([Pairs(*(order[side] for side in near))], members)
    return found.pairs()


def _parts(rows: Array, max_distance: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield for each piece of the bits an order of *rows*, and where runs of it start and end."""
    differing = np.bitwise_or.reduce(rows ^ rows[0], axis=0)
    bits = np.flatnonzero(np.unpackbits(differing.astype("<u8").view(np.uint8), bitorder="little"))
    if len(rows) <= SHORT or len(bits) <= max_distance:
        yield np.arange(len(rows)), np.array([0]), np.array([len(rows)])
        return
    for piece in np.array_split(bits, max_distance + 1):
        mask = np.zeros(rows.shape[1] * 64, np.uint8)
        mask[piece] = 1
        words = np.packbits(mask, bitorder="little").view("<u8").astype(np.uint64)
        # The exclusive or of well mixed words is equal by chance at most, which costs time only.
        keys = np.bitwise_xor.reduce(mix((rows & words) ^ seeds(rows.shape[1])), axis=1)
        yield runs_of(keys)


def _are_near(values: Array, ones: Array, others: Array, max_distance: int) -> Array:
    differing = np.bitwise_count(values[ones] ^ values[others])
    if values.shape[1] == 1:
        return differing[:, 0] <= max_distance
    return differing.sum(axis=1, dtype=np.uint16) <= max_distance  # type: ignore[no-any-return]
