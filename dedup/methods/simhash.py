"""Simhash and random projection: fingerprints whose distance grows with an angle."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dedup.lexicon import load_lexicon
from dedup.methods.arguments import check_choice, check_whole
from dedup.methods.fingerprint_method import FingerprintMethod
from dedup.methods.hashing import PLAIN, Hashing, mix, seeds
from dedup.text import Document

# Weights are multiples of 2**-16. Sums of such numbers are exact in float64 in any order, so no bit
# depends on the order in which a platform's BLAS adds up. Logarithms are rounded likewise.
_UNIT = 2.0**16
# 2 MB of unpacked bits at a time, however many features a page has.
_FEATURES_AT_A_TIME = 4096
_WIDTHS = {"words": None, "characters": 4, "shingles": 3}
_WEIGHTS = ("log-tf", "tf", "binary", "tf-idf")


class SimHash(FingerprintMethod):
    """Fingerprints whose Hamming distance grows with the angle between the pages' feature vectors.

    By default every word of the text is a feature of weight 1 + ln(tf), the best weighting on
    labelled collections at distance 3. The order of words does not matter.

    Source: Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002;
    Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 2.
    """

    name = "simhash"
    version = 1
    sweep = ("max_distance", tuple(range(17)))

    def __init__(
        self,
        max_distance: int = 3,
        *,
        features: str = "words",
        width: int | None = None,
        weights: str = "log-tf",
        bits: int = 64,
        lexicon: str | None = None,
    ) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to *bits* - 1.

        *features*: "words", overlapping "characters" (*width* of them, 4 by default, including
        spaces) or "shingles" (*width* consecutive words, 3 by default). *weights*: "log-tf"
        (1 + ln tf), "tf", "binary" (1) or, for words only, "tf-idf" with the document frequencies
        of *lexicon*, by default "general" (see `dedup.lexicon`). *bits*: the length of the
        fingerprint, from 32 to 384.

        Raises ValueError for a value out of range.
        """
        check_choice("features", features, _WIDTHS)
        check_choice("weights", weights, _WEIGHTS)
        check_whole("bits", bits, 32, 384)
        if width is not None:
            if features == "words":
                raise ValueError("width is for characters and shingles, not for words")
            check_whole("width", width, 1)
        if weights == "tf-idf" and features != "words":
            raise ValueError(f"tf-idf weights are for words, not for {features}")
        if lexicon is not None and weights != "tf-idf":
            raise ValueError(f"lexicon is for tf-idf weights, not for {weights}")
        self.bits = bits
        super().__init__(max_distance)
        self.features = features
        self.width = width
        self.weights = weights
        self.lexicon = lexicon
        if weights == "tf-idf":
            self.lexicon = "general" if lexicon is None else lexicon
            load_lexicon(self.lexicon)
        self._width = width or _WIDTHS[features]

    def sketch(self, document: Document) -> int | None:
        """Return the fingerprint of *document*, or ``None`` if no feature has a weight above 0.

        >>> hex(SimHash().sketch(Document("the cat sat on the mat")))
        '0xcb542bc311d7346f'
        """
        weights = self.weighted_features(document)
        return fingerprint(weights, self.bits, self.hashing) if any(weights.values()) else None

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        if not document.tokens:
            return {}
        terms = self._terms(document)
        return (
            dict.fromkeys(terms, 1.0) if self.weights == "binary" else self._weigh(Counter(terms))
        )

    def _terms(self, document: Document) -> Iterable[str]:
        if self._width is None:
            return document.tokens
        if self.features == "characters":
            return runs(document.text, self._width)
        return map("\x01".join, runs(document.tokens, self._width))

    def _weigh(self, counts: Mapping[str, int]) -> Mapping[str, float]:
        if self.weights == "log-tf":
            return log_weights(counts)
        if self.lexicon is not None:
            idf = load_lexicon(self.lexicon).idf
            return {term: _round(tf * idf(term)) for term, tf in counts.items()}
        return counts


