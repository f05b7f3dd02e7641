from hypothesis import given
from hypothesis import strategies as st

from dedup.diff import Part, word_diff


def test_lines_are_words_apart():
    assert list(word_diff("one two\nthree\tfour", "one two\r\nthree five")) == [
        Part("equal", "one two three"),
        Part("removed", " four"),
        Part("added", " five"),
    ]


def test_chinese_is_shown_as_it_is_written():
    one = "我们在北京大学用 Scrapy 2.16抓取网页。\n然后去重。"
    other = "我们在上海大学用 Scrapy 2.17抓取网页。\n然后去重。"
    assert list(word_diff(one, other)) == [
        Part("equal", "我们在"),
        Part("removed", "北京"),
        Part("added", "上海"),
        Part("equal", "大学用 Scrapy"),
        Part("removed", " 2.16"),
        Part("added", " 2.17"),
        Part("equal", "抓取网页。 然后去重。"),
    ]


@given(*2 * [st.text("ab 北京。\n", max_size=30)])
def test_either_text_can_be_read_from_its_parts(one: str, other: str):
    parts = list(word_diff(one, other, context=30))
    assert "".join(part.words for part in parts if part.kind != "added") == " ".join(one.split())
    seconds = "".join(part.words for part in parts if part.kind != "removed")
    assert "".join(seconds.split()) == "".join(other.split())


def test_what_is_left_out_stands_between_blanks():
    [part] = word_diff("甲乙丙丁" * 10, "甲乙丙丁" * 10)
    assert part == Part("equal", "甲乙丙丁甲乙丙丁 ... 24 words ... 甲乙丙丁甲乙丙丁")


def test_what_would_steer_a_terminal_is_replaced_within_words():
    assert list(word_diff("a\x1b[31m \u202ecba", "")) == [Part("removed", "a\ufffd[31m \ufffdcba")]
