"""What every index has to do, at every threshold."""

import copy
import random
from functools import cache
from itertools import combinations

import pytest
from cases import each, examples
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dedup.index import HammingIndex, Index, Match, linear_scan
from dedup.index.growing import SCANNED_UP_TO as LIMIT
from dedup.index.growing import GrowingIndex
from dedup.methods import Method, SimHash
from dedup.search import index_for

ALL_ONES = 2**64 - 1
SIZES = [0, 1, 63, 65, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 500]


class Oracle:
    """A list, looked through from the beginning."""

    def __init__(self, max_distance):
        self.max_distance = max_distance
        self.stored = []

    def add(self, sketch, page):
        self.stored.append((sketch, page))

    def query(self, sketch):
        distances = [((sketch ^ other).bit_count(), page) for other, page in self.stored]
        best = min(distances, default=(99, 0))
        return Match(best[1], best[0]) if best[0] <= self.max_distance else None


def scanned(bits=64, max_distance=3):
    """An index without tables, however large it is."""
    return GrowingIndex(bits, max_distance, design=linear_scan(bits, max_distance))


KINDS = [scanned, GrowingIndex, HammingIndex]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=range(4), ids="max_distance={}".format)
def max_distance(request):
    return request.param


def changed(fingerprint, bits, chooser):
    """*fingerprint* with that many of its bits turned over."""
    for bit in chooser.sample(range(64), bits):
        fingerprint ^= 1 << bit
    return fingerprint


def filled(kind, max_distance, fingerprints):
    """An index and an oracle that hold *fingerprints* as pages 0, 1, 2, ..."""
    index, oracle = kind(64, max_distance), Oracle(max_distance)
    for page, fingerprint in enumerate(fingerprints):
        index.add(fingerprint, page)
        oracle.add(fingerprint, page)
    return index, oracle


def random_fingerprints(count, seed=0):
    chooser = random.Random(seed)
    return [chooser.getrandbits(64) for _ in range(count)]


def test_a_new_index_is_empty(kind, max_distance):
    index = kind(64, max_distance)
    assert isinstance(index, Index)
    assert (len(index), index.query(0), index.query(ALL_ONES)) == (0, None, None)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_random_fingerprints_are_found_as_the_oracle_finds_them(kind, max_distance, size):
    chooser = random.Random(size)
    index, oracle = filled(kind, max_distance, random_fingerprints(size))
    stored = [fingerprint for fingerprint, _ in oracle.stored] or [0]
    queries = [changed(chooser.choice(stored), bits, chooser) for bits in range(6)]
    queries += random_fingerprints(5, seed=1)
    assert list(map(index.query, queries)) == list(map(oracle.query, queries))


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, LIMIT + 10])
def test_a_planted_fingerprint_is_found_up_to_the_threshold_only(kind, max_distance, size):
    chooser = random.Random(3)
    fingerprints = random_fingerprints(size)
    index, _ = filled(kind, max_distance, fingerprints)
    for distance in range(max_distance + 2):
        page = chooser.randrange(size)
        found = index.query(changed(fingerprints[page], distance, chooser))
        assert found == (Match(page, distance) if distance <= max_distance else None)


@pytest.mark.slow
def test_no_planted_difference_of_three_bits_is_missed(kind):
    base, *fillers = random_fingerprints(LIMIT + 2, seed=4)
    index, _ = filled(kind, 3, [base, *fillers])
    planted = [base ^ (1 << a | 1 << b | 1 << c) for a, b, c in combinations(range(64), 3)]
    assert len(planted) == 41_664
    assert {index.query(fingerprint) for fingerprint in planted} == {Match(0, 3)}


@pytest.mark.slow
@pytest.mark.parametrize("size", [300, LIMIT + 300])
def test_fingerprints_of_few_different_blocks_are_found(kind, max_distance, size):
    chooser = random.Random(5)
    blocks = [0, 0xFFFF, 1, 0x8000, 0x7FFF]
    skewed = [
        sum(chooser.choice(blocks) << shift for shift in (0, 16, 32, 48)) for _ in range(size)
    ]
    index, oracle = filled(kind, max_distance, skewed)
    queries = [changed(chooser.choice(skewed), chooser.randrange(6), chooser) for _ in range(60)]
    assert list(map(index.query, queries)) == list(map(oracle.query, queries))


