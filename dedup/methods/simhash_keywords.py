"""Simhash of the twenty keywords that jieba finds."""

from collections import Counter
from collections.abc import Mapping, Sequence

from dedup.lexicon import load_lexicon
from dedup.methods.arguments import check_whole
from dedup.methods.fingerprint_method import FingerprintMethod
from dedup.methods.simhash import fingerprint
from dedup.text import Document

# Weights are multiples of 2**-32 and sum up to at most the highest idf: exact in float64.
_UNIT = 2.0**32
# TFIDF.STOP_WORDS of jieba, copied because importing it takes half a second.
_STOP_WORDS = frozenset(
    "the of is and to in that we for an are by be as on with can if from which you it this then at "
    "have all not one has or".split()
)


class SimHashKeywords(FingerprintMethod):
    """Simhash over the heaviest keywords of the text, weighted as by jieba's extract_tags.

    For Chinese. All words make better features than twenty (see `SimHash`): if one of twenty
    keywords of equal weight is replaced, 5.7 of 64 bits change on average. Of keywords of equal
    weight, those that come last in the order of words are among the twenty, as in the article. A
    number such as 2.43 is one word to jieba, and two here, as to all methods.

    Source: an article on simhash in Python with jieba that is widely copied in Chinese; jieba,
    analyse/tfidf.py.
    """

    name = "simhash-keywords"
    version = 1
    sweep = ("max_distance", tuple(range(17)))

    def __init__(
        self,
        max_distance: int = 3,
        *,
        top: int = 20,
        integer: bool = False,
        bits: int = 64,
        lexicon: str = "jieba",
    ) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to *bits* - 1.

        *top*: the number of keywords. *integer*: whether to truncate weights to int(weight * 20),
        as in the article; the keywords of long texts then have no weight. *bits*: the length of the
        fingerprint, from 32 to 384. *lexicon*: the document frequencies (see `dedup.lexicon`).

        Raises ValueError for a value out of range, and for a lexicon that cannot be read.
        """
        check_whole("bits", bits, 32, 384)
        self.bits = bits
        super().__init__(max_distance)
        check_whole("top", top, 1)
        if not isinstance(integer, bool):
            raise ValueError(f"integer must be True or False, got {integer!r}")
        load_lexicon(lexicon)
        self.top = top
        self.integer = integer
        self.lexicon = lexicon

    def sketch(self, document: Document) -> int | None:
        """Return the fingerprint of *document*, or ``None`` if no keyword has a weight above 0."""
        weights = self.weighted_features(document)
        # Otherwise all long texts without weights would have the fingerprint 0.
        return fingerprint(weights, self.bits, self.hashing) if any(weights.values()) else None

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        weights = dict(keywords(document.tokens, self.top, self.lexicon))
        if self.integer:
            weights = {word: int(weight * 20) for word, weight in weights.items()}
        return weights


def keywords(tokens: Sequence[str], top: int, lexicon: str) -> list[tuple[str, float]]:
    """Return the *top* keywords and weights, the heaviest first, ties in reverse order of words.

    Words of one character and jieba's stop words are left out. The weight of a word is its share of
    the rest times its idf, as a multiple of 2**-32.

    >>> keywords("我们 来到 北京 清华大学 清华大学 的".split(), 2, "jieba")
    [('清华大学', 3.2...), ('来到', 1.07...)]
    """
    counts = Counter(token for token in tokens if len(token) > 1 and token not in _STOP_WORDS)
    total = counts.total()
    idf = load_lexicon(lexicon).idf
    weights = {word: round(tf * idf(word) / total * _UNIT) / _UNIT for word, tf in counts.items()}
    return sorted(weights.items(), key=lambda item: (item[1], item[0]), reverse=True)[:top]
