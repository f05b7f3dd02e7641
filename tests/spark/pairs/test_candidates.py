"""Candidates of long runs, of methods with components, with features and with neither."""

from itertools import combinations

import numpy as np
import pytest
from hot_runs import as_set

from dedup.methods import METHODS
from dedup.spark.pairs.candidates import Candidates

SIZE = 2000


def payloads(name):
    """Return what is compared of pages of which only the first and the last are alike."""
    chooser = np.random.default_rng(3)
    if name == "minhash":
        rows = chooser.integers(0, 2**32, (SIZE, 100), np.uint32).astype("<u4")
    else:
        rows = np.sort(chooser.integers(0, 2**63, (SIZE, 20), np.uint64), axis=1).astype("<u8")
    rows[-1] = rows[0]
    return [row.tobytes() for row in rows]


@pytest.mark.parametrize("name", ["minhash", "segments"])
def test_only_what_may_match_is_a_candidate(name):
    candidates = Candidates.of_sketches(METHODS[name](), payloads(name))
    assert as_set(candidates.of_all(0, 10)) == {(0, SIZE - 1)}
    assert as_set(candidates.of_all(1, 10)) == set()


def test_of_leaders_of_components_only_what_may_match_is_a_candidate():
    candidates = Candidates.of_sketches(METHODS["minhash"](), payloads("minhash"))
    assert as_set(candidates.of_leaders(0, 3)) == {(0, SIZE - 1)}


def test_where_nothing_is_known_all_pairs_are_candidates():
    candidates = Candidates(5)
    assert as_set(candidates.of_leaders(1, 5)) == set(combinations(range(1, 5), 2))
    assert candidates.of_all(0, 100) is None
