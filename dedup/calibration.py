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
from itertools import accumulate, takewhile
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from dedup.index.base import Index
from dedup.methods import Method
from dedup.methods.hashing import PLAIN, Array, Hashing, mix
from dedup.search import index_for
from dedup.text import Document

YES, NO, SKIP = "yes", "no", "skip"
LABELS = (YES, NO, SKIP)
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""

_DRAWS = 10_000
_INTERVAL = (0.025, 0.975)
_THIRD = 1 / 3
# The fewest and the most steps between the shares that are weighed.
_STEPS = (200, 1000)
# Of the logarithms of weights that are computed with as one: a float holds more than twice that.
_RANGE = 300
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
    hashing: Hashing = PLAIN,
) -> Candidates:
    """Find the pairs of *documents* within a generous distance by the method of the class *kind*.

    It is the *max_distance* of the arguments, or the largest one of the method's `sweep`, short of
    the distances at which most pairs are alike by chance. *progress* is called for every page;
    *hashing*: see `Method`.
    """
    thresholds = thresholds_of(kind, arguments)
    is_limited = "max_distance" in arguments
    method = _with_threshold(kind, arguments, thresholds[-1]).with_hashing(hashing)
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
        left_over = [_Counts.of(stratum, labels) for stratum in self._left_over(candidates)]
        others = _draw(left_over, random)[0].sum(axis=1)
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

    def _left_over(self, candidates: Candidates) -> list[list[Pair]]:
        """Return the strata that the other methods find without the pairs of *candidates*.

        A pair is in the stratum of the first method that finds it. They are in one order, from the
        nearest stratum of each method to its farthest: distances of two methods do not compare, but
        each goes from equal pages to those that are alike by chance.
        """
        seen = {pair for stratum in candidates.strata.values() for pair in stratum}
        ranked: list[tuple[float, list[Pair]]] = []
        for other in self.candidates:
            if other is not candidates:
                for number, stratum in enumerate(other.strata.values(), 1):
                    left = [pair for pair in stratum if pair not in seen]
                    ranked.append((number / len(other.strata), left))
                seen.update(pair for stratum in other.strata.values() for pair in stratum)
        return [left for _, left in sorted(ranked, key=itemgetter(0))]


def recommended(steps: Sequence[Step], precision: float) -> Step | None:
    """Return the step of the largest threshold with at least that expected *precision*, if any.

    Up to it, some pair must have been judged a near-duplicate.
    """
    right = list(accumulate(step.right for step in steps))
    return next(
        (
            step
            for step, found in zip(reversed(steps), reversed(right), strict=True)
            if found and step.precision.mean >= precision
        ),
        None,
    )


