"""Simhash over the words of the main text."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xxhash

from dedup.methods.base import FingerprintMethod
from dedup.text import Document

_BITS = 64
# Weights are whole multiples of 2**-16. Sums of such numbers are exact in float64 in any order, so
# a bit cannot depend on how a platform's BLAS adds up; so is the rounding of the logarithm.
_UNIT = 2.0**16
# 2 MB of bits at a time, however many features a page has.
_FEATURES_AT_A_TIME = 4096


class SimHash(FingerprintMethod):
    """Fingerprints whose Hamming distance grows with the angle between the pages' word vectors.

    Every word of the text is a feature with weight 1 + ln(tf), the best weighting on labelled
    collections at distance 3. Unigrams do not see the order of words.

    Source: Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002;
    Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 2.
    """

    name = "simhash"
    version = 1

    def sketch(self, document: Document) -> int | None:
        """Return the 64-bit fingerprint of *document*, or ``None`` if it has no tokens.

        >>> hex(SimHash().sketch(Document("the cat sat on the mat")))
        '0xcb542bc311d7346f'
        """
        counts = Counter(document.tokens)
        return fingerprint(log_weights(counts)) if counts else None


def log_weights(counts: Mapping[str, int]) -> dict[str, float]:
    """Return the weight 1 + ln(tf) of each feature, rounded to 16 binary places.

    >>> log_weights({"once": 1, "twice": 2})
    {'once': 1.0, 'twice': 1.6931...}
    """
    frequencies = np.fromiter(counts.values(), np.float64, len(counts))
    weights = np.rint((1 + np.log(frequencies)) * _UNIT) / _UNIT
    return dict(zip(counts, weights.tolist(), strict=True))


def fingerprint(weights: Mapping[str, float]) -> int:
    """Return the 64-bit simhash of weighted features.

    A bit is 1 if the features whose xxh3_64 hash has it outweigh those whose hash has not; on a tie
    it is 0. No features give 0. Exact, whatever the order, for weights that are multiples of 2**-16
    and sum up to less than 2**37.
    """
    hashes = np.fromiter(map(feature_hash, weights), np.dtype("<u8"), len(weights))
    return combine(hashes, np.fromiter(weights.values(), np.float64, len(weights)))


def feature_hash(feature: str) -> int:
    """Return the 64-bit hash of a feature (xxh3 of its UTF-8 bytes)."""
    return xxhash.xxh3_64_intdigest(feature.encode())


def combine(hashes: np.ndarray[Any, Any], weights: np.ndarray[Any, Any]) -> int:
    """Return the bits for which the sum of +weight (hash bit 1) and -weight (0) is positive.

    *hashes*: shape (n,), uint64; *weights*: shape (n,), float64.

    Source: Manku et al. 2007, section 2; a sum of exactly zero gives 0.
    """
    sums = np.zeros(_BITS)
    for start in range(0, len(hashes), _FEATURES_AT_A_TIME):
        part = slice(start, start + _FEATURES_AT_A_TIME)
        octets = hashes[part].astype("<u8").view(np.uint8).reshape(-1, _BITS // 8)
        bits = np.unpackbits(octets, axis=1, bitorder="little")
        sums += 2 * (weights[part] @ bits) - weights[part].sum()
    return pack_bits(sums > 0)


def pack_bits(bits: Iterable[bool]) -> int:
    """Return the integer whose bit *i* is the *i*-th of 64 *bits*."""
    packed = np.packbits(np.fromiter(bits, np.bool_), bitorder="little")
    return int.from_bytes(packed.tobytes(), "little")
