import hashlib
import math
import random

import numpy as np
import pytest
from cases import each
from hypothesis import given, settings
from hypothesis import strategies as st
from murmur import MASK, fmix64

from dedup.lexicon import write_lexicon
from dedup.methods.hashing import PLAIN
from dedup.methods.i_match import IMatch, terms_in_lexicons
from dedup.text import Document

WORDS = "ferry cattle brides piano quietest timetable printed paper wrapped fish".split()


def sketched(method, *words):
    return method.sketch(Document(" ".join(words)))


def matches(method, one, other):
    return method.distance(one, other) <= method.max_distance


def digest(terms):
    data = "\x01".join(terms).encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def kept_by_hand(terms, lexicon, dropped):
    """What the *lexicon*-th randomised lexicon, from 1, keeps; one term at a time."""
    seed = fmix64(lexicon * 0x9E3779B97F4A7C15 & MASK)
    chances = {term: fmix64(PLAIN.feature_hash(term) ^ seed) % 2**32 / 2**32 for term in terms}
    return [term for term in terms if chances[term] >= dropped]


@pytest.fixture
def lexicon(tmp_path, monkeypatch):
    """1000 documents; of "in10", 10 of them."""
    path = tmp_path / "lexicon"
    counts = {f"in{count}": count for count in (1, 7, 8, 10, 50, 100, 125, 126, 500, 999)}
    monkeypatch.setattr("dedup.lexicon.AT_LEAST", 1)
    write_lexicon(path, 999, counts)
    return str(path)


def test_terms_outside_the_window_do_not_count(lexicon):
    method = IMatch(lexicon=lexicon, lowest=0.3, highest=0.7)
    document = Document("in1 in7 in500 in100 in10 in126 in8 unknown in125 in100 in999")
    # 1000 ** .3 = 7.9 and 1000 ** .7 = 125.9
    assert method.terms(document) == ["in10", "in100", "in125", "in8"]


def test_the_limits_of_the_window_are_inside(lexicon):
    method = IMatch(lexicon=lexicon, lowest=1, highest=1, min_terms=1)
    assert method.terms(Document("in10 in1 unknown in1 in100")) == ["in1", "unknown"]


def test_plain_i_match_is_one_digest_of_the_sorted_terms(lexicon):
    method = IMatch(lexicon=lexicon, lowest=0.3, highest=0.7, randomised=0)
    sketch = sketched(method, "in8", "in50", "in999", "in8", "in125", "in10")
    assert sketch == (digest(["in10", "in125", "in50", "in8"]),)
    assert method.max_distance == 0


# The first call loads the lexicon.
@settings(deadline=None)
@given(st.permutations(WORDS), st.lists(st.sampled_from(WORDS), max_size=5))
def test_neither_order_nor_repetition_counts(words, more):
    assert sketched(IMatch(), *words, *more) == sketched(IMatch(), *WORDS)


def test_stop_words_do_not_count():
    assert sketched(IMatch(), "the", *WORDS, "of", "and") == sketched(IMatch(), *WORDS)


@pytest.mark.parametrize("words", [WORDS[1:], [*WORDS, "harrow"], ["harrow", *WORDS[1:]]])
def test_one_term_makes_another_digest(words):
    plain = IMatch(randomised=0)
    assert plain.distance(sketched(plain, *words), sketched(plain, *WORDS)) == 1
    assert sketched(IMatch(), *words)[0] != sketched(IMatch(), *WORDS)[0]


def test_the_borders_of_terms_count():
    method = IMatch(min_terms=2, randomised=0)
    assert sketched(method, "xqab", "xqc") != sketched(method, "xqa", "bxqc")


def test_too_few_terms_have_no_sketch():
    assert sketched(IMatch(), *WORDS[:3]) is None
    assert sketched(IMatch(), *WORDS[:3], *WORDS[:3], "the", "of") is None
    assert sketched(IMatch(), *WORDS[:4]) is not None
    assert sketched(IMatch(min_terms=1), WORDS[0]) is not None


def test_digests_are_those_of_the_terms_each_lexicon_keeps():
    method = IMatch(randomised=20, dropped=0.4, min_terms=6)
    expected = [sorted(WORDS), *(kept_by_hand(sorted(WORDS), n, 0.4) for n in range(1, 21))]
    digests = tuple(digest(kept) if len(kept) >= 6 else 0 for kept in expected)
    assert sketched(method, *WORDS) == digests
    assert 0 in digests


