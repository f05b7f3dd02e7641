"""I-Match: digests of the terms within a window of document frequencies."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import compress

import numpy as np

from dedup.arrays import Array
from dedup.lexicon import load_lexicon
from dedup.methods.arguments import share, whole
from dedup.methods.base import ArrayMethod, as_rows
from dedup.methods.hashing import mix, seeds
from dedup.text import Document

# Stands for the digest of a lexicon that has too few terms of the page.
_MISSING = 0
_RANGE = 1 << 32


@dataclass(eq=False)
class IMatch(ArrayMethod):
    """Matches pages that have the same terms within a window of document frequencies.

    The terms whose normalised idf in *lexicon* is from *lowest* to *highest* are sorted, each once;
    their digest is the signature. One more or one fewer term gives another digest. So there are
    *randomised* further lexicons, each without a share *dropped* of all terms: if n terms differ,
    pages match with a probability of 1 - (1 - dropped**n)**randomised, .61 for two terms with the
    default values. `randomised=0` is the method as first published.

    By default only frequent terms are excluded. The published window ends at .85 and also excludes
    terms that hardly any document has; that suits a lexicon of the collection itself. In a general
    lexicon such terms are the names and numbers of a page, and pages that differ in nothing else
    would match.

    The distance is the number of unequal digests; one equal digest is enough for a match. A lexicon
    with fewer than *min_terms* terms of a page has no digest of it. Unknown terms have the idf 1.

    Source: Chowdhury, Frieder, Grossman, McCabe, "Collection Statistics for Fast Duplicate Document
    Detection", ACM TOIS 20(2), 2002 (they use SHA-1, here it is BLAKE2b of 64 bits); Kolcz,
    Chowdhury, Alspector, "Improved Robustness of Signature-Based Near-Replica Detection via Lexicon
    Randomization", KDD 2004; window and *min_terms*: reference code of Theobald, Siddharth,
    Paepcke, SIGIR 2008.
    """

    name = "i-match"
    version = 2
    dtype = "<u8"
    sweep = ("randomised", (0, 1, 2, 4, 6, 8, 10, 15, 20, 30, 40))

    _: KW_ONLY
    lexicon: str = "general"
    lowest: float = share(0.2)
    highest: float = share(1.0)
    min_terms: int = whole(4, 1)
    randomised: int = whole(10, 0)
    dropped: float = share(0.3)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lowest > self.highest:
            raise ValueError(f"lowest must be at most highest, {self.highest}, got {self.lowest}")
        load_lexicon(self.lexicon)
        self.max_distance = self.randomised

    def sketch(self, document: Document) -> Array | None:
        """Return the digest of each lexicon, the whole one first, shape (1 + randomised,), uint64.

        The digest of one that has too few terms is 0. ``None`` if the whole lexicon has.
        """
        terms = self.terms(document)
        if len(terms) < self.min_terms:
            return None
        # Each lexicon lacks a share of all possible terms, independently of the page.
        hashes = mix(self.hashing.feature_hashes(terms) ^ seeds(self.randomised)[:, None])
        is_kept = hashes % np.uint64(_RANGE) >= np.uint64(round(self.dropped * _RANGE))
        lexicons = [terms, *(list(compress(terms, mask)) for mask in is_kept.tolist())]
        digests = [
            self.hashing.part_digest("\x01".join(own)) if len(own) >= self.min_terms else _MISSING
            for own in lexicons
        ]
        return np.array(digests, np.uint64)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(self.terms(document), 1.0)

    def terms(self, document: Document) -> list[str]:
        """Return the terms of *document* within the window, each once, sorted."""
        nidf = load_lexicon(self.lexicon).nidf
        return sorted(
            term for term in set(document.tokens) if self.lowest <= nidf(term) <= self.highest
        )

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        digests = as_rows(sketches, 8 * (1 + self.randomised)).view("<u8")
        has_key = digests != _MISSING
        keys = mix(digests ^ seeds(digests.shape[1]))[has_key]
        return keys, has_key.sum(axis=1), sketches

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        count = 1 + self.randomised
        digests, theirs = (as_rows(side, 8 * count).view("<u8") for side in (payloads, others))
        # Two missing digests are equal, but are not enough for a match.
        agree = ((digests == theirs) & (digests != _MISSING)).any(axis=1)
        return np.where(agree, super().distances_of_pairs(payloads, others), count)
