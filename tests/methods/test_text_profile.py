import hashlib
import math
from collections import Counter

from cases import each
from hypothesis import example, given
from hypothesis import strategies as st

from dedup.methods.text_profile import TextProfile, profile
from dedup.text import Document


def sketched(text, **arguments):
    return TextProfile(**arguments).sketch(Document(text))


def profile_by_hand(tokens, step, min_length):
    """Nutch's, a line of it at a time."""
    counts = Counter(token for token in tokens if len(token) >= min_length)
    highest = max([0, *counts.values()])
    quantum = math.floor(highest * step + 0.5)
    if quantum < 2:
        quantum = 2 if highest > 1 else 1
    kept = []
    for token, count in counts.items():
        count = (count // quantum) * quantum
        if count < quantum:
            continue
        kept.append((token, count))
    return sorted(sorted(kept), key=lambda pair: pair[1], reverse=True)


def test_the_sketch_is_the_digest_of_lines():
    lines = b"rose 4\nferry 2\nthe 2"
    text = "the rose rose rose ferry rose ferry rose the boat the"
    assert sketched(text) == hashlib.blake2b(lines, digest_size=16).digest()


# 2.5 is rounded up, as in Java.
@example(["often"] * 250 + ["rare"] * 8, 0.01, 2)
@given(
    st.lists(st.text("ab北", min_size=1, max_size=3), max_size=60),
    st.sampled_from([0, 0.01, 0.1, 0.3, 1]),
    st.integers(1, 3),
)
def test_a_profile_is_that_of_nutch(tokens, step, min_length):
    assert profile(tokens, step, min_length) == profile_by_hand(tokens, step, min_length)


@each("text", ["", "a b c", "1 2 3 1 2 3", "。。。", "我 是 你"])
def test_an_empty_profile_has_no_sketch(text):
    """Nutch's is that of MD5(""), so that all such pages are equal."""
    assert sketched(text) is None