def test_the_lexicons_drop_terms_independently():
    terms = [f"term{i}" for i in range(20_000)]
    kept = terms_in_lexicons(terms, 3, 0.3)
    error = math.sqrt(0.3 * 0.7 / len(terms))
    assert np.abs(kept.mean(axis=1) - 0.7).max() < 4 * error
    both = [(kept[i] & kept[j]).mean() for i, j in [(0, 1), (0, 2), (1, 2)]]
    assert np.abs(np.array(both) - 0.49).max() < 4 * math.sqrt(0.49 * 0.51 / len(terms))


def test_the_guard_is_for_each_lexicon():
    """Lexicons that keep 3 of 4 terms have no digest, though the whole one has."""
    method = IMatch(randomised=20)
    sketch = sketched(method, *WORDS[:4])
    sizes = [len(kept_by_hand(WORDS[:4], n, 0.3)) for n in range(1, 21)]
    assert [digest != 0 for digest in sketch] == [True, *(size == 4 for size in sizes)]
    assert 3 in sizes


def test_missing_digests_match_nothing():
    method = IMatch(randomised=5, dropped=1)
    one, other = sketched(method, *WORDS[:5]), sketched(method, *WORDS[5:])
    assert one[1:] == other[1:] == (0,) * 5
    assert not matches(method, one, other)
    assert not set(method.keys(one)) & set(method.keys(other))
    assert method.distance(one, one) == 0


def test_one_equal_digest_is_a_match():
    method = IMatch(randomised=3)
    assert method.distance((1, 2, 3, 4), (5, 6, 3, 7)) == 3 == method.max_distance
    assert method.distance((1, 2, 3, 4), (1, 2, 3, 7)) == 1
    assert method.distance((1, 2, 0, 4), (5, 2, 0, 7)) == 2
    assert method.distance((1, 2, 0, 4), (5, 6, 0, 7)) == 4
    assert method.distance((1, 2, 3, 4), (5, 6, 7, 8)) == 4


def test_digests_of_different_lexicons_are_not_compared():
    method = IMatch(randomised=2)
    assert not matches(method, (1, 2, 3), (2, 3, 1))
    assert not set(method.keys((1, 2, 3))) & set(method.keys((2, 3, 1)))


SKETCHES = st.lists(st.integers(0, 3), min_size=4, max_size=4).map(tuple)


@given(SKETCHES, SKETCHES)
def test_sketches_match_if_they_share_a_key(one, other):
    method = IMatch(randomised=3)
    share = bool(set(method.keys(one)) & set(method.keys(other)))
    assert matches(method, one, other) == share


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 10, 20])
@pytest.mark.parametrize("terms", [1, 2, 3, 5])
def test_pages_match_with_the_probability_of_the_paper(count, terms):
    method, chooser, pairs = IMatch(randomised=count), random.Random(count * terms), 300
    matching = 0
    for _ in range(pairs):
        words = [f"x{chooser.getrandbits(40)}" for _ in range(30 + terms)]
        one, other = sketched(method, *words[terms:]), sketched(method, *words)
        matching += matches(method, one, other)
    expected = 1 - (1 - 0.3**terms) ** count
    error = math.sqrt(expected * (1 - expected) / pairs)
    assert abs(matching / pairs - expected) < 4 * error + 1 / pairs


def test_a_sketch_takes_8_bytes_for_each_digest():
    method = IMatch(randomised=7)
    assert len(method.to_bytes(sketched(method, *WORDS))) == 64


def test_a_sketch_never_changes():
    expected = "7a0b1e102b68d85d 7a0b1e102b68d85d 5d9c68c06ea8a4ca"
    sketch = sketched(IMatch(randomised=2), *WORDS)
    assert " ".join(f"{digest:016x}" for digest in sketch) == expected


@each(
    ("arguments", "message"),
    [
        ({"lowest": -0.1}, "lowest must be from 0 to 1, got -0.1"),
        ({"highest": 2}, "highest must be from 0 to 1, got 2"),
        ({"lowest": 0.5, "highest": 0.4}, "lowest must be at most highest, 0.4, got 0.5"),
        ({"min_terms": 0}, "min_terms must be 1 or more, got 0"),
        ({"randomised": -1}, "randomised must be 0 or more, got -1"),
        ({"randomised": True}, "randomised must be 0 or more, got True"),
        ({"dropped": "a"}, "dropped must be from 0 to 1, got 'a'"),
        ({"lexicon": "none"}, "lexicon must be general, jieba or the path"),
    ],
)
def test_an_impossible_argument_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        IMatch(**arguments)
