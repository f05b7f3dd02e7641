"""Two texts, word by word."""

import re
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal, NamedTuple

from dedup.text import printable

# Chinese has no spaces: each character is shown as a word.
_WORDS = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff]|[^\s\u2e80-\u9fff\uac00-\ud7ff]+")
_MOST_WORDS = 4000
_MOST_EQUAL_WORDS = 300_000


class Part(NamedTuple):
    """Words that two texts have in common, or only the first (removed) or the second (added)."""

    kind: Literal["equal", "removed", "added"]
    words: str


def word_diff(one: str, other: str, *, context: int = 8) -> Iterator[Part]:
    """Yield the words of two texts, in their order.

    Of what both have, and of long insertions, *context* words are shown at each end. Only the first
    4,000 words are compared, since that takes time by their square.
    """
    words, others = (_words(text) for text in (one, other))
    # Texts that repeat few words are compared by their rare ones, or it would take minutes.
    counts = Counter(others)
    is_repetitive = sum(counts[word] for word in words) > _MOST_EQUAL_WORDS
    matcher = SequenceMatcher(None, words, others, autojunk=is_repetitive)
    for tag, start, end, begin, stop in matcher.get_opcodes():
        if tag == "equal":
            yield Part("equal", _clipped(words[start:end], context))
            continue
        if end > start:
            yield Part("removed", _clipped(words[start:end], 3 * context))
        if stop > begin:
            yield Part("added", _clipped(others[begin:stop], 3 * context))


def _words(text: str) -> list[str]:
    # Made printable one by one: a line end is no printable character, but ends a word.
    matches = islice(_WORDS.finditer(text), _MOST_WORDS)
    return [printable(match.group()) for match in matches]


def _clipped(words: list[str], context: int) -> str:
    left = len(words) - 2 * context
    if left > 3:
        words = [*words[:context], f"... {left} words ...", *words[-context:]]
    return " ".join(words)
