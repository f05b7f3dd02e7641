import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import MASK, fmix64

from dedup.lexicon import write_lexicon
from dedup.methods.hashing import PLAIN
from dedup.methods.i_match import IMatch
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


def test_too_few_terms_have_no_sketch():
    assert sketched(IMatch(), *WORDS[:3]) is None
    assert sketched(IMatch(), *WORDS[:3], *WORDS[:3], "the", "of") is None
    assert sketched(IMatch(), *WORDS[:4]) is not None
    assert sketched(IMatch(min_terms=1), WORDS[0]) is not None


def test_digests_are_those_of_the_terms_each_lexicon_keeps():
    method = IMatch(randomised=20, dropped=0.4, min_terms=6)
    expected = [sorted(WORDS), *(kept_by_hand(sorted(WORDS), n, 0.4) for n in range(1, 21))]
    digests = tuple(digest(kept) if len(kept) >= 6 else 0 for kept in expected)
    assert tuple(sketched(method, *WORDS)) == digests
    assert 0 in digests


def test_one_equal_digest_is_a_match():
    method = IMatch(randomised=3)
    assert method.distance((1, 2, 3, 4), (5, 6, 3, 7)) == 3 == method.max_distance
    assert method.distance((1, 2, 3, 4), (1, 2, 3, 7)) == 1
    assert method.distance((1, 2, 0, 4), (5, 2, 0, 7)) == 2
    assert method.distance((1, 2, 0, 4), (5, 6, 0, 7)) == 4
    assert method.distance((1, 2, 3, 4), (5, 6, 7, 8)) == 4


SKETCHES = st.lists(st.integers(0, 3), min_size=4, max_size=4).map(tuple)


@given(SKETCHES, SKETCHES)
def test_sketches_match_if_they_share_a_key(one, other):
    method = IMatch(randomised=3)
    share = bool(set(method.keys(one)) & set(method.keys(other)))
    assert matches(method, one, other) == share
