"""Main text -> normalised text -> tokens."""

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache, cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# The Han characters that jieba itself cuts into words (its re_han_default); rjieba and jieba agree
# on runs of exactly these. The rarer Han blocks are cut like the other scripts without spaces.
_JIEBA_HAN = r"\u4e00-\u9fd5"
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Bopomofo}\p{Yi}\p{Tangut}\p{Nushu}"
    r"\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\p{Tai_Le}\p{New_Tai_Lue}\p{Tai_Tham}\p{Tai_Viet}\p{Ahom}"
    r"\p{Javanese}\p{Balinese}"
)
_LETTERS = r"\p{L}\p{M}\p{N}"
_WORD = regex.compile(rf"[{_LETTERS}]+")
# Of so many different characters beyond ASCII, signs are not looked for one by one.
_MANY = 100
_RUN_IN_WORD = regex.compile(
    rf"(?V1)(?P<han>[{_JIEBA_HAN}]+)"
    rf"|(?P<unspaced>[[{_UNSPACED}]--[{_JIEBA_HAN}]]+)"
    rf"|[[{_LETTERS}]--[{_UNSPACED}{_JIEBA_HAN}]]+"
)
_UNSPACED_LETTER = regex.compile(rf"(?V1)[[{_UNSPACED}]--[{_JIEBA_HAN}]]")
_PAIRED = regex.compile(rf"(?V1)[[{_UNSPACED}]&&[{_LETTERS}]--[{_JIEBA_HAN}]]{{2,}}")
# A longer run is not a word, but belongs to an unspaced script that is not listed above.
_LONGEST_WORD = 40
# Every unspaced script lies above this, so a text wholly below needs no further cutting.
_FIRST_UNSPACED = re.compile("[\u0e00-\U0010ffff]")
# Most texts of many languages are ASCII, where byte tables are several times faster than string
# methods and regular expressions: one table for lower case and blanks, one for words.
ASCII_LOWER = bytes(
    32 if chr(code).isspace() else ord(chr(code).lower()) for code in range(128)
).ljust(256)
_WORDS = bytes(code if code > 127 or chr(code).isalnum() else 32 for code in range(256))
_ASCII = bytes(range(128))
# Unicode's property Default_Ignorable_Code_Point, which NFKC_Casefold removes. Written as ranges,
# which are searched several times faster.
_IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_ESCAPES = re.compile(r"(?:%[89A-Fa-f][0-9A-Fa-f])+")
# At most 30 marks in a row, as in Unicode's Stream-Safe Text Format: no text needs more, and
# sorting them takes quadratic time. The two other characters are the only letters that NFKC turns
# into marks.
_MARK = regex.compile(r"[\p{M}\uff9e\uff9f]")
_MARKS = regex.compile(rf"({_MARK.pattern}{{30}}){_MARK.pattern}+")


