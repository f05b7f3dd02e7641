from time import perf_counter

from dedup.diff import Part, word_diff


def test_lines_are_words_apart():
    assert list(word_diff("one two\nthree\tfour", "one two\r\nthree five")) == [
        Part("equal", "one two three"),
        Part("removed", "four"),
        Part("added", "five"),
    ]


def test_what_would_steer_a_terminal_is_replaced_within_words():
    assert list(word_diff("a\x1b[31m \u202ecba", "")) == [Part("removed", "a\ufffd[31m \ufffdcba")]


def test_texts_of_few_words_are_compared_in_time():
    start = perf_counter()
    parts = list(word_diff("a b " * 2000, "b a a " * 1333))
    assert parts
    assert perf_counter() - start < 10
