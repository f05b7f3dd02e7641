import hashlib
from collections import Counter

import numpy as np
import pytest
from cases import each
from hypothesis import given
from hypothesis import strategies as st
from pairs import matches

from dedup.lexicon import load_lexicon, write_lexicon
from dedup.methods.keywords import VARIANTS, Keywords, weight_distance
from dedup.text import Document

OF_KEYWORDS = VARIANTS[1:]
VECTORS = st.lists(st.integers(1, 1000), min_size=3, max_size=3).map(np.array)


def by_frequency(variant, max_distance=0.05, top=3):
    return Keywords(max_distance, variant=variant, top=top, weights="tf")


def text(**counts):
    return " ".join(" ".join([word] * count) for word, count in counts.items())


def digest(content):
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


@given(VECTORS, VECTORS)
def test_the_distance_of_weights_is_that_computed_by_hand(one, other):
    pairs = list(zip(one.tolist(), other.tolist(), strict=True))
    expected = sum((v - w) ** 2 for v, w in pairs) / sum(v * v + w * w for v, w in pairs)
    distance = weight_distance(one, other)
    assert distance == pytest.approx(expected)
    assert distance == weight_distance(other, one)
    assert 0 <= distance <= 1


def test_what_has_to_be_equal():
    page = Document(text(rose=3, is_=1, ferry=5, boat=3))
    expected = {
        "description": digest(page.text),
        "order": digest("ferry\x01boat\x01rose"),
        "sorted": digest("boat\x01ferry\x01rose"),
    }
    for variant, sketch in expected.items():
        assert by_frequency(variant).sketch(page) == sketch
    weights = np.array([3, 5, 3], "<f4") / np.float32(11)
    assert by_frequency("order-weights").sketch(page) == expected["order"] + weights.tobytes()
    assert by_frequency("sorted-weights").sketch(page) == expected["sorted"] + weights.tobytes()


def test_weights_are_tf_idf():
    page = "the the the the ferry ferry carried the piano and the bride the ferry 码头"
    idf = load_lexicon("general").idf
    weights = {word: tf * idf(word) for word, tf in Counter(page.split()).items()}
    expected = sorted(weights, key=weights.get, reverse=True)[:4]
    assert expected[0] == "ferry"
    assert "the" not in expected
    method = Keywords(variant="order", top=4)
    assert method.sketch(Document(page)) == digest("\x01".join(expected))


@each(
    ("other", "matching"),
    [
        ({"ferry": 50, "boat": 30, "rose": 20}, VARIANTS[1:]),
        ({"ferry": 5, "boat": 3, "rose": 2, "cat": 1}, VARIANTS[1:]),  # the fourth
        ({"ferry": 30, "boat": 50, "rose": 20}, ["sorted"]),
        ({"ferry": 20, "boat": 50, "rose": 30}, ["sorted"]),
        ({"ferry": 42, "boat": 43, "rose": 15}, ["sorted", "sorted-weights"]),
        ({"ferry": 90, "boat": 6, "rose": 4}, ["order", "sorted"]),
        ({"ferry": 5, "boat": 3, "cat": 2}, []),
    ],
)
def test_each_variant_has_its_rule(other, matching):
    page = text(ferry=5, boat=3, rose=2)
    found = [v for v in OF_KEYWORDS if matches(by_frequency(v, 0.1), page, text(**other))]
    assert found == [variant for variant in OF_KEYWORDS if variant in matching]


@each("variant", VARIANTS)
def test_pages_of_different_digests_are_1_apart_whatever_the_threshold(variant):
    method = by_frequency(variant, 0.99)
    one, other = (method.sketch(Document(page)) for page in ("ferry boat", "ferry rose"))
    assert method.distance(one, other) == 1
    assert method.distance(one, one) == 0


def test_words_without_weight_are_no_keywords(tmp_path):
    path = tmp_path / "lexicon"
    write_lexicon(path, 9, {"everywhere": 9, "ferry": 3})
    method = Keywords(variant="sorted", lexicon=str(path))
    assert method.sketch(Document("everywhere everywhere")) is None
    assert method.sketch(Document("everywhere ferry")) == digest("ferry")


def described(by_page, page="The ferry carried cattle.", **arguments):
    method = Keywords(variant="description", **arguments)
    return method.sketch(Document.from_main_text(page, by_page))


def test_a_page_describes_itself():
    assert described("A  Ferry") == described("a ferry", "Another text.") == digest("a ferry")
    assert described("a ferry") != described("a boat")


@each("description", [None, "", " ", "...", "\u200b"])
def test_a_page_without_description_is_described_by_its_text(description):
    assert described(description) == digest("the ferry carried cattle.")


def test_the_description_is_512_bytes_of_whole_characters():
    begin = "a" + "好" * 170  # 511 bytes
    assert described(None, begin + "好" * 9) == digest(begin)
    assert described(None, begin + "b" * 9) == digest(begin + "b")
    assert described(None, begin + "好 one") == described(None, begin + "好 two")


@each("variant", VARIANTS)
def test_a_page_without_text_has_no_sketch_though_it_has_a_description(variant):
    assert Keywords(variant=variant).sketch(Document("!", None, "The same on every page")) is None
