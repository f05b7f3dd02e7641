import math
import random

import pytest
import xxhash
from cases import mixed
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.methods import SimHash
from dedup.methods.simhash import fingerprint, log_weights
from dedup.text import Document


def fingerprint_by_hand(counts):
    """Simhash with whole numbers, one bit and one feature at a time."""
    result = 0
    for bit in range(64):
        total = 0
        for feature, count in counts.items():
            weight = round((1 + math.log(count)) * 2**16)
            total += weight if xxhash.xxh3_64_intdigest(feature.encode()) >> bit & 1 else -weight
        result |= (total > 0) << bit
    return result


@pytest.mark.slow
@example({"a": 1, "b": 1})  # a sum of exactly 0 gives 0
@given(st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 1000), min_size=1))
def test_a_fingerprint_is_that_computed_by_hand(counts):
    assert fingerprint(log_weights(counts)) == fingerprint_by_hand(counts)


def test_a_fingerprint_is_that_of_the_features_that_are_shown():
    document = Document("the cat sat on the mat")
    weights = SimHash().weighted_features(document)
    assert {word: round(weight, 3) for word, weight in weights.items()} == {
        "the": 1.693, "cat": 1, "sat": 1, "on": 1, "mat": 1,
    }  # fmt: skip
    assert fingerprint(weights) == SimHash().sketch(document)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weights", "bits"), mixed(["log-tf", "tf", "binary", "tf-idf"], [32, 63, 65, 64])
)
def test_texts_together_have_the_fingerprints_that_each_has(weights, bits):
    method = SimHash(weights=weights, bits=bits)
    chooser = random.Random(bits)
    words = [f"{'long' * (n % 7)}{n}" for n in range(2000)]
    lengths = [0, 1, 2, 300, 700, 0, *(chooser.randrange(200) for _ in range(300))]
    texts = [Document(" ".join(chooser.choices(words, k=length))) for length in lengths]
    texts.append(Document("again " * 300 + "more " * 255 + " ".join(words)))
    assert method.sketches(texts) == [method.sketch(text) for text in texts]


def test_a_fingerprint_does_not_depend_on_how_many_features_are_added_at_a_time(monkeypatch):
    document = Document(" ".join(f"word{number}" for number in range(100)))
    [whole] = SimHash().sketches([document])
    monkeypatch.setattr("dedup.methods.simhash._FEATURES_AT_A_TIME", 7)
    assert SimHash().sketches([document]) == [whole]


class LongWords(SimHash):
    def weighted_features(self, document):
        return {token: 1.0 for token in document.tokens if len(token) > 4}


def test_what_is_derived_from_it_keeps_its_own_features():
    texts = [Document(text) for text in ("some longer words", "other longer words", "a", "b")]
    assert LongWords().sketches(texts) == [LongWords().sketch(text) for text in texts]
