import math
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
VECTORS = ["signs", "gaussian"]


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


def text_of(counts, chooser):
    words = list(Counter(counts).elements())
    chooser.shuffle(words)
    return " ".join(words)


def counts_at(cosine, chooser, words=300):
    """Two bags of words at about that cosine, each of an odd number, and the cosine itself."""
    shared = some_words(round(words * cosine), chooser)
    one, other = (shared | some_words(words - len(shared), chooser) for _ in range(2))
    for bag in (one, other):
        # The sums of +tf and -tf are then odd too: no ties, of which the theory knows nothing.
        bag["odd"] = 1 + sum(bag.values()) % 2
    product = sum(count * other.get(word, 0) for word, count in one.items())
    norms = math.prod(math.sqrt(sum(c * c for c in bag.values())) for bag in (one, other))
    return one, other, product / norms


def some_words(count, chooser):
    """A bag of so many new words, each of them up to nine times."""
    return {f"w{chooser.getrandbits(60):x}": chooser.randint(1, 9) for _ in range(count)}


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


@pytest.mark.slow
@pytest.mark.parametrize("vectors", VECTORS)
@pytest.mark.parametrize("wanted", [0.98, 0.9, 0.5, 0])
def test_a_bit_differs_with_the_probability_of_the_angle(vectors, wanted):
    chooser, pairs = random.Random(2), 12
    differing, expected = 0, []
    for _ in range(pairs):
        one, other, cosine = counts_at(wanted, chooser)
        first, second = (sketch(text_of(counts, chooser), vectors) for counts in (one, other))
        differing += (first ^ second).bit_count()
        expected.append(math.acos(cosine) / math.pi)
    probability = sum(expected) / pairs
    error = math.sqrt(sum(p * (1 - p) for p in expected) / 384) / pairs
    assert abs(differing / (384 * pairs) - probability) < 4 * error
    assert abs(math.cos(math.pi * probability) - wanted) < 0.1
