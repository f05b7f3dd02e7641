"""Segment signatures: enough equal segments of the text."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from dedup.methods.arguments import check_choice, check_share, check_whole
from dedup.methods.digests import DigestMethod, Digests, digests, missing_share
from dedup.methods.hashing import PLAIN, Hashing
from dedup.methods.sentences import letters
from dedup.methods.shingles import shingle_hashes
from dedup.text import Document

# Shorter segments, such as dates, headings and names, say nothing about the page.
_MIN_LETTERS = 10
# The number of words that decide whether a segment ends.
_WINDOW = 3


class Segments(DigestMethod):
    """Matches pages that have enough segments in common, wherever they are on the page.

    The distance is the share of segments that the other page lacks, for the page with fewer;
    repeated segments count each time. It is infinite if fewer than *min_equal* are equal. A page
    that contains another is at distance 0.

    *mode* says where a text is cut. "paragraphs": at its line ends. "equal": into parts with equal
    numbers of words; one more word near the beginning then moves all borders. "content-defined":
    after any three words whose hash is a multiple of *length*; an edit then changes one segment, or
    two if it moves the border between them. Segments of fewer than 10 letters do not count.

    Source: 分段签名 (N segments, M of them equal); equal parts and content-defined ones are two
    readings of its "by some rule". Muthitacharoen, Chen, Mazières, "A Low-bandwidth Network File
    System", SOSP 2001, section 3.1 (content-defined).
    """

    name = "segments"
    version = 3
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    def __init__(
        self,
        max_distance: float = 0.3,
        *,
        mode: str = "content-defined",
        segments: int = 10,
        length: int = 12,
        min_equal: int = 2,
    ) -> None:
        """Create the method with the threshold *max_distance*, from 0 to 1.

        *mode*: "paragraphs", "equal" or "content-defined". *segments*: the number of equal
        segments. *length*: the average number of words of content-defined segments. *min_equal*:
        how many must be equal in any case; a page with fewer has no sketch. Raises ValueError for a
        value out of range.
        """
        check_share("max_distance", max_distance)
        check_choice("mode", mode, _CUTS)
        check_whole("segments", segments, 1)
        check_whole("length", length, 1, 2**32)
        check_whole("min_equal", min_equal, 1)
        self.max_distance = max_distance
        self.mode = mode
        self.segments = segments
        self.length = length
        self.min_equal = min_equal

    def sketch(self, document: Document) -> Digests | None:
        """Return the digests of the segments, shape (n,), uint64, if there are enough."""
        segments = digests(self.weighted_features(document).elements(), self.hashing)
        return segments if len(segments) >= self.min_equal else None

    def weighted_features(self, document: Document) -> Counter[str]:
        parts = _CUTS[self.mode](self, document)
        return Counter(part for part in parts if len(part) >= _MIN_LETTERS)

    def distance(self, sketch: Digests, other: Digests) -> float:
        return missing_share(sketch, other, self.min_equal)


def paragraph_segments(document: Document) -> list[str]:
    """Return the letters of each line of the main text."""
    return [letters(paragraph) for paragraph in document.paragraphs]


def equal_segments(tokens: list[str], count: int) -> list[str]:
    """Return *tokens* in *count* parts whose numbers of tokens differ by at most one.

    >>> equal_segments("a b c d e f g".split(), 3)
    ['ab', 'cd', 'efg']
    """
    borders = [number * len(tokens) // count for number in range(count + 1)]
    return _between(borders, tokens)


def content_defined_segments(tokens: list[str], length: int, hashing: Hashing = PLAIN) -> list[str]:
    """Return *tokens* in parts that end after any three whose hash is a multiple of *length*.

    >>> tokens = [str(number) for number in range(1000)]
    >>> whole = set(content_defined_segments(tokens, 12))
    >>> without_beginning = set(content_defined_segments(tokens[100:], 12))
    >>> len(whole), len(without_beginning - whole)
    (77, 1)
    """
    multiples = shingle_hashes(tokens, _WINDOW, hashing) % np.uint64(length) == 0
    borders = (np.flatnonzero(multiples) + _WINDOW).tolist()
    return _between([0, *borders, len(tokens)], tokens)


def _between(borders: list[int], tokens: list[str]) -> list[str]:
    return ["".join(tokens[start:end]) for start, end in pairwise(borders)]


_CUTS: dict[str, Callable[[Segments, Document], list[str]]] = {
    "paragraphs": lambda method, document: paragraph_segments(document),
    "equal": lambda method, document: equal_segments(document.tokens, method.segments),
    "content-defined": lambda method, document: content_defined_segments(
        document.tokens, method.length, method.hashing
    ),
}
