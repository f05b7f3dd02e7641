"""Judged pairs of pages -> precision and recall of methods at every threshold, and how sure.

No labelled collection is needed. The pairs that a method finds within a generous distance are
divided into strata by their distance; a person judges some of each, drawn at random. What share of
a stratum are near-duplicates follows from that with an uncertainty, and so do precision and recall
at every threshold.

Every pair has its place in one random order, whatever the methods. Of each stratum, the first pairs
in that order are judged: so the judged ones are a random sample of every stratum of every method,
and one judgement serves all methods that find the pair.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any, NamedTuple

import numpy as np

from dedup.index import Index
from dedup.methods import Method
from dedup.methods.hashing import Array, feature_hashes, mix
from dedup.search import index_for
from dedup.text import Document

YES, NO, SKIP = "yes", "no", "skip"
LABELS = (YES, NO, SKIP)
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""

_DRAWS = 10_000
_INTERVAL = (0.025, 0.975)
# Once there are so many pairs, a step of the distance that adds more than half as many finds what
# is alike by chance.
_PAGES_PER_PAIR = 20
_FEW_PAIRS = 50


@dataclass(frozen=True)
class Candidates:
    """The pairs that *method* finds, in strata by their distance.

    *strata*: of each threshold, the pairs that are within it, but not within the one before;
    *max_distance*: the last of the thresholds.
    """

    method: Method
    strata: dict[float, list[Pair]]

    @property
    def max_distance(self) -> float:
        return max(self.strata)


def thresholds_of(kind: type[Method], arguments: Mapping[str, Any]) -> list[float]:
    """Return the thresholds that are tried: those of the method's `sweep`.

    Up to the *max_distance* of the arguments, if it is one of them; only the method's own threshold
    if it has no sweep of them.
    """
    method = kind(**arguments)
    if not _has_thresholds(kind):
        return [method.max_distance]
    values = kind.sweep[1]
    if "max_distance" not in arguments:
        return list(values)
    return [value for value in values if value < method.max_distance] + [method.max_distance]


def _has_thresholds(kind: type[Method]) -> bool:
    name, values = kind.sweep
    return name == "max_distance" and bool(values)


def find_candidates(
    kind: type[Method],
    arguments: Mapping[str, Any],
    documents: Sequence[Document],
    progress: Callable[[], object] = lambda: None,
) -> Candidates:
    """Find the pairs of *documents* within a generous distance by the method of the class *kind*.

    It is the *max_distance* of the arguments, or the largest one of the method's `sweep`, short of
    the distances at which most pairs are alike by chance. *progress* is called for every page.
    """
    thresholds = thresholds_of(kind, arguments)
    is_limited = "max_distance" in arguments
    method = _with_threshold(kind, arguments, thresholds[-1])
    sketches = [method.sketch(document) for document in documents]
    index = index_for(method)
    strata: list[list[Pair]] = [[] for _ in thresholds]
    for number, sketch in enumerate(sketches):
        if sketch is not None:
            for match in index.query_all(sketch):
                strata[bisect_left(thresholds, match.distance)].append((match.page, number))
            index.add(sketch, number)
        enough = len(strata) if is_limited else _before_chance(strata, len(documents))
        if enough < len(strata):
            del strata[enough:], thresholds[enough:]
            method = _with_threshold(kind, arguments, thresholds[-1])
            index = _index_of(method, sketches[: number + 1])
        progress()
    return Candidates(method, dict(zip(thresholds, strata, strict=True)))


def _with_threshold(kind: type[Method], arguments: Mapping[str, Any], threshold: float) -> Method:
    if not _has_thresholds(kind):
        return kind(**arguments)
    return kind(**{**arguments, "max_distance": threshold})


def _index_of(method: Method, sketches: Sequence[Any]) -> Index:
    index = index_for(method)
    for number, sketch in enumerate(sketches):
        if sketch is not None:
            index.add(sketch, number)
    return index


def _before_chance(strata: Sequence[Sequence[Pair]], pages: int) -> int:
    """Return how many strata there are before the pairs that are alike by chance; at least 1."""
    nearer, enough = 0, max(_FEW_PAIRS, pages / _PAGES_PER_PAIR)
    for number, stratum in enumerate(strata):
        if nearer >= enough and len(stratum) > nearer / 2:
            return number
        nearer += len(stratum)
    return len(strata)


class Estimate(NamedTuple):
    """A share from 0 to 1, and the bounds that it is between with a probability of 95 %."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Array) -> "Estimate":
        low, high = np.quantile(draws, _INTERVAL)
        return cls(float(draws.mean()), float(low), float(high))


