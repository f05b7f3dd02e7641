"""Segment signatures: enough equal segments of the text."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass
from itertools import pairwise

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import choice, share, whole
from dedup.methods.digests import DigestMethod, digests
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
        tokens = document.tokens
        if self.mode == "equal":
            borders = [n * len(tokens) // self.segments for n in range(self.segments + 1)]
        else:
            hashes = shingle_hashes(tokens, _WINDOW, self.hashing)
            ends = np.flatnonzero(hashes % np.uint64(self.length) == 0) + _WINDOW
            borders = [0, *ends.tolist(), len(tokens)]
        return ["".join(tokens[start:end]) for start, end in pairwise(borders)]
