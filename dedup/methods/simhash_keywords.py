"""Simhash of the twenty keywords that jieba finds."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from dedup.lexicon import load_lexicon
from dedup.methods.arguments import fixed, whole
from dedup.methods.simhash import SimHash
from dedup.text import Document

# Weights are multiples of 2**-32 and sum up to at most the highest idf: exact in float64.
_UNIT = 2.0**32
# TFIDF.STOP_WORDS of jieba, copied because importing it takes half a second.
_STOP_WORDS = frozenset(
    "the of is and to in that we for an are by be as on with can if from which you it this then at "
    "have all not one has or".split()
)


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
        weights = dict(keywords(document.tokens, self.top, self.lexicon))
        if self.integer:
            weights = {word: int(weight * 20) for word, weight in weights.items()}
        return weights


def keywords(tokens: Sequence[str], top: int, lexicon: str | None) -> list[tuple[str, float]]:
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
