"""Runs of pages that share a key -> the pairs of which one may be dropped for the other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array
from dedup.methods import FingerprintMethod, KeyMethod
from dedup.methods.base import as_rows
from dedup.methods.exact import Exact
from dedup.methods.fingerprints import Fingerprints
from dedup.rule import MOST_OBJECTIONS, Rule
from dedup.spark.pairs import (
    SHORT,
    Candidates,
    Groups,
    Pairs,
    all_pairs,
    near_in_short_runs,
    near_pairs,
)  # fmt: skip
from dedup.spark.witnesses import Witnesses


class Link(IntEnum):
    """How a page matches another: the lower, the rather it is dropped for that."""

    SAME = 0
    EQUAL = 1
    NEAR = 2


class Shared(IntEnum):
    """What the pages of a run have in common: main text and view, main text, or a block key."""

    VIEW = 0
    TEXT = 1
    KEY = 2


@dataclass(frozen=True, slots=True)
class Members:
    """The members of runs that share one kind of thing, run by run, in each by their nodes.

    *starts*: where runs start, shape (runs,). *nodes*: who they are, and *lasts* the last records
    that are the same, int64. *payloads*: what is compared of each; *witnesses* as `Witnesses` takes
    them.
    """

    shared: Shared
    starts: Array
    nodes: Array
    lasts: Array
    payloads: Sequence[bytes]
    witnesses: Sequence[bytes | None]


class Links(NamedTuple):
    """Each of *pages* may be dropped for its original, another node, at this distance.

    Where *originals* come first, that decides about the page; others only concern later records
    that are the same as it. Shapes (n,), int64 but the kinds, a `Link` each, uint8, and the
    distances, float64.
    """

    pages: Array
    originals: Array
    kinds: Array
    distances: Array


class Comparison:
    """Compares the members of runs by a method and a rule.

    In a run of up to 256 members, all are compared with all. In longer ones, fingerprints are, too;
    of equal ones, and of other sketches, the earliest are compared with all later ones, as many as
    have few enough matches: of a million pages of one template, nobody needs all pairs. The members
    that are not among these are *incomplete*. Where few match, that is quadratic, unless the
    components of the sketches tell most pairs apart (`KeyMethod.components`): long runs of those
    that differ in most components are split on them, of others each pair takes a few instructions.
    Of sets, those are compared that share a rare feature (`KeyMethod.feature_sets`).
    """

    def __init__(self, method: KeyMethod, rule: Rule) -> None:
        self._method = method
        self._rule = rule
        self.incomplete: list[Array] = []
        """Nodes that were not compared with all members of some run."""

    def links(self, members: Members) -> Iterator[Links]:
        """Yield what matches; a pair may come several times."""
        compared = _Compared(self._method, self._rule, members)
        yield from compared.links_of_all()
        self.incomplete += [members.nodes[places] for places in compared.incomplete]

    def objections(self, members: Members) -> Iterator[Links]:
        """Yield what matches of *members* that are all kept, the nearest for each if not all.

        Their kinds are places in `OBJECTIONS`: what speaks against dropping the page. In a long run
        of other sketches than fingerprints, the nearest is one of the first 256 that match.
        """
        sizes = np.diff(np.append(members.starts, len(members.nodes)))
        # Most of what is kept shares nothing with others.
        several = _chosen(members, np.flatnonzero(np.repeat(sizes > 1, sizes)))
        if not len(several.nodes):
            return
        compared = _ComparedKept(self._method, self._rule, several)
        if not compared.have_witnesses:
            return
        firsts, repeats = _repeats(several)
        if members.shared is Shared.KEY:
            apart = _ComparedKept(self._method, self._rule, _chosen(several, firsts))
            yield from apart.links_of_all()
            # Other payloads may be at no distance, too, and an earlier page have one of them.
            nearest = np.arange(len(several.nodes))
            nearest[firsts] = firsts[apart.at_no_distance]
            repeats = Pairs(nearest[repeats.earlier], repeats.later)
        yield from compared.links(repeats)

    def links_to_kept(self, members: Members, is_kept: Array) -> Iterator[Links]:
        """Yield of each member that is not kept what matches it in its run, of the kept ones."""
        compared = _Compared(self._method, self._rule, members)
        ends = np.append(members.starts[1:], len(members.nodes))
        for start, end in zip(members.starts.tolist(), ends.tolist(), strict=True):
            yield from compared.links_between(
                np.flatnonzero(~is_kept[start:end]) + start,
                np.flatnonzero(is_kept[start:end]) + start,
            )


_LEAST_BUDGET = 1 << 16
_LINKS_A_MEMBER = 16
_PAIRS_AT_ONCE = 1 << 20
# So that the payloads of all pairs fit into the processor's cache.
_PAYLOADS_AT_ONCE = 1 << 11


class _Compared:
    """The members of some runs, ready to be compared."""

    def __init__(self, method: KeyMethod, rule: Rule, members: Members) -> None:
        self._members = members
        self._method = method
        self._witnesses = Witnesses(rule, members.witnesses, finds_parts=method.finds_parts)
        self._is_exact = members.shared is not Shared.KEY
        self._values: Array | None = None
        self.incomplete: list[Array] = []
        if self._is_exact:
            self._values = as_rows(members.payloads, len(members.payloads[0])).view("<u8")
        elif isinstance(method, FingerprintMethod):
            rows = as_rows(members.payloads, -(-method.bits // 8))
            self._values = Fingerprints(method.bits).from_bytes(rows).reshape(len(rows), -1)

    @property
    def have_witnesses(self) -> bool:
        """Whether something may speak against a drop."""
        return self._witnesses.are_there

    def links_of_all(self) -> Iterator[Links]:
        """Yield the links of all runs."""
        starts = self._members.starts
        ends = np.append(starts[1:], len(self._members.nodes))
        is_long = ends - starts > SHORT
        for pairs in self.candidates(starts[~is_long], ends[~is_long]):
            yield from self.links(pairs)
        for start, end in zip(starts[is_long].tolist(), ends[is_long].tolist(), strict=True):
            yield from self.links_of_long(start, end)

    def candidates(self, starts: Array, ends: Array) -> Iterator[Pairs]:
        """Yield the pairs of short runs that may be near."""
        if self._values is None or self._is_exact:
            yield from all_pairs(starts, ends)
        else:
            yield near_in_short_runs(self._values, starts, ends, int(self._method.max_distance))

    def links_of_long(self, start: int, end: int) -> Iterator[Links]:
        """Yield the links of the one run from *start* to before *end*."""
        asked = np.zeros(end - start, np.int64)
        if self._values is not None and not self._is_exact:
            values, which = np.unique(self._values[start:end], axis=0, return_inverse=True)
            most = max(_PAIRS_AT_ONCE, 4 * _LINKS_A_MEMBER * len(values))
            near = near_pairs(values, int(self._method.max_distance), most)
            if near is not None:
                leaders = MOST_OBJECTIONS if self._witnesses.are_there else _LINKS_A_MEMBER
                groups = Groups.of(which.reshape(-1), leaders)
                for pairs in groups.pairs(near):
                    yield from self._asked(pairs, start, asked)
                self._note_incomplete(groups.others, start, asked)
                return
        yield from self._links_of_leaders(start, end, asked)

    def _links_of_leaders(self, start: int, end: int, asked: Array) -> Iterator[Links]:
        """Yield the links of the earliest members to all later ones, until these are enough.

        Where that is the shorter way, the links of all but the first few are found by the
        components or the features that they share.
        """
        size = end - start
        left = self._budget(size)
        most = max(_PAIRS_AT_ONCE, 4 * _LINKS_A_MEMBER * size)
        if self._is_exact:
            candidates = Candidates(size)
        else:
            payloads = self._members.payloads[start:end]
            candidates = Candidates.of_sketches(self._method, payloads)
        step = min(_LINKS_A_MEMBER, candidates.leaders_at_once(_PAIRS_AT_ONCE))
        leaders = 0 if candidates.are_sorted_fast else _LINKS_A_MEMBER
        for first in range(0, size, step):
            if (asked[first:] >= MOST_OBJECTIONS).all():
                return
            if left <= 0:
                self._note_incomplete(np.arange(first, size), start, asked)
                return
            is_time = first - step < leaders <= first
            if is_time and (others := candidates.of_all(first, most)) is not None:
                for part in others.parts(_PAIRS_AT_ONCE):
                    yield from self._asked(part, start, asked)
                return
            pairs = candidates.of_leaders(first, min(first + step, size))
            for part in pairs.parts(_PAIRS_AT_ONCE):
                for links in self._asked(part, start, asked):
                    left -= len(links.pages)
                    yield links

    def _budget(self, size: int) -> int:
        """Return how many links of so many members are enough."""
        return max(_LEAST_BUDGET, _LINKS_A_MEMBER * size)

    def _asked(self, pairs: Pairs, start: int, asked: Array) -> Iterator[Links]:
        """Yield the links of *pairs* of a run; what has had many objections is not asked again."""
        if self._witnesses.are_there:
            goes_on = asked[pairs.later] < MOST_OBJECTIONS
            pairs = Pairs(pairs.earlier[goes_on], pairs.later[goes_on])
        yield from self.links(Pairs(pairs.earlier + start, pairs.later + start), asked, start)

    def _note_incomplete(self, places: Array, start: int, asked: Array) -> None:
        self.incomplete.append(places[asked[places] < MOST_OBJECTIONS] + start)

    def links(self, pairs: Pairs, asked: Array | None = None, start: int = 0) -> Iterator[Links]:
        """Yield the links of *pairs*; count in *asked* what speaks against the later ones."""
        yield self._of(pairs.later, pairs.earlier, asked, start)
        members = self._members
        has_copies = members.lasts[pairs.earlier] > members.nodes[pairs.later]
        if has_copies.any():
            yield self._of(pairs.earlier[has_copies], pairs.later[has_copies])

    def links_between(self, pages: Array, originals: Array) -> Iterator[Links]:
        """Yield the links of *pages* to *originals* that come before one of their records."""
        if not (len(pages) and len(originals)):
            return
        members = self._members
        step = max(1, _PAIRS_AT_ONCE // len(pages))
        for first in range(0, len(originals), step):
            part = originals[first : first + step]
            ones, twos = np.tile(pages, len(part)), np.repeat(part, len(pages))
            concerns = members.nodes[twos] < members.lasts[ones]
            yield self._of(ones[concerns], twos[concerns])

    def _of(
        self, pages: Array, originals: Array, asked: Array | None = None, start: int = 0
    ) -> Links:
        pages, originals, distances = self._near(pages, originals)
        kinds = np.full(len(pages), Link.EQUAL if self._is_exact else Link.NEAR, np.uint8)
        if self._witnesses.are_there:
            against = self._witnesses.objections(pages, originals, is_exact=self._is_exact) > 0
            if asked is not None:
                np.add.at(asked, pages[against] - start, 1)
            pages, originals, distances, kinds = (
                column[~against] for column in (pages, originals, distances, kinds)
            )
            if self._is_exact:
                kinds[self._witnesses.show_same(pages, originals)] = Link.SAME
        nodes = self._members.nodes
        return Links(nodes[pages], nodes[originals], kinds, distances.astype(np.float64))

    def _near(self, pages: Array, originals: Array) -> tuple[Array, Array, Array]:
        """Return the pairs that match, with their distances."""
        distances = self._distances(pages, originals)
        limit = 0 if self._is_exact else self._method.max_distance
        [near] = np.nonzero(distances <= limit)
        return pages[near], originals[near], distances[near]

    def _distances(self, pages: Array, originals: Array) -> Array:
        values = self._values
        if values is not None:
            differing = np.bitwise_count(values[pages] ^ values[originals])
            return differing.sum(axis=1, dtype=np.int64)  # type: ignore[no-any-return]
        payloads = self._members.payloads
        parts = [np.empty(0)]
        for first in range(0, len(pages), _PAYLOADS_AT_ONCE):
            part = slice(first, first + _PAYLOADS_AT_ONCE)
            parts.append(
                self._method.distances_of_pairs(
                    [payloads[place] for place in pages[part].tolist()],
                    [payloads[place] for place in originals[part].tolist()],
                )
            )
        return np.concatenate(parts)


class _ComparedKept(_Compared):
    """Members that are all kept, although they match: the links say what speaks for that."""

    def __init__(self, method: KeyMethod, rule: Rule, members: Members) -> None:
        super().__init__(method, rule, members)
        self.at_no_distance = np.arange(len(members.nodes))
        """Of each, the place of the earliest that was found to be at no distance, or its own."""

    def links(self, pairs: Pairs, asked: Array | None = None, start: int = 0) -> Iterator[Links]:
        pages, originals, distances = self._near(pairs.later, pairs.earlier)
        equal = distances == 0
        np.minimum.at(self.at_no_distance, pages[equal], originals[equal])
        kinds = self._witnesses.objections(pages, originals, is_exact=self._is_exact)
        if asked is not None and self._values is None:
            np.add.at(asked, pages - start, 1)
        nodes = self._members.nodes
        yield Links(nodes[pages], nodes[originals], kinds, distances.astype(np.float64))

    def _budget(self, size: int) -> int:
        return MOST_OBJECTIONS * size


def _repeats(members: Members) -> tuple[Array, Pairs]:
    """Return the places of *members* with the first payload of its kind in their run, and pairs.

    These are of each other member, and the earliest with its payload that a scan would ask.
    """
    places: dict[tuple[int, bytes], list[int]] = {}
    runs = _runs_of(members).tolist()
    window = len(members.nodes) if members.shared is Shared.KEY else Exact.candidates_per_key
    firsts, earlier, later = [], [], []
    for place, (run, payload) in enumerate(zip(runs, members.payloads, strict=True)):
        own = places.setdefault((run, payload), [])
        if own:
            earlier.append(own[max(0, len(own) - window)])
            later.append(place)
        else:
            firsts.append(place)
        own.append(place)
    repeats = Pairs(np.array(earlier, np.int64), np.array(later, np.int64))
    return np.array(firsts, np.int64), repeats


def _chosen(members: Members, places: Array) -> Members:
    """Return those of *members* at these *places*, in the runs that they have."""
    _, starts = np.unique(_runs_of(members)[places], return_index=True)
    own = places.tolist()
    return Members(
        members.shared,
        starts,
        members.nodes[places],
        members.lasts[places],
        [members.payloads[place] for place in own],
        [members.witnesses[place] for place in own],
    )


def _runs_of(members: Members) -> Array:
    """Return the number of the run of each of *members*."""
    sizes = np.diff(np.append(members.starts, len(members.nodes)))
    return np.repeat(np.arange(len(sizes)), sizes)
