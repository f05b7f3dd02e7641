import math
import random

from cases import each
from pairs import distance

from dedup.methods.sentences import FeatureCode, LongSentences, sentences
from dedup.text import Document, normalise

LONGEST = LongSentences()


def sketch(method, text):
    return method.sketch(Document.from_main_text(text))


def numbered(numbers):
    return "".join(f"{number:05} went as far as {number:05}. " for number in numbers)


def test_a_code_has_the_letters_on_both_sides_of_a_stop():
    text = normalise("镇上有 19 家，米粉店。没有“一家”做晚饭！Yes, Mr Wend.")
    assert list(FeatureCode().weighted_features(Document(text))) == [
        "9家米粉店。没有一家做",
        "一家做晚饭。yesmr",
        "rwend。",
    ]


@each(
    "text",
    ["3.14 and 2.71", "see example.com/a.html?b=2", "j. smith, e.g. him", "x != y", "a;b", "..."],
)
def test_what_is_no_stop(text):
    assert not any(sentences(text)[:-1])


@each(
    "text",
    [
        "one. two",
        "one! two",
        "one?! two",
        'one." two',
        "one... two",
        "one。two",
        "一!二",
        "一.二",
        "एक। दो",
        "one؟ two",
        "ひとつ!ふたつ",
    ],
)
def test_what_is_a_stop(text):
    assert len(sentences(text)) == 2


@each(("changed", "matches"), [(0, True), (1, True), (3, True), (4, False)])
def test_pages_match_as_far_as_their_codes_are_equal(changed, matches):
    text = numbered(range(10))
    edited = text
    for number in range(1, 1 + changed):
        edited = edited.replace(f"{2 * number:05}", "otherwise")
    # An edited sentence changes the code before it and its own.
    found = distance(FeatureCode(0.6), text, edited)
    assert found == 2 * changed / 10
    assert (found <= 0.6) == matches


def test_of_many_stops_an_insertion_at_the_beginning_changes_few():
    numbers = random.Random(1).sample(range(10**5), 100)
    pages = [sketch(FeatureCode(), numbered(numbers[start:])) for start in (0, 20)]
    assert [len(page) for page in pages] == [20, 20]
    # A fifth of the codes is new, and so is about a fifth of the 20.
    assert FeatureCode().distance(*pages) <= 0.35


def test_a_page_with_fewer_different_codes_has_no_sketch():
    assert sketch(FeatureCode(), "一句话。") is None
    assert sketch(FeatureCode(), "一句话。又一句话。") is not None
    assert sketch(FeatureCode(min_stops=3), "一句话。又一句话。") is None
    assert sketch(FeatureCode(min_stops=4), "一句长的话。" * 20) is None


def sentence(number, words=8):
    """A sentence of its own, the longer the more words."""
    return " ".join(f"word{number}x{place}" for place in range(words)).capitalize() + "."


def page(*numbers):
    """A page of sentences, the first the longest."""
    return " ".join(sentence(number, 20 - number) for number in numbers)


def longest(text, count=5, min_length=30):
    method = LongSentences(sentences=count, min_equal=1, min_length=min_length)
    return list(method.weighted_features(Document.from_main_text(text)))


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
    assert distance(LONGEST, text, f"Home. Buy now! {other} Contact. Login.") == 0


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
    assert distance(LONGEST, text, changed) == expected
