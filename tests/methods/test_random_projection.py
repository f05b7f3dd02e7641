import random
from collections import Counter

import pytest
import xxhash
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from pairs import fmix64, found

from dedup.methods.simhash import RandomProjection, SimHash
from dedup.text import Document

WORDS = st.lists(st.sampled_from(["a", "rose", "is", "not", "the", "玫瑰", "é"]), min_size=1)


def normal_of(word):
    """The vector of nearly normally distributed numbers of a word: the ones among 256 bits."""
    of_word = xxhash.xxh3_64_intdigest(word.encode())
    seeds = [fmix64(number * 0x9E3779B97F4A7C15 % 2**64) for number in range(1, 4 * 384 + 1)]
    ones = [fmix64(of_word ^ seed).bit_count() for seed in seeds]
    return [sum(ones[4 * bit : 4 * bit + 4]) - 128 for bit in range(384)]


def projected_by_hand(tokens):
    """One bit for each hyperplane: is the product with the term frequencies positive?"""
    counts = Counter(tokens)
    columns = {word: normal_of(word) for word in counts}
    sums = [sum(counts[word] * columns[word][bit] for word in counts) for bit in range(384)]
    return sum((total > 0) << bit for bit, total in enumerate(sums))


def sketch(text, vectors="signs"):
    return RandomProjection(vectors=vectors).sketch(Document(text))


@each(
    ("agreeing", "distance"), [(384, 0), (373, 11), (372, 12), (371, None), (370, None), (0, None)]
)
def test_pages_match_if_372_bits_agree(agreeing, distance):
    chooser = random.Random(agreeing)
    for _ in range(20):
        one = chooser.getrandbits(384)
        flips = chooser.sample(range(384), 384 - agreeing)
        assert found(RandomProjection(), one, one ^ sum(1 << bit for bit in flips)) == distance


@pytest.mark.slow
@given(tokens=WORDS)
def test_a_bit_is_the_side_of_a_hyperplane(tokens):
    assert sketch(" ".join(tokens), "gaussian") == projected_by_hand(tokens)


@given(WORDS, st.sampled_from([32, 33, 64, 65, 128, 384]))
def test_with_signs_it_is_simhash_with_term_frequencies(tokens, bits):
    document = Document(" ".join(tokens))
    expected = SimHash(weights="tf", bits=bits).sketch(document)
    assert RandomProjection(bits=bits).sketch(document) == expected
    assert expected == sketch(document.text) & ((1 << bits) - 1)
