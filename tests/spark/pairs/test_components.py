"""What agrees in a piece of its components is found, however much all agree."""

import numpy as np
import pytest
from hot_runs import as_set, hot_components, near
from hypothesis import given
from hypothesis import strategies as st

from dedup.methods.base import Components
from dedup.spark.pairs import components as module
from dedup.spark.pairs.components import pairs_by_components
from dedup.spark.pairs.sieve import Sieve


@given(components=hot_components(), first=st.integers(0, 3), short=st.sampled_from([1, 2, 5, 256]))
def test_what_agrees_in_a_piece_of_its_components_is_all_that_is_near(components, first, short):
    first = min(first, len(components.values) - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SHORT", short)
        patch.setattr(module, "_PAIRS_TO_SORT", 0)
        found = pairs_by_components(components, Sieve.of(components), first, 10_000)
    if found is not None:
        assert as_set(found) >= near(components, first)
        assert len(found.earlier) == len(as_set(found))
        assert found.earlier.min(initial=first) >= first


@pytest.mark.parametrize("agreeing", [1, 4, 40])
def test_what_shares_components_is_split_until_few_are_compared(agreeing, monkeypatch):
    monkeypatch.setattr(module, "SHORT", 8)
    chooser = np.random.default_rng(agreeing)
    values = chooser.integers(0, 2**32, (5000, 100), dtype=np.uint32)
    values[:, :agreeing] = 7
    # In each part are some that agree in more, so that it is split again.
    values[:2000, 40:60] = 8
    values[0:4] = values[0]
    values[1, -20:] += 1
    components = Components(values, 20, are_bits=False)
    found = pairs_by_components(components, Sieve.of(components), 0, 10_000)
    assert as_set(found) == {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)}


def test_no_pairs_are_made_of_what_components_cannot_tell_apart():
    values = np.zeros((3000, 40), np.uint32)
    values[:, 0] = np.arange(3000)
    for most in (0, 1, 5, 39):
        components = Components(values, most, are_bits=False)
        found = pairs_by_components(components, Sieve.of(components), 0, 10_000)
        assert (found is None) == (most > 0)


@pytest.mark.slow
def test_a_hundred_thousand_signatures_that_share_a_band_take_seconds():
    values = np.random.default_rng(1).integers(0, 2**32, (100_000, 100), dtype=np.uint32)
    values[:, :4] = 7
    values[-1] = values[5]
    values[-1, 50:85] += 1
    components = Components(values, 35, are_bits=False)
    found = pairs_by_components(components, Sieve.of(components), 0, 1 << 20)
    assert as_set(found) == {(5, 99_999)}
