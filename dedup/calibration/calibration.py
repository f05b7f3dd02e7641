"""Which pairs to judge, and what the answers say of the methods."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from dedup.arrays import Array
from dedup.calibration.candidates import Candidates
from dedup.calibration.judgements import Counts, Pair
from dedup.calibration.shares import draw_right
from dedup.methods.hashing import PLAIN, mix

_INTERVAL = (0.025, 0.975)


class Estimate(NamedTuple):
    """A share from 0 to 1 with its 95 % interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: Array) -> "Estimate":
        low, high = np.quantile(draws, _INTERVAL)
        return cls(float(draws.mean()), float(low), float(high))


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
        self._seed = seed
        pairs = list(self.pairs)
        order = dict(zip(pairs, _random_places(keys, pairs, seed).tolist(), strict=True))
        self._place = order
        for stratum in self._strata():
            stratum.sort(key=order.__getitem__)

    @cached_property
    def pairs(self) -> dict[Pair, None]:
        """The pairs that any method finds, each once."""
        return dict.fromkeys(pair for stratum in self._strata() for pair in stratum)

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
        """Return the results of a method at each threshold that adds a pair.

        Recall counts the near-duplicates among all pairs that any method finds.
        """
        random = np.random.default_rng(self._seed)
        own = [Counts.of(stratum, labels) for stratum in candidates.strata.values()]
        right, counting = (np.cumsum(draws, axis=1) for draws in draw_right(own, random))
        rest = [Counts.of(stratum, labels) for stratum in self._other_strata(candidates)]
        others = draw_right(rest, random)[0].sum(axis=1)
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

    def _other_strata(self, candidates: Candidates) -> list[list[Pair]]:
        """Return the strata of the other methods without the pairs of *candidates*.

        A pair stays only in the stratum of the first method that finds it. The strata are sorted by
        their rank within their method, from near to far: the distances of two methods cannot be
        compared, but each range from equal pages to pages that are alike by chance.
        """
        known = {pair for stratum in candidates.strata.values() for pair in stratum}
        strata: list[tuple[float, list[Pair]]] = []
        for other in self.candidates:
            if other is not candidates:
                for number, stratum in enumerate(other.strata.values(), 1):
                    new = [pair for pair in stratum if pair not in known]
                    strata.append((number / len(other.strata), new))
                known.update(pair for stratum in other.strata.values() for pair in stratum)
        return [stratum for _, stratum in sorted(strata, key=itemgetter(0))]


def recommend(steps: Sequence[Step], precision: float) -> Step | None:
    """Return the largest threshold's step with at least this expected *precision*, if any.

    At least one pair up to that threshold must have been judged a near-duplicate.
    """
    right = list(accumulate(step.right for step in steps))
    return next(
        (
            step
            for step, count in zip(reversed(steps), reversed(right), strict=True)
            if count and step.precision.mean >= precision
        ),
        None,
    )


def _random_places(keys: Sequence[str], pairs: Sequence[Pair], seed: int) -> Array:
    """Return the place of each pair in a random order, shape (n,), uint64; ties do not matter."""
    hashes = PLAIN.feature_hashes(keys, len(keys))
    numbers = np.array(pairs, np.int64).reshape(-1, 2)
    ends = np.sort(hashes[numbers], axis=1)
    return mix(mix(ends[:, 0] ^ mix(np.array([seed], np.uint64))) ^ ends[:, 1])


def _shares(parts: Array, wholes: Array) -> Array:
    """Return *parts* divided by *wholes*; 1 where both are 0."""
    return np.divide(parts, wholes, out=np.ones(len(wholes)), where=wholes > 0)
