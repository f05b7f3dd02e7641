"""The table of chains, against a dictionary."""

import random
from collections import Counter

import numpy as np
import pytest

from dedup.index.key_chains import KeyChains


def found(chains, keys, most=None):
    places, positions = chains.find(np.array(keys, np.uint64), most)
    return Counter(zip(places.tolist(), positions.tolist(), strict=True))


@pytest.mark.parametrize("most", [None, 1, 3])
@pytest.mark.parametrize("different", [5, 3_000, 2**24])
def test_it_finds_what_was_added_the_newest_first(different, most):
    """Also when the table has grown, and whatever is added at once."""
    chooser, chains, added, position = random.Random(different), KeyChains(), {}, 0
    for size in (0, 1, 7, 500, 3_000, 12_000, 2):
        keys = [chooser.randrange(different) for _ in range(size)]
        positions = range(position, position := position + size)
        for key, at in zip(keys, positions, strict=True):
            added.setdefault(key, []).append(at)
        chains.add(np.array(keys, np.uint64), np.array(positions, np.uint32))
        asked = [*chooser.sample(sorted(added), min(len(added), 4)), *keys[:1], different]
        assert found(chains, asked, most) == Counter(
            (place, at)
            for place, key in enumerate(asked)
            for at in added.get(key, [])[-(most or 0) :]
        )


def test_a_key_of_64_bits_is_told_from_others():
    chains = KeyChains()
    chains.add(np.array([2**63 + 5, 6], np.uint64), np.array([1, 2], np.uint32))
    assert found(chains, [2**63 + 5, 7, 6]) == {(0, 1): 1, (2, 2): 1}
    assert found(chains, []) == {}


def test_its_memory_grows_with_what_it_has():
    chains = KeyChains()
    chains.add(np.arange(100_000, dtype=np.uint64), np.arange(100_000, dtype=np.uint32))
    assert 12 * 100_000 <= chains.nbytes <= 30 * 100_000
