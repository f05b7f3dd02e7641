"""What belongs to no single index: the order of matches, and which index a method has."""

import pytest
from cases import each

from dedup.index import Match
from dedup.methods import Method, SimHash
from dedup.search import index_for


def test_the_smaller_match_is_the_nearer_then_the_older():
    assert sorted([Match(0, 1), Match(9, 0), Match(8, 0)]) == [
        Match(8, 0),
        Match(9, 0),
        Match(0, 1),
    ]


@each("max_distance", [0, 3, 4, 63])
def test_the_index_of_a_method_has_its_threshold(max_distance):
    index = index_for(SimHash(max_distance))
    index.add(0)
    assert index.query((1 << max_distance) - 1) == Match(0, max_distance)
    assert index.query((1 << max_distance + 1) - 1) is None


class WithoutFingerprints(Method):
    name, version, parameters = "sets", 1, None

    def sketch(self, document):
        return frozenset(document.tokens)

    def distance(self, one, other):
        return len(one ^ other)

    def to_bytes(self, sketch):
        return b""

    def from_bytes(self, data):
        return frozenset()


def test_a_method_of_other_sketches_has_no_index():
    with pytest.raises(TypeError, match="no index for WithoutFingerprints"):
        index_for(WithoutFingerprints())
