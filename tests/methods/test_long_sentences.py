import math
import random

from cases import each

from dedup.methods.long_sentences import LongSentences, longest_sentences
from dedup.text import Document


def sentence(number, words=8):
    """A sentence of its own, the longer the more words."""
    return " ".join(f"word{number}x{place}" for place in range(words)).capitalize() + "."


def page(*numbers):
    """A page of sentences, the first the longest."""
    return " ".join(sentence(number, 20 - number) for number in numbers)


def sketch(text, method=None):
    return (method or LongSentences()).sketch(Document.from_main_text(text))


def distance(one, other, method=None):
    return (method or LongSentences()).distance(sketch(one, method), sketch(other, method))


def longest(text, count=5, min_length=30):
    return longest_sentences(Document.from_main_text(text), count, min_length)


def test_sentences_end_at_stops_semicolons_and_line_ends():
    text = "one 是。two 是！three 是？four 是；five 是! six 是? seven 是; eight 是. nine 是\nten 是"
    words = "one two three four five six seven eight nine ten".split()
    assert sorted(longest(text, 20, 1)) == sorted(f"{word}是" for word in words)


def test_of_equally_long_sentences_the_place_on_the_page_decides_nothing():
    sentences = [f"Sentence {number} is as long as the others are." for number in range(8)]
    shuffled = random.Random(1).sample(sentences, 8)
    assert longest(" ".join(shuffled)) == longest(" ".join(sentences))
    assert len(longest(" ".join(sentences))) == 5


@each(
    ("text", "counted"),
    [
        ("一二三四五六七八九十。", 1),
        ("一二三四五六七八九。", 0),
        ("thirty letters, the least of all it is.", 1),
        ("twenty-nine letters the least.", 0),
    ],
)
def test_a_sentence_has_10_han_characters_or_30_letters(text, counted):
    assert len(longest(text)) == counted


def test_other_order_punctuation_and_added_text_change_nothing():
    text = page(1, 2, 3, 4, 5, 6, 7)
    other = page(7, 5, 3, 1, 6, 4, 2).replace(" word3x", ", word3x").upper()
    assert distance(text, f"Home. Buy now! {other} Contact. Login.") == 0


@each(
    ("others", "expected"),
    [([], 0), ([1], 0.2), ([1, 4], 0.4), ([1, 3, 5], 0.6), ([1, 2, 3, 4], math.inf)],
)
def test_the_distance_is_the_share_of_longest_sentences_that_differ(others, expected):
    text = page(1, 2, 3, 4, 5)
    changed = " ".join(
        sentence(number, 20 - number).replace("ord", "erk" if number in others else "ord")
        for number in range(1, 6)
    )
    assert distance(text, changed) == expected