@pytest.mark.slow
@pytest.mark.parametrize("fingerprint", [0, ALL_ONES, 1, 1 << 63, 0xFFFF << 16])
@pytest.mark.parametrize("size", [100, LIMIT + 100])
def test_of_equal_fingerprints_the_oldest_is_found(kind, max_distance, size, fingerprint):
    index, _ = filled(kind, max_distance, [fingerprint] * size)
    assert index.query(fingerprint) == Match(0, 0)
    assert index.query(fingerprint ^ 0b1111 << 30) is None
    assert index.query(fingerprint ^ ALL_ONES) is None
    nearest = index.query(fingerprint ^ 1 << 40)
    assert nearest == (Match(0, 1) if max_distance else None)


@each("fillers", [0, LIMIT])
def test_a_tie_goes_to_the_oldest_page_whatever_the_order(kind, fillers):
    index = kind(64, 3)
    for fingerprint in random_fingerprints(fillers):
        index.add(fingerprint, 10**6)
    # At distance 2 of 0, in different blocks, and the oldest neither first nor last.
    for page, fingerprint in [(70, 0b11), (20, 0b11 << 20), (90, 0b11 << 40), (30, 0b11 << 60)]:
        index.add(fingerprint, page)
    assert index.query(0) == Match(20, 2)
    index.add(0b101, 4)
    index.add(0b101, 3)
    assert index.query(0) == Match(3, 2)


@each("fillers", [0, LIMIT])
def test_a_nearer_page_counts_more_than_an_older_one(kind, fillers):
    index, _ = filled(kind, 3, random_fingerprints(fillers))
    index.add(0b111, 10**6)
    index.add(0b1 << 50, 10**6 + 1)
    assert index.query(0) == Match(10**6 + 1, 1)


@each("fillers", [0, LIMIT])
def test_page_numbers_are_any_of_32_bits(kind, fillers):
    index = kind(64, 0)
    for number, fingerprint in enumerate(random_fingerprints(fillers)):
        index.add(fingerprint, 5 + 3 * number)
    index.add(1, 2**32 - 2)
    index.add(2, 0)
    assert [index.query(1), index.query(2)] == [Match(2**32 - 2, 0), Match(0, 0)]


def test_answers_stay_the_same_while_the_index_grows_past_the_limit(kind, max_distance):
    chooser = random.Random(6)
    early = random_fingerprints(40, seed=7)
    index, _ = filled(kind, max_distance, early)
    queries = [changed(fingerprint, max_distance, chooser) for fingerprint in early]
    for page, fingerprint in enumerate(random_fingerprints(LIMIT + 200, seed=8), start=40):
        index.add(fingerprint, page)
        if page in (LIMIT - 2, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 150):
            expected = [Match(page, max_distance) for page in range(40)]
            assert [index.query(query) for query in queries] == expected


BASES = [0, ALL_ONES, 0x0123456789ABCDEF, 0xFFFF0000FFFF0000]
NEAR_A_BASE = st.builds(
    lambda base, bits: base ^ sum(1 << bit for bit in bits),
    st.sampled_from(BASES),
    st.sets(st.integers(0, 63), max_size=5),
)
STEPS = st.lists(st.tuples(st.booleans(), NEAR_A_BASE, st.integers(0, 2**32 - 2)), max_size=20)


