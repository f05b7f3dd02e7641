import random
from time import process_time

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
@pytest.mark.parametrize("sets", [1, 9])
@pytest.mark.parametrize(("bins", "size"), [(36, 30), (1024, 30), (1024, 2), (1024, 1), (128, 2)])
def test_an_empty_bin_asks_one_after_the_other(bins, size, sets):
    """By the definition, without any of the ways to do it faster."""
    elements = hashes(range(size))
    least = bin_minimums([elements] * sets, bins)[-1]
    own = {}
    for element in elements.tolist():
        place = (element >> 32) * bins >> 32
        own[place] = min(own.get(place, 2**64), value_of(element))
    probes = np.arange(1, 20_000, dtype=np.uint64)
    for place in range(bins):
        donors = (mix(seeds(bins)[place] ^ probes) % np.uint64(bins)).tolist()
        asked = next(donor for donor in [place, *donors] if donor in own)
        assert least[place] == own[asked]


def test_two_elements_do_not_take_a_hundred_times_as_long_as_many():
    def seconds(size):
        sets = [hashes(range(start, start + size)) for start in range(0, 256 * size, size)]
        bin_minimums(sets[:9], 1024)
        start = process_time()
        bin_minimums(sets, 1024)
        return process_time() - start

    assert seconds(2) < 100 * seconds(200)
