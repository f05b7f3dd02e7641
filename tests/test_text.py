import time

import pytest
import regex
from cases import each, examples
from hypothesis import given, settings
from hypothesis import strategies as st
from own_process import run_script
from texts import COOKING, NEWS, SCIENCE

from dedup.text import (
    Document,
    han_cutter,
    jieba_cutter,
    normalise,
    printable,
    readable_url,
    simplify,
    tokenise,
)

TRADITIONAL = "臺灣的鐵路便當歷史悠久,從日治時期開始,旅客們就喜歡在月臺上購買熱騰騰的飯盒。"
HAN = st.characters(min_codepoint=0x4E00, max_codepoint=0x9FD5)
ANY_TEXT = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("aZ0 \t\n\u00a0é́ßİΣЖعकि한中文さタกခឃ々\U00020000\ufe0f\u200d\ud800\udc00"),
    )
)


def words(text: str) -> list[str]:
    return tokenise(normalise(text))


@each(
    ("text", "normalised"),
    [
        ("", ""),
        (" \t\r\n\u00a0\u3000\u2028", ""),
        ("  One \n\n two\tTHREE ", "one two three"),
        ("Ｆｕｌｌ　ｗｉｄｔｈ １２", "full width 12"),
        ("ÄRGER ЁЖ ΆΛΦΑ", "ärger ёж άλφα"),
        ("a\ud800b \udc00", "a\ufffdb \ufffd"),
        ("\ud83d\ude00", "\U0001f600"),  # a pair of surrogates is the character that it encodes
        ("\ufeffbom", "bom"),
        ("co\u00adoperate \u2764\ufe0f", "cooperate \u2764"),
        ("a\x00b", "a\x00b"),
    ],
)
def test_text_is_normalised(text, normalised):
    assert normalise(text) == normalised


@given(ANY_TEXT)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_takes_a_short_cut_to_the_same_text(text):
    assert normalise(text) == normalise(text + " é").removesuffix("é").rstrip()


@each(
    ("text", "tokens"),
    [
        ("", []),
        ("!?… — ♥ \x00", []),
        ("It's the 2nd cat_dog-fox.", ["it", "s", "the", "2nd", "cat", "dog", "fox"]),
        ("a\x00b", ["a", "b"]),
        ("naïve cafe\u0301s", ["naïve", "cafés"]),
        ("اَلْعَرَبِيَّةُ لغة", ["اَلْعَرَبِيَّةُ", "لغة"]),  # with vowel marks
        ("क्या हिन्दी में है?", ["क्या", "हिन्दी", "में", "है"]),  # with vowel signs and virama
        ("x²+y²", ["x2", "y2"]),
    ],
)
def test_a_word_is_a_run_of_letters_marks_and_digits(text, tokens):
    assert words(text) == tokens


