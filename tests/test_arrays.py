import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.arrays import Packed, lengths_of, run_positions, run_positions_in_parts, sort_runs


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


STRINGS = st.lists(st.binary(max_size=3)) | st.lists(st.sampled_from([b"ab", b"cd"]))


@given(st.lists(st.tuples(STRINGS, st.booleans()) | st.binary(max_size=3)))
def test_it_is_the_same_whether_it_was_given_one_or_many_at_once(steps):
    packed, expected = Packed(), []
    for step in steps:
        if isinstance(step, bytes):
            packed.append(step)
            expected.append(step)
        else:
            values, are_packed = step
            packed.extend(of(values) if are_packed else values)
            expected += values
    assert list(packed) == expected
    assert [packed[number] for number in range(len(packed))] == expected
    assert packed.lengths().tolist() == lengths_of(packed).tolist() == list(map(len, expected))


def of(values):
    return Packed.of(b"".join(values), lengths_of(values))


@given(STRINGS)
def test_its_strings_are_rows_if_all_have_that_size(values):
    for size in (0, 1, 2):
        if set(map(len, values)) <= {size}:
            rows = of(values).rows(size)
            assert (rows.shape, rows.tobytes()) == ((len(values), size), b"".join(values))
            assert list(Packed.of_rows(rows)) == values
        else:
            with pytest.raises(ValueError, match=f"not all of {len(values)} have {size} bytes"):
                of(values).rows(size)


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
