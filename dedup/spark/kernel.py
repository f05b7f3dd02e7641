"""Which members of a run are to be compared, and which fingerprints of it are near: arrays only.

A run is what shares a key; its members are known by their positions, the earliest first.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dedup.index.arrays import Array, run_positions, run_positions_in_parts
from dedup.methods.hashing import mix, seeds

SHORT = 256
"""In a run of so many members or fewer, each is compared with each."""

_ROWS_AT_ONCE = 1 << 16


class Pairs(NamedTuple):
    """Positions of pairs, each the earlier one's and the later one's, shape (n,)."""

    earlier: Array
    later: Array


def all_pairs(starts: Array, ends: Array) -> Iterator[Pairs]:
    """Yield all pairs inside of the runs from *starts* to before *ends*, about a million a time."""
    sizes = ends - starts
    members = run_positions(starts, sizes)
    behind = np.repeat(ends, sizes) - members - 1
    for which, later in run_positions_in_parts(members + 1, behind):
        yield Pairs(members[which], later)


def pairs_of_leaders(first: int, last: int, end: int) -> Pairs:
    """Return the pairs of each position from *first* to before *last* with all later ones.

    >>> [part.tolist() for part in pairs_of_leaders(0, 2, 4)]
    [[0, 0, 0, 1, 1], [1, 2, 3, 2, 3]]
    """
    leaders = np.arange(first, last)
    behind = end - leaders - 1
    return Pairs(np.repeat(leaders, behind), run_positions(leaders + 1, behind))


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
    return _joined(found)


def near_pairs(values: Array, max_distance: int, most: int) -> Pairs | None:
    """Return all pairs of *values* within *max_distance*, each once, or ``None`` if over *most*.

    *values*: unique fingerprints, shape (n, words), uint64. What is long is split on the bits in
    which its members differ: of one more piece of these bits than may differ, near ones agree in
    one. So is each part, until it is short: no number of bits that all share makes it slow.

    Source: Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section
    3 (the pieces).
    """
    codes = [np.empty(0, np.uint64)]
    fresh = 0
    long = [np.arange(len(values))]
    while long:
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
            found = near_in_short_runs(rows[order], starts[~is_long], ends[~is_long], max_distance)
            codes.append(_codes(members[order[found.earlier]], members[order[found.later]]))
            fresh += len(found.earlier)
            if fresh > most:  # some may have been found several times
                codes, fresh = [np.unique(np.concatenate(codes))], 0
                if len(codes[0]) > most:
                    return None
    unique = np.unique(np.concatenate(codes))
    if len(unique) > most:
        return None
    return Pairs(
        (unique >> np.uint64(32)).astype(np.intp), unique.astype(np.uint32).astype(np.intp)
    )


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
        order = np.argsort(keys)
        borders = np.flatnonzero(np.diff(keys[order]) != 0) + 1
        starts, ends = np.append(0, borders), np.append(borders, len(rows))
        is_run = ends - starts > 1
        yield order, starts[is_run], ends[is_run]


class Groups(NamedTuple):
    """Members of a run whose values are equal, as one row: the earliest few lead their group.

    *members*: the positions of all, by group, the earliest first in each; *starts* and *sizes*
    are those of the groups in it, *leads* how many lead each.
    """

    members: Array
    starts: Array
    sizes: Array
    leads: Array

    @classmethod
    def of(cls, which: Array, leaders: int) -> "Groups":
        """Return those of members by the number of the group of each, with up to so many leaders.

        >>> Groups.of(np.array([1, 0, 1, 1]), 2).others.tolist()
        [3]
        """
        members = np.argsort(which, kind="stable")
        sizes = np.bincount(which)
        return cls(members, np.cumsum(sizes) - sizes, sizes, np.minimum(sizes, leaders))

    @property
    def others(self) -> Array:
        """The positions of those that do not lead."""
        return self.members[run_positions(self.starts + self.leads, self.sizes - self.leads)]

    def pairs(self, near: Pairs) -> Iterator[Pairs]:
        """Yield the pairs of which one leads, in one group or in those of a *near* pair."""
        leaders = run_positions(self.starts, self.leads)
        end_of = np.repeat(self.starts + self.sizes, self.leads)
        for which, other in run_positions_in_parts(leaders + 1, end_of - leaders - 1):
            yield self._in_order(leaders[which], other)
        one, two = near
        leads, sizes, starts = self.leads, self.sizes, self.starts
        yield from self._across(starts[one], leads[one], starts[two], sizes[two])
        yield from self._across(
            starts[two], leads[two], (starts + leads)[one], (sizes - leads)[one]
        )

    def _across(
        self, starts: Array, sizes: Array, other_starts: Array, other_sizes: Array
    ) -> Iterator[Pairs]:
        """Yield each of the runs of *starts* and *sizes* with each of its counterpart."""
        own = run_positions(starts, sizes)
        of_own = np.repeat(np.arange(len(starts)), sizes)
        for which, other in run_positions_in_parts(other_starts[of_own], other_sizes[of_own]):
            yield self._in_order(own[which], other)

    def _in_order(self, places: Array, others: Array) -> Pairs:
        ones, twos = self.members[places], self.members[others]
        return Pairs(np.minimum(ones, twos), np.maximum(ones, twos))


def _are_near(values: Array, ones: Array, others: Array, max_distance: int) -> Array:
    differing = np.bitwise_count(values[ones] ^ values[others])
    if values.shape[1] == 1:
        return differing[:, 0] <= max_distance
    return differing.sum(axis=1, dtype=np.uint16) <= max_distance  # type: ignore[no-any-return]


def _codes(ones: Array, others: Array) -> Array:
    """Return pairs as numbers that are equal if they are, whichever comes first."""
    codes = np.minimum(ones, others).astype(np.uint64) << np.uint64(32)
    return codes | np.maximum(ones, others).astype(np.uint64)


def _joined(parts: list[Pairs]) -> Pairs:
    return Pairs(*(np.concatenate(side) for side in zip(*parts, strict=True)))
