"""Segment signatures: enough equal segments of the text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import choice, share, whole
from dedup.methods.digests import DigestMethod, digests
from dedup.methods.hashing import PLAIN, Hashing
from dedup.methods.sentences import letters
from dedup.methods.shingles import shingle_hashes
from dedup.text import Document

# Shorter segments, such as dates, headings and names, say nothing about the page.
_MIN_LETTERS = 10
# The number of words that decide whether a segment ends.
_WINDOW = 3


@dataclass(eq=False)
class Segments(DigestMethod):
    """Matches pages that have enough segments in common, wherever they are on the page.

    The distance is the share of segments that the other page lacks, for the page with fewer;
    repeated segments count each time. It is infinite if fewer than *min_equal* are equal; a page
    with fewer has no sketch. A page that contains another is at distance 0.

    *mode* says where a text is cut. "paragraphs": at its line ends. "equal": into *segments* parts
    with equal numbers of words; one more word near the beginning then moves all borders.
    "content-defined": after any three words whose hash is a multiple of *length*, so that this is
    the average number of words; an edit then changes one segment, or two if it moves the border
    between them. Segments of fewer than 10 letters do not count.

    Source: 分段签名 (N segments, M of them equal); equal parts and content-defined ones are two
    readings of its "by some rule". Muthitacharoen, Chen, Mazières, "A Low-bandwidth Network File
    System", SOSP 2001, section 3.1 (content-defined).
    """

    name = "segments"
    version = 3
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    max_distance: float = share(0.3)
    _: KW_ONLY
    mode: str = choice("content-defined", ("paragraphs", "equal", "content-defined"))
    segments: int = whole(10, 1)
    length: int = whole(12, 1, 2**32)
    min_equal: int = whole(2, 1)

    def sketch(self, document: Document) -> Array | None:
        """Return the digests of the segments, shape (n,), uint64, if there are enough."""
        parts = self.weighted_features(document).elements()
        return digests(parts, self.hashing, self.min_equal)

    def weighted_features(self, document: Document) -> Counter[str]:
        return Counter(part for part in self._parts(document) if len(part) >= _MIN_LETTERS)

    def _parts(self, document: Document) -> Iterable[str]:
        if self.mode == "paragraphs":
            return map(letters, document.paragraphs)
        if self.mode == "equal":
            return equal_segments(document.tokens, self.segments)
        return content_defined_segments(document.tokens, self.length, self.hashing)


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
