"""Sets that have much in common share one of their rarest features."""

from itertools import combinations

import numpy as np
from hot_runs import as_set
from hypothesis import given
from hypothesis import strategies as st

from dedup.methods.base import FeatureSets
from dedup.spark.pairs.features import pairs_by_features

SETS = st.lists(st.sets(st.integers(0, 12), min_size=1), min_size=1, max_size=40)


@given(sets=SETS, share=st.sampled_from([0.1, 0.5, 0.8, 1.0]), first=st.integers(0, 3))
def test_all_that_have_so_much_in_common_are_found_each_once(sets, share, first):
    counts = np.array([len(own) for own in sets])
    least = np.maximum(1, np.ceil(share * counts)).astype(np.int64)
    values = np.array([value for own in sets for value in sorted(own)], np.uint64)
    found = pairs_by_features(FeatureSets(values, counts, least), first, 10_000)
    if found is None:  # most share even their rarest ones
        return
    assert len(found.earlier) == len(as_set(found))
    assert found.earlier.min(initial=first) >= first
    assert as_set(found) >= {
        (one, other)
        for one, other in combinations(range(first, len(sets)), 2)
        if len(sets[one] & sets[other]) >= least[min(one, other, key=lambda n: counts[n])]
    }


def test_what_shares_no_rare_feature_is_not_compared():
    common, own = np.arange(5, dtype=np.uint64), np.arange(100, 400, dtype=np.uint64)
    rows = [np.append(common, own[3 * n : 3 * n + 3]) for n in range(100)]
    rows[70] = np.append(common, own[:3])
    counts, least = np.full(100, 8), np.full(100, 6)
    found = pairs_by_features(FeatureSets(np.concatenate(rows), counts, least), 0, 1000)
    assert as_set(found) == {(0, 70)}
    least[:] = 3  # so that those that all have are asked, too
    assert pairs_by_features(FeatureSets(np.concatenate(rows), counts, least), 0, 1000) is None