def _places(keys: Sequence[str], pairs: Sequence[Pair], seed: int) -> Array:
    """Return the place of each pair in a random order, shape (n,), uint64: ties are no concern."""
    hashes = PLAIN.feature_hashes(keys, len(keys))
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

    Shape (10000, n) each. Of the pairs that were not judged, a share is right that is drawn from
    what the answers say of all strata together (`_shares_of_right`). Of those that are not right,
    as many do not count as nobody could tell among the judged: none, if none was skipped, else the
    share that counts is drawn from Beta(wrong + 1/3, skipped + 1/3).
    """
    right, counting = np.zeros((2, _DRAWS, len(strata)))
    is_skipped = any(counts.skipped for counts in strata)
    for number, shares in _shares_of_right(strata, random):
        pairs, judged, sure, skipped = strata[number]
        more = random.binomial(pairs - judged - skipped, shares)
        telling = np.ones(_DRAWS)
        if is_skipped:
            telling = random.beta(judged - sure + _THIRD, skipped + _THIRD, _DRAWS)
        wrong = random.binomial(pairs - judged - skipped - more, telling)
        right[:, number] = sure + more
        counting[:, number] = judged + more + wrong
    return right, counting


def _shares_of_right(
    strata: Sequence[_Counts], random: np.random.Generator
) -> Iterator[tuple[int, Array]]:
    """Yield the number of each stratum with pairs, and 10,000 draws of its share of right pairs.

    A pair that is farther apart is no more likely a near-duplicate, so no share is above the one
    before it. What they fall by from 1, from stratum to stratum, and what is left at the end, has
    the prior of Dirichlet: 1/3 before the first stratum, 1/3 behind the last one, 1/3 for all
    between them. So it weighs as much as one answer, however many strata there are, and that of a
    single one is Beta(1/3, 1/3), whose median is neutral. Skipped pairs are not right.

    The draws are independent, and exact but for the steps between the shares: the likelihood of
    what is farther is passed on from the last stratum to the first, then the shares are drawn from
    the first to the last. It is passed on in logarithms: answers that contradict the order may be
    less likely than the smallest float.

    Source: Ramsey, "A Bayesian Approach to Bioassay", Biometrics 28, 1972 (the prior); Kerman,
    "Neutral Noninformative and Informative Conjugate Beta and Gamma Prior Distributions",
    Electronic Journal of Statistics 5, 2011 (the thirds); Scott, "Bayesian Methods for Hidden
    Markov Models", JASA 97, 2002, section 2.1 (the drawing).
    """
    numbers = [number for number, counts in enumerate(strata) if counts.pairs]
    steps = _steps(sum(counts.judged + counts.skipped for counts in strata))
    grid = _shares_at(np.arange(steps + 1), steps)
    edges = _shares_at(np.arange(steps + 2) - 0.5, steps)
    between = _THIRD / max(len(numbers) - 1, 1)
    # A row for each share before, and one for the start from 1.
    falls = np.vstack(
        (
            _falls((edges[:-1] + edges[1:]) / 2, edges, between),
            _falls(np.ones(1), edges, _THIRD),
        )
    )
    rows = np.arange(len(grid))
    farther: list[Array] = []
    log_weight = np.log(np.diff(edges**_THIRD) / np.diff(edges))  # of what is left at the end
    for number in reversed(numbers):
        log_weight = log_weight + _log_likelihood(strata[number], grid)
        farther.append(log_weight)
        weighted, log_factors = _weighted(falls, rows, log_weight)
        log_weight = np.log(weighted.sum(axis=1)) + log_factors
    places = np.full(_DRAWS, len(grid))
    # Where in its cell a share is: at one place in all strata, so none is above the one before.
    offsets = random.random(_DRAWS) - 0.5
    for number, log_weight in zip(numbers, reversed(farther), strict=True):
        rows, row = np.unique(places, return_inverse=True)
        sums = np.cumsum(_weighted(falls, rows, log_weight)[0], axis=1)
        # One row behind the other, so that one search does.
        bounds = sums / sums[:, -1:] + np.arange(len(rows))[:, np.newaxis]
        found = np.searchsorted(bounds.ravel(), row + random.random(_DRAWS), side="right")
        # The sum may be rounded up to the next row.
        places = np.minimum(found - row * len(grid), np.minimum(places, len(grid) - 1))
        yield number, _shares_at(places + offsets, steps)


def _steps(answers: int) -> int:
    """Return the number of steps from 0 to 1 that are as fine as *answers* need.

    A standard deviation of what they leave open is 1 / (2 sqrt(answers)) in the arcsine of the
    square root, whatever the share: it is two steps, or more if they are few, and less from some
    25,000 on.
    """
    return int(np.clip(math.tau * math.sqrt(answers), *_STEPS))


def _shares_at(places: Array, steps: int) -> Array:
    """Return the shares after so many of the *steps*, equal in the arcsine of the square root."""
    shares: Array = np.sin(np.clip(places / steps, 0, 1) * (math.pi / 2)) ** 2
    return shares


def _falls(origins: Array, edges: Array, prior: float) -> Array:
    """Return how likely, but for a factor, a share falls from an origin to a cell with this prior.

    Shape (origins, cells). It is the integral of fall ** (prior - 1) over the cell.
    """
    falls: Array = np.maximum(origins[:, np.newaxis] - edges, 0) ** prior
    return -np.diff(falls, axis=1)


def _weighted(falls: Array, rows: Array, log_weight: Array) -> tuple[Array, Array]:
    """Return these *rows* of the falls by the weights, each divided by a factor; its logarithm.

    The factor of a row is about the largest weight that it can fall to, so no row is all 0.
    """
    largest = np.maximum.accumulate(log_weight)[np.minimum(rows, len(log_weight) - 1)]
    # Few different ones: most rows share the exponentials, which take the time.
    factors, factor = np.unique(np.ceil(largest / _RANGE) * _RANGE, return_inverse=True)
    weights = np.exp(np.minimum(log_weight - factors[:, np.newaxis], 0))
    return falls[rows] * weights[factor], factors[factor]


def _log_likelihood(counts: _Counts, shares: Array) -> Array:
    """Return how likely, but for a factor, the answers are if these shares are right."""
    least = np.finfo(float).tiny  # in place of 0, whose logarithm is infinite
    others = counts.judged - counts.right + counts.skipped
    log: Array = counts.right * np.log(np.maximum(shares, least))
    log += others * np.log(np.maximum(1 - shares, least))
    return log


def _shares(parts: Array, wholes: Array) -> Array:
    """Return *parts* of *wholes*; all of nothing is 1."""
    return np.divide(parts, wholes, out=np.ones(len(wholes)), where=wholes > 0)
