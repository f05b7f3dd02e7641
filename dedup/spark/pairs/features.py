"""Which sketches may match, since they share a rare feature."""

import numpy as np

from dedup.arrays import run_positions_in_parts
from dedup.methods.base import FeatureSets
from dedup.spark.pairs.pairs import DistinctPairs, Pairs


def pairs_by_features(features: FeatureSets, first: int, most: int) -> Pairs | None:
    """Return the pairs from *first* on that may match by their *features*, each once.

    Of the sketch of a pair that has fewer features, the other one has one of the rarest: those that
    are more than it may lack, less one. Returns ``None`` if these pairs are over *most*, or if they
    are met more often than half of all pairs are.

    Source: Chaudhuri, Ganti, Kaushik, "A Primitive Operator for Similarity Joins in Data Cleaning",
    ICDE 2006 (the prefix filter).
    """
    counts = features.counts
    owners = np.repeat(np.arange(len(counts)), counts)
    _, which, totals = np.unique(features.values, return_inverse=True, return_counts=True)
    rarest_first = np.lexsort((which, totals[which], owners))
    ranks = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    asks = ranks < np.repeat(counts - features.least + 1, counts)
    asking = rarest_first[asks]
    sizes = totals[which[asking]]
    if sizes.sum() > len(counts) ** 2 // 4:
        return None
    members = owners[np.argsort(which, kind="stable")]
    starts = (np.cumsum(totals) - totals)[which[asking]]
    found = DistinctPairs(most)
    for number, places in run_positions_in_parts(starts, sizes):
        ones, others = owners[asking[number]], members[places]
        may = (counts[ones] <= counts[others]) & (ones != others)
        may &= (ones >= first) & (others >= first)
        found.add([Pairs(ones[may], others[may])])
        if found.are_too_many:
            break
    return found.pairs()
