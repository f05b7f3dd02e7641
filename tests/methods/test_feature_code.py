import random

from cases import each

from dedup.methods.feature_code import FeatureCode, stop_codes
from dedup.methods.sentences import sentences
from dedup.text import Document, normalise


def sketch(method, text):
    return method.sketch(Document.from_main_text(text))


def numbered(numbers):
    return "".join(f"{number:05} went as far as {number:05}. " for number in numbers)


def test_a_code_has_the_letters_on_both_sides_of_a_stop():
    text = normalise("镇上有 19 家，米粉店。没有“一家”做晚饭！Yes, Mr Wend.")
    assert stop_codes(text, 5) == ["9家米粉店。没有一家做", "一家做晚饭。yesmr", "rwend。"]


@each(
    "text",
    ["3.14 and 2.71", "see example.com/a.html?b=2", "j. smith, e.g. him", "x != y", "a;b", "..."],
)
def test_what_is_no_stop(text):
    assert [part for part in sentences(text)[:-1] if part] == []


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
    one, other = (sketch(FeatureCode(0.6), page) for page in (text, edited))
    distance = FeatureCode().distance(one, other)
    assert distance == 2 * changed / 10
    assert (distance <= 0.6) == matches


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