@cache
def start(kind, max_distance, size):
    return filled(kind, max_distance, random_fingerprints(size, seed=9))


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, LIMIT - 5, LIMIT + 50])
@settings(
    max_examples=examples(60),
    deadline=None,
    phases=set(Phase) - {Phase.explain},  # it takes minutes over so large an oracle
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(max_distance=st.integers(0, 3), steps=STEPS)
def test_additions_and_queries_in_any_order_agree_with_the_oracle(kind, size, max_distance, steps):
    index, oracle = copy.deepcopy(start(kind, max_distance, size))
    for is_query, fingerprint, page in steps:
        if is_query:
            assert index.query(fingerprint) == oracle.query(fingerprint)
        else:
            index.add(fingerprint, page)
            oracle.add(fingerprint, page)
    assert len(index) == len(oracle.stored)


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_every_stored_fingerprint_is_counted(kind, size):
    index, _ = filled(kind, 3, random_fingerprints(size))
    assert len(index) == size


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_the_memory_of_any_index_is_counted(kind, size):
    index, _ = filled(kind, 3, random_fingerprints(size))
    assert index.nbytes >= 12 * size


@pytest.mark.slow
def test_the_memory_of_100_000_fingerprints_is_bounded(kind):
    index, _ = filled(kind, 3, random_fingerprints(100_000))
    assert 12 * 100_000 <= index.nbytes < 160 * 100_000


@pytest.mark.slow
def test_the_memory_of_few_large_buckets_is_bounded():
    index, _ = filled(HammingIndex, 3, [page % 7 for page in range(100_000)])
    assert index.nbytes < 250 * 100_000
    assert index.query(5 | 1 << 60) == Match(5, 1)


@pytest.mark.parametrize("max_distance", [4, 10, 63])
def test_a_scan_finds_any_distance(max_distance):
    chooser = random.Random(11)
    index, oracle = filled(scanned, max_distance, random_fingerprints(500))
    queries = [changed(7, bits, chooser) for bits in range(64)]
    assert list(map(index.query, queries)) == list(map(oracle.query, queries))


def test_the_smaller_match_is_the_nearer_then_the_older():
    assert sorted([Match(0, 1), Match(9, 0), Match(8, 0)]) == [
        Match(8, 0),
        Match(9, 0),
        Match(0, 1),
    ]


@each("max_distance", [0, 3, 4, 63])
def test_the_index_of_a_method_has_its_threshold(max_distance):
    index = index_for(SimHash(max_distance))
    index.add(0)
    assert index.query((1 << max_distance) - 1) == Match(0, max_distance)
    assert index.query((1 << max_distance + 1) - 1) is None


class WithoutFingerprints(Method):
    name, version, parameters = "sets", 1, None

    def sketch(self, document):
        return frozenset(document.tokens)

    def distance(self, one, other):
        return len(one ^ other)

    def to_bytes(self, sketch):
        return b""

    def from_bytes(self, data):
        return frozenset()


def test_a_method_of_other_sketches_has_no_index():
    with pytest.raises(TypeError, match="no index for WithoutFingerprints"):
        index_for(WithoutFingerprints())


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 500, LIMIT + 500])
@pytest.mark.parametrize("bits", [64, 96])
def test_the_nearest_beyond_the_threshold_is_what_the_oracle_finds(size, bits):
    chooser = random.Random(size)
    stored = [chooser.getrandbits(bits) for _ in range(max(1, size // 3))]
    stored = [changed(chooser.choice(stored), chooser.randrange(20), chooser) for _ in range(size)]
    index, without_tables = GrowingIndex(bits, 3), scanned(bits, 3)
    for page, fingerprint in enumerate(stored):
        index.add(fingerprint, page)
        without_tables.add(fingerprint, page)
    asked = [*stored[:20], *(changed(f, 9, chooser) for f in stored[:20]), 0, 2**bits - 1]
    found = list(index.nearest_beyond(asked, 16))
    expected = [
        min(
            (
                Match(page, distance)
                for page, other in enumerate(stored)
                if 3 < (distance := (sketch ^ other).bit_count()) <= 16
            ),
            default=None,
        )
        for sketch in asked
    ]
    assert found == expected
    assert list(without_tables.nearest_beyond(asked, 16)) == expected
    if size > 1:
        assert len({match.distance for match in found if match}) > 5


def test_the_nearest_beyond_is_looked_for_in_the_compact_form_too():
    index = HammingIndex(64, 3)
    index.add_many([0b0, 0b11111])
    index.compact()
    index.add(0b1111)
    assert list(index.nearest_beyond([0], 16)) == [Match(2, 4)]
    index.remove(2)
    assert list(index.nearest_beyond([0], 16)) == [Match(1, 5)]
    assert list(index.nearest_beyond([0], 4)) == [None]
