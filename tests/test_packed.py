from hypothesis import given
from hypothesis import strategies as st

from dedup.packed import Packed


@given(st.lists(st.binary(max_size=5)))
def test_it_gives_back_what_it_was_given(values):
    packed = Packed()
    assert [packed.append(value) for value in values] == list(range(len(values)))
    assert [packed[number] for number in range(len(packed))] == values


def test_it_takes_little_more_than_what_it_holds():
    packed = Packed()
    for _ in range(100_000):
        packed.append(bytes(20))
    assert packed.nbytes < 100_000 * (20 + 8) * 1.2
