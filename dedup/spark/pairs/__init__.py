"""Which members of a run are to be compared, and which fingerprints of it are near: arrays only.

A run is what shares a key; its members are known by their positions, the earliest first.
"""

from dedup.spark.pairs.candidates import Candidates
from dedup.spark.pairs.fingerprints import near_in_short_runs, near_pairs
from dedup.spark.pairs.groups import Groups
from dedup.spark.pairs.pairs import SHORT, Pairs, all_pairs

__all__ = [
    "SHORT",
    "Candidates",
    "Groups",
    "Pairs",
    "all_pairs",
    "near_in_short_runs",
    "near_pairs",
]
