import hashlib
import math
import random
from itertools import combinations

import numpy as np
import pytest
import xxhash
from cases import each

from dedup.methods.minhash import signatures
from dedup.methods.shingling import Shingling, hashes_of_parts
from dedup.search import index_for
from dedup.text import Document

ENGLISH = (
    "The ferry across the Wend has carried cattle, brides and one grand piano. The ferryman says "
    "that the piano was the quietest of them, and that the brides were not."
)
EVERY_SET_OF_PLACES = [places for size in range(7) for places in combinations(range(6), size)]


def random_sketch(seed, count=6):
    return np.random.default_rng(seed).integers(0, 1 << 64, count, np.uint64)


def equal_only_at(places, sketch, seed=99):
    """Another sketch, equal to *sketch* in those places."""
    other = random_sketch(seed, len(sketch))
    other[list(places)] = sketch[list(places)]
    return other


def found(method, one, other):
    """The distance at which the index finds one sketch by the other, or None."""
    index = index_for(method)
    index.add(one)
    match = index.query(other)
    return match and match.distance


def share_a_key(method, one, other):
    return not set(method.keys(one)).isdisjoint(method.keys(other))


def texts_with(jaccard, union, chooser):
    """Two texts whose sets of words have that Jaccard similarity, with *union* words in all."""
    words = [f"w{number:x}" for number in chooser.sample(range(1 << 40), union)]
    shared = round(jaccard * union)
    middle = shared + (union - shared) // 2
    return " ".join(words[:middle]), " ".join(words[:shared] + words[middle:])


def test_a_supershingle_is_the_hash_of_14_consecutive_minimums():
    document = Document.from_main_text(ENGLISH)
    [least] = signatures([document], 8, 84)
    expected = []
    for start in range(0, 84, 14):
        data = b"".join(value.to_bytes(8, "little") for value in least[start : start + 14].tolist())
        digest = hashlib.blake2b(data, digest_size=8).digest()
        expected.append(int.from_bytes(digest, "little"))
    assert Shingling().sketch(document).tolist() == expected


def test_supershingles_never_change():
    """Pages are compared with ones that were stored by an earlier release."""
    method = Shingling()
    data = method.to_bytes(method.sketch(Document.from_main_text(ENGLISH)))
    assert (len(data), xxhash.xxh3_64_hexdigest(data)) == (48, "d9e5b7e436a6b0c6")


