"""What every registered method has to do."""

import json
import pickle
import random

import numpy as np
import pytest
import xxhash
from cases import each, examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pairs import sketched
from texts import CHINESE, ENGLISH

from dedup.arrays import Packed, lengths_of
from dedup.methods import METHODS, FingerprintMethod
from dedup.search import index_for
from dedup.text import Document

TEXTS = {
    "English": ENGLISH,
    "Chinese": CHINESE,
    "both": f"{ENGLISH}\n{CHINESE}",
    "long": " ".join(
        f"The word{i % 7919} was {i} steps from the end of a long and winding text."
        for i in range(2_000)
    ),
}
# Too little for some methods: then it has no sketch, and never matches.
SMALL = [
    "word", "two words", "北京", "12345", "It was.", "word " * 100, "the of and is it " * 20,
    "\n".join(f"item{i}" for i in range(50)),
]  # fmt: skip


@pytest.fixture(params=METHODS.items(), ids=METHODS)
def registered(request):
    return request.param


@pytest.fixture
def method(registered):
    return registered[1]()


def test_a_method_says_what_it_is_and_where_it_is_from(registered):
    name, kind = registered
    assert kind.name == name
    assert "Source:" in kind.__doc__ or name in ("exact", "verified")


# The fast loop has the first two.
@pytest.fixture(
    params=[
        pytest.param(text, id=name, marks=[pytest.mark.slow] * (place > 1))
        for place, (name, text) in enumerate(TEXTS.items())
    ]
)
def document(request):
    return Document.from_main_text(request.param)


def edited(text, share, seed=0):
    """The text with that share of its words replaced, or characters of Chinese ones."""
    chooser = random.Random(seed)
    words = list(text) if text == CHINESE else text.split(" ")
    for place in chooser.sample(range(len(words)), int(share * len(words))):
        words[place] = "换" if text == CHINESE else f"changed{place}"
    return ("" if text == CHINESE else " ").join(words)


WORDS = ["a", "a", "the", "7", "b52", "x" * 9, "x" * 20, "naïve", "北京大学", "№ 7", "ﬁne", ". "]


@pytest.mark.slow
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.lists(
        st.one_of(
            st.text(max_size=40),
            st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join),
            st.integers(1, 600).map(lambda count: f"{ENGLISH} {'again ' * count}"),
        ),
        max_size=12,
    )
)
def test_any_texts_have_the_sketches_that_each_has(method, texts):
    together = method.sketches(method.documents(texts))
    alone = [method.sketch(method.document(text)) for text in texts]
    assert [sketch if sketch is None else method.to_bytes(sketch) for sketch in together] == [
        sketch if sketch is None else method.to_bytes(sketch) for sketch in alone
    ]


def test_either_form_of_an_operation_follows_from_the_other(registered):
    _, kind = registered

    class Halved:
        def distance(self, sketch, other):
            return super().distance(sketch, other) / 2

        def keys(self, sketch):
            return sorted(super().keys(sketch))[:1]

        def sketch(self, document):
            return super().sketch(document) if "cat" in document.text else None

    class Farther(type("Derived", (Halved, kind), {})):
        def distances_of_pairs(self, payloads, others):
            return super().distances_of_pairs(payloads, others) + 7

    method, plain = Farther(), kind()
    sketches = [method.sketch(Document(text)) for text in (ENGLISH, edited(ENGLISH, 0.02))]
    assert method.distance(*sketches) == plain.distance(*sketches) / 2 + 7
    [data, _] = stored = [method.to_bytes(sketch) for sketch in sketches]
    keys, counts, _ = method.keys_of_many(stored)
    assert counts.tolist() == [1, 1]
    assert method.sketches([Document("else"), Document("cattle " * 30)])[0] is None
    assert [keys[0]] == method.keys(sketches[0]) == sorted(plain.keys(plain.from_bytes(data)))[:1]


def test_a_document_without_content_has_no_sketch(method):
    texts = ["", " ", "?! …", "\x00", "♥♥♥", "。。。", "\n\n\n"]
    sketches = {text: method.sketch(Document.from_main_text(text)) for text in texts}
    assert sketches == dict.fromkeys(texts)


def test_texts_with_nothing_in_common_do_not_match(method):
    index = index_for(method)
    for text in TEXTS.values():
        sketch = method.sketch(Document.from_main_text(text))
        matches = index.query_all(sketch)
        # The text in both languages shares one half with each of two others.
        assert text == TEXTS["both"] or matches == []
        if text != TEXTS["both"]:
            index.add(sketch)


def test_distance_is_zero_to_oneself_and_symmetric_unless_it_finds_parts(method):
    texts = [*TEXTS.values(), edited(ENGLISH, 0.01), *SMALL]
    made = [method.sketch(Document.from_main_text(text)) for text in texts]
    sketches = [sketch for sketch in made if sketch is not None]
    for one in sketches:
        assert method.distance(one, one) == 0
        for other in sketches:
            assert method.distance(one, other) >= 0
            if not method.finds_parts:
                assert method.distance(one, other) == method.distance(other, one)


def test_only_a_method_that_finds_parts_has_a_direction(method):
    part, whole = (
        method.sketch(Document.from_main_text(text)) for text in (ENGLISH, TEXTS["both"])
    )
    distances = method.distance(part, whole), method.distance(whole, part)
    if method.finds_parts:
        assert distances[0] <= method.max_distance < distances[1]
    else:
        assert distances[0] == distances[1]
    for stored, asked, distance in ((whole, part, distances[0]), (part, whole, distances[1])):
        index = index_for(method)
        index.add(stored)
        assert bool(index.query(asked)) is (distance <= method.max_distance)


