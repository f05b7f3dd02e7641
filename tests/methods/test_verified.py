import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedup.methods import verified
from dedup.methods.hashing import PLAIN
from dedup.methods.shingles import shingle_hashes
from dedup.methods.verified import Verified
from dedup.text import Document
from dedup.words import Words

VERIFIED = Verified()


def words(count, seed=0):
    chooser = random.Random(seed)
    return ["".join(chooser.choices("abcdefghijklmnop", k=6)) for _ in range(count)]


def sketch(tokens):
    return VERIFIED.sketch(Document(" ".join(tokens)))


def distance(one, other):
    return VERIFIED.distance(sketch(one), sketch(other))


def jaccard(one, other):
    one, other = ({*shingle_hashes(tokens, 3).tolist()} for tokens in (one, other))
    return len(one & other) / len(one | other)


def edited(tokens, count, seed=1):
    chooser = random.Random(seed)
    tokens = list(tokens)
    for place in chooser.sample(range(len(tokens)), count):
        tokens[place] = f"edited{'abcdefghij'[place % 10]}{'klmnopqrst'[place // 10 % 10]}"
    return tokens


@pytest.mark.parametrize("count", [0, 1, 5, 20, 60])
@pytest.mark.parametrize("size", [80, 400, 3000])
def test_the_distance_estimates_that_of_the_shingles(size, count):
    text = words(size)
    other = edited(text, count)
    assert distance(text, other) == pytest.approx(1 - jaccard(text, other), abs=0.12)


@pytest.mark.slow
@pytest.mark.parametrize(("similarity", "least"), [(0.95, 1.0), (0.8, 0.99), (0.65, 0.9)])
def test_pairs_above_the_threshold_share_a_band(similarity, least):
    found = 0
    for seed in range(100):
        text = words(500, seed)
        changes = round(500 * (1 - similarity) / (1 + similarity) / 3)
        other = edited(text, changes, seed)
        assert jaccard(text, other) == pytest.approx(similarity, abs=0.05)
        found += bool({*VERIFIED.keys(sketch(text))} & {*VERIFIED.keys(sketch(other))})
    assert found >= 100 * least


def report(seed, *figures, length=90):
    """A report whose figures are filled in; the first word differs too."""
    text = words(length, seed)
    for number, figure in enumerate(figures):
        text[(number + 1) * length // (len(figures) + 1)] = str(figure)
    return text


@pytest.mark.parametrize("replaced", [0, 1, 3, 9])
@pytest.mark.parametrize("numbers", [4, 12, 16, 40])
def test_replaced_numbers_count_by_their_root_and_the_length(numbers, replaced):
    one = report(4, *range(100, 100 + numbers), length=400)
    other = [f"{int(word) + 1000}" if word.isdigit() and int(word) < 100 + replaced else word
             for word in one]  # fmt: skip
    # What is only added counts for nothing: neither numbers nor words.
    other += [*words(20, 9), "7"]
    replaced = min(replaced, numbers)
    sketches = sketch(one), sketch(other)
    signatures = [np.frombuffer(VERIFIED.payload(each), np.uint8)[36:] for each in sketches]
    of_shingles = 2 * int(np.bitwise_count(signatures[0] ^ signatures[1]).sum()) / 1024
    # Of more than 16 numbers, an estimate.
    tolerance = 1e-9 if numbers < 16 else 0.06
    expected = of_shingles + 10 * math.sqrt(replaced) / 400
    assert distance(one, other) == pytest.approx(expected, abs=tolerance)


def test_a_number_whose_hash_stands_for_none_is_a_number():
    text = [*words(30), "31333"]
    assert distance(text, text) == 0
    assert distance(text, [*words(30), "74270"]) > 0


def number_hashes(tokens):
    hashes, _ = verified.number_hashes(Words([tokens.encode()]))
    return hashes.tolist()


@given(st.lists(st.sampled_from(["a", "7", "b52", "2nd", "x1y2", "٣", "½", "no"]), max_size=9))
def test_a_number_is_a_token_with_a_digit_in_it(tokens):
    with_digits = Counter(token for token in tokens if any(c.isdecimal() for c in token))
    hashes = {
        min(PLAIN.feature_hash(f"{token}\x01{i}") >> 48, 2**16 - 2)
        for token, count in with_digits.items()
        for i in range(count)
    }
    assert number_hashes(" ".join(tokens)) == sorted(hashes)
