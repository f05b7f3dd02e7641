"""The differences of two texts, word by word."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal, NamedTuple

from dedup.text import printable

# Chinese has no spaces: each character is compared as a word.
_WORDS = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff]|[^\s\u2e80-\u9fff\uac00-\ud7ff]+")
_MOST_WORDS = 4000
_LONGEST_WORD = 2000
_MOST_EQUAL_WORDS = 300_000


class Part(NamedTuple):
    """Words that both texts have, or only the first (removed) or the second (added).

    *words* are as written, but `printable`; white space between words becomes one blank, and so
    does white space before the first word.
    """

    kind: Literal["equal", "removed", "added"]
    words: str


def word_diff(first: str, second: str, *, context: int = 8) -> Iterator[Part]:
    """Yield the words of two texts, in their order.

    Equal passages are shortened to *context* words at each end, other passages to three times as
    many. Only the first 4,000 words are compared, since the comparison takes quadratic time. White
    space is not compared: equal passages have that of the first text.
    """
    words, others = _words(first), _words(second)
    old, new = ([word.lstrip() for word in text] for text in (words, others))
    # Texts that repeat few words are compared by their rare words; otherwise it takes minutes.
    counts = Counter(new)
    is_repetitive = sum(counts[word] for word in old) > _MOST_EQUAL_WORDS
    matcher = SequenceMatcher(None, old, new, autojunk=is_repetitive)
    for tag, start, end, begin, stop in matcher.get_opcodes():
        if tag == "equal":
            yield Part("equal", _shorten(words[start:end], context))
            continue
        if end > start:
            yield Part("removed", _shorten(words[start:end], 3 * context))
        if stop > begin:
            yield Part("added", _shorten(others[begin:stop], 3 * context))


def _words(text: str) -> list[str]:
    """Return the first words, each after a blank if there is white space before it."""
    text = text.lstrip()
    words = []
    for match in islice(_WORDS.finditer(text), _MOST_WORDS):
        # The slice is empty before the first one.
        blank = " " * text[match.start() - 1 : match.start()].isspace()
        words.append(blank + printable(match[0], _LONGEST_WORD))
    return words


def _shorten(words: list[str], context: int) -> str:
    rest = len(words) - 2 * context
    if rest <= 3:
        return "".join(words)
    beginning, end = "".join(words[:context]), "".join(words[-context:])
    return f"{beginning} ... {rest} words ... {end.lstrip()}"
