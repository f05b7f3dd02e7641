import json

import pytest
from cases import each
from texts import ENGLISH, edited

from dedup.explanation import Side, compare, explain
from dedup.extraction import Extraction
from dedup.methods import METHODS, SimHash
from dedup.methods.keyed import KeyedHashing
from dedup.methods.minhash import MinHash
from dedup.rule import Rule
from dedup.text import Document


def sides(one, other):
    return Side("one", Extraction(one)), Side("other", Extraction(other))


def explanation(one, other, method=None, min_tokens=2):
    return explain(*sides(one, other), method or SimHash(), Rule(min_tokens))


LONG = ENGLISH + " ".join(f"word{number}" for number in range(300))


WIDE = SimHash(63)


@each(
    ("one", "other", "expected", "others"),
    [
        (ENGLISH, ENGLISH.upper(), "duplicate", ()),
        (LONG, edited(LONG), "near-duplicate", ()),
        (ENGLISH, LONG, "different", ()),
        (ENGLISH, " ", "empty", ()),
        (ENGLISH, "word", "too short", ()),
        ("word", "Word", "duplicate", ()),  # equal short texts are, as in a crawl
        ("word", "…", "too short", ()),
        ("one two three four", "one two three five", "near-duplicate", (WIDE, 4)),
        ("one two three four", "one two three five", "too short", (WIDE, 5)),
        (ENGLISH, "item one item two", "no sketch", (METHODS["spotsigs"](),)),
    ],
)
def test_the_verdict_is_the_one_of_a_crawl(one, other, expected, others):
    figures = explanation(one, other, *others)
    assert figures["judgement"]["verdict"] == expected
    assert figures["equal"] == (expected == "duplicate")


def test_pages_that_share_no_block_key_are_not_compared():
    pair = sides(ENGLISH, edited(ENGLISH))
    [near, far] = (
        compare(*pair, MinHash(threshold, bands=1, rows=100), Rule(2)) for threshold in (100, 0)
    )
    assert (near["verdict"], far["verdict"]) == ("not compared", "different")
    exactly = compare(*pair, MinHash(near["distance"], bands=1, rows=100), Rule(2))
    assert exactly["verdict"] == "not compared"


def features(*texts, **arguments):
    """The text of each feature, and its weight in either page."""
    found = explanation(*texts, SimHash(**arguments))["features"]
    return [tuple(feature.values()) for feature in found]


def test_features_are_of_both_pages_the_heaviest_first():
    found = features("a rose a rose is", "is a thorn")
    assert [(text, round(one, 2), round(other, 2)) for text, one, other in found] == [
        ("a", 1.69, 1), ("rose", 1.69, 0), ("is", 1, 1), ("thorn", 0, 1),
    ]  # fmt: skip
    shingles = {"features": "shingles", "width": 2}
    assert features("a rose is", "a rose", **shingles) == [("a rose", 1, 1), ("rose is", 1, 0)]
    # Of equal weight, in the order of the alphabet.
    found = features("pear fig apple", "date fig banana")
    assert [text for text, *_ in found] == ["apple", "banana", "date", "fig", "pear"]


class Own(SimHash):
    name = "own"


def test_all_methods_judge_and_first_the_one_asked_for_with_its_arguments():
    names = [judgement["method"] for judgement in explanation("a", "b", Own())["judgements"]]
    assert names == ["own", *METHODS]
    pair = explanation(LONG, edited(LONG), METHODS["verified"](max_distance=0))
    verdicts = {each["method"]: each["verdict"] for each in pair["judgements"]}
    assert sorted(verdicts) == sorted(METHODS)
    assert pair["judgements"][0] == pair["judgement"]
    assert (pair["judgement"]["method"], pair["judgement"]["verdict"]) == ("verified", "different")
    assert verdicts["simhash"] == "near-duplicate"


@pytest.mark.parametrize("order", [1, -1])
def test_the_second_page_is_judged_as_a_part_of_the_first(order):
    part, whole = LONG, f"{LONG} {' '.join(f'other{number}' for number in range(300))}"
    pair = compare(*sides(*(whole, part)[::order]), METHODS["containment"](), Rule(2))
    assert pair["verdict"] == ("near-duplicate" if order == 1 else "different")
    assert (pair["distance"] == 0) is (order == 1)


def test_it_can_be_written_as_json_without_infinity():
    method = METHODS["combined"]()
    written = explanation(LONG, ENGLISH, method)
    assert json.loads(json.dumps(written, allow_nan=False)) == written
    assert written["judgement"] == {
        "method": "combined",
        "parameters": method.parameters,
        "distance": None,
        "max_distance": 29,
        "verdict": "different",
    }
    assert written["fingerprints"] is None
    assert (written["a"]["tokens"], written["b"]["source"]) == (427, "other")
    assert written["diff"][-1]["kind"] == "removed"
    alike = explanation(LONG, edited(LONG))
    one, other = (int(bits, 16) for bits in alike["fingerprints"].values())
    assert (one ^ other).bit_count() == alike["judgement"]["distance"]


def test_all_methods_judge_with_the_secret_of_the_one_asked_for():
    method = METHODS["random-projection"]().with_hashing(
        KeyedHashing("correct horse battery staple")
    )
    one, other = (Document.from_main_text(text) for text in (LONG, edited(LONG)))
    keyed = explanation(LONG, edited(LONG), SimHash().with_hashing(method.hashing))
    [told] = [judged for judged in keyed["judgements"] if judged["method"] == method.name]
    assert told["distance"] == method.distance(*method.sketches([one, other]))
