import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import MASK, fmix64

from dedup.methods import shingles as of_sets
from dedup.methods.minhash import MinHash


def minimums_by_hand(hashes, count):
    """The least value under one linear function after the other, one shingle at a time."""
    least = []
    for number in range(1, count + 1):
        seed = fmix64(number * 0x9E3779B97F4A7C15 & MASK)
        factor, summand = seed >> 32 | 1, seed & 0xFFFFFFFF
        least.append(min((factor * (value >> 32) + summand) % 2**32 for value in hashes))
    return least


def random_hashes(count, seed):
    return np.random.default_rng(seed).integers(0, 1 << 64, count, np.uint64)


def minimums(hashes, functions):
    """Those of one set."""
    return of_sets.minimums(hashes, np.array([len(hashes)]), functions)[0]


def of_integers(*numbers):
    return np.array(numbers, np.uint64)


@given(st.lists(st.integers(0, MASK), min_size=1, max_size=30), st.integers(1, 40))
def test_minimums_are_those_computed_by_hand(hashes, count):
    assert minimums(np.array(hashes, np.uint64), count).tolist() == minimums_by_hand(hashes, count)


@pytest.mark.parametrize("at_a_time", [1, 1 << 16])
def test_the_minimums_of_many_sets_are_those_of_each(monkeypatch, at_a_time):
    monkeypatch.setattr(of_sets, "_VALUES_AT_A_TIME", at_a_time)
    sets = [random_hashes(count, count) for count in (1, 400, 3, 1)]
    sizes = np.array([len(own) for own in sets])
    together = of_sets.minimums(np.concatenate(sets), sizes, 84)
    assert together.tolist() == [minimums(own, 84).tolist() for own in sets]
    assert of_sets.minimums(random_hashes(0, 1), sizes[:0], 84).shape == (0, 84)


def test_a_key_is_of_one_band_and_its_place():
    method = MinHash(bands=3, rows=2, max_distance=1)
    keys = list(method.keys(of_integers(1, 2, 1, 2, 2, 1)))
    assert len(set(keys)) == 3
    assert list(method.keys(of_integers(1, 2, 9, 9, 2, 1)))[::2] == keys[::2]
    assert set(keys) & set(method.keys(of_integers(9, 1, 2, 1, 2, 2))) == set()
    assert keys[0] == 2312343713257724203
