"""Judged pairs of pages -> precision and recall of a method at every threshold, with bounds.

No labelled collection is needed. The pairs that a method finds within a generous distance are
divided into strata by their distance, and a person judges a random sample of each stratum: its
first pairs in one random order of all pairs.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, takewhile
from typing import NamedTuple

import numpy as np

from dedup.methods.base import Method
from dedup.methods.hashing import PLAIN, Hashing, mix
from dedup.plugins import MethodChoice
from dedup.search import index_for, order_to_compare
from dedup.text import Document
from dedup.wilson import wilson

YES, NO, SKIP = "yes", "no", "skip"
LABELS = (YES, NO, SKIP)
PRECISION = 0.95
"""The expected precision of a threshold that is recommended."""
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""
# Once there are this many pairs, a threshold that adds more than half as many pairs again finds
# mostly pairs that are alike by chance.
_PAGES_PER_PAIR = 20
_FEW_PAIRS = 50


@dataclass(frozen=True)
class Candidates:
    """The pairs that *method* finds, in strata by their distance.

    *strata* maps each threshold to the pairs within it that are not within the one before, in a
    random order, which depends on their keys only; *max_distance* is the last threshold.
    """

    method: Method
    strata: dict[float, list[Pair]]

    @property
    def max_distance(self) -> float:
        return max(self.strata)

    @property
    def pairs(self) -> list[Pair]:
        """All of them, the nearest first."""
        return self.pairs_within(self.max_distance)

    def pairs_within(self, threshold: float) -> list[Pair]:
        nearer = (pairs for most, pairs in self.strata.items() if most <= threshold)
        return list(chain.from_iterable(nearer))

    def sample(self, count: int) -> list[Pair]:
        """Return *count* pairs to judge, or all pairs if there are fewer.

        The number of pairs from a stratum is proportional to the square root of its size: large
        strata decide on recall, small ones on the threshold. The strata take turns, so that a
        person who stops early has judged some pairs of each. A larger *count* extends the sample.
        """
        turns = [
            ((number + 0.5) / math.sqrt(len(pairs)), threshold, pair)
            for threshold, pairs in self.strata.items()
            for number, pair in enumerate(pairs)
        ]
        return [pair for *_, pair in sorted(turns)[:count]]

    def steps(self, labels: Mapping[Pair, str]) -> list["Step"]:
        """Return the results at each threshold that adds a pair.

        Recall counts the near-duplicates among all pairs that the method finds.
        """
        strata = [_Stratum.of(most, pairs, labels) for most, pairs in self.strata.items() if pairs]
        return [_step(strata[:number], strata[number:]) for number in range(1, len(strata) + 1)]


def find_candidates(
    choice: MethodChoice,
    keys: Sequence[str],
    documents: Sequence[Document],
    progress: Callable[[], object] = lambda: None,
    hashing: Hashing = PLAIN,
) -> Candidates:
    """Find the pairs of *documents*, pages with *keys*, within a generous distance by a method.

    That distance is the *max_distance* of the arguments of *choice*. Otherwise it is the largest
    one of the method's `sweep` before most pairs are alike by chance. *progress* is called for
    every page; *hashing*: see `Method`.
    """

    def method_for(threshold: float) -> Method:
        arguments = {**choice.arguments, "max_distance": threshold} if swept else choice.arguments
        return choice.kind(**arguments).with_hashing(hashing)

    name, swept = choice.kind.sweep
    if name != "max_distance":
        swept = ()
    method = choice.kind(**choice.arguments).with_hashing(hashing)
    has_limit = "max_distance" in choice.arguments or not swept
    thresholds = [value for value in swept if not has_limit or value < method.max_distance]
    if has_limit:
        thresholds.append(method.max_distance)
    method = method_for(thresholds[-1])
    sketches = method.sketches(documents)
    index = index_for(method)
    strata: list[list[Pair]] = [[] for _ in thresholds]
    order = order_to_compare(method, documents)
    for number in order:
        if (sketch := sketches[number]) is not None:
            for match in index.query_all(sketch):
                if match.distance <= thresholds[-1]:
                    pair = min(match.page, number), max(match.page, number)
                    strata[bisect_left(thresholds, match.distance)].append(pair)
            index.add(sketch, number)
        if not has_limit:
            enough = _count_before_chance(strata, len(documents))
            del strata[enough:], thresholds[enough:]
        progress()
    for pairs in strata:
        _shuffle(pairs, keys)
    return Candidates(method_for(thresholds[-1]), dict(zip(thresholds, strata, strict=True)))


def _count_before_chance(strata: Sequence[Sequence[Pair]], pages: int) -> int:
    """Return the number of strata before pairs are mostly alike by chance; at least 1."""
    nearer, enough = 0, max(_FEW_PAIRS, pages / _PAGES_PER_PAIR)
    for number, stratum in enumerate(strata):
        if nearer >= enough and len(stratum) > nearer / 2:
            return number
        nearer += len(stratum)
    return len(strata)


class Estimate(NamedTuple):
    """A share from 0 to 1 with its 95 % bounds."""

    mean: float
    low: float
    high: float


class Step(NamedTuple):
    """The results of a method at one threshold.

    *pairs*: the pairs within this threshold but not the one before. *judged*: how many of them were
    judged; *right*: how many of these are near-duplicates. *found* (the expected number of
    near-duplicates), *precision* and *recall* are of all pairs up to the threshold.
    """

    threshold: float
    pairs: int
    judged: int
    right: int
    found: float
    precision: Estimate
    recall: Estimate


class _Stratum(NamedTuple):
    """How many *pairs* are in a stratum, and the answers: *judged* is without skips."""

    threshold: float
    pairs: int
    answered: int
    judged: int
    right: int

    @classmethod
    def of(cls, threshold: float, pairs: Sequence[Pair], labels: Mapping[Pair, str]) -> "_Stratum":
        """Count the answers before the first pair without one: the others are no random sample."""
        answers = list(takewhile(bool, map(labels.get, pairs)))
        judged = len(answers) - answers.count(SKIP)
        return cls(threshold, len(pairs), len(answers), judged, answers.count(YES))

    @property
    def weight(self) -> float:
        """How many pairs count: not those of which nobody can tell."""
        return self.pairs * (self.judged / self.answered if self.answered else 1.0)


def _step(within: Sequence[_Stratum], beyond: Sequence[_Stratum]) -> Step:
    precision, missed = _estimate(within), _estimate(beyond)
    pairs, rest = (sum(stratum.weight for stratum in strata) for strata in (within, beyond))
    found = pairs * precision.mean
    recall = Estimate(
        _share(found, rest * missed.mean),
        _share(pairs * precision.low, rest * missed.high),
        _share(pairs * precision.high, rest * missed.low),
    )
    last = within[-1]
    return Step(last.threshold, last.pairs, last.judged, last.right, found, precision, recall)


def _estimate(strata: Sequence[_Stratum]) -> Estimate:
    """Return the share of near-duplicates among the pairs of *strata*.

    The bounds are those of a simple sample with the variance of the stratified one, in which the
    shares of samples are smoothed: a few answers that are all yes do not say that all pairs are.

    Source: Cochran, "Sampling Techniques", 1977, section 5.6; Agresti, Coull, "Approximate Is
    Better than \"Exact\"", American Statistician 52, 1998 (the smoothing).
    """
    pairs = sum(stratum.weight for stratum in strata)
    mean = smooth = variance = unknown = 0.0
    for stratum in strata:
        weight = stratum.weight / (pairs or 1)
        if not stratum.judged:
            unknown += weight
            continue
        share = (stratum.right + 1) / (stratum.judged + 2)
        mean += weight * stratum.right / stratum.judged
        smooth += weight * share
        left = 1 - stratum.answered / stratum.pairs
        variance += weight**2 * left * share * (1 - share) / stratum.judged
    known = 1 - unknown
    if not known or not pairs:
        return Estimate(0.0, 0.0, unknown)
    count = smooth / known * (1 - smooth / known) * known**2 / variance if variance else math.inf
    low, high = wilson(mean / known, count)
    return Estimate(mean, low * known, high * known + unknown)


def _share(part: float, rest: float) -> float:
    return part / (part + rest) if part + rest else 1.0


def recommend(steps: Sequence[Step]) -> Step | None:
    """Return the largest threshold's step with an expected precision of `PRECISION`, if any.

    At least one pair up to that threshold must have been judged a near-duplicate.
    """
    right = list(accumulate(step.right for step in steps))
    good = [
        step
        for step, count in zip(steps, right, strict=True)
        if count and step.precision.mean >= PRECISION
    ]
    return good[-1] if good else None


def _shuffle(pairs: list[Pair], keys: Sequence[str]) -> None:
    """Put *pairs* in a random order, which depends on the keys of their pages only."""
    hashes = PLAIN.feature_hashes([keys[number] for pair in pairs for number in pair])
    ends = np.sort(hashes.reshape(-1, 2), axis=1)
    places = mix(mix(ends[:, 0] ^ mix(np.zeros(1, np.uint64))) ^ ends[:, 1]).tolist()
    pairs[:] = [pair for _, pair in sorted(zip(places, pairs, strict=True))]
