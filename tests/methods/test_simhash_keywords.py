import random

import pytest
from cases import each
from texts import CHINESE, COOKING, NEWS, SCIENCE

from dedup.methods.simhash import SimHashKeywords, fingerprint
from dedup.text import Document


def document_of(words):
    """A document of those tokens, which need not be what its text is cut into."""
    document = Document(" ".join(words))
    document.__dict__["tokens"] = list(words)
    return document


def keywords(words):
    return list(SimHashKeywords().weighted_features(document_of(words)).items())


# jieba leaves its file open.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("text", [CHINESE, NEWS + COOKING, NEWS + COOKING + SCIENCE + CHINESE])
def test_keywords_are_those_of_jieba(text):
    from jieba.analyse import extract_tags

    tags = dict(extract_tags(text, topK=None, withWeight=True))
    found = keywords(Document.from_main_text(text).tokens)
    assert len(found) == 20
    assert dict(found) == pytest.approx({word: tags[word] for word, _ in found}, abs=1e-9)
    # Up to ties: none that is left out weighs more.
    assert [weight for _, weight in found] == pytest.approx(sorted(tags.values())[:-21:-1])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_stop_words_are_those_of_jieba():
    from jieba.analyse.tfidf import TFIDF

    for word in TFIDF.STOP_WORDS:
        assert keywords([word, "ferry"]) == keywords(["ferry"])
    assert len(keywords(["how", "was", "ferry"])) == 3


def test_ties_are_ordered_by_the_word_descending():
    words = [f"word{i:02}" for i in range(25)]
    found = keywords(random.Random(1).sample(words, 25))
    assert [word for word, _ in found] == words[:4:-1]
    [weight] = {weight for _, weight in found}
    assert (weight * 2**32).is_integer(), "sums are exact"


def test_only_the_heaviest_words_count():
    words = ["北京"] * 9 + ["码头"] * 5
    assert SimHashKeywords(top=1).sketch(document_of(words)) == fingerprint({"北京": 1.0})
    assert SimHashKeywords(top=2).sketch(document_of(words)) == SimHashKeywords().sketch(
        document_of(words)
    )


def test_integer_weights_are_cut_to_twentieths():
    document = Document.from_main_text(CHINESE)
    weights = {word: int(w * 20) for word, w in keywords(document.tokens)}
    assert len(set(weights.values())) > 3
    assert SimHashKeywords(integer=True).sketch(document) == fingerprint(weights)


@each("text", ["", "的 是 了", "a b c 1 2", "the of and which"])
def test_a_text_without_keywords_has_no_sketch(text):
    assert SimHashKeywords().sketch(Document(text)) is None
