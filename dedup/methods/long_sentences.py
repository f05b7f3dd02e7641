"""Long sentences: the longest few of a page stand for it."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from dedup.arrays import Array
from dedup.methods.arguments import check_whole, share, whole
from dedup.methods.digests import DigestMethod, digests
from dedup.methods.sentences import clauses
from dedup.text import Document


@dataclass(eq=False)
class LongSentences(DigestMethod):
    """Matches pages that have enough of their longest sentences in common.

    The *sentences* longest unique sentences are compared, without punctuation and white space. The
    distance is the share of them that the other page lacks, for the page with fewer. It is infinite
    if fewer than *min_equal* are equal: by default 3 of 5, 3 of 4, 2 of 3 or 2 of 2 must be equal.

    Sentences end at full stops, question and exclamation marks, semicolons and line ends. Lengths
    are in bytes of UTF-8, because a Han character says about as much as three letters. A sentence
    has at least *min_length* bytes; a page with fewer than *min_equal* has no sketch.

    Source: Huang Ren et al., 基于正文结构和长句提取的网页去重算法, 2010 (its long sentences).
    """

    name = "long-sentences"
    version = 2
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    max_distance: float = share(0.4)
    _: KW_ONLY
    sentences: int = whole(5, 1)
    min_equal: int = 2
    min_length: int = whole(30, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("min_equal", self.min_equal, 1, self.sentences)

    def sketch(self, document: Document) -> Array | None:
        """Return the digests of the longest sentences, shape (n,), uint64, if there are enough."""
        return digests(self.weighted_features(document), self.hashing, self.min_equal)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(longest_sentences(document, self.sentences, self.min_length), 1.0)


def longest_sentences(document: Document, count: int, min_length: int) -> list[str]:
    """Return the *count* longest unique sentences of at least *min_length* bytes of UTF-8.

    The longest comes first. Ties are in the order of their characters, so that the places of the
    sentences on the page do not matter.
    """
    lengths = {
        sentence: len(sentence.encode())
        for paragraph in document.paragraphs
        for sentence in clauses(paragraph)
    }
    long = [sentence for sentence, length in lengths.items() if length >= min_length]
    return sorted(long, key=lambda sentence: (-lengths[sentence], sentence))[:count]