def test_a_change_of_one_minimum_changes_its_supershingle_only():
    least = random_sketch(1, 84)
    before = hashes_of_parts(least, 6)
    for place in (0, 13, 14, 83):
        changed = least.copy()
        changed[place] ^= np.uint64(1)
        unequal = np.flatnonzero(hashes_of_parts(changed, 6) != before)
        assert unequal.tolist() == [place // 14]


def test_the_order_of_minimums_matters():
    least = random_sketch(2, 84)
    assert hashes_of_parts(least[::-1], 6)[::-1].tolist() != hashes_of_parts(least, 6).tolist()


@each("places", EVERY_SET_OF_PLACES)
def test_pages_match_if_two_supershingles_are_equal_in_their_places(places):
    method, one = Shingling(), random_sketch(3)
    other = equal_only_at(places, one)
    unequal = 6 - len(places)
    assert method.distance(one, other) == unequal
    assert found(method, one, other) == (unequal if len(places) >= 2 else None)
    assert share_a_key(method, one, other) == (len(places) >= 2)


@each("shift", range(1, 6))
def test_equal_supershingles_in_other_places_do_not_count(shift):
    method, one = Shingling(), random_sketch(4)
    other = np.roll(one, shift)
    assert method.distance(one, other) == 6
    assert not share_a_key(method, one, other)


@each("max_distance", range(6))
def test_the_index_is_exact_at_every_threshold(max_distance):
    method, one = Shingling(max_distance), random_sketch(5)
    for places in EVERY_SET_OF_PLACES:
        unequal = 6 - len(places)
        expected = unequal if unequal <= max_distance else None
        assert found(method, one, equal_only_at(places, one)) == expected


@each(
    ("max_distance", "supershingles", "keys"),
    [
        *[(0, 6, 1), (1, 6, 6), (2, 6, 15), (3, 6, 20), (4, 6, 15), (5, 6, 6)],
        # 21 pairs and 220 groups of nine are too many: one key a supershingle
        *[(5, 7, 7), (3, 12, 12), (1, 12, 12), (0, 1, 1), (0, 84, 1)],
    ],
)
def test_a_key_stands_for_as_many_supershingles_as_must_be_equal(max_distance, supershingles, keys):
    method = Shingling(max_distance, supershingles=supershingles)
    found_keys = list(method.keys(random_sketch(6, supershingles)))
    assert len(set(found_keys)) == len(found_keys) == keys
    assert all(0 <= key < 1 << 64 for key in found_keys)


def test_the_index_is_exact_where_single_supershingles_are_the_keys():
    method, one, chooser = Shingling(9, supershingles=12), random_sketch(7, 12), random.Random(7)
    for equal in range(13):
        places = chooser.sample(range(12), equal)
        expected = 12 - equal if equal >= 3 else None
        assert found(method, one, equal_only_at(places, one)) == expected
    assert share_a_key(method, one, equal_only_at([3, 7], one))


def test_the_index_names_the_nearest_first():
    method, one = Shingling(), random_sketch(8)
    index = index_for(method)
    for number, equal in enumerate([3, 1, 2, 6, 4]):
        index.add(equal_only_at(range(equal), one, number), 10 + equal)
    matches = [(match.page, match.distance) for match in index.query_all(one)]
    assert matches == [(16, 0), (14, 2), (13, 3), (12, 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("jaccard", "expected"), [(0.8, 0.026), (0.9, 0.415), (0.95, 0.879)])
def test_pages_match_with_the_probability_of_the_curve(jaccard, expected):
    chooser, trials = random.Random(9), 1000
    method = Shingling(width=1)
    distances = np.array(
        [
            method.distance(
                *(method.sketch(Document(t)) for t in texts_with(jaccard, 100, chooser))
            )
            for _ in range(trials)
        ]
    )
    equal = jaccard**14
    assert 1 - (1 - equal) ** 6 - 6 * equal * (1 - equal) ** 5 == pytest.approx(expected, abs=1e-3)
    error = math.sqrt(expected * (1 - expected) / trials)
    assert abs(np.mean(distances <= method.max_distance) - expected) < 4 * error
    error = math.sqrt(6 * equal * (1 - equal) / trials)
    assert abs(np.mean(6 - distances) - 6 * equal) < 4 * error


def test_shingles_of_eight_words_see_their_order():
    words = [f"word{i}" for i in range(60)]
    text, swapped = " ".join(words), " ".join([*words[30:], *words[:30]])
    for width in (1, 8):
        sketches = [Shingling(width=width).sketch(Document(t)) for t in (text, swapped)]
        assert np.array_equal(*sketches) == (width == 1)
    assert Shingling().width == 8


def test_repeating_a_text_whose_shingles_wrap_changes_nothing():
    """Shingles are a set: how often one occurs, and where, is not seen."""
    words = [f"word{i}" for i in range(50)]
    twice, thrice = (Document(" ".join(words * times)) for times in (2, 3))
    assert Shingling().sketch(twice).tolist() == Shingling().sketch(thrice).tolist()


@each("words", range(1, 9))
def test_a_text_that_is_shorter_than_a_shingle_matches_its_equals_only(words):
    method = Shingling()
    text = " ".join(f"word{i}" for i in range(words))
    sketch = method.sketch(Document(text))
    assert sketch.tolist() == method.sketch(Document(text)).tolist()
    for other in (f"{text} more", f"other {text}", text.replace("word0", "word")):
        assert method.distance(sketch, method.sketch(Document(other))) == 6


def test_a_document_without_tokens_has_no_sketch():
    assert Shingling().sketch(Document("")) is None


def test_a_supershingle_takes_eight_bytes():
    sketch = np.arange(1, 4, dtype=np.uint64)
    method = Shingling(1, supershingles=3)
    data = bytes([1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0])
    assert method.to_bytes(sketch) == data
    assert method.from_bytes(data).tolist() == [1, 2, 3]


@each(
    ("arguments", "message"),
    [
        ({"max_distance": -1}, "max_distance must be from 0 to 5, got -1"),
        # with all unequal, no key would be shared
        ({"max_distance": 6}, "max_distance must be from 0 to 5, got 6"),
        ({"max_distance": 4.0}, "max_distance must be from 0 to 5, got 4.0"),
        ({"max_distance": 4, "supershingles": 4}, "max_distance must be from 0 to 3, got 4"),
        ({"width": 0}, "width must be 1 or more, got 0"),
        ({"supershingles": 0}, "supershingles must be 1 or more, got 0"),
        ({"supershingles": "6"}, "supershingles must be 1 or more, got '6'"),
        ({"minimums": 5}, "minimums must be 6 or more, got 5"),
        ({"minimums": 85}, "minimums must be a multiple of 6, got 85"),
    ],
)
def test_an_impossible_argument_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Shingling(**arguments)
