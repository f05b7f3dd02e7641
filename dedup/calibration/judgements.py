"""Answers of a person about pairs of pages."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

YES, NO, SKIP = "yes", "no", "skip"
LABELS = (YES, NO, SKIP)
Pair = tuple[int, int]
"""Numbers of two pages, the lower first."""


class Counts(NamedTuple):
    """The answers about a stratum.

    *pairs*: the size of the stratum. *judged*: the pairs answered with yes or no. *right*: those
    answered with yes. *skipped*: those answered with skip.
    """

    pairs: int
    judged: int
    right: int
    skipped: int

    @classmethod
    def of(cls, stratum: Sequence[Pair], labels: Mapping[Pair, str]) -> "Counts":
        """Count the answers before the first pair without one.

        Later pairs were answered for another stratum; with them, the sample would not be random.
        """
        answers = list(takewhile(bool, map(labels.get, stratum)))
        skipped = answers.count(SKIP)
        return cls(len(stratum), len(answers) - skipped, answers.count(YES), skipped)
