"""Long sentences: the longest few of a page stand for it."""

from collections.abc import Mapping

from dedup.methods.arguments import check_share, check_whole
from dedup.methods.digests import DigestMethod, Digests, digests, missing_share
from dedup.methods.sentences import clauses
from dedup.text import Document


class LongSentences(DigestMethod):
    """Matches pages that have enough of their longest sentences in common.

    The *sentences* longest unique sentences are compared, without punctuation and white space. The
    distance is the share of them that the other page lacks, for the page with fewer. It is infinite
    if fewer than *min_equal* are equal: by default 3 of 5, 3 of 4, 2 of 3 or 2 of 2 must be equal.

    Sentences end at full stops, question and exclamation marks, semicolons and line ends. Lengths
    are in bytes of UTF-8, because a Han character says about as much as three letters.

    Source: Huang Ren et al., 基于正文结构和长句提取的网页去重算法, 2010 (its long sentences).
    """

    name = "long-sentences"
    version = 2
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    def __init__(
        self,
        max_distance: float = 0.4,
        *,
        sentences: int = 5,
        min_equal: int = 2,
        min_length: int = 30,
    ) -> None:
        """Create the method with the threshold *max_distance*, from 0 to 1.

        *sentences*: how many of the longest are compared. *min_equal*: how many must be equal in
        any case; a page with fewer has no sketch. *min_length*: the fewest bytes of a sentence; 30
        bytes are 10 Han characters. Raises ValueError for a value out of range.
        """
        check_share("max_distance", max_distance)
        check_whole("sentences", sentences, 1)
        check_whole("min_equal", min_equal, 1, sentences)
        check_whole("min_length", min_length, 1)
        self.max_distance = max_distance
        self.sentences = sentences
        self.min_equal = min_equal
        self.min_length = min_length

    def sketch(self, document: Document) -> Digests | None:
        """Return the digests of the longest sentences, shape (n,), uint64, if there are enough."""
        longest = self.weighted_features(document)
        return digests(longest, self.hashing) if len(longest) >= self.min_equal else None

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(longest_sentences(document, self.sentences, self.min_length), 1.0)

    def distance(self, sketch: Digests, other: Digests) -> float:
        return missing_share(sketch, other, self.min_equal)


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
