"""Which members of a run are to be compared, and which fingerprints of it are near: arrays only.

A run is what shares a key; its members are known by their positions, the earliest first.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array, run_positions, run_positions_in_parts
from dedup.methods.base import Components, FeatureSets
from dedup.methods.hashing import mix, seeds

SHORT = 256
"""In a run of so many members or fewer, each is compared with each."""

_ROWS_AT_ONCE = 1 << 16
# So that what is compared at once fits into the processor's cache.
_PLACES_AT_ONCE = 1 << 15
# All but one in 16 of components that differ do in one of so many bits.
_BITS_OF_COMPONENT = 4
_SAMPLE = 256
# To sort a row takes as long as to compare it so often.
_PAIRS_TO_SORT = 8


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
    found = _Found(most)
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


class _Found:
    """Pairs that may be found several times, until they are over *most*."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._codes = [np.empty(0, np.uint64)]
        self._fresh = 0
        self.are_too_many = False

    def add(self, parts: Iterable[Pairs], members: Array | None = None) -> None:
        """Add pairs of positions, or of positions among *members*; none once there are too many."""
        for part in parts:
            ones, others = part if members is None else (members[side] for side in part)
            self._codes.append(_codes(ones, others))
            self._fresh += len(ones)
            if self._fresh > self._most:
                self._unite()
                if self.are_too_many:
                    return

    def pairs(self) -> Pairs | None:
        """Return each once, or ``None`` if they are too many."""
        self._unite()
        [codes] = self._codes
        if self.are_too_many:
            return None
        return Pairs(
            (codes >> np.uint64(32)).astype(np.intp), codes.astype(np.uint32).astype(np.intp)
        )

    def _unite(self) -> None:
        self._codes, self._fresh = [np.unique(np.concatenate(self._codes))], 0
        self.are_too_many = len(self._codes[0]) > self._most


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
        yield _runs_of(keys)


def _runs_of(keys: Array) -> tuple[Array, Array, Array]:
    """Return an order of *keys*, and where runs of equal ones start and end in it."""
    order = np.argsort(keys)
    borders = np.flatnonzero(np.diff(keys[order]) != 0) + 1
    starts, ends = np.append(0, borders), np.append(borders, len(keys))
    is_run = ends - starts > 1
    return order, starts[is_run], ends[is_run]


