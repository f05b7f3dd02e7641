"""Arguments that a method cannot have: each is refused, and the message says what was expected."""

import re

import pytest
from cases import each

from dedup.methods import METHODS

FINGERPRINTS = ("simhash", "simhash-bigrams", "simhash-keywords", "random-projection")
WRONG = [
    *[
        (name, {"max_distance": wrong}, f"max_distance must be from 0 to {most}, got {wrong!r}")
        for name in FINGERPRINTS
        for most in [METHODS[name]().bits - 1]
        for wrong in (-1, most + 1, 1000, 3.0, "3", None, True)
    ],
    *[
        (name, {"max_distance": wrong}, f"max_distance must be from 0 to 1, got {wrong!r}")
        for name in ["containment", "feature-code", "keywords", "long-sentences", "segments",
                     "spotsigs", "verified"]
        for wrong in (-0.1, 1.5, "a", None, True)
    ],
    *[
        (name, {"bits": wrong}, f"bits must be from 32 to 384, got {wrong}")
        for name in (*FINGERPRINTS, "combined")
        for wrong in (31, 385)
    ],
    *[
        (name, {argument: wrong}, f"{argument} must be 1 or more, got {wrong!r}")
        for name, argument in [
            ("combined", "supershingles"), ("combined", "width"), ("containment", "hashes"),
            ("containment", "width"), ("feature-code", "letters"), ("feature-code", "stops"),
            ("i-match", "min_terms"), ("keywords", "top"), ("long-sentences", "min_length"),
            ("long-sentences", "sentences"), ("minhash", "bands"), ("minhash", "rows"),
            ("minhash", "width"), ("segments", "min_equal"), ("segments", "segments"),
            ("shingling", "supershingles"), ("shingling", "width"), ("simhash-keywords", "top"),
            ("spotsigs", "min_spots"), ("text-profile", "min_length"),
        ]
        for wrong in (0, "6", True, 2.0, None)
    ],
    *[
        (name, {"lexicon": "none"}, "lexicon must be general, jieba or the path")
        for name in ("i-match", "keywords", "simhash-keywords")
    ],
    ("simhash", {"lexicon": "none", "weights": "tf-idf"}, "lexicon must be general, jieba or"),
    ("simhash", {"lexicon": "general"}, "lexicon is for tf-idf weights, not for log-tf"),
    ("simhash", {"features": "word"}, "features must be one of words, characters, shingles, got"),
    ("simhash", {"weights": "idf"}, "weights must be one of log-tf, tf, binary, tf-idf, got"),
    ("simhash", {"width": 3}, "width is for characters and shingles, not for words"),
    ("simhash", {"width": 0, "features": "shingles"}, "width must be 1 or more, got 0"),
    ("simhash", {"weights": "tf-idf", "features": "shingles"}, "tf-idf weights are for words"),
    ("simhash-keywords", {"integer": 1}, "integer must be True or False, got 1"),
    ("random-projection", {"vectors": "sign"}, "vectors must be one of signs, gaussian, got"),
    ("random-projection", {"max_distance": 64, "bits": 64}, "max_distance must be from 0 to 63"),
    ("minhash", {"max_distance": 101}, "max_distance must be from 0 to 100, got 101"),
    ("minhash", {"max_distance": 7, "bands": 3, "rows": 2}, "max_distance must be from 0 to 6"),
    # With all unequal, no key would be shared.
    ("shingling", {"max_distance": 6}, "max_distance must be from 0 to 5, got 6"),
    ("shingling", {"max_distance": 4, "supershingles": 4}, "max_distance must be from 0 to 3"),
    ("shingling", {"minimums": 5}, "minimums must be 6 or more, got 5"),
    ("shingling", {"minimums": 85}, "minimums must be a multiple of 6, got 85"),
    ("combined", {"max_distance": 384}, "max_distance must be from 0 to 383, got 384"),
    ("combined", {"max_unequal": 6}, "max_unequal must be from 0 to 5, got 6"),
    ("combined", {"minimums": 80}, "minimums must be a multiple of 6, got 80"),
    ("containment", {"min_sample": 0}, "min_sample must be from 1 to 256, got 0"),
    ("containment", {"hashes": 10, "min_sample": 11}, "min_sample must be from 1 to 10, got 11"),
    ("feature-code", {"matching": "exact"}, "matching must be one of strict, fuzzy, got 'exact'"),
    ("feature-code", {"min_stops": 21}, "min_stops must be from 1 to 20, got 21"),
    ("segments", {"mode": "x"}, "mode must be one of paragraphs, equal, content-defined, got 'x'"),
    ("segments", {"length": 0}, "length must be from 1 to 4294967296, got 0"),
    ("long-sentences", {"min_equal": 6}, "min_equal must be from 1 to 5, got 6"),
    ("i-match", {"lowest": -0.1}, "lowest must be from 0 to 1, got -0.1"),
    ("i-match", {"highest": 2}, "highest must be from 0 to 1, got 2"),
    ("i-match", {"dropped": "a"}, "dropped must be from 0 to 1, got 'a'"),
    ("i-match", {"lowest": 0.5, "highest": 0.4}, "lowest must be at most highest, 0.4, got 0.5"),
    ("i-match", {"randomised": -1}, "randomised must be 0 or more, got -1"),
    ("keywords", {"max_distance": 1}, "max_distance must be below 1, got 1"),
    ("keywords", {"variant": "4"}, "variant must be one of description, order, sorted, order-"),
    ("keywords", {"weights": "idf"}, "weights must be one of tf-idf, tf, got 'idf'"),
    ("keywords", {"description": ""}, "description must be one of page, text, got ''"),
    ("spotsigs", {"max_distance": 1}, "max_distance must be below 1, got 1"),
    ("spotsigs", {"antecedents": {}}, "antecedents must be words with two numbers, got {}"),
    ("spotsigs", {"antecedents": ["a"]}, "antecedents must be words with two numbers, got ['a']"),
    ("spotsigs", {"antecedents": {"the": 2}}, "words with two numbers, got {'the': 2}"),
    ("spotsigs", {"antecedents": {"the": (1,)}}, "words with two numbers, got {'the'"),
    ("spotsigs", {"antecedents": {"a": (0, 2)}}, "the spot distance of 'a' must be 1 or more"),
    ("spotsigs", {"antecedents": {"a": (1, 0)}}, "the chain length of 'a' must be 1 or more"),
    ("text-profile", {"step": 1.1}, "step must be from 0 to 1, got 1.1"),
]  # fmt: skip


@each(("name", "arguments", "message"), WRONG)
def test_an_impossible_argument_is_refused(name, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        METHODS[name](**arguments)
