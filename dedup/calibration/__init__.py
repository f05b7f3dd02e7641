"""Judged pairs of pages -> precision and recall of methods at every threshold, with intervals.

No labelled collection is needed. The pairs that a method finds within a generous distance are
divided into strata by their distance, and a person judges a random sample of each stratum. The
share of near-duplicates in a stratum follows from these answers with some uncertainty, and so do
precision and recall at every threshold.

All pairs have one random order, which does not depend on the methods. The first pairs of each
stratum in that order are judged. So the judged pairs are a random sample of every stratum of every
method, and one answer serves all methods that find the pair.
"""

from dedup.calibration.calibration import Calibration, Estimate, Step, recommend
from dedup.calibration.candidates import Candidates, find_candidates, thresholds_of
from dedup.calibration.judgements import LABELS, NO, SKIP, YES, Pair

__all__ = [
    "LABELS",
    "NO",
    "SKIP",
    "YES",
    "Calibration",
    "Candidates",
    "Estimate",
    "Pair",
    "Step",
    "find_candidates",
    "recommend",
    "thresholds_of",
]
