"""The index over block keys; what every index has to do is in test_search."""

import random

import pytest
from cases import each, examples, mixed
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.index import Match
from dedup.index.keys import KeyIndex
from dedup.methods import Method, SpotSigs
from dedup.methods.digests import digests


class Sets(Method):
    """Sketches are sets of numbers, and their numbers are their keys."""

    name, version, max_distance = "sets", 1, 3

    key_bits = 64

    def sketch(self, document):
        return frozenset(map(int, document.tokens))

    def keys(self, sketch):
        return [number * 0x9E3779B97F4A7C15 % 2**self.key_bits for number in sketch]

    def distance(self, one, other):
        return len(one ^ other)

    def to_bytes(self, sketch):
        return b"".join(number.to_bytes(4, "little") for number in sorted(sketch))

    def from_bytes(self, data):
        return frozenset(int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4))


def sets(key_bits):
    method = Sets()
    method.key_bits = key_bits
    return method


def matches(stored, sketch):
    return sorted(
        Match(page, len(sketch ^ other))
        for page, other in stored
        if sketch & other and len(sketch ^ other) <= 3
    )


@pytest.mark.slow
@pytest.mark.parametrize(("key_bits", "keys_of_a_sketch"), mixed([24, 32, 64], [50, 5]))
def test_it_finds_the_same_while_its_table_grows(key_bits, keys_of_a_sketch, monkeypatch):
    monkeypatch.setattr("dedup.index.key_table._SHORTEST_RUN", 16)
    chooser = random.Random(1)
    index = KeyIndex(sets(key_bits))
    stored = []
    for page in range(500):
        sketch = frozenset(chooser.choices(range(40_000), k=keys_of_a_sketch))
        assert index.add(sketch) == page
        stored.append((page, sketch))
        if page % 50 == 0:
            asked = sketch - {min(sketch)} if page % 100 else sketch
            assert index.query_all(asked) == matches(stored, asked)
    for page, sketch in stored:
        assert Match(page, 0) in index.query_all(sketch)


@each("page", [-1, 2**32, "x", 1.5, True])
def test_a_number_that_is_no_page_changes_nothing(page):
    index = KeyIndex(Sets())
    index.add({1}, 10)
    with pytest.raises(ValueError, match="pages must be numbers from 0 to"):
        index.add({2}, page)
    assert (len(index), index.query({2})) == (1, None)
    index.add({2})
    assert index.query({2}) == Match(11, 0)


SPOTS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=30).map(digests)


@pytest.mark.slow
@pytest.mark.parametrize("max_distance", [0, 0.1, 1 / 3, 0.4, 0.5, 0.7, 0.9, 0.99])
@settings(max_examples=examples(75), deadline=None)
@given(sketches=st.lists(SPOTS, max_size=25), within=st.sampled_from([0, 0.3, 0.8]))
def test_the_rarest_keys_of_spots_are_enough(max_distance, sketches, within):
    """Few different spots, so that sketches share many, and some again and again."""
    method = SpotSigs(max_distance)
    index, stored = KeyIndex(method), []
    for sketch in sketches:
        found = [Match(page, method.distance(sketch, other)) for page, other in stored]
        found = sorted(match for match in found if match.distance < 1)
        near = [match for match in found if match.distance <= max_distance]
        assert index.query_all(sketch) == near
        beyond = [match for match in found if max_distance < match.distance <= within]
        assert list(index.nearest_beyond([sketch], within)) == [min(beyond, default=None)]
        stored.append((index.add(sketch), sketch))


def test_pages_that_share_only_common_spots_are_not_compared(monkeypatch):
    method, compared = SpotSigs(0.4), []
    index = KeyIndex(method)
    common_spots = [f"common{n}" for n in range(10)]
    for page in range(1000):
        index.add(digests([*common_spots, *(f"own {page} {n}" for n in range(10))]))
    distance = SpotSigs.distances_of_pairs
    monkeypatch.setattr(
        SpotSigs,
        "distances_of_pairs",
        lambda self, *sides: compared.append(len(sides[0])) or distance(self, *sides),
    )
    query = digests([*common_spots, *(f"own 500 {n}" for n in range(9)), "new"])
    assert index.query(query) == Match(500, 2 / 21)
    assert compared == [1]
