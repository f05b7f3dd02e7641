"""Buckets against a dictionary of lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.index.buckets import Buckets

KEYS = st.integers(0, 15)


def contents(buckets):
    return {
        key: sorted(
            zip(*(column[buckets.run(key)].tolist() for column in buckets.columns), strict=True)
        )
        for key in range(16)
        if buckets.run(key).start != buckets.run(key).stop
    }


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=400), st.integers(0, 200))
def test_rows_stay_in_their_buckets_through_additions_and_removals(steps, filled):
    buckets = Buckets(4, (np.uint64, np.uint32))
    keys = np.arange(filled) ** 2 % 16
    rows = [(int(key), number * 7, number) for number, key in enumerate(keys)]
    if filled:
        buckets.fill(
            keys, np.arange(filled, dtype=np.uint64) * 7, np.arange(filled, dtype=np.uint32)
        )
    for number, (key, is_removal) in enumerate(steps, 1000):
        of_key = [row for row in rows if row[0] == key]
        if is_removal and of_key:
            run = buckets.run(key)
            buckets.remove(key, run.start + number % len(of_key))
            left = contents(buckets).get(key, [])
            [gone] = [row for row in of_key if row[1:] not in left]
            rows.remove(gone)
        else:
            buckets.append(key, number * 7, number)
            rows.append((key, number * 7, number))
    expected = {}
    for key, *row in rows:
        expected.setdefault(key, []).append(tuple(row))
    assert contents(buckets) == {key: sorted(values) for key, values in expected.items()}
    assert len(buckets.rows()) == len(rows)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(KEYS, max_size=300) | KEYS, max_size=12))
def test_many_rows_at_once_are_as_if_they_came_one_by_one(steps):
    one_by_one, at_once = (Buckets(4, (np.uint64, np.uint32)) for _ in range(2))
    number = 0
    for step in steps:
        keys = [step] if isinstance(step, int) else step
        values = range(number, number := number + len(keys))
        for key, value in zip(keys, values, strict=True):
            one_by_one.append(key, value * 7, value)
        if isinstance(step, int):
            at_once.append(step, values[0] * 7, values[0])
        else:
            columns = np.array(values, np.uint64) * np.uint64(7), np.array(values, np.uint32)
            at_once.extend(np.array(keys, np.int64), *columns)
        assert contents(at_once) == contents(one_by_one)
    assert len(at_once.rows()) == number


@pytest.mark.parametrize("at_once", [100, 1_000, 20_000])
def test_what_comes_at_once_takes_little_more_than_its_rows(at_once):
    buckets = Buckets(4, (np.uint64, np.uint32))
    for start in range(0, 100_000, at_once):
        numbers = np.arange(start, start + at_once)
        buckets.extend(numbers % 16, numbers.astype(np.uint64), numbers.astype(np.uint32))
    assert buckets.nbytes < 100_000 * 12 * 1.55
