import math
import random

import numpy as np
import pytest

from dedup.methods import one_permutation
from dedup.methods.hashing import mix, seeds


def hashes(numbers):
    return mix(np.fromiter(numbers, np.uint64))


def together(sets):
    return np.concatenate(sets), np.array(list(map(len, sets)))


def bin_minimums(sets, bins):
    return one_permutation.bin_minimums(*together(sets), bins)


def value_of(element):
    return (element & 0xFFFFFFFF) >> 1


def sets_of(jaccard, size, seed):
    """Two sets of that size and similarity, as hashes."""
    chooser = random.Random(seed)
    shared = round(2 * size * jaccard / (1 + jaccard))
    numbers = chooser.sample(range(2**40), 2 * size - shared)
    return hashes(numbers[:size]), hashes(numbers[size - shared :]), shared / (2 * size - shared)


@pytest.mark.slow
@pytest.mark.parametrize("bins", [36, 256, 1024])
@pytest.mark.parametrize("count", [7, 8, 64, 65, 200])
def test_many_sets_at_once_are_as_each_alone(bins, count):
    chooser = random.Random(count)
    sizes = [chooser.choice((1, 2, 5, 40, 150, 150, 3000)) for _ in range(count)]
    sets = [hashes(chooser.sample(range(2**40), size)) for size in sizes]
    alone = np.concatenate([bin_minimums([own], bins) for own in sets])
    assert (bin_minimums(sets, bins) == alone).all()


@pytest.mark.slow
@pytest.mark.parametrize("bins", [36, 1024])
def test_an_empty_bin_asks_one_after_the_other(bins):
    """By the definition, without any of the ways to do it faster."""
    elements = hashes(range(30))
    least = bin_minimums([elements] * 9, bins)[8]
    own = {}
    for element in elements.tolist():
        place = (element >> 32) * bins >> 32
        own[place] = min(own.get(place, 2**64), value_of(element))
    for place in range(bins):
        asked, probe = place, 0
        while asked not in own:
            probe += 1
            number = seeds(bins)[place] ^ np.uint64(probe)
            asked = int(mix(np.array([number]))[0]) % bins
        assert least[place] == own[asked]


@pytest.mark.slow
@pytest.mark.parametrize("jaccard", [0.0, 0.3, 0.65, 0.9, 1.0])
@pytest.mark.parametrize("size", [40, 400, 4000])
def test_one_bit_signatures_estimate_the_similarity(jaccard, size):
    estimates, wanted = [], []
    for seed in range(60):
        one, other, exact = sets_of(jaccard, size, seed)
        signatures = one_permutation.one_bit_signatures(*together([one, other]), 1024)
        differing = np.bitwise_count(np.bitwise_xor(*signatures))
        estimates.append(1 - 2 * int(differing.sum()) / 1024)
        wanted.append(exact)
    errors = np.subtract(estimates, wanted)
    assert np.mean(errors) == pytest.approx(0, abs=4 * np.std(errors) / math.sqrt(60) + 0.003)
    # A share of 1,024 independent bits has a standard deviation of up to 1 / 32.
    assert np.std(errors) < 0.05
    assert jaccard < 1 or estimates == [1.0] * 60
