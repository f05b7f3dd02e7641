"""The index over fingerprints; what every index has to do is in test_search."""

import random
import re
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from cases import each
from test_search import CHOICES

from dedup.index import HammingIndex, Match
from dedup.index.sorted_table import SortedTable, best_blocks


@pytest.fixture(params=CHOICES)
def choice(request, monkeypatch):
    """Each choice of blocks, and a tail that is merged often."""
    for name, cost in CHOICES[request.param].items():
        monkeypatch.setattr(f"dedup.index.sorted_table.{name}", cost)
    monkeypatch.setattr("dedup.index.hamming._SHORTEST_TAIL", 8)
    return request.param


@pytest.fixture
def with_tables(monkeypatch):
    monkeypatch.setattr("dedup.index.sorted_table._SCANNED", 1.0)
    monkeypatch.setattr("dedup.index.hamming._SHORTEST_TAIL", 8)


def flipped(fingerprint, bits):
    for bit in bits:
        fingerprint ^= 1 << bit
    return fingerprint


def near(stored, fingerprint, max_distance):
    """All matches among *stored*, page -> fingerprint, as an obvious loop finds them."""
    distances = ((other ^ fingerprint).bit_count() for other in stored.values())
    matches = map(Match, stored, distances)
    return sorted(match for match in matches if match.distance <= max_distance)


def joined(index, fingerprints):
    columns = ((column.tolist() for column in block) for block in index.compare_many(fingerprints))
    return sorted(row for block in columns for row in zip(*block, strict=True))


def random_fingerprints(count, bits=64, seed=0):
    chooser = random.Random(seed)
    return [chooser.getrandbits(bits) for _ in range(count)]


@pytest.mark.slow
@each(("size", "max_distance"), [(500, 3), (3_000, 1), (40_000, 3), (40_000, 0), (40_000, 9)])
def test_it_agrees_with_the_oracle_at_any_size(size, max_distance):
    chooser = random.Random(size)
    stored = dict(enumerate(random_fingerprints(size - 100)))
    index = HammingIndex(64, max_distance)
    index.add_many(list(stored.values()))
    for page in range(size - 100, size):
        stored[page] = flipped(stored[chooser.randrange(page)], chooser.sample(range(64), 2))
        assert index.add(stored[page]) == page
    planted = [
        flipped(stored[chooser.randrange(size)], chooser.sample(range(64), count))
        for count in range(12)
    ]
    for fingerprint in [*planted, *random_fingerprints(3, seed=1)]:
        assert index.query_all(fingerprint) == near(stored, fingerprint, max_distance)


@pytest.mark.slow
def test_no_planted_difference_of_three_bits_is_missed(choice):
    base, *fillers = random_fingerprints(50, seed=4)
    index = HammingIndex()
    index.add_many([base, *fillers])
    planted = [flipped(base, bits) for bits in combinations(range(64), 3)]
    assert len(planted) == 41_664
    assert {index.query(fingerprint) for fingerprint in planted[::7]} == {Match(0, 3)}
    assert joined(index, planted) == [(number, 0, 3) for number in range(len(planted))]


@pytest.mark.parametrize("bits", [64, 128])
def test_a_fingerprint_of_many_pages_is_in_the_tables_once(bits, with_tables):
    index = HammingIndex(bits, 3)
    index.add_many(random_fingerprints(50, bits))
    for _ in range(200):
        index.add(7)
    assert (len(index), index.query(5)) == (250, Match(50, 1))
    assert index.query_all(5) == [Match(page, 1) for page in range(50, 250)]
    assert {len(table.keys) for table in index._tables} == {51}
    for page in (50, 52, 249):
        assert index.discard(7, page)
    assert (len(index), index.query(5)) == (247, Match(51, 1))
    for page in (51, *range(53, 249)):
        assert index.discard(7, page)
    assert (len(index), index.query_all(5)) == (50, [])
    assert (index.add(7), index.query(5)) == (250, Match(250, 1))


