"""What a sieve leaves may match, and nothing that matches is missed."""

import numpy as np
import pytest
from hot_runs import as_set, hot_components, near
from hypothesis import given
from hypothesis import strategies as st

from dedup.spark.pairs import sieve as module
from dedup.spark.pairs.pairs import Pairs
from dedup.spark.pairs.sieve import Sieve


@pytest.mark.slow
@given(components=hot_components(), first=st.integers(0, 3))
def test_a_sieve_leaves_all_that_may_match_and_of_bits_nothing_else(components, first):
    sieve = Sieve.of(components)
    size = len(components.values)
    every = Pairs(*np.triu_indices(size, 1))
    left = as_set(sieve.sift(every))
    assert left >= near(components)
    if components.are_bits or components.values.max() < 16:
        assert left == near(components)
    for words_to_sift in (0, 2, 10**6):  # so that one word, some or all are compared of all pairs
        sieve = Sieve.of(components)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_WORDS_TO_SIFT", words_to_sift)
            patch.setattr(module, "_PLACES_AT_ONCE", 9)
            patch.setattr(module, "_LEADERS_AT_ONCE", 5)
            patch.setattr(module, "_PAIRS_AT_ONCE", 20)
            parts = [as_set(pairs) for pairs in sieve.pairs_of_all()]
            found = as_set(sieve.pairs_of_leaders(0, min(first, size)))
        assert set().union(*parts) == left
        assert sum(map(len, parts)) == len(left)
        assert found == {pair for pair in left if pair[0] < first}
