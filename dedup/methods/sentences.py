"""The sentences of a text, as letters without what stands between them."""

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
# What ends no sentence if a letter or a digit follows, as in 3.14, example.com, ?page=2 and x != y;
# but after a letter of the scripts without spaces it does, or before one: 好!我们. Nor does a full
# stop after a single letter: J. Smith, e.g. this.
_FOLLOWED = rf"(?![[\p{{L}}\p{{N}}=]--[{_UNSPACED}]])"
_MARK = (
    rf"(?:(?<=[{_UNSPACED}])[.!?]|(?<!\b[a-z])\.{_FOLLOWED}|[!?]{_FOLLOWED}"
    r"|[\p{Sentence_Terminal}--[.!?]])"
)
_STOPS = regex.compile(rf"(?V1){_MARK}+")
_STOPS_AND_SEMICOLONS = regex.compile(rf"(?V1)(?:{_MARK}|(?<=[{_UNSPACED}]);|;{_FOLLOWED})+")
_BETWEEN_LETTERS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def letters(text: str) -> str:
    """Return the letters, marks and digits of *text*, without what stands between them.

    >>> letters("no. 5, 北京!")
    'no5北京'
    """
    return _BETWEEN_LETTERS.sub("", text)


def sentences(text: str) -> list[str]:
    """Return the letters before each stop of normalised *text*, and those after the last one.

    A stop is a run of full stops, question or exclamation marks of any script. The full stop of a
    number (3.14), an address (example.com) or an initial (J. Smith) is none; that of any other
    abbreviation is.

    >>> sentences("at 3.14 km, see e.g. b.org? 是。不是!")
    ['at314kmseeegborg', '是', '不是', '']
    """
    return [letters(part) for part in _STOPS.split(text)]


def clauses(text: str) -> list[str]:
    """Return the letters of each part of normalised *text* between stops and semicolons.

    >>> clauses("one; two &amp;three. 四;五!")
    ['one', 'twoampthree', '四', '五']
    """
    return [clause for part in _STOPS_AND_SEMICOLONS.split(text) if (clause := letters(part))]
