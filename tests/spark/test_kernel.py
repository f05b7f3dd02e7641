"""Pairs of positions, and near fingerprints, by arrays."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.spark import kernel
from dedup.spark.kernel import Groups, Pairs, all_pairs, near_in_short_runs, near_pairs


def as_set(pairs):
    assert len(pairs.earlier) == len(pairs.later)
    return set(zip(pairs.earlier.tolist(), pairs.later.tolist(), strict=True))


def brute(values, max_distance):
    rows = [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in values]
    return {
        (one, two)
        for one, two in combinations(range(len(rows)), 2)
        if (rows[one] ^ rows[two]).bit_count() <= max_distance
    }


@st.composite
def hot_values(draw):
    """Unique fingerprints that agree in many bits, so that they are split again and again."""
    words, bits = draw(st.sampled_from([1, 2])), draw(st.integers(3, 12))
    place = draw(st.permutations(range(64 * words)))[:bits]
    numbers = draw(st.sets(st.integers(0, 2**bits - 1), min_size=1, max_size=60))
    rows = [sum((number >> n & 1) << to for n, to in enumerate(place)) for number in numbers]
    data = b"".join(row.to_bytes(8 * words, "little") for row in rows)
    return np.frombuffer(data, "<u8").reshape(-1, words).astype(np.uint64)


@given(values=hot_values(), max_distance=st.integers(0, 8), short=st.sampled_from([2, 5, 256]))
def test_near_pairs_are_found_each_once_however_much_all_agree(values, max_distance, short):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "SHORT", short)
        found = near_pairs(values, max_distance, 10_000)
    assert as_set(found) == brute(values, max_distance)
    assert len(found.earlier) == len(as_set(found))


@pytest.mark.parametrize(("size", "most"), [(16, 120), (16, 119), (300, 1000)])
def test_more_pairs_than_are_wanted_are_not_made(size, most):
    values = np.arange(size, dtype=np.uint64).reshape(-1, 1)
    found = near_pairs(values, 10, most)
    assert (found is None) == (size * (size - 1) // 2 > most)


@given(sizes=st.lists(st.integers(1, 9), min_size=1), data=st.data())
def test_all_pairs_are_inside_of_runs(sizes, data):
    ends = np.cumsum(sizes)
    starts = ends - sizes
    expected = {
        pair
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        for pair in combinations(range(start, end), 2)
    }
    found = [as_set(pairs) for pairs in all_pairs(starts, ends)]
    assert set().union(*found) == expected
    values = np.array(
        data.draw(st.lists(st.integers(0, 7), min_size=sum(sizes), max_size=sum(sizes)))
    )
    values = values.astype(np.uint64).reshape(-1, 1)
    near = as_set(near_in_short_runs(values, starts, ends, 1))
    assert near == brute(values, 1) & expected


@given(which=st.lists(st.integers(0, 4), min_size=1), leaders=st.integers(1, 3))
def test_of_groups_all_pairs_are_found_of_which_one_leads(which, leaders):
    numbers = np.unique(which, return_inverse=True)[1]
    groups = Groups.of(numbers, leaders)
    count = numbers.max() + 1
    near = {pair for pair in combinations(range(count), 2) if sum(pair) % 2}
    found = [
        pair
        for pairs in groups.pairs(Pairs(*(np.array([p[n] for p in near], int) for n in (0, 1))))
        for pair in zip(pairs.earlier.tolist(), pairs.later.tolist(), strict=True)
    ]
    before = [list(numbers[:place]).count(own) for place, own in enumerate(numbers)]
    leads = [number < leaders for number in before]
    assert sorted(found) == [
        (one, two)
        for one, two in combinations(range(len(numbers)), 2)
        if leads[one] or leads[two]
        if numbers[one] == numbers[two] or tuple(sorted((numbers[one], numbers[two]))) in near
    ]
    assert sorted(groups.others.tolist()) == [n for n, own in enumerate(leads) if not own]


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
