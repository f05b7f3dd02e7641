"""Pairs of positions, and near fingerprints, by arrays."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.methods.base import Components
from dedup.spark import kernel
from dedup.spark.kernel import (
    Groups,
    Pairs,
    Sieve,
    all_pairs,
    near_in_short_runs,
    near_pairs,
    pairs_of_few,
)


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


@st.composite
def hot_components(draw):
    """Components that agree in many places, as numbers or as bits of bytes."""
    places = draw(st.integers(1, 12))
    are_bits = draw(st.booleans())
    size, most_value = draw(st.integers(1, 60)), draw(st.sampled_from([1, 3, 255]))
    chooser = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = np.uint8 if are_bits else draw(st.sampled_from([np.uint8, np.uint32, np.uint64]))
    values = chooser.integers(0, most_value, (size, places), kind, endpoint=True)
    values[:, chooser.random(places) < 0.3] = 1
    values[chooser.random((size, places)) < draw(st.sampled_from([0, 0.5, 0.9]))] = 0
    return Components(values, draw(st.integers(0, 14)), are_bits=are_bits)


def differing(components, one, other):
    differs = components.values[one] ^ components.values[other]
    if components.are_bits:
        return int(np.bitwise_count(differs).sum())
    return int(np.count_nonzero(differs))


def near(components, first=0):
    return {
        pair
        for pair in combinations(range(first, len(components.values)), 2)
        if differing(components, *pair) <= components.most
    }


@given(components=hot_components(), first=st.integers(0, 3))
def test_a_sieve_leaves_all_that_may_match_and_of_bits_nothing_else(components, first):
    sieve = Sieve.of(components)
    size = len(components.values)
    every = Pairs(*np.triu_indices(size, 1))
    left = as_set(sieve.sift(every))
    assert left >= near(components)
    if components.are_bits or components.values.max() < 16:
        assert left == near(components)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_PLACES_AT_ONCE", 9)
        patch.setattr(kernel, "_ROWS_AT_ONCE", 100)
        assert set().union(*map(as_set, sieve.pairs_of_all())) == left
        found = as_set(sieve.pairs_of_leaders(0, min(first, size)))
    assert found == {pair for pair in left if pair[0] < first}


@given(components=hot_components(), first=st.integers(0, 3), short=st.sampled_from([1, 2, 5, 256]))
def test_what_agrees_in_a_piece_of_its_components_is_all_that_is_near(components, first, short):
    first = min(first, len(components.values) - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "SHORT", short)
        patch.setattr(kernel, "_PAIRS_TO_SORT", 0)
        found = pairs_of_few(components, Sieve.of(components), first, 10_000)
    if found is not None:
        assert as_set(found) >= near(components, first)
        assert len(found.earlier) == len(as_set(found))
        assert found.earlier.min(initial=first) >= first


@pytest.mark.parametrize("agreeing", [1, 4, 40])
def test_what_shares_components_is_split_until_few_are_compared(agreeing, monkeypatch):
    monkeypatch.setattr(kernel, "SHORT", 8)
    chooser = np.random.default_rng(agreeing)
    values = chooser.integers(0, 2**32, (5000, 100), dtype=np.uint32)
    values[:, :agreeing] = 7
    # In each part are some that agree in more, so that it is split again.
    values[:2000, 40:60] = 8
    values[0:4] = values[0]
    values[1, -20:] += 1
    components = Components(values, 20, are_bits=False)
    found = pairs_of_few(components, Sieve.of(components), 0, 10_000)
    assert as_set(found) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_no_pairs_are_made_of_what_components_cannot_tell_apart():
    values = np.zeros((3000, 40), np.uint32)
    values[:, 0] = np.arange(3000)
    for most in (0, 1, 5, 39):
        components = Components(values, most, are_bits=False)
        found = pairs_of_few(components, Sieve.of(components), 0, 10_000)
        assert (found is None) == (most > 0)


@pytest.mark.slow
def test_a_hundred_thousand_signatures_that_share_a_band_take_seconds():
    values = np.random.default_rng(1).integers(0, 2**32, (100_000, 100), dtype=np.uint32)
    values[:, :4] = 7
    values[-1] = values[5]
    values[-1, 50:85] += 1
    components = Components(values, 35, are_bits=False)
    found = pairs_of_few(components, Sieve.of(components), 0, 1 << 20)
    assert as_set(found) == {(5, 99_999)}