def test_what_an_index_asks_of_many_sketches_is_what_it_asks_of_each(method):
    documents = [Document(edited(ENGLISH + " 12 34", 0.03, seed)) for seed in range(12)]
    found = [sketch for document in documents if (sketch := method.sketch(document)) is not None]
    for count in (0, 1, len(found)):
        data = [method.to_bytes(sketch) for sketch in found[:count]]
        check_what_an_index_asks(method, found[:count], data)
        check_what_an_index_asks(method, found[:count], Packed.of(b"".join(data), lengths_of(data)))


def check_what_an_index_asks(method, sketches, data):
    keys, counts, payloads = method.keys_of_many(data)
    borders = np.cumsum(counts)
    assert [set(own.tolist()) for own in np.split(keys, borders)[: len(sketches)]] == [
        set(method.keys(sketch)) for sketch in sketches
    ]
    assert list(payloads) == [method.payload(sketch) for sketch in sketches]
    pairs = [(one, other) for one in range(len(sketches)) for other in range(one)]
    columns = ([payloads[pair[n]] for pair in pairs] for n in (0, 1))
    distances = method.distances_of_pairs(*columns)
    assert distances.tolist() == [
        method.distance(sketches[one], sketches[other]) for one, other in pairs
    ]


@pytest.mark.slow
def test_it_and_its_sketches_can_be_stored_and_sent(method, document):
    assert json.loads(json.dumps(method.identity)) == method.identity
    sent = pickle.dumps(method)
    assert len(sent) < 10_000
    sketch = method.sketch(document)
    data = method.to_bytes(sketch)
    assert method.distance(sketch, method.from_bytes(data)) == 0
    for again in (pickle.loads(sent), type(method)(**method.parameters)):
        assert again.parameters == method.parameters
        assert again.to_bytes(again.from_bytes(data)) == data
        assert sketched(again, document.main_text) == data


def test_it_knows_values_to_sweep_over(registered):
    argument, values = registered[1].sweep
    for value in values:
        assert registered[1](**{argument: value}).parameters[argument] == value
    assert values or registered[0] == "exact"


def test_it_shows_what_its_sketches_are_made_of(method, document):
    features = method.weighted_features(document)
    # The digest of the whole text has no features to show.
    assert bool(features) is (method.name != "exact")
    assert all(isinstance(feature, str) and feature for feature in features)
    assert all(weight >= 0 for weight in features.values())


# The versions, and digests of the sketches of the texts in English and Chinese. Where one differs,
# sketches that were stored by an earlier release are not comparable any more: the method needs
# another version. Each process has other hashes of Python's, so those are in no sketch.
GOLDEN: dict[str, tuple[int, str, str]] = {
    "simhash": (1, "1ead1ff77ddbdc61", "81c6a39a1482d7ef"),
    "simhash-bigrams": (1, "9453af2a96f0d1a0", "a69d456095a3c3bc"),
    "simhash-keywords": (1, "29c26f24e61f7ac6", "598d966df4994a74"),
    "random-projection": (1, "3dec7d537a4d35c9", "c58a120946c5ccc1"),
    "minhash": (2, "ab82db17b43b8f56", "bd896f6acf6904bb"),
    "shingling": (3, "0145e3201522e49b", "bc15289190b7140c"),
    "combined": (3, "0c9892d0946ecdf1", "b7d30dc12e98c285"),
    "spotsigs": (2, "ff7bb8c9d0531f2a", "9db8900faf3bd884"),
    "segments": (3, "2eb437c98d76c4bf", "3514a970218dab4e"),
    "feature-code": (2, "5f7c85faff01b49b", "4331ee6a71358acb"),
    "long-sentences": (2, "dec510f0755a1985", "13dfa8b59dd173bc"),
    "i-match": (2, "a6480ce881ca4a4d", "a971c234d9bfbaf3"),
    "keywords": (2, "2a7f295e7d0277d7", "4dc4bfee8f9f1b97"),
    "text-profile": (2, "3fc65cb5e71b61c0", "ed9ecbbbb14faf87"),
    "exact": (2, "d0475223e171fb03", "7424b4d313361060"),
    "verified": (2, "9d219c400b106f11", "d1133c6f52808c5b"),
    "containment": (1, "120aa53fc77ebb91", "782a2ff43d2bf11e"),
}


@each("name", METHODS)
def test_sketches_change_with_the_version_only(name):
    method = METHODS[name]()
    if getattr(method, "lexicon", None):  # the general one changes with the package it is made of
        method = METHODS[name](lexicon="jieba")
    digests = tuple(xxhash.xxh3_64_hexdigest(sketched(method, text)) for text in (ENGLISH, CHINESE))
    assert (method.version, *digests) == GOLDEN[name]


FINGERPRINTS = [kind for kind in METHODS.values() if issubclass(kind, FingerprintMethod)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FINGERPRINTS)
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1))
def test_fingerprints_within_the_threshold_share_a_key(kind, seed, share):
    chooser = random.Random(seed)
    for max_distance in (0, 3, kind().max_distance, 40):
        method = kind(min(max_distance, kind().bits - 1))
        one = chooser.getrandbits(method.bits)
        flips = chooser.sample(range(method.bits), round(share * method.max_distance))
        other = one ^ sum(1 << bit for bit in flips)
        assert set(method.keys(one)) & set(method.keys(other))
