"""Fingerprints that are near, however many share a key."""

import numpy as np
import pytest
from hot_runs import as_set, brute, hot_values, inside, runs
from hypothesis import given
from hypothesis import strategies as st

from dedup.spark.pairs import fingerprints
from dedup.spark.pairs.fingerprints import near_in_short_runs, near_pairs


@pytest.mark.slow
@given(values=hot_values(), max_distance=st.integers(0, 8), short=st.sampled_from([2, 5, 256]))
def test_near_pairs_are_found_each_once_however_much_all_agree(values, max_distance, short):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fingerprints, "SHORT", short)
        found = near_pairs(values, max_distance, 10_000)
    assert as_set(found) == brute(values, max_distance)
    assert len(found.earlier) == len(as_set(found))


@pytest.mark.parametrize(("size", "most"), [(16, 120), (16, 119), (300, 1000)])
def test_more_pairs_than_are_wanted_are_not_made(size, most):
    values = np.arange(size, dtype=np.uint64).reshape(-1, 1)
    found = near_pairs(values, 10, most)
    assert (found is None) == (size * (size - 1) // 2 > most)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0, 16, 26, 30])
def test_a_hundred_thousand_that_share_many_bits_take_seconds(shared):
    chooser = np.random.default_rng(shared)
    values = chooser.integers(0, 2**64, 100_000, dtype=np.uint64) >> np.uint64(shared)
    values = np.unique(values).reshape(-1, 1)
    found = near_pairs(values, 3, 1 << 20)
    differing = np.bitwise_count(values[found.earlier, 0] ^ values[found.later, 0])
    assert differing.max(initial=0) <= 3
    # As many as there are by chance: a share of all pairs.
    bits = 64 - shared
    share = sum(np.prod([(bits - i) / (i + 1) for i in range(d)]) for d in range(4)) / 2.0**bits
    expected = share * len(values) * (len(values) - 1) / 2
    assert abs(len(found.earlier) - expected) <= 6 * expected**0.5 + 1


@given(starts_and_ends=runs(), data=st.data())
def test_near_pairs_of_short_runs_are_inside_of_them(starts_and_ends, data):
    size = int(starts_and_ends[1][-1])
    numbers = data.draw(st.lists(st.integers(0, 7), min_size=size, max_size=size))
    values = np.array(numbers, np.uint64).reshape(-1, 1)
    near = as_set(near_in_short_runs(values, *starts_and_ends, 1))
    assert near == brute(values, 1) & inside(*starts_and_ends)
