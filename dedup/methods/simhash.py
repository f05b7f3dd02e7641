"""Simhash and random projection: fingerprints whose distance grows with an angle."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from dedup.arrays import Array
from dedup.fingerprints import FEWEST_BITS, MOST_BITS
from dedup.lexicon import load_lexicon
from dedup.methods.arguments import check_whole, choice, fixed, whole
from dedup.methods.fingerprints import FingerprintMethod
from dedup.methods.hashing import PLAIN, Hashing, mix, seeds
from dedup.methods.shingles import runs
from dedup.text import Document
from dedup.words import words_of

# Weights are multiples of 2**-16. Sums of such numbers are exact in float64 in any order, so no bit
# depends on the order in which a platform's BLAS adds up. Logarithms are rounded likewise.
_UNIT = 2.0**16
# Those of keywords sum up to at most the highest idf: exact, too.
_UNIT_OF_KEYWORDS = 2.0**32
# 2 MB of factors at a time, however many features a page has.
_FEATURES_AT_A_TIME = 4096
_WIDTHS = {"words": None, "characters": 4, "shingles": 3}
# TFIDF.STOP_WORDS of jieba, copied because importing it takes half a second.
_STOP_WORDS = frozenset(
    "the of is and to in that we for an are by be as on with can if from which you it this then at "
    "have all not one has or".split()
)


@dataclass(eq=False)
class SimHash(FingerprintMethod):
    """Fingerprints whose Hamming distance grows with the angle between the pages' feature vectors.

    By default every word of the text is a feature of weight 1 + ln(tf), the best weighting on
    labelled collections at distance 3. The order of words does not matter. A bit for which the
    weights sum up to 0 is 0.

    *features*: "words", overlapping "characters" (*width* of them, 4 by default, including spaces)
    or "shingles" (*width* consecutive words, 3 by default). *weights*: "log-tf" (1 + ln tf), "tf",
    "binary" (1) or, for words only, "tf-idf" with the document frequencies of *lexicon*, by default
    "general" (see `dedup.lexicon`).

    >>> hex(SimHash().sketch(Document("the cat sat on the mat")))
    '0xcb542bc311d7346f'

    Source: Charikar, "Similarity Estimation Techniques from Rounding Algorithms", STOC 2002;
    Manku, Jain, Das Sarma, "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 2.
    """

    name = "simhash"
    version = 1
    sweep = ("max_distance", tuple(range(17)))

    max_distance: int = 3
    _: KW_ONLY
    features: str = choice("words", _WIDTHS)
    width: int | None = None
    weights: str = choice("log-tf", ("log-tf", "tf", "binary", "tf-idf"))
    bits: int = whole(64, FEWEST_BITS, MOST_BITS)
    lexicon: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.width is not None:
            if self.features == "words":
                raise ValueError("width is for characters and shingles, not for words")
            check_whole("width", self.width, 1)
        if self.weights == "tf-idf" and self.features != "words":
            raise ValueError(f"tf-idf weights are for words, not for {self.features}")
        if self.lexicon is not None and self.weights != "tf-idf":
            raise ValueError(f"lexicon is for tf-idf weights, not for {self.weights}")
        if self.weights == "tf-idf":
            self.lexicon = "general" if self.lexicon is None else self.lexicon
            load_lexicon(self.lexicon)
        self._width = self.width or _WIDTHS[self.features]

    def sketch(self, document: Document) -> int | None:
        """Return the fingerprint of *document*, or ``None`` if no feature has a weight above 0."""
        weights = self.weighted_features(document)
        # Otherwise all texts without weights would have the fingerprint 0.
        return fingerprint(weights, self.bits, self.hashing) if any(weights.values()) else None

    def sketches(self, documents: Sequence[Document]) -> list[int | None]:
        weigh = _WEIGHTS_OF_FREQUENCIES.get(self.weights)
        # What somebody has derived from this may have other features.
        is_other = type(self) is not SimHash or self._width or self.bits > 64
        if weigh is None or is_other:
            return [self.sketch(document) for document in documents]
        hashes, frequencies, counts = self.hashing.word_counts(words_of(documents))
        sums = sums_of_bits(hashes, weigh(frequencies), counts)
        octets = np.packbits(sums > 0, axis=1, bitorder="little")
        fingerprints = octets.view("<u8")[:, 0] & np.uint64((1 << self.bits) - 1)
        found = zip(fingerprints.tolist(), counts.tolist(), strict=True)
        return [fingerprint if count else None for fingerprint, count in found]

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        counts = Counter(self._terms(document)) if document.tokens else Counter[str]()
        if self.lexicon is not None:
            idf = load_lexicon(self.lexicon).idf
            return {term: round(tf * idf(term) * _UNIT) / _UNIT for term, tf in counts.items()}
        weigh = _WEIGHTS_OF_FREQUENCIES[self.weights]
        weights = weigh(np.fromiter(counts.values(), np.int64, len(counts)))
        return dict(zip(counts, weights.tolist(), strict=True))

    def _terms(self, document: Document) -> Iterable[str]:
        if self._width is None:
            return document.tokens
        if self.features == "characters":
            return runs(document.text, self._width)
        return map("\x01".join, runs(document.tokens, self._width))


@dataclass(eq=False)
class SimHashBigrams(SimHash):
    """Simhash over the set of overlapping 2-character strings of the text, including spaces.

    For Chinese; all texts in Latin letters share the same few hundred pairs of letters.

    Source: an article on simhash that is widely copied in Chinese (it uses 32 bits).
    """

    name = "simhash-bigrams"

    features: str = fixed("characters")
    width: int | None = fixed(2)
    weights: str = fixed("binary")
    lexicon: str | None = fixed(None)


@dataclass(eq=False)
class SimHashKeywords(SimHash):
    """Simhash over the heaviest keywords of the text, weighted as by jieba's extract_tags.

    For Chinese. All words make better features than twenty (see `SimHash`): if one of twenty
    keywords of equal weight is replaced, 5.7 of 64 bits change on average. Of keywords of equal
    weight, those that come last in the order of words are among the twenty, as in the article. A
    number such as 2.43 is one word to jieba, and two here, as to all methods.

    *integer*: whether to truncate weights to int(weight * 20), as in the article; the keywords of
    long texts then have no weight. *lexicon*: the document frequencies (see `dedup.lexicon`).

    Source: an article on simhash in Python with jieba that is widely copied in Chinese; jieba,
    analyse/tfidf.py.
    """

    name = "simhash-keywords"

    _: KW_ONLY
    top: int = whole(20, 1)
    integer: bool = False
    lexicon: str | None = "jieba"
    weights: str = fixed("tf-idf")
    features: str = fixed("words")
    width: int | None = fixed(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.integer, bool):
            raise ValueError(f"integer must be True or False, got {self.integer!r}")

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        words = (word for word in document.tokens if len(word) > 1 and word not in _STOP_WORDS)
        counts = Counter(words)
        total = counts.total()
        idf = load_lexicon(self.lexicon).idf
        unit = _UNIT_OF_KEYWORDS
        weights = {word: round(tf * idf(word) / total * unit) / unit for word, tf in counts.items()}
        heaviest = sorted(weights, key=lambda word: (weights[word], word), reverse=True)[: self.top]
        if self.integer:
            return {word: int(20 * weights[word]) for word in heaviest}
        return {word: weights[word] for word in heaviest}


@dataclass(eq=False)
class RandomProjection(SimHash):
    """Bits that say on which side of random hyperplanes the vector of term frequencies lies.

    By default two pages match if at least 372 of 384 bits agree (distance 12). With "signs", the
    vector of a word is its hash as random +1 and -1: this is simhash with raw term frequencies.
    With "gaussian", its numbers have a binomial, that is nearly a normal distribution.

    Source: Henzinger, "Finding Near-Duplicate Web Pages: A Large-Scale Evaluation of Algorithms",
    SIGIR 2006, section 2.2; Charikar 2002, section 3.
    """

    name = "random-projection"
    sweep = ("max_distance", (0, 2, 4, 6, 8, 10, 12, 16, 20, 24, 29, 35, 42, 50, 60))

    max_distance: int = 12
    _: KW_ONLY
    bits: int = whole(384, FEWEST_BITS, MOST_BITS)
    vectors: str = choice("signs", ("signs", "gaussian"))
    features: str = fixed("words")
    width: int | None = fixed(None)
    weights: str = fixed("tf")
    lexicon: str | None = fixed(None)

    def sketch(self, document: Document) -> int | None:
        if self.vectors == "signs" or not document.tokens:
            return super().sketch(document)
        counts = Counter(document.tokens)
        hashes = self.hashing.feature_hashes(counts)
        functions = seeds(4 * self.bits)
        sums = np.zeros(self.bits, np.int64)
        for term, tf in zip(hashes, counts.values(), strict=True):
            # The number of ones among 256 random bits is normally distributed up to 4 standard
            # deviations, and the same on every platform and with every version of NumPy.
            ones = np.bitwise_count(mix(term ^ functions)).reshape(-1, 4)
            sums += tf * (ones.sum(axis=1, dtype=np.int64) - 128)
        return pack_bits(sums > 0)


_WEIGHTS_OF_FREQUENCIES: dict[str, Callable[[Array], Array]] = {
    "log-tf": lambda frequencies: np.rint((1 + np.log(frequencies)) * _UNIT) / _UNIT,
    "tf": lambda frequencies: frequencies.astype(np.float64),
    "binary": lambda frequencies: np.ones(len(frequencies)),
}


def fingerprint(weights: Mapping[str, float], bits: int = 64, hashing: Hashing = PLAIN) -> int:
    """Return the simhash of weighted features.

    A bit is 1 if the features whose hash has a 1 there outweigh the others; a tie gives 0, and so
    does an empty mapping. Each 64 bits come from hashes with their own seed: 0, 1, ... The result
    is exact in any order of features, if weights are multiples of 2**-16 and sum up to less than
    2**37.
    """
    values = np.fromiter(weights.values(), np.float64, len(weights))
    result, count = 0, np.array([len(values)])
    for seed in range(-(-bits // 64)):
        [sums] = sums_of_bits(hashing.feature_hashes(weights, seed), values, count)
        result |= pack_bits(sums > 0) << 64 * seed
    return result & ((1 << bits) - 1)


def sums_of_bits(hashes: Array, weights: Array, counts: Array) -> Array:
    """Return 64 sums for each of several texts, shape (texts, 64), float64.

    Each is of +weight for the hashes that have a 1 there, and -weight for the others. *hashes* and
    *weights*: those of all features, text by text; *counts*: how many each text has.

    Source: Manku et al. 2007, section 2.
    """
    # The weights of the hashes that have a 1 there, twice, and less than all weights.
    sums, end = np.zeros((len(counts), 64)), 0
    bits = np.unpackbits(hashes.astype("<u8").view(np.uint8), bitorder="little").reshape(-1, 64)
    factors = np.empty((min(counts.max(initial=0), _FEATURES_AT_A_TIME), 64))
    for text, count in enumerate(counts.tolist()):
        first, end = end, end + count
        for start in range(first, end, _FEATURES_AT_A_TIME):
            part = slice(start, min(start + _FEATURES_AT_A_TIME, end))
            own = factors[: part.stop - start]
            own[:] = bits[part]
            sums[text] += weights[part] @ own
    totals: Array = np.diff(np.append(0, np.cumsum(weights))[np.cumsum(counts)], prepend=0)
    return 2 * sums - totals[:, None]


def pack_bits(bits: Array) -> int:
    """Return the integer whose bit *i* is element *i* of *bits*, shape (n,), bool."""
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