@dataclass(frozen=True)
class Document:
    """What a method sees of a page: its normalised main text, and what derives from it.

    *main_text* is the extracted text with its line breaks; *description* is the page's meta
    description. *simplify_chinese*: all that derives from them has Simplified characters.
    """

    text: str
    main_text: str | None = field(default=None, repr=False, compare=False)
    description: str | None = field(default=None, repr=False, compare=False)
    simplify_chinese: bool = field(default=False, repr=False, compare=False)

    @classmethod
    def from_main_text(
        cls, main_text: str, description: str | None = None, *, simplify_chinese: bool = False
    ) -> "Document":
        """Return the document of an extracted *main_text*.

        >>> Document.from_main_text("Ｄｏｇ  bites\\nMAN").text
        'dog bites man'
        """
        text = normalise(main_text, simplify_chinese=simplify_chinese)
        return cls(text, main_text, description, simplify_chinese)

    @cached_property
    def digest(self) -> bytes | None:
        """The 16-byte digest of the text, ``None`` if that is empty.

        Of BLAKE2b: nobody can make a text for a digest.
        """
        return blake2b(self.text.encode(), digest_size=16).digest() if self.text else None

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the text, in order; computed once."""
        return self.spaced_tokens.decode().split()

    @cached_property
    def spaced_tokens(self) -> bytes:
        """The tokens in UTF-8 with one or more blanks between them; often cheaper than `tokens`.

        >>> Document.from_main_text("Dog bites -- man!").spaced_tokens
        b'dog bites    man '
        """
        return _spaced_tokens(self.text)

    @cached_property
    def word_count(self) -> int:
        """The number of words, as `count_words` gives it."""
        return count_words(self.text, len(self.spaced_tokens.split()))

    @cached_property
    def paragraphs(self) -> list[str]:
        """The normalised non-empty lines of the main text."""
        lines = (self.text if self.main_text is None else self.main_text).splitlines()
        return [paragraph for line in lines if (paragraph := self.normalise(line))]

    def normalise(self, text: str) -> str:
        """Return another *text* of the page as `text` is normalised."""
        return normalise(text, simplify_chinese=self.simplify_chinese)


def normalise(text: str, *, simplify_chinese: bool = False) -> str:
    """Return *text* in NFKC and lower case, white space collapsed, unpaired surrogates replaced.

    Invisible characters are removed: soft hyphens, joiners, variation selectors. *simplify_chinese*
    as in `simplify`.

    >>> normalise(" ﬁne\\u00a0 Ｔｅｘｔ\\ud800 ")
    'fine text�'
    """
    if text.isascii():
        data = text.encode().translate(ASCII_LOWER)
        while b"  " in data:  # in less time than to split and to join it
            data = data.replace(b"  ", b" ")
        return data.strip(b" ").decode()
    text = without_surrogates(text)
    # To search the few different characters takes a tenth of the time.
    others = beyond_ascii(text)
    if _IGNORABLE.search(others):
        text = _IGNORABLE.sub("", text)
    if _MARK.search(others):
        text = _MARKS.sub(r"\1", text)
    # Lower case may undo the composition (İ), hence the second normalisation.
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    text = " ".join(text.split())
    return simplify(text) if simplify_chinese else text


def simplify(text: str) -> str:
    """Return *text* with Traditional Chinese characters replaced by Simplified ones.

    OpenCC's t2s: words of several readings are told apart (乾隆, 乾燥), and no word is replaced by
    that of another region (軟體 is 软体, not 软件). Raises ImportError without OpenCC.
    """
    if text.isascii():
        return text
    # OpenCC before 1.3 takes a text to end there.
    return "\0".join(map(_simplifier(), text.split("\0")))


def script_of(text: str) -> str | None:
    """Return whether Chinese *text* is "simplified" or "traditional", ``None`` if it is neither.

    By which of its characters only GB 2312 has, and which only Big5: one kind has to be three times
    as frequent as the other.

    >>> script_of("我们说中国话"), script_of("我們說中國話"), script_of("中文")
    ('simplified', 'traditional', None)
    """
    simplified, traditional = (
        {*text.encode(name, "ignore").decode(name)} for name in ("gb2312", "big5")
    )
    han = {character for character in text if "\u4e00" <= character <= "\u9fff"}
    only_simplified = len(han & simplified - traditional)
    only_traditional = len(han & traditional - simplified)
    if only_simplified > 3 * only_traditional:
        return "simplified"
    return "traditional" if only_traditional > 3 * only_simplified else None


@cache
def _simplifier() -> "Callable[[str], str]":
    from opencc import OpenCC

    convert: Callable[[str], str] = OpenCC("t2s").convert
    return convert


def to_utf8(text: str) -> bytes:
    """Return *text* as bytes, with halves of characters, too."""
    return text.encode("utf-8", "surrogatepass")


def from_utf8(data: bytes) -> str:
    """Return the text that `to_utf8` wrote; raises UnicodeDecodeError for anything else."""
    return data.decode("utf-8", "surrogatepass")


def writable(text: str) -> str:
    """Return *text* with halves of characters escaped, which neither feeds nor SQLite can keep."""
    return text.encode("utf-8", "backslashreplace").decode()


def without_surrogates(text: str) -> str:
    """Return *text* with surrogate pairs joined and unpaired surrogates replaced by U+FFFD.

    An unpaired surrogate can be neither hashed nor stored as UTF-8, and lxml stops at it.
    """
    try:
        text.encode()  # the quickest way to look for them
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def printable(text: str, longest: int | None = 500) -> str:
    """Return *text* made safe to print within a line.

    Use it wherever text from the web or from a file is printed, logged or shown. Line ends, control
    and format characters (including those that change the direction of writing) and unpaired
    surrogates become U+FFFD; every kind of blank becomes a space. The middle of a text of more than
    *longest* characters is left out.

    >>> printable("http://a/\\x1b[31m\\n"), printable("0123456789", 7)
    ('http://a/�[31m�', '01...89')
    """
    if longest is not None and len(text) > longest:
        end = (longest - 3) // 2
        text = f"{text[: longest - 3 - end]}...{text[len(text) - end :]}"
    if text.isprintable():
        return text
    return "".join(map(_printable_character, text))


def _printable_character(character: str) -> str:
    if character.isprintable():
        return character
    is_blank = character == "\t" or unicodedata.category(character) == "Zs"
    return " " if is_blank else "\ufffd"


def readable_url(url: str) -> str:
    """Return *url* with the letters that it escapes, as far as browsers escape them alike.

    It leads to the same page. What is not UTF-8, cannot be printed, or is ASCII stays escaped.

    >>> readable_url("http://a/%E7%B1%B3%E7%B2%89/%20?q=%FF%e2%80%ae")
    'http://a/米粉/%20?q=%FF%e2%80%ae'
    """
    return _ESCAPES.sub(_letters, url) if "%" in url else url


def _letters(escapes: re.Match[str]) -> str:
    try:
        letters = bytes.fromhex(escapes[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return escapes[0]
    return letters if letters.isprintable() else escapes[0]


class Lines(str):
    """A text whose lines are all `printable`."""

    __slots__ = ()


def tokenise(text: str) -> list[str]:
    """Return the tokens of normalised *text* in order; an empty list if it has none.

    A word is a maximal run of letters, marks and digits. jieba cuts runs of Han characters into
    words. Other scripts without spaces (kana, Thai, ...) are cut into overlapping character
    2-grams, so that no clause becomes one token.

    >>> tokenise("the 2nd cat's 北京大学 さくら")
    ['the', '2nd', 'cat', 's', '北京大学', 'さく', 'くら']
    """
    return _spaced_tokens(text).decode().split()


def _spaced_tokens(text: str) -> bytes:
    others = beyond_ascii(text)
    if len(others) > _MANY:
        spaced = " ".join(_WORD.findall(text)).encode()
    else:
        spaced, signs = text.encode(), _WORD.sub("", others)
        for sign in signs:
            spaced = spaced.replace(sign.encode(), b" ")
        spaced = spaced.translate(_WORDS)
        if len(signs) == len(others):  # all words are ASCII
            return spaced
    if not _FIRST_UNSPACED.search(others):
        return spaced
    words = spaced.decode().split()
    tokens = (token for word in words for token in ([word] if word.isascii() else _subwords(word)))
    return " ".join(tokens).encode()


def beyond_ascii(text: str) -> str:
    """Return the characters of *text* that are not ASCII, in any order, few of them only once.

    In most languages they are some ten: to look into these takes a tenth of the time.
    """
    if text.isascii():
        return ""
    others = text.encode().translate(None, _ASCII).decode()
    return others if 4 * len(others) > len(text) else "".join({*others})


def count_words(text: str, tokens: int) -> int:
    """Return how many words normalised *text* has, which has so many *tokens*.

    In scripts that do not separate words, a word has some three characters: of the pairs that
    follow one another, every third counts.

    >>> count_words("the 2nd cat", 3), count_words("さくらの花が咲きました", 9)
    (3, 5)
    """
    if not _UNSPACED_LETTER.search(beyond_ascii(text)):
        return tokens
    return tokens - sum((len(run) - 1) * 2 // 3 for run in _PAIRED.findall(text))


def _subwords(word: str) -> "Iterator[str]":
    if len(word) <= _LONGEST_WORD and not _FIRST_UNSPACED.search(word):
        yield word
        return
    for match in _RUN_IN_WORD.finditer(word):
        run = match.group()
        if match.lastgroup == "han":
            yield from han_cutter()(run)
        elif match.lastgroup == "unspaced" or len(run) > _LONGEST_WORD:
            yield from _character_bigrams(run)
        else:
            yield run


def _character_bigrams(run: str) -> list[str]:
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


@cache
def han_cutter() -> "Callable[[str], list[str]]":
    """Return the function that cuts a run of Han characters into words.

    It is rjieba's, or jieba's own where rjieba has no wheel. rjieba has the same dictionary and is
    26 times as fast. Both gave the same words for all of 327,084 different runs of real text; only
    repeated characters, as in 喜喜喜喜喜, have several equally likely cuts and may differ.
    Loaded at first use: jieba takes 0.8 s.
    """
    try:
        import rjieba
    except ImportError:
        return jieba_cutter()
    return lambda run: rjieba.cut(run, True)


@cache
def jieba_cutter() -> "Callable[[str], list[str]]":
    """Return jieba's own function that cuts a run of Han characters into words."""
    import logging

    import jieba

    jieba.setLogLevel(logging.WARNING)
    return lambda run: list(jieba.cut(run))