class Sieve:
    """Which of many sketches may match, by the bits of their components: some ns a pair.

    None that match are missed. Of components that are no bits, the lowest bits are compared.
    """

    def __init__(self, planes: Array, most: int) -> None:
        """Take bits, shape (planes, words, n), uint64: places differ if they do in one plane."""
        self._planes = planes
        self._most = most

    @classmethod
    def of(cls, components: Components) -> "Sieve":
        values = components.values
        if components.are_bits:
            planes = [np.ascontiguousarray(values)]
        else:
            one = values.dtype.type(1)
            planes = [
                np.packbits((values >> values.dtype.type(bit) & one).astype(np.uint8), axis=1)
                for bit in range(_BITS_OF_COMPONENT)
            ]
        return cls(np.stack([_as_words(plane) for plane in planes]), components.most)

    def of_members(self, members: Array) -> "Sieve":
        """Return one that knows these *members* only, in this order."""
        return Sieve(self._planes[:, :, members], self._most)

    def sift(self, pairs: Pairs) -> Pairs:
        """Return those of *pairs* that may match."""
        earlier, later = pairs
        differing = np.zeros(len(earlier), np.int64)
        for word in range(self._planes.shape[1]):
            differs = np.zeros(len(earlier), np.uint64)
            for plane in self._planes[:, word]:
                differs |= plane[earlier] ^ plane[later]
            differing += np.bitwise_count(differs)
        may = differing <= self._most
        return Pairs(earlier[may], later[may])

    def pairs_of_leaders(self, first: int, last: int) -> Pairs:
        """Return those of `pairs_of_leaders` that may match."""
        end = self._planes.shape[2]
        found = [Pairs(np.empty(0, np.intp), np.empty(0, np.intp))]
        for leader in range(first, last):
            for start in range(leader + 1, end, _PLACES_AT_ONCE):
                later = self._near(leader, start, min(start + _PLACES_AT_ONCE, end))
                if len(later):
                    found.append(Pairs(np.full(len(later), leader), later))
        return _joined(found)

    def pairs_of_all(self) -> Iterator[Pairs]:
        """Yield the pairs that may match, a part of them at a time."""
        size = self._planes.shape[2]
        step = max(1, _ROWS_AT_ONCE // size)
        for first in range(0, size, step):
            yield self.pairs_of_leaders(first, min(first + step, size))

    def _near(self, leader: int, start: int, end: int) -> Array:
        """Return which from *start* to before *end* may match *leader*."""
        words, size = self._planes.shape[1], end - start
        differs, in_plane = np.empty((2, size), np.uint64)
        in_word, differing = np.empty(size, np.uint8), np.zeros(size, np.uint16)
        for word in range(words):
            own = self._planes[:, word, leader]
            np.bitwise_xor(self._planes[0, word, start:end], own[0], out=differs)
            for plane in range(1, len(own)):
                np.bitwise_xor(self._planes[plane, word, start:end], own[plane], out=in_plane)
                differs |= in_plane
            differing += np.bitwise_count(differs, out=in_word)
            # Most that differ at all differ in too much by now.
            if 2 * (word + 1) == words:
                [left] = np.nonzero(differing <= self._most)
                if 8 * len(left) < size:
                    pairs = Pairs(np.full(len(left), leader), left + start)
                    return self.sift(pairs).later
        return np.flatnonzero(differing <= self._most) + start


def _as_words(octets: Array) -> Array:
    """Return rows of bytes as columns of words, shape (words, n), uint64."""
    rows = np.zeros((len(octets), -(-octets.shape[1] // 8) * 8), np.uint8)
    rows[:, : octets.shape[1]] = octets
    return np.ascontiguousarray(rows.view("<u8").astype(np.uint64).T)


def pairs_of_few(components: Components, sieve: Sieve, first: int, most: int) -> Pairs | None:
    """Return the pairs that *sieve* leaves of all from *first* on, each once.

    Of one more piece of the components than may differ, those that match agree in one: only what
    does is compared. What agrees is split so again, as long as that spares three quarters of the
    pairs. Returns ``None`` if there are over *most*, or if it would not spare so many of all.
    """
    values = components.values
    found = _Found(most)
    long = [np.arange(first, len(values))]
    while long and not found.are_too_many:
        members = long.pop()
        pieces = _pieces(values[members], components.most)
        if pieces is None:
            if len(members) == len(values) - first:
                return None
            found.add(sieve.of_members(members).pairs_of_all(), members)
            continue
        for order, starts, ends in pieces:
            own = members[order]
            is_long = ends - starts > SHORT
            long += [
                own[start:end] for start, end in zip(starts[is_long], ends[is_long], strict=True)
            ]
            pairs = all_pairs(starts[~is_long], ends[~is_long])
            found.add(sieve.sift(Pairs(*(own[side] for side in part))) for part in pairs)
    return found.pairs()


def _pieces(rows: Array, max_differing: int) -> list[tuple[Array, Array, Array]] | None:
    """Return orders and runs of *rows* as `_parts` does; ``None`` if they spare too few pairs."""
    places = np.flatnonzero((rows != rows[0]).any(axis=0))
    if len(places) <= max_differing:
        return None
    # What hardly differs says little: each piece has some of what differs much.
    sample = np.sort(rows[:: -(-len(rows) // _SAMPLE)][:, places], axis=0)
    places = places[np.argsort((sample[1:] != sample[:-1]).sum(axis=0), kind="stable")]
    left = len(rows) ** 2 // 4
    pieces = []
    for piece in range(max_differing + 1):
        keys = np.zeros(len(rows), np.uint64)
        for place in places[piece :: max_differing + 1]:
            # Unequal keys are equal by chance at most, which costs time only.
            keys = mix(keys ^ rows[:, place])
        order, starts, ends = _runs_of(keys)
        left -= int(((ends - starts) ** 2).sum()) + _PAIRS_TO_SORT * len(rows)
        if left < 0:
            return None
        pieces.append((order, starts, ends))
    return pieces


def pairs_by_features(features: FeatureSets, first: int, most: int) -> Pairs | None:
    """Return the pairs from *first* on that may match by their *features*, each once.

    Of the sketch of a pair that has fewer features, the other one has one of the rarest: those that
    are more than it may lack, less one. Returns ``None`` if these pairs are over *most*, or if they
    are met more often than half of all pairs are.

    Source: Chaudhuri, Ganti, Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning",
    ICDE 2006 (the prefix filter).
    """
    counts = features.counts
    owners = np.repeat(np.arange(len(counts)), counts)
    _, which, totals = np.unique(features.values, return_inverse=True, return_counts=True)
    rarest_first = np.lexsort((which, totals[which], owners))
    ranks = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    asks = ranks < np.repeat(counts - features.least + 1, counts)
    asking = rarest_first[asks]
    sizes = totals[which[asking]]
    if sizes.sum() > len(counts) ** 2 // 4:
        return None
    members = owners[np.argsort(which, kind="stable")]
    starts = (np.cumsum(totals) - totals)[which[asking]]
    found = _Found(most)
    for number, places in run_positions_in_parts(starts, sizes):
        ones, others = owners[asking[number]], members[places]
        may = (counts[ones] <= counts[others]) & (ones != others)
        may &= (ones >= first) & (others >= first)
        found.add([Pairs(ones[may], others[may])])
        if found.are_too_many:
            break
    return found.pairs()


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
