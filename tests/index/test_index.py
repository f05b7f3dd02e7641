"""What belongs to no single index: the order of matches, and which index a method has."""

import pytest

from dedup.index import Match
from dedup.methods import Method
from dedup.search import index_for


def test_the_smaller_match_is_the_nearer_then_the_older():
    assert sorted([Match(0, 1), Match(9, 0), Match(8, 0)]) == [
        Match(8, 0),
        Match(9, 0),
        Match(0, 1),
    ]


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
