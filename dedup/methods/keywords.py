"""Tianwang's methods: digests of a page's description or of its keywords."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from dedup.lexicon import load_lexicon
from dedup.methods.arguments import check_choice, check_share, check_whole
from dedup.methods.digests import SingleDigestMethod
from dedup.methods.hashing import Array
from dedup.text import Document, normalise, tokenise

VARIANTS = ("description", "order", "sorted", "order-weights", "sorted-weights")
_WEIGHTS = ("tf-idf", "tf")
_DESCRIPTIONS = ("page", "text")
_DESCRIPTION_BYTES = 512
_DIGEST_BYTES = 16
# Weights are whole numbers of 2**-16, so that the order of keywords is that of every platform.
_UNIT = 2**16


class Keywords(SingleDigestMethod):
    """Matches pages that have the same keywords, or the same description: Tianwang's five methods.

    What has to be equal is, by *variant*,

    1. "description": the page's description of itself;
    2. "order": the keywords by weight, the heaviest first;
    3. "sorted": the keywords, whatever their order;
    4. "order-weights": as 2, and the weights have to differ little;
    5. "sorted-weights": as 3, and the weights have to differ little.

    The distance of two weight vectors V and W of sum 1 is |V - W|² / (|V|² + |W|²), from 0 to 1;
    that of two pages that differ in what has to be equal is 1.

    Source: Li Xiaoming, Yan Hongfei, Wang Jimin, 搜索引擎——原理、技术与系统, 2005 (they use MD5,
    here it is BLAKE2b of 128 bits).
    """

    name = "keywords"
    version = 2
    sweep = ("top", (2, 4, 6, 8, 10, 12, 15, 20, 30, 50))

    def __init__(
        self,
        max_distance: float = 0.05,
        *,
        variant: str = "sorted-weights",
        top: int = 10,
        weights: str = "tf-idf",
        lexicon: str | None = None,
        description: str = "page",
    ) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to below 1.

        The threshold is for the variants with weights: the others match at distance 0 only.
        *top*: the number of keywords, the heaviest words, ties in the order of the alphabet.
        *weights*: "tf-idf" with the document frequencies of *lexicon*, by default "general" (see
        `dedup.lexicon`), or "tf". *description*: that of the "page", or of a page without one and
        with "text", the first 512 bytes of the text. Raises ValueError for a value outside its
        range, and for a lexicon that cannot be read.
        """
        check_share("max_distance", max_distance)
        if max_distance == 1:
            raise ValueError("max_distance must be below 1, got 1: unequal digests would match")
        check_choice("variant", variant, VARIANTS)
        check_whole("top", top, 1)
        check_choice("weights", weights, _WEIGHTS)
        check_choice("description", description, _DESCRIPTIONS)
        needs_lexicon = weights == "tf-idf" and variant != "description"
        if needs_lexicon:
            lexicon = "general" if lexicon is None else lexicon
            load_lexicon(lexicon)
        self.max_distance = max_distance
        self.variant = variant
        self.top = top
        self.weights = weights
        self.lexicon = lexicon if needs_lexicon else None
        self.description = description

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest, with weights behind it 4 bytes for each of them.

        ``None`` if the text has no tokens, or no keyword of a weight above 0.
        """
        weights = self.weighted_features(document)
        if not weights:
            return None
        keywords = list(weights)
        in_order = keywords if self.variant.startswith("order") else sorted(keywords)
        digest = self.hashing.digest("\x01".join(in_order))
        if not self.variant.endswith("weights"):
            return digest
        return digest + shares([weights[word] for word in sorted(keywords)]).tobytes()

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        if self.variant == "description":
            return {self._description(document): 1.0} if document.tokens else {}
        weights = self._weigh(document.tokens)
        return {word: weights[word] for word in heaviest_words(weights, self.top)}

    def _description(self, document: Document) -> str:
        if self.description == "page" and document.description:
            own = normalise(document.description)
            if tokenise(own):
                return own
        return document.text.encode()[:_DESCRIPTION_BYTES].decode(errors="ignore")

    def _weigh(self, tokens: Sequence[str]) -> Mapping[str, float]:
        counts = Counter(tokens)
        if self.weights == "tf":
            return counts
        idf = load_lexicon(self.lexicon).idf
        return {term: round(tf * idf(term) * _UNIT) / _UNIT for term, tf in counts.items()}

    def distance(self, one: bytes, other: bytes) -> float:
        if one[:_DIGEST_BYTES] != other[:_DIGEST_BYTES]:
            return 1
        mine, its = (np.frombuffer(sketch[_DIGEST_BYTES:], "<f4") for sketch in (one, other))
        return weight_distance(mine, its)


def heaviest_words(weights: Mapping[str, float], top: int) -> list[str]:
    """Return the *top* keywords of a weight above 0, the heaviest first, ties by keyword.

    >>> heaviest_words({"rose": 3, "is": 2, "a": 3, "the": 0}, 2)
    ['a', 'rose']
    """
    words = sorted(weights, key=lambda word: (-weights[word], word))
    return [word for word in words[:top] if weights[word] > 0]


def shares(weights: Sequence[float]) -> Array:
    """Return *weights* divided by their sum, shape (n,), float32."""
    return (np.array(weights, np.float64) / sum(weights)).astype("<f4")


def weight_distance(one: Array, other: Array) -> float:
    """Return |V - W|² / (|V|² + |W|²) of two vectors without negative numbers, from 0 to 1.

    0 if both have no component.

    >>> weight_distance(np.array([5, 3, 2]), np.array([4, 3, 2])) * 67
    1.0
    """
    one, other = one.astype(np.float64), other.astype(np.float64)
    norms = float(one @ one + other @ other)
    difference = one - other
    return float(difference @ difference) / norms if norms else 0.0
