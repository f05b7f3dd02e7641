import random

import pytest
import xxhash
from cases import mixed

from dedup.methods import SimHash
from dedup.methods.simhash import fingerprint
from dedup.text import Document


def test_a_bit_is_that_of_most_of_the_weight_and_0_if_none_has_more():
    one, other, third = (xxhash.xxh3_64_intdigest(word) for word in (b"a", b"b", b"c"))
    assert fingerprint({"a": 1.0, "b": 1.0}) == one & other
    assert fingerprint({"a": 1.1, "b": 1.0}) == one
    assert fingerprint({"a": 1.1, "b": 1.0, "c": 1.0}) == one & other | one & third | other & third
    assert SimHash().sketch(Document("a a a b c")) == one


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
