import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.arrays import Packed, run_positions


@given(runs=st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 20)), max_size=30))
def test_runs_are_spread(runs):
    starts, sizes = (
        np.array(column, np.int64) for column in ([s for s, _ in runs], [n for _, n in runs])
    )
    expected = [place for start, size in runs for place in range(start, start + size)]
    assert run_positions(starts, sizes).tolist() == expected


def test_it_takes_little_more_than_what_it_holds():
    packed = Packed()
    for _ in range(100_000):
        packed.append(bytes(20))
    assert packed.nbytes < 100_000 * 20 * 1.2
    packed.append(b"")
    assert packed.nbytes < 100_000 * (20 + 8) * 1.2
    assert (packed[99_999], packed[100_000]) == (bytes(20), b"")


@pytest.mark.parametrize("values", [[], [b"a", b"b"], [b"a", b"bc"]])
def test_what_is_not_there_is_told(values):
    packed = Packed()
    for value in values:
        packed.append(value)
    for number in (-1, len(values)):
        with pytest.raises(IndexError):
            packed[number]
