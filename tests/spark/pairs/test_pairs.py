"""Pairs of positions in runs, and pairs that are found several times."""

import numpy as np
import pytest
from hot_runs import as_set, inside, runs
from hypothesis import given
from hypothesis import strategies as st

from dedup.spark.pairs.pairs import DistinctPairs, Pairs, all_pairs


@given(runs())
def test_all_pairs_are_inside_of_runs(starts_and_ends):
    found = [as_set(pairs) for pairs in all_pairs(*starts_and_ends)]
    assert set().union(*found) == inside(*starts_and_ends)


@pytest.mark.parametrize("most", [3, 2])
def test_pairs_that_are_found_again_in_any_order_count_once(most):
    found = DistinctPairs(most)
    for ones, others in (([4, 1], [2, 3]), ([3, 2], [1, 4])):
        found.add([Pairs(np.array(ones), np.array(others))])
    found.add([Pairs(np.array([0]), np.array([1]))], members=np.array([2**32 - 1, 5]))
    pairs = found.pairs()
    if most == 3:
        assert as_set(pairs) == {(2, 4), (1, 3), (5, 2**32 - 1)}
    else:
        assert pairs is None


@given(size=st.integers(0, 20), most=st.integers(1, 7))
def test_parts_are_all_pairs_in_their_order(size, most):
    pairs = Pairs(np.arange(size), np.arange(size) + 1)
    parts = list(pairs.parts(most))
    assert [len(part.later) for part in parts[:-1]] == [most] * (len(parts) - 1)
    assert [n for part in parts for n in part.earlier] == list(range(size))
    assert [n for part in parts for n in part.later] == list(range(1, size + 1))
