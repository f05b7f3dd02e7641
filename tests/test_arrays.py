import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.arrays import run_positions, run_positions_in_parts, sort_runs


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 7, 1 << 20])
@given(runs=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 20)), max_size=30))
def test_runs_are_spread_the_same_at_once_and_in_parts(at_once, runs):
    starts, sizes = (
        np.array(column, np.int64) for column in ([s for s, _ in runs], [n for _, n in runs])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dedup.arrays._MEMBERS_AT_ONCE", at_once)
        parts = list(run_positions_in_parts(starts, sizes))
    numbers, together = (
        np.concatenate([np.empty(0, np.int64), *column]).tolist()
        for column in ([run for run, _ in parts], [position for _, position in parts])
    )
    assert numbers == [number for number, (_, size) in enumerate(runs) for _ in range(size)]
    expected = [place for start, size in runs for place in range(start, start + size)]
    assert run_positions(starts, sizes).tolist() == together == expected


@given(runs=st.lists(st.lists(st.integers(0, 9), max_size=12), max_size=6))
def test_each_run_is_sorted_by_itself(runs):
    values = np.array([value for run in runs for value in run], np.uint64)
    firsts, counts = sort_runs(values, np.array([len(run) for run in runs], np.int64))
    assert values.tolist() == [value for run in runs for value in sorted(run)]
    assert counts.tolist() == [len(set(run)) for run in runs]
    assert values[firsts].tolist() == [value for run in runs for value in sorted(set(run))]
