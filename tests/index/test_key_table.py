"""Positions by key, beside a list of pairs."""

import random

import numpy as np
import pytest

from dedup.index.key_table import KeyTable, newest


def keys(*numbers):
    return np.array(numbers, np.uint64)


def found(table, *wanted, most=None):
    numbers, positions = table.find(keys(*wanted), most)
    return sorted(zip(numbers.tolist(), positions.tolist(), strict=True))


@pytest.mark.parametrize("shortest", [1, 8, 1 << 10])
def test_it_finds_what_a_list_of_pairs_has(shortest, monkeypatch):
    monkeypatch.setattr("dedup.index.key_table._SHORTEST_RUN", shortest)
    chooser, table, pairs = random.Random(shortest), KeyTable(), []
    # The highest key that is told from others is one of them.
    some = [0, 1, 2**32 - 1, *(chooser.getrandbits(32) for _ in range(30))]
    for position in range(400):
        own = chooser.sample(some, chooser.randrange(1, 6))
        table.add(keys(*own), position)
        pairs += [(key, position) for key in own]
        if position % 10 == 0:
            many = [
                (chooser.choice(some), 1000 + position + n) for n in range(chooser.choice([0, 40]))
            ]
            table.add(keys(*(key for key, _ in many)), np.array([p for _, p in many], np.uint32))
            pairs += many
        wanted = chooser.choices([*some, 77], k=3)
        expected = [
            (number, p) for number, key in enumerate(wanted) for other, p in pairs if other == key
        ]
        assert found(table, *wanted) == sorted(expected)
        assert table.counts(keys(*wanted)).tolist() == [
            sum(number == place for number, _ in expected) for place in range(3)
        ]
        latest = [
            row for place in range(3) for row in sorted(r for r in expected if r[0] == place)[-2:]
        ]
        assert set(latest) <= set(found(table, *wanted, most=2)) <= set(expected)
    assert table.nbytes < 8 * len(pairs) + 200


def test_positions_are_renumbered_and_dropped():
    table = KeyTable()
    for position in range(4):
        table.add(keys(5, 6 + position), position)
    is_kept = np.array([False, True, False, True])
    table.renumber(np.cumsum(is_kept, dtype=np.uint64) - np.uint64(1), is_kept)
    assert found(table, 5, 6, 7, 8, 9) == [(0, 0), (0, 1), (2, 0), (4, 1)]


def test_only_the_newest_of_a_key_are_kept():
    of_keys, pages = np.array([0, 1, 0, 0, 1]), np.array([9, 1, 7, 8, 2])
    assert newest(of_keys, pages, 2).tolist() == [True, True, False, True, True]
    assert newest(of_keys[:0], pages[:0], 2).tolist() == []
