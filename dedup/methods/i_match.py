"""I-Match: digests of the terms within a window of document frequencies."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import compress

import numpy as np

from dedup.arrays import Array
from dedup.lexicon import load_lexicon
from dedup.methods.arguments import check_share, check_whole
from dedup.methods.base import KeyMethod, as_rows
from dedup.methods.hashing import PLAIN, Hashing, mix, seeds
from dedup.text import Document

Digests = tuple[int, ...]
# Stands for the digest of a lexicon that has too few terms of the page.
_MISSING = 0
_RANGE = 1 << 32


class IMatch(KeyMethod):
    """Matches pages that have the same terms within a window of document frequencies.

    The terms whose normalised idf is from *lowest* to *highest* are sorted, each once; their digest
    is the signature. One more or one fewer term gives another digest. So there are *randomised*
    further lexicons, each without a share *dropped* of all terms: if n terms differ, pages match
    with a probability of 1 - (1 - dropped**n)**randomised, .61 for two terms with the default
    values. `randomised=0` is the method as first published.

    By default only frequent terms are excluded. The published window ends at .85 and also excludes
    terms that hardly any document has; that suits a lexicon of the collection itself. In a general
    lexicon such terms are the names and numbers of a page, and pages that differ in nothing else
    would match.

    The distance is the number of unequal digests; one equal digest is enough for a match.

    Source: Chowdhury, Frieder, Grossman, McCabe, "Collection Statistics for Fast Duplicate Document
    Detection", ACM TOIS 20(2), 2002 (they use SHA-1, here it is BLAKE2b of 64 bits); Kolcz,
    Chowdhury, Alspector, "Improved Robustness of Signature-Based Near-Replica Detection via Lexicon
    Randomization", KDD 2004; window and *min_terms*: reference code of Theobald, Siddharth,
    Paepcke, SIGIR 2008.
    """

    name = "i-match"
    version = 2
    sweep = ("randomised", (0, 1, 2, 4, 6, 8, 10, 15, 20, 30, 40))

    def __init__(
        self,
        *,
        lexicon: str = "general",
        lowest: float = 0.2,
        highest: float = 1.0,
        min_terms: int = 4,
        randomised: int = 10,
        dropped: float = 0.3,
    ) -> None:
        """Create the method with the document frequencies of *lexicon* (see `dedup.lexicon`).

        *lowest* and *highest*, from 0 to 1: the normalised idf of the terms that are used; in the
        general lexicon, unknown terms have 1. *min_terms*: a lexicon with fewer terms of a page has
        no digest of it. *randomised*: the number of lexicons besides the whole one; *dropped*: the
        share of terms that each of them lacks, from 0 to 1. Raises ValueError for a value out of
        range, and for a lexicon that cannot be read.
        """
        check_share("lowest", lowest)
        check_share("highest", highest)
        if lowest > highest:
            raise ValueError(f"lowest must be at most highest, {highest}, got {lowest}")
        check_whole("min_terms", min_terms, 1)
        check_whole("randomised", randomised, 0)
        check_share("dropped", dropped)
        load_lexicon(lexicon)
        self.lexicon = lexicon
        self.lowest = lowest
        self.highest = highest
        self.min_terms = min_terms
        self.randomised = randomised
        self.dropped = dropped
        self.max_distance = randomised

    def sketch(self, document: Document) -> Digests | None:
        """Return the digest of each lexicon, the whole one first; 0 if it has too few terms.

        ``None`` if the whole lexicon has fewer than *min_terms* terms of *document*.
        """
        terms = self.terms(document)
        if len(terms) < self.min_terms:
            return None
        lexicons = [terms, *self._terms_by_lexicon(terms)]
        return tuple(
            self.hashing.part_digest("\x01".join(own)) if len(own) >= self.min_terms else _MISSING
            for own in lexicons
        )

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(self.terms(document), 1.0)

    def terms(self, document: Document) -> list[str]:
        """Return the terms of *document* within the window, each once, sorted."""
        nidf = load_lexicon(self.lexicon).nidf
        return sorted(
            term for term in set(document.tokens) if self.lowest <= nidf(term) <= self.highest
        )

    def _terms_by_lexicon(self, terms: list[str]) -> Iterable[list[str]]:
        for mask in terms_in_lexicons(terms, self.randomised, self.dropped, self.hashing).tolist():
            yield list(compress(terms, mask))

    def keys(self, sketch: Digests) -> Iterable[int]:
        keys, _ = self._keys(np.array(sketch, np.uint64))
        return keys.tolist()  # type: ignore[no-any-return]

    def _keys(self, digests: Array) -> tuple[Array, Array]:
        """Return the keys of sketches, shape (..., lexicons), and which digests have one."""
        has_key = digests != _MISSING
        return mix(digests ^ seeds(digests.shape[-1]))[has_key], has_key

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        keys, has_key = self._keys(as_rows(sketches, 8 * (1 + self.randomised)).view("<u8"))
        return keys, has_key.sum(axis=1), sketches

    def distance(self, sketch: Digests, other: Digests) -> int:
        pairs = list(zip(sketch, other, strict=True))
        # Two missing digests are equal, but are not enough for a match.
        agree = any(left == right != _MISSING for left, right in pairs)
        return sum(left != right for left, right in pairs) if agree else len(sketch)

    def to_bytes(self, sketch: Digests) -> bytes:
        return np.array(sketch, "<u8").tobytes()

    def from_bytes(self, data: bytes) -> Digests:
        return tuple(np.frombuffer(data, "<u8").tolist())


def terms_in_lexicons(
    terms: list[str], count: int, dropped: float, hashing: Hashing = PLAIN
) -> Array:
    """Return which of *count* randomised lexicons have which terms, shape (count, n), bool.

    Each lexicon lacks a share *dropped* of all possible terms, independently of the page.
    """
    hashes = mix(hashing.token_hashes(terms) ^ seeds(count)[:, None])
    return hashes % np.uint64(_RANGE) >= np.uint64(round(dropped * _RANGE))