class SimHashBigrams(SimHash):
    """Simhash over the set of overlapping 2-character strings of the text, including spaces.

    For Chinese; all texts in Latin letters share the same few hundred pairs of letters.

    Source: an article on simhash that is widely copied in Chinese (it uses 32 bits).
    """

    name = "simhash-bigrams"
    version = 1
    sweep = ("max_distance", tuple(range(17)))

    def __init__(self, max_distance: int = 3, *, bits: int = 64) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to *bits* - 1.

        *bits*: the length of the fingerprint, from 32 to 384. Raises ValueError for a value out of
        range.
        """
        super().__init__(max_distance, features="characters", width=2, weights="binary", bits=bits)


class RandomProjection(SimHash):
    """Bits that say on which side of random hyperplanes the vector of term frequencies lies.

    By default two pages match if at least 372 of 384 bits agree (distance 12). With "signs", the
    vector of a word is its hash as random +1 and -1: this is simhash with raw term frequencies.
    With "gaussian", its numbers have a binomial, that is nearly a normal distribution.

    Source: Henzinger, "Finding Near-Duplicate Web Pages: A Large-Scale Evaluation of Algorithms",
    SIGIR 2006, section 2.2; Charikar 2002, section 3.
    """

    name = "random-projection"
    version = 1
    sweep = ("max_distance", (0, 2, 4, 6, 8, 10, 12, 16, 20, 24, 29, 35, 42, 50, 60))

    def __init__(self, max_distance: int = 12, *, bits: int = 384, vectors: str = "signs") -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to *bits* - 1.

        *bits*: the number of hyperplanes, from 32 to 384. *vectors*: "signs" or "gaussian". Raises
        ValueError for a value out of range.
        """
        super().__init__(max_distance, weights="tf", bits=bits)
        check_choice("vectors", vectors, ("signs", "gaussian"))
        self.vectors = vectors

    def sketch(self, document: Document) -> int | None:
        if self.vectors == "signs" or not document.tokens:
            return super().sketch(document)
        return projection(Counter(document.tokens), self.bits, self.hashing)


def projection(counts: Mapping[str, int], bits: int, hashing: Hashing = PLAIN) -> int:
    """Return the sides of *bits* random Gaussian hyperplanes on which the vector *counts* lies."""
    functions = seeds(4 * bits)
    sums = np.zeros(bits, np.int64)
    hashes = hashing.feature_hashes(counts, len(counts))
    for term, tf in zip(hashes, counts.values(), strict=True):
        # The number of ones among 256 random bits is normally distributed up to 4 standard
        # deviations, and the same on every platform and with every version of NumPy.
        ones = np.bitwise_count(mix(term ^ functions)).reshape(bits, 4).sum(axis=1, dtype=np.int64)
        sums += tf * (ones - 128)
    return pack_bits(sums > 0)


def runs(sequence: Sequence[str], width: int) -> Iterable[Any]:
    """Return all runs of *width* consecutive elements of *sequence*, or all of it if it is shorter.

    >>> list(runs("mat", 2))
    ['ma', 'at']
    """
    return (sequence[i : i + width] for i in range(max(1, len(sequence) - width + 1)))


def log_weights(counts: Mapping[str, int]) -> dict[str, float]:
    """Return the weight 1 + ln(tf) of each feature, rounded to 16 binary places.

    >>> log_weights({"once": 1, "twice": 2})
    {'once': 1.0, 'twice': 1.6931...}
    """
    return dict(zip(counts, map(_log_weight, counts.values()), strict=True))


@lru_cache(1 << 12)
def _log_weight(tf: int) -> float:
    return float(_round(1 + np.log(np.float64(tf))))


def _round(weights: Any) -> Any:
    return np.rint(weights * _UNIT) / _UNIT


def fingerprint(weights: Mapping[str, float], bits: int = 64, hashing: Hashing = PLAIN) -> int:
    """Return the simhash of weighted features.

    A bit is 1 if the features whose hash has a 1 there outweigh the others; a tie gives 0, and so
    does an empty mapping. Each 64 bits come from hashes with their own seed: 0, 1, ... The result
    is exact in any order of features, if weights are multiples of 2**-16 and sum up to less than
    2**37.
    """
    values = np.fromiter(weights.values(), np.float64, len(weights))
    result = combine(hashing.token_hashes(tuple(weights)), values)
    for seed in range(1, -(-bits // 64)):
        hashes = hashing.feature_hashes(weights, len(weights), seed)
        result |= combine(hashes, values) << 64 * seed
    return result & ((1 << bits) - 1)


def combine(hashes: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> int:
    """Return the 64 bits for which the sum of +weight (hash bit 1) and -weight (0) is positive.

    *hashes*: shape (n,), uint64; *weights*: shape (n,), float64.

    Source: Manku et al. 2007, section 2; a sum of exactly zero gives 0.
    """
    sums = np.zeros(64)
    for start in range(0, len(hashes), _FEATURES_AT_A_TIME):
        part = slice(start, start + _FEATURES_AT_A_TIME)
        octets = hashes[part].astype("<u8").view(np.uint8).reshape(-1, 8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        sums += 2 * (weights[part] @ bits) - weights[part].sum()
    return pack_bits(sums > 0)


def pack_bits(bits: np.ndarray[Any, Any]) -> int:
    """Return the integer whose bit *i* is element *i* of *bits*, shape (n,), bool."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