class Step(NamedTuple):
    """What is known of a method at one threshold.

    *pairs*: how many it finds there that it does not find at the threshold before; *judged*: how
    many of them were judged, *right*: how many of these are near-duplicates. *found*, *precision*
    and *recall* are those of all pairs up to the threshold; *found* is an expected number.
    """

    threshold: float
    pairs: int
    judged: int
    right: int
    found: float
    precision: Estimate
    recall: Estimate


class Calibration:
    """Which pairs to judge, and what follows from the judgements."""

    def __init__(
        self, keys: Sequence[str], candidates: Sequence[Candidates], seed: int = 0
    ) -> None:
        """Create the calibration of methods by the pairs that they find among pages.

        *keys*: those of the pages. With another *seed* the random order of the pairs is another
        one; it does not depend on the order of the pages.
        """
        self.candidates = list(candidates)
        self._seed = seed
        pairs = list(self.pairs)
        order = dict(zip(pairs, _places(keys, pairs, seed).tolist(), strict=True))
        self._place = order
        for stratum in self._strata():
            stratum.sort(key=order.__getitem__)

    @cached_property
    def pairs(self) -> dict[Pair, None]:
        """All pairs that any of the methods finds, each once."""
        return dict.fromkeys(pair for stratum in self._strata() for pair in stratum)

    def _strata(self) -> Iterator[list[Pair]]:
        for found in self.candidates:
            yield from found.strata.values()

    def sample(self, count: int) -> list[Pair]:
        """Return *count* pairs to judge, or all, if there are not more.

        Of a stratum of n pairs as many as the square root of n is of all of these: the large ones
        decide on recall, the small ones on where to draw the line. The strata take turns, so who
        stops early has judged some of all, and a larger *count* continues the sample.
        """
        turns: dict[Pair, float] = {}
        for stratum in self._strata():
            for number, pair in enumerate(stratum):
                turn = (number + 0.5) / math.sqrt(len(stratum))
                turns[pair] = min(turn, turns.get(pair, turn))
        return sorted(turns, key=lambda pair: (turns[pair], self._place[pair]))[:count]

    def steps(self, candidates: Candidates, labels: Mapping[Pair, str]) -> list[Step]:
        """Return what the judgements say of a method at each of its thresholds that finds a pair.

        Recall is of the near-duplicates among all pairs that any of the methods finds.
        """
        random = np.random.default_rng(self._seed)
        own = [_Counts.of(stratum, labels) for stratum in candidates.strata.values()]
        right, counting = (np.cumsum(draws, axis=1) for draws in _draw(own, random))
        others = np.zeros(_DRAWS)
        for strata in self._left_over(candidates):
            counts = [_Counts.of(stratum, labels) for stratum in strata]
            others += _draw(counts, random)[0].sum(axis=1)
        return [
            Step(
                threshold,
                counts.pairs,
                counts.judged,
                counts.right,
                float(right[:, step].mean()),
                Estimate.of(_shares(right[:, step], counting[:, step])),
                Estimate.of(_shares(right[:, step], right[:, -1] + others)),
            )
            for step, (threshold, counts) in enumerate(zip(candidates.strata, own, strict=True))
            if counts.pairs
        ]

    def _left_over(self, candidates: Candidates) -> Iterator[list[list[Pair]]]:
        """Yield what the other methods find and neither this one nor one before them does."""
        seen = {pair for stratum in candidates.strata.values() for pair in stratum}
        for other in self.candidates:
            if other is not candidates:
                yield [
                    [pair for pair in stratum if pair not in seen]
                    for stratum in other.strata.values()
                ]
                seen.update(pair for stratum in other.strata.values() for pair in stratum)


