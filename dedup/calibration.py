"""Judged pairs of pages -> precision and recall of methods at every threshold, with bounds.

No labelled collection is needed. The pairs that a method finds within a generous distance are
divided into strata by their distance, and a person judges a random sample of each stratum.

All pairs have one random order, which does not depend on the methods. The first pairs of each
stratum in that order are judged. So the judged pairs are a random sample of every stratum of every
method, and one answer serves all methods that find the pair.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, takewhile
from typing import Any, NamedTuple

import numpy as np

from dedup.methods.base import Method
from dedup.methods.hashing import PLAIN, Hashing, mix
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

    *strata* maps each threshold to the pairs within it that are not within the one before;
    *max_distance* is the last threshold.
    """

    method: Method
    strata: dict[float, list[Pair]]

    @property
    def max_distance(self) -> float:
        return max(self.strata)

    def pairs_within(self, threshold: float) -> list[Pair]:
        nearer = (pairs for most, pairs in self.strata.items() if most <= threshold)
        return list(chain.from_iterable(nearer))


def find_candidates(
    kind: type[Method],
    arguments: Mapping[str, Any],
    documents: Sequence[Document],
    progress: Callable[[], object] = lambda: None,
    hashing: Hashing = PLAIN,
) -> Candidates:
    """Find the pairs of *documents* within a generous distance by the method of the class *kind*.

    That distance is the *max_distance* of the arguments. Otherwise it is the largest one of the
    method's `sweep` before most pairs are alike by chance. *progress* is called for every page;
    *hashing*: see `Method`.
    """
    method = kind(**arguments)
    thresholds = [method.max_distance]
    swept = kind.sweep[1] if kind.sweep[0] == "max_distance" else ()
    has_limit = "max_distance" in arguments or not swept
    if swept:
        nearer = [value for value in swept if value < method.max_distance]
        thresholds = [*nearer, method.max_distance] if has_limit else list(swept)
        method = kind(**{**arguments, "max_distance": thresholds[-1]})
    method = method.with_hashing(hashing)
    sketches = [method.sketch(document) for document in documents]
    index = index_for(method)
    strata: list[list[Pair]] = [[] for _ in thresholds]
    order = order_to_compare(method, documents)
    for place, number in enumerate(order):
        if (sketch := sketches[number]) is not None:
            for match in index.query_all(sketch):
                pair = min(match.page, number), max(match.page, number)
                strata[bisect_left(thresholds, match.distance)].append(pair)
            index.add(sketch, number)
        enough = len(strata) if has_limit else _count_before_chance(strata, len(documents))
        if enough < len(strata):
            del strata[enough:], thresholds[enough:]
            method = kind(**{**arguments, "max_distance": thresholds[-1]}).with_hashing(hashing)
            index = index_for(method)
            for earlier in order[: place + 1]:
                if sketches[earlier] is not None:
                    index.add(sketches[earlier], earlier)
        progress()
    return Candidates(method, dict(zip(thresholds, strata, strict=True)))


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
        """Count the answers before the first pair without one.

        Later pairs were answered for another stratum; with them, the sample would not be random.
        """
        answers = list(takewhile(bool, map(labels.get, pairs)))
        judged = len(answers) - answers.count(SKIP)
        return cls(threshold, len(pairs), len(answers), judged, answers.count(YES))

    def joined(self, beyond: "_Stratum") -> "_Stratum":
        return _Stratum(beyond.threshold, *map(sum, zip(self[1:], beyond[1:], strict=True)))

    @property
    def weight(self) -> float:
        """How many pairs count: not those of which nobody can tell."""
        return self.pairs * (self.judged / self.answered if self.answered else 1.0)


class Calibration:
    """Chooses the pairs to judge, and estimates precision and recall from the answers."""

    def __init__(
        self, keys: Sequence[str], candidates: Sequence[Candidates], seed: int = 0
    ) -> None:
        """Create the calibration of methods by their *candidates* among the same pages.

        *keys*: those of the pages. *seed* selects the random order of the pairs, which does not
        depend on the order of the pages.
        """
        self.candidates = list(candidates)
        self.pairs = dict.fromkeys(pair for stratum in self._strata() for pair in stratum)
        """The pairs that any method finds, each once."""
        places = _random_places(keys, list(self.pairs), seed)
        self._place = dict(zip(self.pairs, places, strict=True))
        for stratum in self._strata():
            stratum.sort(key=self._place.__getitem__)

    def _strata(self) -> Iterator[list[Pair]]:
        for candidates in self.candidates:
            yield from candidates.strata.values()

    def sample(self, count: int) -> list[Pair]:
        """Return *count* pairs to judge, or all pairs if there are fewer.

        The number of pairs from a stratum is proportional to the square root of its size: large
        strata decide on recall, small ones on the threshold. The strata take turns, so that a
        person who stops early has judged some pairs of each. A larger *count* extends the sample.
        """
        turns: dict[Pair, float] = {}
        for stratum in self._strata():
            for number, pair in enumerate(stratum):
                turn = (number + 0.5) / math.sqrt(len(stratum))
                turns[pair] = min(turn, turns.get(pair, turn))
        return sorted(turns, key=lambda pair: (turns[pair], self._place[pair]))[:count]

    def steps(self, candidates: Candidates, labels: Mapping[Pair, str]) -> list[Step]:
        """Return the results of a method at each threshold that adds a pair that was judged.

        Recall counts the near-duplicates among all pairs that any method finds.
        """
        own = _strata_of(candidates.strata.items(), labels)
        unseen = ((math.inf, pairs) for pairs in self._strata_of_others(candidates))
        others = _strata_of(unseen, labels)
        return [_step(own[:number], own[number:] + others) for number in range(1, len(own) + 1)]

    def _strata_of_others(self, candidates: Candidates) -> Iterator[list[Pair]]:
        """Yield the strata of the other methods without the pairs of *candidates*.

        A pair stays only in the stratum of the first method that finds it.
        """
        known = set(chain.from_iterable(candidates.strata.values()))
        for other in self.candidates:
            if other is not candidates:
                for stratum in other.strata.values():
                    yield [pair for pair in stratum if pair not in known]
                known.update(chain.from_iterable(other.strata.values()))


def _strata_of(
    strata: Iterable[tuple[float, Sequence[Pair]]], labels: Mapping[Pair, str]
) -> list[_Stratum]:
    """Return the strata that have pairs, by their thresholds.

    Strata of which nobody has judged a pair are one with the next that was judged, as no nearer
    pairs are less alike; the last of all with the one before.
    """
    found: list[_Stratum] = []
    for stratum in (_Stratum.of(most, pairs, labels) for most, pairs in strata if pairs):
        if found and not found[-1].judged:
            stratum = found.pop().joined(stratum)
        found.append(stratum)
    if len(found) > 1 and not found[-1].judged:
        last = found.pop()
        found.append(found.pop().joined(last))
    return found


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


def _random_places(keys: Sequence[str], pairs: Sequence[Pair], seed: int) -> list[int]:
    """Return the place of each pair in a random order; ties do not matter."""
    hashes = PLAIN.feature_hashes(keys)
    ends = np.sort(hashes[np.array(pairs, np.int64).reshape(-1, 2)], axis=1)
    places: list[int] = mix(
        mix(ends[:, 0] ^ mix(np.array([seed], np.uint64))) ^ ends[:, 1]
    ).tolist()
    return places