WRONG = [
    (lambda index: index.add(2**64), "a fingerprint must be a whole number of 64 bits"),
    (lambda index: index.add(-1), "a whole number of 64 bits, got -1"),
    (lambda index: index.add(1.5), "a whole number of 64 bits, got 1.5"),
    (lambda index: index.query(2**64), "a fingerprint must be a whole number of 64 bits"),
    (lambda index: index.discard(2**64, 0), "a fingerprint must be a whole number of 64 bits"),
    (lambda index: index.add(1, page=-1), "pages must be numbers from 0 to 4294967294, got -1"),
    (lambda index: index.add(1, page=2**32), "pages must be numbers from 0 to 4294967294"),
    (lambda index: index.add_many([1, 2**64]), "a whole number of 64 bits"),
    (lambda index: index.add_many([1, 2], [7]), "2 sketches need 2 pages, got 1"),
    (lambda index: index.add_many(np.zeros(2)), "an array must be uint64 of shape (n,), got float"),
    (lambda index: index.add_many(np.zeros((2, 2), np.uint64)), "got uint64 of shape (2, 2)"),
    (lambda _: HammingIndex(31), "bits must be from 32 to 384, got 31"),
    (lambda _: HammingIndex(64, 64), "max_distance must be from 0 to 63, got 64"),
]


@each(("action", "message"), WRONG)
def test_bad_input_is_told_and_changes_nothing(action, message):
    index = HammingIndex()
    index.add_many([1 << 40, 1 << 50])
    with pytest.raises(ValueError, match=re.escape(message)):
        action(index)
    assert (len(index), index.query(1), index.add(5)) == (2, Match(0, 2), 2)


def test_the_last_page_number_is_followed_by_none():
    index = HammingIndex()
    index.add(1, page=2**32 - 2)
    with pytest.raises(ValueError, match="from 0 to 4294967294, got 4294967295"):
        index.add(2)
    assert index.add_many([]).tolist() == []
    assert len(index) == 1


@each("fails_at", [1, 2, 3, 4])
def test_an_index_that_runs_out_of_memory_has_all_that_was_added(
    fails_at, with_tables, monkeypatch
):
    monkeypatch.setattr("dedup.index.sorted_table._PROBED_TABLE", 1e6)  # a table for each block
    calls, insert = iter(range(1, 10**9)), SortedTable.insert

    def insert_or_fail(table, rows, first_place):
        if next(calls) == fails_at:
            raise MemoryError
        insert(table, rows, first_place)

    fingerprints, index = random_fingerprints(438), HammingIndex()
    stored = dict(enumerate([*fingerprints, *fingerprints[:2]]))
    index.add_many(list(stored.values())[:300])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SortedTable, "insert", insert_or_fail)
        for page in range(300, 440):
            assert index.add(stored[page]) == page
            assert index.query(stored[page]).distance == 0
    assert next(calls) > 4
    for fingerprint in list(stored.values())[::3]:
        for bit in (0, 20, 40, 60):  # of each block
            asked = flipped(fingerprint, [bit])
            assert index.query_all(asked) == near(stored, asked, 3)
    assert all(index.discard(fingerprint, page) for page, fingerprint in stored.items())
    assert len(index) == 0


# The blocks


def test_random_fingerprints_are_split_as_by_manku():
    """Four tables at distance 3; at larger distances, blocks that may differ in a bit or two."""
    rows = np.random.default_rng(1).integers(0, 2**64, 200_000, np.uint64)
    assert best_blocks(64, 3, rows) == [(start, 16, 0) for start in (0, 16, 32, 48)]
    assert best_blocks(64, 3, rows[:5_000]) == []
    assert best_blocks(64, 3, rows[:5_000], in_batches=True) == [
        (start, 12, 0) for start in (4, 20, 36, 52)
    ]
    assert max(radius for _, _, radius in best_blocks(64, 7, np.tile(rows, 5))) == 2


# Memory


@pytest.mark.slow
@each("size", [0, 1, 63, 1_500, 100_000])
def test_its_memory_is_counted_and_bounded(size):
    index = HammingIndex()
    for fingerprint in random_fingerprints(size):
        index.add(fingerprint)
    assert 12 * size <= index.nbytes < 90 * size + 1_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "fingerprints",
    [[0] * 20_000, [page << 16 for page in range(20_000)]],
    ids=["all equal", "one block equal"],
)
def test_memory_stays_bounded_however_skewed(fingerprints):
    index = HammingIndex()
    index.add_many(fingerprints)
    tracemalloc.start()
    for _ in index.compare_many(fingerprints[:100]):
        pass
    index.query(1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150_000_000