@each(
    ("text", "tokens"),
    [
        ("スーパー", ["スー", "ーパ", "パー"]),
        ("の", ["の"]),
        ("ภาษาไทย", ["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]),
        ("\U00020000\U00020001\U00020002", ["\U00020000\U00020001", "\U00020001\U00020002"]),
        ("\u9fd6\u9fd7\u9fd8", ["\u9fd6\u9fd7", "\u9fd7\u9fd8"]),  # Han, but not jieba's
    ],
)
def test_scripts_without_spaces_are_cut_into_pairs_of_characters(text, tokens):
    assert words(text) == tokens


@each("letter", "ぁァㄅꀀ𗀀𛅰กດកကᥐᦀᨠꪀꦄᬅ𑜀㐀鿖𠀀𰀀")
def test_each_script_without_spaces_is_known(letter):
    assert words(3 * letter) == 2 * [2 * letter]
    assert words(letter) == [letter]


def test_mixed_text_is_cut_where_the_script_changes():
    text = "GPU加速2024年AI大会 in 东京タワーでสวัสดี한국어"
    assert words(text) == [
        *("gpu", "加速", "2024", "年", "ai", "大会", "in", "东京"),
        *("タワ", "ワー", "ーで", "でส", "สว", "วั", "ัส", "สด", "ดี", "한국어"),
    ]


def lcut(run):
    import jieba  # not by those who only collect tests: it takes long

    jieba.setLogLevel("WARNING")
    return jieba.lcut(run)


@pytest.mark.slow
@pytest.mark.parametrize("text", [NEWS, COOKING, SCIENCE, TRADITIONAL])
def test_chinese_words_are_those_of_jieba(text):
    runs = regex.findall(r"\p{Han}+|[0-9]+", text)
    assert words(text) == [word for run in runs for word in lcut(run)]


# Of two equally likely cuts of a repeated character (喜喜喜喜喜), rjieba may take the other one.
@pytest.mark.slow
@settings(max_examples=examples(500), deadline=None)
@given(st.lists(HAN, min_size=1, max_size=60, unique=True).map("".join))
def test_any_run_of_different_han_characters_is_cut_as_jieba_cuts_it(run):
    assert han_cutter()(run) == lcut(run) == jieba_cutter()(run)


@pytest.mark.slow
def test_tokens_are_the_same_without_rjieba():
    script = (
        "import sys; sys.modules['rjieba'] = None\n"
        "from dedup.text import Document, han_cutter, jieba_cutter\n"
        "assert han_cutter() is jieba_cutter()\n"
        "text = sys.stdin.buffer.read().decode()\n"
        "sys.stdout.buffer.write('|'.join(Document.from_main_text(text).tokens).encode())"
    )
    text = NEWS + COOKING + SCIENCE + TRADITIONAL + " and English タワー"
    run = run_script(script, input=text)
    assert (run.stdout.split("|"), run.stderr) == (words(text), "")


@given(ANY_TEXT)
def test_words_are_the_same_beside_many_signs(text):
    signs = [
        chr(code) for code in range(128, 0xE00) if not regex.match(r"[\p{L}\p{M}\p{N}]", chr(code))
    ]
    document = Document.from_main_text(text)
    assert tokenise(f"{document.text} {''.join(signs)}") == document.tokens
    assert min(len(document.tokens), 1) <= document.word_count <= len(document.tokens)


@each(
    ("text", "count"),
    [
        ("the 2nd cat", 3),
        ("北京大学很好", 3),
        ("さくらの花が咲いた", 5),
        ("さくら", 1),
        ("ドア キー ペン バス タイ", 5),
        ("ปลา ไก่ หมู น้ำ ชา", 5),
        ("ខ្មែរ។ភាសា", 3),
        ("", 0),
    ],
)
def test_a_word_of_scripts_that_do_not_separate_words_has_three_characters(text, count):
    assert Document.from_main_text(text).word_count == count


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_gives_the_same_tokens_beside_chinese(text):
    assert words(text + " 中") == [*words(text), "中"]


@each(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("漢字", "汉字"),
        ("乾隆與乾燥", "乾隆与干燥"),  # one character, two readings
        ("軟體", "软体"),  # the word of another region stays
        ("\uf92c\u66f8", "郎书"),  # a compatibility form
        ("漢\0字", "汉\0字"),
        ("いろは", "いろは"),
    ],
)
def test_traditional_characters_become_simplified_ones(text, expected):
    assert normalise(text, simplify_chinese=True) == expected
    assert simplify(expected) == expected


def test_all_that_a_method_sees_of_a_document_is_simplified():
    document = Document.from_main_text("乾燥的\n漢字", "說明", simplify_chinese=True)
    assert document.text == "干燥的 汉字"
    assert document.paragraphs == ["干燥的", "汉字"]
    assert document.normalise(document.description) == "说明"
    assert document.main_text == "乾燥的\n漢字"


@settings(deadline=None)
@given(ANY_TEXT)
def test_tokens_hold_every_letter_mark_and_digit_and_nothing_else(text):
    tokens = words(text)
    letters = regex.compile(r"[\p{L}\p{M}\p{N}]+")
    assert all(letters.fullmatch(token) for token in tokens)
    assert set("".join(tokens)) == set("".join(letters.findall(normalise(text))))


# The last one as in all sketches so far: beside a sign that is as far up.
@each(("letter", "sign"), [*((letter, "") for letter in "ᨀᮊꨀᰀ𑄃"), ("é", "“")])
def test_a_script_that_nobody_listed_gives_no_giant_token_either(letter, sign):
    tokens = tokenise(letter * 300 + sign)
    assert len(tokens) == 299
    assert max(map(len, tokens)) == 2


def test_a_text_has_no_more_marks_on_a_letter_than_are_safe():
    start = time.process_time()
    text = normalise("a" + "\u0301\u0316" * 100_000)
    assert time.process_time() - start < 5
    assert len(text) <= 31
    assert normalise("e\u0301") == "é"


@each(
    ("text", "shown"),
    [
        ("北京 naïve 😀", "北京 naïve 😀"),
        ("a\u3000b\u00a0c\td", "a b c d"),
        ("\x1b[31m\x9b\x07\r\n\x85\u2028", "\ufffd[31m" + "\ufffd" * 6),
        ("\u202e\u2066\u200f\ufeff\ud800\U000e0001", "\ufffd" * 6),
        ("x" * 250 + "y" * 250, "x" * 250 + "y" * 250),
        ("x" * 250 + "y" * 251, "x" * 249 + "..." + "y" * 248),
    ],
)
def test_what_is_printed_can_neither_break_nor_steer_a_line(text, shown):
    assert printable(text) == shown


@each(
    ("url", "shown"),
    [
        ("http://a/%E7%B1%B3%e7%b2%89?q=%E8%8C%B6", "http://a/米粉?q=茶"),
        ("http://a/caf%C3%A9%20%2F%23%25", "http://a/café%20%2F%23%25"),
        ("http://a/%E7%B1", "http://a/%E7%B1"),  # half a character
        ("http://a/%C4%E3", "http://a/%C4%E3"),  # another encoding
        ("http://a/%E2%80%AEgnp", "http://a/%E2%80%AEgnp"),  # turns the direction of writing
        ("http://a/%E3%80%80%ED%A0%80", "http://a/%E3%80%80%ED%A0%80"),
        ("%", "%"),
        ("", ""),
    ],
)
def test_letters_are_shown_and_everything_else_stays_escaped(url, shown):
    assert readable_url(url) == shown
