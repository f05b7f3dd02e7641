"""The index of SpotSigs, beside a linear scan."""

import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st

from dedup.index import Match
from dedup.index.spots import Partitions, SpotIndex, min_shared_spots
from dedup.methods import SpotSigs
from dedup.methods.digests import digests
from dedup.search import index_for

THRESHOLDS = [0, 0.1, 0.2, 0.3, 1 / 3, 0.4, 0.5, 0.7, 0.9, 0.99]
# Few different spots, so that sketches share many, and some again and again.
MULTISETS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=30).map(digests)


def scan(method, stored, sketch):
    """All matches with a spot in common, by looking at every stored sketch."""
    distances = [(page, method.distance(sketch, other)) for page, other in stored]
    near = [Match(page, d) for page, d in distances if d <= method.max_distance and d < 1]
    return sorted(near)


def first_partitions(max_distance, count):
    partitions, size = Partitions(max_distance), 1
    while partitions.number(size) < count - 1:
        size += 1
    return [partitions.bounds(number) for number in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize("max_distance", THRESHOLDS)
@settings(max_examples=40, deadline=None)
@given(multisets=st.lists(MULTISETS, max_size=25), chooser=st.randoms(use_true_random=False))
def test_it_finds_what_a_scan_finds_in_any_order(max_distance, multisets, chooser):
    method = SpotSigs(max_distance)
    pages = list(enumerate(multisets))
    chooser.shuffle(pages)
    index, stored = SpotIndex(method), []
    for page, sketch in pages:
        expected = scan(method, stored, sketch)
        assert index.query_all(sketch) == expected
        assert index.query(sketch) == min(expected, default=None)
        index.add(sketch, page)
        stored.append((page, sketch))


@pytest.mark.slow
@pytest.mark.parametrize("max_distance", [0.05, 0.2, 0.5, 0.8])
def test_it_finds_what_a_scan_finds_among_sketches_of_very_different_lengths(max_distance):
    chooser = random.Random(1)
    method = SpotSigs(max_distance)
    index, stored = SpotIndex(method), []
    for page in range(300):
        common_spots = [f"common{n}" for n in range(chooser.randrange(40))]
        own = [f"{page % 30} {n}" for n in range(chooser.choice([1, 5, 20, 21, 25, 80]))]
        sketch = digests(chooser.sample(own, chooser.randint(1, len(own))) + common_spots)
        assert index.query_all(sketch) == scan(method, stored, sketch)
        index.add(sketch)
        stored.append((page, sketch))


@pytest.mark.parametrize("stored", ["bcdefghij", "abcdefghij"])
def test_a_longer_query_finds_a_shorter_page_and_the_other_way_round(stored):
    # The reference code of the paper drops d = {b..j} for q = {a..j}, where a is processed first.
    index = SpotIndex(SpotSigs(0.1))
    index.add(digests(stored))
    for query in ("bcdefghij", "abcdefghij"):
        assert index.query(digests(query)) == Match(0, 0 if query == stored else 0.1)


def test_the_rarest_spot_may_be_the_one_that_is_missing():
    index = SpotIndex(SpotSigs(0.1))
    for page in range(50):
        index.add(digests([*"bcdefghij", f"own{page}"]), page + 1)
    index.add(digests("bcdefghij"), 0)
    assert index.query(digests("abcdefghij")) == Match(0, 0.1)


def test_pages_of_a_pair_are_found_by_spots_that_nobody_else_has():
    index = SpotIndex(SpotSigs(0.2))
    for page in range(500):
        index.add(digests(f"page {page // 2} spot {n}" for n in range(10)), page)
    assert index.query_all(digests(f"page 7 spot {n}" for n in range(9))) == [
        Match(14, 0.1),
        Match(15, 0.1),
    ]


@pytest.mark.parametrize(
    ("max_distance", "expected"),
    [
        (0.5, [(1, 3), (4, 9), (10, 21), (22, 45), (46, 93)]),
        # The reference code has (8, 10) and (20, 25), since 1 - .8 is less than .2 in floats; these
        # are the bounds of its rule without rounding.
        (0.2, [(1, 2), (3, 4), (5, 7), (8, 11), (12, 16), (17, 22), (23, 29), (30, 38)]),
    ],
)
def test_the_partitions_of_the_paper(max_distance, expected):
    assert first_partitions(max_distance, len(expected)) == expected


@each("max_distance", THRESHOLDS)
def test_all_sizes_that_may_match_are_in_partitions_near(max_distance):
    partitions = Partitions(max_distance)
    partitions.number(600)
    limit = Fraction(max_distance).limit_denominator(1000)
    for size in [*range(1, 30), 60, 61, 500, 501]:
        near = list(partitions.near(size))
        for other in range(1, 600):
            least, most = sorted((size, other))
            may_match = (most - least) * limit.denominator <= limit.numerator * most
            assert not may_match or partitions.number(other) in near
        assert len(near) <= 3


@each("max_distance", THRESHOLDS)
def test_partitions_have_no_gaps(max_distance):
    bounds = first_partitions(max_distance, 2)
    assert bounds[0][0] == 1
    for (_, last), (first, _) in pairwise(bounds):
        assert first == last + 1


@each("max_distance", THRESHOLDS)
def test_as_many_spots_are_needed_as_any_match_shares(max_distance):
    limit = Fraction(max_distance).limit_denominator(1000)
    for size in (1, 2, 3, 7, 10, 20):
        for least_size in (1, 2, 5, 9, 10, 11, 19, 21, 40):
            enough = [
                shared
                for other in range(least_size, 61)
                for shared in range(1, min(size, other) + 1)
                if (total := size + other - shared) - shared <= limit * total
            ]
            assert min_shared_spots(size, least_size, max_distance) == min(enough, default=size + 1)


@pytest.mark.parametrize("max_distance", [0.999, 0.999999, 1 - 2**-53])
def test_thresholds_that_nearly_everything_meets_take_no_longer(max_distance):
    index = SpotIndex(SpotSigs(max_distance))
    index.add(digests(str(n) for n in range(300)))
    assert index.query(digests("1")) == Match(0, 299 / 300)
    assert index.query(digests("x")) is None


def test_an_empty_index_finds_nothing():
    index = index_for(SpotSigs())
    assert isinstance(index, SpotIndex)
    assert (len(index), index.query(digests("abcd")), index.query_all(digests("abcd"))) == (
        0,
        None,
        [],
    )


def test_of_equal_sketches_the_oldest_is_found_whatever_the_order():
    index = SpotIndex(SpotSigs())
    for page in (70, 20, 2**32 - 2, 30):
        assert index.add(digests("abcd"), page) == page
    assert index.query(digests("abcd")) == Match(20, 0)
    assert [match.page for match in index.query_all(digests("abcd"))] == [20, 30, 70, 2**32 - 2]


def test_pages_are_numbered_after_the_greatest():
    index = SpotIndex(SpotSigs())
    assert [index.add(digests("abcd"), page) for page in (None, 7, None, 3, None)] == [
        0,
        7,
        8,
        3,
        9,
    ]


def test_a_nearer_page_counts_more_than_an_older_one():
    index = SpotIndex(SpotSigs())
    for text in ("abcdex", "abcde", "abcdeyz"):
        index.add(digests(text))
    assert index.query(digests("abcde")) == Match(1, 0)
    assert [match.page for match in index.query_all(digests("abcde"))] == [1, 0, 2]


class Counting(SpotSigs):
    """SpotSigs that counts its comparisons."""

    compared = 0

    def distance(self, one, other):
        self.compared += 1
        return super().distance(one, other)


def test_pages_that_share_only_common_spots_are_not_compared():
    method = Counting(0.4)
    index = SpotIndex(method)
    for page in range(1000):
        common_spots = [f"common{n}" for n in range(10)]
        index.add(digests([*common_spots, *(f"own {page} {n}" for n in range(10))]))
    query = digests([*common_spots, *(f"own 500 {n}" for n in range(9)), "new"])
    assert index.query(query) == Match(500, 2 / 21)
    assert method.compared == 1


@pytest.mark.slow
def test_nothing_is_lost_while_the_index_grows():
    index, stored = SpotIndex(SpotSigs(0.2)), []
    for page in range(3000):
        stored.append(digests(f"{page} {n}" for n in range(40)))
        index.add(stored[-1])
    assert [index.query(sketch) for sketch in stored] == [Match(page, 0) for page in range(3000)]
    assert [index.query(sketch[4:]).page for sketch in stored[::50]] == list(range(0, 3000, 50))


def test_an_index_of_few_pages_is_small():
    index = SpotIndex(SpotSigs())
    index.add(digests(str(n) for n in range(100)))
    assert index.nbytes < 30_000


def test_the_memory_of_postings_is_bounded():
    index = SpotIndex(SpotSigs())
    empty = index.nbytes
    for page in range(2000):
        index.add(np.sort(np.arange(50, dtype=np.uint64) + np.uint64(page * 2**40)))
    assert 16 * 50 * 2000 <= index.nbytes - empty < 40 * 50 * 2000


@settings(max_examples=60, deadline=None)
@given(multisets=st.lists(MULTISETS, max_size=25), asked=MULTISETS)
def test_the_nearest_beyond_the_threshold_is_farther_and_never_invented(multisets, asked):
    method = SpotSigs(0.3)
    index = SpotIndex(method)
    for sketch in multisets:
        index.add(sketch)
    (found,) = index.nearest_beyond([asked], 0.8)
    if found:
        assert found.distance == method.distance(asked, multisets[found.page])
        assert 0.3 < found.distance <= 0.8


def test_a_page_just_beyond_the_threshold_is_found():
    method = SpotSigs(0.3)
    index = SpotIndex(method)
    index.add(digests("abcdefghij"))
    asked = digests("abcdef" + "wxyz")
    (found,) = index.nearest_beyond([asked], 0.8)
    assert index.query(asked) is None
    assert found == Match(0, method.distance(asked, digests("abcdefghij")))
