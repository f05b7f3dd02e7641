"""Judged pairs of pages -> precision and recall of a method at every threshold, with bounds.

No labelled collection is needed. The pairs that a method finds within a generous distance are
divided into strata by their distance, and a person judges a random sample of each stratum: its
first pairs in one random order of all pairs.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from dedup.methods.base import Method
from dedup.methods.hashing import PLAIN, Hashing, mix
from dedup.plugins import MethodChoice
from dedup.search import Pair, index_for, order_to_compare
from dedup.text import Document
from dedup.units import ratio
from dedup.wilson import wilson

YES, NO, SKIP = "yes", "no", "skip"
ANSWERS = (YES, NO, SKIP)
PRECISION = 0.95
"""The expected precision of a threshold that is recommended."""
# Once there are this many pairs, a threshold that adds more than half as many pairs again finds
# mostly pairs that are alike by chance.
_PAGES_PER_PAIR = 20
_FEW_PAIRS = 50


@dataclass(frozen=True)
class Candidates:
    """The pairs that *method* finds, in strata by their distance.

    *strata* maps each threshold to the pairs within it that are not within the one before, in a
    random order, which depends on their keys only. The last threshold is that of *method*.
    """

    method: Method
    strata: dict[float, list[Pair]]

    def pairs(self, threshold: float = math.inf) -> list[Pair]:
        """Return those within a *threshold*, the nearest first."""
        return [pair for most, pairs in self.strata.items() if most <= threshold for pair in pairs]

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
        strata: list[_Stratum] = []
        for threshold, pairs in self.strata.items():
            # After the first pair without an answer, the others are no random sample.
            answers = list(takewhile(bool, map(labels.get, pairs)))
            if pairs:
                judged = len(answers) - answers.count(SKIP)
                strata.append((threshold, len(pairs), judged, answers.count(YES)))
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
    one of the method's `sweep` before most pairs are alike by chance, its own at least.
    *progress* is called for every page; *hashing*: see `Method`.
    """
    method, has_limit = choice.method(), "max_distance" in choice.arguments
    methods = choice.sweep() if choice.kind.sweep[0] == "max_distance" else [method]
    if has_limit:
        methods = [*(one for one in methods if one.max_distance < method.max_distance), method]
    thresholds = [one.max_distance for one in methods]
    least = bisect_left(thresholds, method.max_distance) + 1
    method = methods[-1].with_hashing(hashing)
    sketches = method.sketches(documents)
    index = index_for(method)
    strata: list[list[Pair]] = [[] for _ in thresholds]
    for number in order_to_compare(method, documents):
        sketch = sketches[number]
        if method.sketch_bytes(documents[number], sketch) is not None:
            for match in index.query_all(sketch):
                if match.distance <= thresholds[-1]:
                    pair = min(match.page, number), max(match.page, number)
                    strata[bisect_left(thresholds, match.distance)].append(pair)
            index.add(sketch, number)
        if not has_limit:
            enough = _count_before_chance(strata, len(documents), least)
            del strata[enough:], thresholds[enough:], methods[enough:]
        progress()
    shuffled = [shuffle(pairs, keys) for pairs in strata]
    return Candidates(
        methods[-1].with_hashing(hashing), dict(zip(thresholds, shuffled, strict=True))
    )


def _count_before_chance(strata: Sequence[Sequence[Pair]], pages: int, least: int) -> int:
    """Return the number of strata before pairs are mostly alike by chance; at least *least*."""
    nearer, enough = 0, max(_FEW_PAIRS, pages / _PAGES_PER_PAIR)
    for number, stratum in enumerate(strata):
        if number >= least and nearer >= enough and len(stratum) > nearer / 2:
            return number
        nearer += len(stratum)
    return len(strata)


class Estimate(NamedTuple):
    """A share from 0 to 1 with its 95 % bounds."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} ({self.low:.2f} to {self.high:.2f})"


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


_Stratum = tuple[float, int, int, int]
"""The first four fields of a `Step`, which only the pairs of a stratum tell."""


def _step(within: Sequence[_Stratum], beyond: Sequence[_Stratum]) -> Step:
    precision, missed = _estimate(within), _estimate(beyond)
    pairs, rest = (sum(pairs for _, pairs, *_ in strata) for strata in (within, beyond))
    recall = Estimate(
        _recall(pairs * precision.mean, rest * missed.mean),
        _recall(pairs * precision.low, rest * missed.high),
        _recall(pairs * precision.high, rest * missed.low),
    )
    return Step(*within[-1], pairs * precision.mean, precision, recall)


def _recall(found: float, missed: float) -> float:
    return ratio(found, found + missed)


def _estimate(strata: Sequence[_Stratum]) -> Estimate:
    """Return the share of near-duplicates among the pairs of *strata*.

    The bounds are those of a simple sample with the variance of the stratified one, in which the
    shares of samples are smoothed: a few answers that are all yes do not say that all pairs are.
    Pairs in strata of which none was judged may be anything; the mean takes them for no
    near-duplicates.

    Source: Cochran, "Sampling Techniques", 1977, section 5.6; Agresti, Coull, "Approximate Is
    Better than \"Exact\"", American Statistician 52, 1998 (the smoothing).
    """
    total = sum(pairs for _, pairs, *_ in strata)
    mean = smooth = variance = unknown = 0.0
    for _, pairs, judged, right in strata:
        weight = pairs / total
        if not judged:
            unknown += weight
            continue
        share = (right + 1) / (judged + 2)
        mean += weight * right / judged
        smooth += weight * share
        variance += weight**2 * (1 - judged / pairs) * share * (1 - share) / judged
    known = 1 - unknown
    if not known or not total:
        return Estimate(0.0, 0.0, unknown)
    count = smooth * (known - smooth) / variance if variance else math.inf
    low, high = wilson(mean / known, count)
    return Estimate(mean, low * known, high * known + unknown)


def recommend(steps: Sequence[Step]) -> Step | None:
    """Return the largest threshold's step with an expected precision of `PRECISION`, if any."""
    good = [step for step in steps if step.precision.mean >= PRECISION]
    return good[-1] if good else None


def shuffle(pairs: Sequence[Pair], keys: Sequence[str]) -> list[Pair]:
    """Return *pairs* in a random order, which depends on the keys of their pages only."""
    hashes = PLAIN.feature_hashes([keys[number] for pair in pairs for number in pair])
    ends = np.sort(hashes.reshape(-1, 2), axis=1)
    places = mix(mix(ends[:, 0] ^ mix(np.zeros(1, np.uint64))) ^ ends[:, 1]).tolist()
    return [pair for _, pair in sorted(zip(places, pairs, strict=True))]
