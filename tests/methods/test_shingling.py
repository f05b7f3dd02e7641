from itertools import combinations

import numpy as np
from cases import each
from pairs import found

from dedup.methods.shingling import Shingling

EVERY_SET_OF_PLACES = [places for size in range(7) for places in combinations(range(6), size)]


def random_sketch(seed, count=6):
    return np.random.default_rng(seed).integers(0, 1 << 64, count, np.uint64)


def equal_only_at(places, sketch, seed=99):
    """Another sketch, equal to *sketch* in those places."""
    other = random_sketch(seed, len(sketch))
    other[list(places)] = sketch[list(places)]
    return other


def share_a_key(method, one, other):
    return not set(method.keys(one)).isdisjoint(method.keys(other))


@each("places", EVERY_SET_OF_PLACES)
def test_pages_match_if_two_supershingles_are_equal_in_their_places(places):
    method, one = Shingling(), random_sketch(3)
    other = equal_only_at(places, one)
    unequal = 6 - len(places)
    assert method.distance(one, other) == unequal
    assert found(method, one, other) == (unequal if len(places) >= 2 else None)
    assert share_a_key(method, one, other) == (len(places) >= 2)


@each(
    ("max_distance", "supershingles", "keys"),
    [
        *[(0, 6, 1), (1, 6, 6), (2, 6, 15), (3, 6, 20), (4, 6, 15), (5, 6, 6)],
        # 21 pairs and 220 groups of nine are too many: one key a supershingle
        *[(5, 7, 7), (3, 12, 12), (1, 12, 12), (0, 1, 1), (0, 84, 1)],
    ],
)
def test_a_key_stands_for_as_many_supershingles_as_must_be_equal(max_distance, supershingles, keys):
    method = Shingling(max_distance, supershingles=supershingles)
    found_keys = list(method.keys(random_sketch(6, supershingles)))
    assert len(set(found_keys)) == len(found_keys) == keys
    assert all(0 <= key < 1 << 64 for key in found_keys)