def recommended(steps: Sequence[Step], precision: float) -> Step | None:
    """Return the step of the largest threshold with at least that expected *precision*, if any."""
    return next((step for step in reversed(steps) if step.precision.mean >= precision), None)


def _places(keys: Sequence[str], pairs: Sequence[Pair], seed: int) -> Array:
    """Return the place of each pair in a random order, shape (n,), uint64: ties are no concern."""
    hashes = feature_hashes(keys, len(keys))
    numbers = np.array(pairs, np.int64).reshape(-1, 2)
    ends = np.sort(hashes[numbers], axis=1)
    return mix(mix(ends[:, 0] ^ mix(np.array([seed], np.uint64))) ^ ends[:, 1])


class _Counts(NamedTuple):
    """How many pairs a stratum has; of how many a person could tell, or not; how many are right."""

    pairs: int
    judged: int
    right: int
    skipped: int

    @classmethod
    def of(cls, stratum: Sequence[Pair], labels: Mapping[Pair, str]) -> "_Counts":
        """Count the judgements up to the first pair that was not judged.

        Those behind it were judged for another stratum: with them, the sample would not be random.
        """
        known = list(takewhile(bool, map(labels.get, stratum)))
        skipped = known.count(SKIP)
        return cls(len(stratum), len(known) - skipped, known.count(YES), skipped)


def _draw(strata: Sequence[_Counts], random: np.random.Generator) -> tuple[Array, Array]:
    """Draw 10,000 times how many pairs of each stratum are right, and how many count.

    Shape (10000, n) each. The share of right pairs is drawn from Beta(right + 1/2, wrong + 1/2), as
    Jeffreys' prior has it; of the pairs that were not judged, that share is right. Pairs of which
    nobody can tell do not count; there are as many of them as among the judged. A pair that is
    farther apart is no more likely a near-duplicate, so strata whose judgements contradict that, or
    are too few to tell, are taken together.
    """
    right, counting = np.zeros((2, _DRAWS, len(strata)))
    for block in _pooled(strata):
        judged, sure, skipped = (sum(strata[i][column] for i in block) for column in (1, 2, 3))
        share = random.beta(sure + 0.5, judged - sure + 0.5, _DRAWS)
        telling = random.beta(judged + 0.5, skipped, _DRAWS) if skipped else np.ones(_DRAWS)
        for number in block:
            counts = strata[number]
            unseen = counts.pairs - counts.judged - counts.skipped
            more = random.binomial(unseen, telling)
            counting[:, number] = counts.judged + more
            right[:, number] = counts.right + random.binomial(more, share)
    return right, counting


def _shares(parts: Array, wholes: Array) -> Array:
    """Return *parts* of *wholes*; all of nothing is 1."""
    return np.divide(parts, wholes, out=np.ones(len(wholes)), where=wholes > 0)


def _pooled(strata: Sequence[_Counts]) -> list[list[int]]:
    """Return the numbers of the strata in blocks whose shares of right pairs decrease.

    Source: Ayer et al., "An Empirical Distribution Function for Sampling with Incomplete
    Information", Annals of Mathematical Statistics 26, 1955 (pool adjacent violators).
    """
    blocks: list[tuple[list[int], int, int]] = []
    for number, (_, judged, right, _) in enumerate(strata):
        block = [number]
        # Of fractions right / judged; one without judgements is like the one before it.
        while blocks and right * blocks[-1][2] >= blocks[-1][1] * judged:
            before, more_right, more_judged = blocks.pop()
            block, right, judged = before + block, right + more_right, judged + more_judged
        blocks.append((block, right, judged))
    return [block for block, _, _ in blocks]
