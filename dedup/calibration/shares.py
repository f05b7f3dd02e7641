"""Answers about some pairs of each stratum -> random draws of the share of near-duplicates."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from dedup.arrays import Array
from dedup.calibration.judgements import Counts

_DRAWS = 10_000
_THIRD = 1 / 3
# The fewest and the most steps of the grid of shares.
_STEPS = (200, 1000)
# Logarithms of weights within this range share one factor; a float holds more than twice the range.
_RANGE = 300


def draw_right(strata: Sequence[Counts], random: np.random.Generator) -> tuple[Array, Array]:
    """Draw 10,000 times how many pairs of each stratum are right, and how many count.

    Shape (10000, n) each. `draw_shares` draws the share of right pairs among those without an
    answer, given the answers about all strata together. Of the pairs that are not right, all count
    if no pair was skipped; otherwise the share that counts is drawn from
    Beta(wrong + 1/3, skipped + 1/3).
    """
    right, counting = np.zeros((2, _DRAWS, len(strata)))
    has_skipped = any(counts.skipped for counts in strata)
    for number, shares in draw_shares(strata, random):
        pairs, judged, sure, skipped = strata[number]
        more = random.binomial(pairs - judged - skipped, shares)
        countable = np.ones(_DRAWS)
        if has_skipped:
            countable = random.beta(judged - sure + _THIRD, skipped + _THIRD, _DRAWS)
        wrong = random.binomial(pairs - judged - skipped - more, countable)
        right[:, number] = sure + more
        counting[:, number] = judged + more + wrong
    return right, counting


def draw_shares(
    strata: Sequence[Counts], random: np.random.Generator
) -> Iterator[tuple[int, Array]]:
    """Yield the number of each stratum with pairs, and 10,000 draws of its share of right pairs.

    Pairs farther apart are not more likely to be near-duplicates, so no share exceeds the one
    before it. The shares fall from 1 to 0 in steps: before the first stratum, between strata, and
    after the last one. The prior of these steps is a Dirichlet distribution: 1/3 for the first
    step, 1/3 for the last one, and 1/3 for all others together. So the prior weighs as much as one
    answer, however many strata there are. For a single stratum it is Beta(1/3, 1/3), whose median
    is neutral. Skipped pairs are not right.

    The draws are independent, and exact except for the grid of shares. The likelihood of the
    farther strata is passed from the last stratum back to the first; then the shares are drawn from
    the first to the last. Likelihoods are logarithms, since answers that contradict the order may
    be less likely than the smallest float.

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
    # A row for each share of the stratum before, and one for the start at 1.
    falls = np.vstack(
        (
            _falls((edges[:-1] + edges[1:]) / 2, edges, between),
            _falls(np.ones(1), edges, _THIRD),
        )
    )
    rows = np.arange(len(grid))
    log_weights: list[Array] = []
    log_weight = np.log(np.diff(edges**_THIRD) / np.diff(edges))  # of the last step
    for number in reversed(numbers):
        log_weight = log_weight + _log_likelihood(strata[number], grid)
        log_weights.append(log_weight)
        weights, log_factors = _apply_weights(falls, rows, log_weight)
        log_weight = np.log(weights.sum(axis=1)) + log_factors
    places = np.full(_DRAWS, len(grid))
    # The position of a share within its cell. It is the same in all strata, so that no share
    # exceeds the one before.
    offsets = random.random(_DRAWS) - 0.5
    for number, log_weight in zip(numbers, reversed(log_weights), strict=True):
        rows, row = np.unique(places, return_inverse=True)
        sums = np.cumsum(_apply_weights(falls, rows, log_weight)[0], axis=1)
        # The rows follow each other, so that one search serves all of them.
        bounds = sums / sums[:, -1:] + np.arange(len(rows))[:, np.newaxis]
        hits = np.searchsorted(bounds.ravel(), row + random.random(_DRAWS), side="right")
        # Rounding may move a hit to the next row.
        places = np.minimum(hits - row * len(grid), np.minimum(places, len(grid) - 1))
        yield number, _shares_at(places + offsets, steps)


def _steps(answers: int) -> int:
    """Return a number of grid steps from 0 to 1 that suits the uncertainty of *answers*.

    In the arcsine of the square root, the standard deviation of a share is 1 / (2 sqrt(answers)),
    whatever the share. That is two steps; more if there are few answers, and less from some 25,000
    answers on.
    """
    return int(np.clip(math.tau * math.sqrt(answers), *_STEPS))


def _shares_at(places: Array, steps: int) -> Array:
    """Return the shares at *places* of a grid that is even in the arcsine of the square root."""
    shares: Array = np.sin(np.clip(places / steps, 0, 1) * (math.pi / 2)) ** 2
    return shares


def _falls(origins: Array, edges: Array, prior: float) -> Array:
    """Return the prior probability, up to a factor, that a share falls from an origin to a cell.

    Shape (origins, cells). It is the integral of fall ** (prior - 1) over the cell.
    """
    falls: Array = np.maximum(origins[:, np.newaxis] - edges, 0) ** prior
    return -np.diff(falls, axis=1)


def _apply_weights(falls: Array, rows: Array, log_weight: Array) -> tuple[Array, Array]:
    """Return *rows* of *falls* times the weights, each row divided by a factor, and log factors.

    The factor of a row is about the largest weight that it can reach, so no row is all 0.
    """
    largest = np.maximum.accumulate(log_weight)[np.minimum(rows, len(log_weight) - 1)]
    # There are few different factors, so most rows share the exponentials, which are slow.
    factors, factor = np.unique(np.ceil(largest / _RANGE) * _RANGE, return_inverse=True)
    weights = np.exp(np.minimum(log_weight - factors[:, np.newaxis], 0))
    return falls[rows] * weights[factor], factors[factor]


def _log_likelihood(counts: Counts, shares: Array) -> Array:
    """Return the log-likelihood of the answers, up to a constant, if these *shares* are right."""
    least = np.finfo(float).tiny  # instead of 0, whose logarithm is infinite
    others = counts.judged - counts.right + counts.skipped
    log: Array = counts.right * np.log(np.maximum(shares, least))
    log += others * np.log(np.maximum(1 - shares, least))
    return log
