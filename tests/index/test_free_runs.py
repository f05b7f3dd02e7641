"""Free runs against a row of places."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.index.free_runs import FreeRuns


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(1, 40), max_size=60), st.randoms())
def test_free_runs_are_given_out_once_and_merge_with_their_neighbours(lengths, chooser):
    free, taken, end = FreeRuns(), {}, 0
    for length in lengths:
        if taken and chooser.random() < 0.5:
            start = chooser.choice(sorted(taken))
            free.add(start, taken.pop(start))
        start = free.take(length)
        if start is None:
            start, end = end, end + length
        taken[start] = length
        places = [place for s, n in taken.items() for place in range(s, s + n)]
        assert len(places) == len(set(places))
    for start in chooser.sample(sorted(taken), len(taken)):
        free.add(start, taken.pop(start))
    assert free._length_at == ({0: end} if end else {})
