"""Tianwang's methods: digests of a page's description or its keywords."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from dedup.arrays import Array
from dedup.lexicon import load_lexicon
from dedup.methods.arguments import choice, share, whole
from dedup.methods.digests import SingleDigestMethod
from dedup.text import Document, tokenise

VARIANTS = ("description", "order", "sorted", "order-weights", "sorted-weights")
_DESCRIPTION_BYTES = 512
_DIGEST_BYTES = 16
# Weights are multiples of 2**-16, so that keywords have the same order on every platform.
_UNIT = 2**16


@dataclass(eq=False)
class Keywords(SingleDigestMethod):
    """Matches pages with the same keywords or the same description: Tianwang's five methods.

    The *variant* says what must be equal:

    1. "description": the description that the page gives of itself;
    2. "order": the keywords by weight, the heaviest first;
    3. "sorted": the keywords in any order;
    4. "order-weights": as 2, and the weights must be similar;
    5. "sorted-weights": as 3, and the weights must be similar.

    The distance of two weight vectors V and W of sum 1 is |V - W|² / (|V|² + |W|²), from 0 to 1. If
    what must be equal differs, the distance is 1. The threshold *max_distance* is for the variants
    with weights; the others match at distance 0 only.

    Keywords are the *top* heaviest words, ties in alphabetical order. *weights*: "tf", or "tf-idf"
    with the document frequencies of *lexicon*, by default "general" (see `dedup.lexicon`).
    *description*: "page" for the description of the page, or "text" for the first 512 bytes of its
    text, which also stand in for a missing description.

    Source: Li Xiaoming, Yan Hongfei, Wang Jimin, 搜索引擎——原理、技术与系统, 2005 (they use MD5,
    here it is BLAKE2b of 128 bits).
    """

    name = "keywords"
    version = 2
    sweep = ("top", (2, 4, 6, 8, 10, 12, 15, 20, 30, 50))

    max_distance: float = share(0.05)
    _: KW_ONLY
    variant: str = choice("sorted-weights", VARIANTS)
    top: int = whole(10, 1)
    weights: str = choice("tf-idf", ("tf-idf", "tf"))
    lexicon: str | None = None
    description: str = choice("page", ("page", "text"))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_distance == 1:
            raise ValueError("max_distance must be below 1, got 1: unequal digests would match")
        if self.weights == "tf" or self.variant == "description":
            self.lexicon = None
        else:
            self.lexicon = "general" if self.lexicon is None else self.lexicon
            load_lexicon(self.lexicon)

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest; in variants with weights, 4 bytes for each weight follow it.

        ``None`` if the text has no tokens, or no keyword has a weight above 0.
        """
        weights = self.weighted_features(document)
        if not weights:
            return None
        keywords = list(weights)
        in_order = keywords if self.variant.startswith("order") else sorted(keywords)
        digest = self.hashing.digest("\x01".join(in_order))
        if not self.variant.endswith("weights"):
            return digest
        shares = np.array([weights[word] for word in sorted(keywords)], np.float64)
        return digest + (shares / sum(weights.values())).astype("<f4").tobytes()

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        if self.variant == "description":
            return {self._description(document): 1.0} if document.tokens else {}
        weights: Mapping[str, float] = Counter(document.tokens)
        if self.lexicon is not None:
            idf = load_lexicon(self.lexicon).idf
            weights = {word: round(tf * idf(word) * _UNIT) / _UNIT for word, tf in weights.items()}
        heaviest = sorted(weights, key=lambda word: (-weights[word], word))[: self.top]
        return {word: weights[word] for word in heaviest if weights[word] > 0}

    def _description(self, document: Document) -> str:
        if self.description == "page" and document.description:
            own = document.normalise(document.description)
            if tokenise(own):
                return own
        return document.text.encode()[:_DESCRIPTION_BYTES].decode(errors="ignore")

    def distance(self, sketch: bytes, other: bytes) -> float:
        if sketch[:_DIGEST_BYTES] != other[:_DIGEST_BYTES]:
            return 1
        return weight_distance(
            *(np.frombuffer(data[_DIGEST_BYTES:], "<f4") for data in (sketch, other))
        )


def weight_distance(weights: Array, others: Array) -> float:
    """Return |V - W|² / (|V|² + |W|²) of two vectors without negative numbers, from 0 to 1.

    0 if both vectors are empty.

    >>> weight_distance(np.array([5, 3, 2]), np.array([4, 3, 2])) * 67
    1.0
    """
    weights, others = weights.astype(np.float64), others.astype(np.float64)
    norms = float(weights @ weights + others @ others)
    difference = weights - others
    return float(difference @ difference) / norms if norms else 0.0
