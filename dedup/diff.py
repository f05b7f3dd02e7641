"""Two texts, word by word."""

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
    """Words that two texts have in common, or only the first (removed) or the second (added).

    *words* are as they are written, but `printable`, with one blank for white space between them,
    and one before the first word if white space stands there.
    """

    kind: Literal["equal", "removed", "added"]
    words: str


class _Word(NamedTuple):
    text: str
    blank: str
    """What stands before it: a blank or nothing."""


def word_diff(one: str, other: str, *, context: int = 8) -> Iterator[Part]:
    """Yield the words of two texts, in their order.

    Of what both have, and of long insertions, *context* words are shown at each end. Only the first
    4,000 words are compared, since that takes time by their square. White space is not compared:
    what both have is shown with that of the first text.
    """
    words, others = (_words(text) for text in (one, other))
    first, second = ([word.text for word in text] for text in (words, others))
    # Texts that repeat few words are compared by their rare ones, or it would take minutes.
    counts = Counter(second)
    is_repetitive = sum(counts[word] for word in first) > _MOST_EQUAL_WORDS
    matcher = SequenceMatcher(None, first, second, autojunk=is_repetitive)
    for tag, start, end, begin, stop in matcher.get_opcodes():
        if tag == "equal":
            yield Part("equal", _clipped(words[start:end], context))
            continue
        if end > start:
            yield Part("removed", _clipped(words[start:end], 3 * context))
        if stop > begin:
            yield Part("added", _clipped(others[begin:stop], 3 * context))


def _words(text: str) -> list[_Word]:
    words: list[_Word] = []
    end = 0
    for match in islice(_WORDS.finditer(text), _MOST_WORDS):
        blank = " " if words and match.start() > end else ""
        words.append(_Word(match[0], blank))
        end = match.end()
    return words


def _clipped(words: list[_Word], context: int) -> str:
    left = len(words) - 2 * context
    if left <= 3:
        return _written(words)
    beginning, end = _written(words[:context]), _written(words[-context:])
    return f"{beginning} ... {left} words ... {end.lstrip()}"


def _written(words: list[_Word]) -> str:
    return "".join(word.blank + printable(word.text, _LONGEST_WORD) for word in words)
