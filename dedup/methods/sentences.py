"""The sentences of a text, reduced to their letters."""

import regex

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
# A mark does not end a sentence if a letter or digit follows, as in 3.14, example.com, ?page=2 and
# x != y. But it does if a letter of a script without spaces is next to it: 好!我们. A full stop
# after a single letter does not end one either: J. Smith, e.g. this.
_FOLLOWED = rf"(?![[\p{{L}}\p{{N}}=]--[{_UNSPACED}]])"
_MARK = (
    rf"(?:(?<=[{_UNSPACED}])[.!?]|(?<!\b[a-z])\.{_FOLLOWED}|[!?]{_FOLLOWED}"
    r"|[\p{Sentence_Terminal}--[.!?]])"
)
_STOPS = regex.compile(rf"(?V1){_MARK}+")
_STOPS_AND_SEMICOLONS = regex.compile(rf"(?V1)(?:{_MARK}|(?<=[{_UNSPACED}]);|;{_FOLLOWED})+")
_BETWEEN_LETTERS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def letters(text: str) -> str:
    """Return the letters, marks and digits of *text*, without all other characters.

    >>> letters("no. 5, 北京!")
    'no5北京'
    """
    return _BETWEEN_LETTERS.sub("", text)


def sentences(text: str) -> list[str]:
    """Return the letters before each stop of normalised *text*, and those after the last one.

    A stop is a run of full stops, question or exclamation marks of any script. The full stops of
    numbers (3.14), addresses (example.com) and initials (J. Smith) do not count as stops; those of
    other abbreviations do.

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
