import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.packed import Packed


@given(st.lists(st.binary(max_size=5)))
def test_it_gives_back_what_it_was_given(values):
    packed = Packed()
    assert [packed.append(value) for value in values] == list(range(len(values)))
    assert [packed[number] for number in range(len(packed))] == values


@given(st.lists(st.lists(st.binary(max_size=3)) | st.lists(st.just(b"ab")) | st.binary(max_size=3)))
def test_it_is_the_same_whether_it_was_given_one_or_many_at_once(steps):
    packed, expected = Packed(), []
    for step in steps:
        if isinstance(step, bytes):
            packed.append(step)
            expected.append(step)
        else:
            packed.extend(step)
            expected += step
    assert list(packed) == expected
    assert [packed[number] for number in range(len(packed))] == expected
    numbers = np.arange(len(packed), dtype=np.uint32)
    assert packed.lengths(numbers).tolist() == list(map(len, expected))


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
