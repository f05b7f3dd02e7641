import hashlib

from cases import each

from dedup.methods.text_profile import TextProfile
from dedup.text import Document


def sketched(text, **arguments):
    return TextProfile(**arguments).sketch(Document(text))


def test_the_sketch_is_the_digest_of_lines():
    lines = b"rose 4\nferry 2\nthe 2"
    text = "the rose rose rose ferry rose ferry rose the boat the"
    assert sketched(text) == hashlib.blake2b(lines, digest_size=16).digest()


@each(
    ("words", "step", "kept"),
    [
        ({"often": 250, "rare": 8, "rarer": 2}, 0.01, [("often", 249), ("rare", 6)]),  # 2.5: 3
        ({"often": 9, "b": 9, "some": 5, "more": 5, "rare": 1}, 0.01,
         [("often", 8), ("more", 4), ("some", 4)]),
        ({"one": 1, "another": 1, "a": 1}, 0.3, [("another", 1), ("one", 1)]),
        ({"often": 9, "some": 8}, 1, [("often", 9)]),
        ({}, 0.01, []),
    ],
)  # fmt: skip
def test_a_profile_has_multiples_of_a_share_of_the_most_frequent_word(words, step, kept):
    tokens = [word for word, count in words.items() for _ in range(count)]
    profile = TextProfile(step=step).weighted_features(Document(" ".join(tokens)))
    assert list(profile.items()) == kept


@each("text", ["", "a b c", "1 2 3 1 2 3", "。。。", "我 是 你"])
def test_an_empty_profile_has_no_sketch(text):
    """Nutch's is that of MD5(""), so that all such pages are equal."""
    assert sketched(text) is None
