import math
import random
from collections import Counter

import pytest
import xxhash
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from murmur import fmix64

from dedup.methods.simhash import RandomProjection, SimHash
from dedup.search import index_for
from dedup.text import Document

ENGLISH = (
    "The ferry across the Wend has carried cattle, brides and one grand piano. The ferryman says "
    "that the piano was the quietest of them, and that the brides were not."
)
WORDS = st.lists(st.sampled_from(["a", "rose", "is", "not", "the", "玫瑰", "é"]), min_size=1)
VECTORS = ["signs", "gaussian"]


def signs_of(word):
    """The vector of +1 and -1 of a word: the bits of its hashes, the lowest first."""
    hashes = [xxhash.xxh3_64_intdigest(word.encode(), seed) for seed in range(6)]
    return [1 if hashes[bit // 64] >> bit % 64 & 1 else -1 for bit in range(384)]


def normal_of(word):
    """The vector of nearly normally distributed numbers of a word: the ones among 256 bits."""
    of_word = xxhash.xxh3_64_intdigest(word.encode())
    seeds = [fmix64(number * 0x9E3779B97F4A7C15 % 2**64) for number in range(1, 4 * 384 + 1)]
    ones = [fmix64(of_word ^ seed).bit_count() for seed in seeds]
    return [sum(ones[4 * bit : 4 * bit + 4]) - 128 for bit in range(384)]


VECTOR_OF = {"signs": signs_of, "gaussian": normal_of}


def projected_by_hand(tokens, vector_of):
    """One bit for each hyperplane: is the product with the term frequencies positive?"""
    counts = Counter(tokens)
    columns = {word: vector_of(word) for word in counts}
    result = 0
    for bit in range(384):
        hyperplane = {word: columns[word][bit] for word in counts}
        product = sum(counts[word] * hyperplane[word] for word in counts)
        result |= (product > 0) << bit
    return result


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


def found(method, one, other):
    """The distance at which the index finds one sketch by the other, or None."""
    index = index_for(method)
    index.add(one)
    match = index.query(other)
    return match and match.distance


def test_it_has_384_bits_of_which_372_have_to_agree():
    method = RandomProjection()
    assert (method.bits, method.bits - method.max_distance) == (384, 372)
    assert len(method.to_bytes(method.sketch(Document("word")))) == 48


@each(
    ("agreeing", "distance"), [(384, 0), (373, 11), (372, 12), (371, None), (370, None), (0, None)]
)
def test_pages_match_if_372_bits_agree(agreeing, distance):
    chooser = random.Random(agreeing)
    for _ in range(20):
        one = chooser.getrandbits(384)
        flips = chooser.sample(range(384), 384 - agreeing)
        assert found(RandomProjection(), one, one ^ sum(1 << bit for bit in flips)) == distance


@each("start", range(32))
def test_differences_that_are_spread_evenly_are_found(start):
    """One in each of twelve pieces: the paper's index, of twelve, would miss them."""
    one = random.Random(start).getrandbits(384)
    flips = sum(1 << bit for bit in range(start, 384, 32))
    assert found(RandomProjection(), one, one ^ flips) == 12


def test_a_word_has_the_signs_of_its_hashes():
    assert sketch("word") == projected_by_hand(["word"], signs_of)
    assert sketch("word") & ((1 << 64) - 1) == xxhash.xxh3_64_intdigest(b"word")


def test_a_positive_sum_gives_1_and_a_sum_of_zero_0():
    one, two, three = sketch("one"), sketch("two"), sketch("three")
    assert sketch("one two") == one & two
    assert sketch("one two three") == one & two | one & three | two & three


def test_a_word_weighs_as_much_as_it_occurs():
    """By the logarithm, five of one would weigh less than four others."""
    one, others = sketch("one"), "two three four five"
    assert sketch(f"one one one one one {others}") == one
    bits_against = ~sketch("two") & ~sketch("three") & ~sketch("four") & ~sketch("five")
    assert one & bits_against
    assert sketch(f"one one one one {others}") == one & ~bits_against


@pytest.mark.slow
@pytest.mark.parametrize("vectors", VECTORS)
@given(tokens=WORDS)
def test_a_bit_is_the_side_of_a_hyperplane(vectors, tokens):
    """Simhash is a projection: the rows of the matrix are hyperplanes, the columns hashes."""
    assert sketch(" ".join(tokens), vectors) == projected_by_hand(tokens, VECTOR_OF[vectors])


@pytest.mark.slow
@pytest.mark.parametrize("vectors", VECTORS)
def test_a_long_text_has_the_sketch_computed_by_hand(vectors):
    chooser = random.Random(1)
    tokens = [f"word{int(chooser.expovariate(0.01))}" for _ in range(2000)]
    assert sketch(" ".join(tokens), vectors) == projected_by_hand(tokens, VECTOR_OF[vectors])


@given(WORDS, st.sampled_from([32, 33, 64, 65, 128, 384]))
def test_with_signs_it_is_simhash_with_term_frequencies(tokens, bits):
    document = Document(" ".join(tokens))
    expected = SimHash(weights="tf", bits=bits).sketch(document)
    assert RandomProjection(bits=bits).sketch(document) == expected
    assert expected == sketch(document.text) & ((1 << bits) - 1)


@pytest.mark.parametrize("vectors", VECTORS)
@given(order=st.permutations(ENGLISH.split()))
def test_the_order_of_words_changes_nothing(vectors, order):
    assert sketch(" ".join(order), vectors) == sketch(ENGLISH, vectors)


@pytest.mark.parametrize("vectors", VECTORS)
@given(tokens=WORDS, times=st.integers(2, 20))
def test_repeating_a_text_changes_nothing(vectors, tokens, times):
    assert sketch(" ".join(tokens * times), vectors) == sketch(" ".join(tokens), vectors)


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


def test_bits_of_unrelated_texts_differ_by_chance():
    chooser, pairs = random.Random(3), 200
    distances = []
    for _ in range(pairs):
        first, second = (
            sketch(" ".join(f"w{chooser.getrandbits(40):x}" for _ in range(101))) for _ in range(2)
        )
        distances.append((first ^ second).bit_count())
    deviation = math.sqrt(384 / 4)
    assert abs(sum(distances) / pairs - 192) < 4 * deviation / math.sqrt(pairs)
    assert min(distances) > 192 - 5 * deviation


@pytest.mark.parametrize(
    ("vectors", "digest"), [("signs", "dd2e6e5a5cda163c"), ("gaussian", "cf582bb39dc87d0d")]
)
def test_a_sketch_never_changes(vectors, digest):
    """Pages are compared with ones that were stored by an earlier release, or another NumPy."""
    data = sketch(ENGLISH.lower(), vectors).to_bytes(48, "little")
    assert xxhash.xxh3_64_hexdigest(data) == digest


@pytest.mark.parametrize("vectors", VECTORS)
def test_a_document_without_tokens_has_no_sketch(vectors):
    assert RandomProjection(vectors=vectors).sketch(Document("")) is None


@each(
    ("arguments", "message"),
    [
        ({"bits": 31}, "bits must be from 32 to 384, got 31"),
        ({"bits": 385}, "bits must be from 32 to 384, got 385"),
        ({"max_distance": 384}, "max_distance must be from 0 to 383, got 384"),
        ({"max_distance": 64, "bits": 64}, "max_distance must be from 0 to 63, got 64"),
        ({"vectors": "sign"}, "vectors must be one of signs, gaussian, got 'sign'"),
    ],
)
def test_an_impossible_argument_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        RandomProjection(**arguments)
