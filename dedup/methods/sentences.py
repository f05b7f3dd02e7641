"""Methods that compare sentences, or what is around their ends: letters alone."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import accumulate

import regex

from dedup.arrays import Array
from dedup.methods.arguments import choice, share, whole
from dedup.methods.digests import DigestMethod, digests
from dedup.text import Document

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}"
# A mark does not end a sentence if a letter or digit follows, as in 3.14, example.com, ?page=2 and
# x != y. But it does if a letter of a script without spaces is next to it: 好!我们. A full stop
# after a single letter does not end one either: J. Smith, e.g. this.
_FOLLOWED = rf"(?![[\p{{L}}\p{{N}}=]--[{_UNSPACED}]])"
_MARK = (
    rf"(?:(?<=[{_UNSPACED}])[.!?]|(?<!\b[a-z])\.{_FOLLOWED}|[!?]{_FOLLOWED}"
    r"|[\p{Sentence_Terminal}--[.!?]])"
)
_STOPS = regex.compile(rf"(?V1){_MARK}+")
_STOPS_AND_SEMICOLONS = regex.compile(rf"(?V1)(?:{_MARK}|(?<=[{_UNSPACED}]);|;{_FOLLOWED})+")
_BETWEEN_LETTERS = regex.compile(r"[^\p{L}\p{M}\p{N}]+")


def letters(text: str) -> str:
    """Return the letters, marks and digits of *text*, without all other characters.

    >>> letters("no. 5, 北京!")
    'no5北京'
    """
    return _BETWEEN_LETTERS.sub("", text)


def sentences(text: str) -> list[str]:
    """Return the letters before each stop of normalised *text*, and those after the last one.

    A stop is a run of full stops, question or exclamation marks of any script. The full stops of
    numbers (3.14), addresses (example.com) and initials (J. Smith) do not count as stops; those of
    other abbreviations do.

    >>> sentences("at 3.14 km, see e.g. b.org? 是。不是!")
    ['at314kmseeegborg', '是', '不是', '']
    """
    return [letters(part) for part in _STOPS.split(text)]


def clauses(text: str) -> list[str]:
    """Return the letters of each part of normalised *text* between stops and semicolons.

    >>> clauses("one; two &amp;three. 四;五!")
    ['one', 'twoampthree', '四', '五']
    """
    return [clause for part in _STOPS_AND_SEMICOLONS.split(text) if (clause := letters(part))]


@dataclass(eq=False)
class FeatureCode(DigestMethod):
    """Matches pages by the letters next to their full stops; navigation has no full stops.

    The code of a full stop, question mark or exclamation mark is the *letters* letters, digits and
    marks before it and as many after it. If *matching* is "strict", the unique codes of a page form
    one page code, and pages match if it is equal, whatever *max_distance* is. If it is "fuzzy",
    codes are compared one by one: the distance is the share of the codes of the page with fewer
    that the other page lacks.

    Of more than *stops* codes, the method uses those with the lowest hashes. (Nearly all of evenly
    spaced codes would change with one more sentence near the beginning.) A page with fewer than
    *min_stops* unique codes has no sketch.

    Source: Zhang Gang, Liu Ting et al., 大规模网页快速去重算法, 2001 (strict); Wu Pingbo, Chen
    Qunxiu, Ma Liang, 基于特征串的大规模中文网页快速去重算法研究, Journal of Chinese Information
    Processing 17(2), 2003 (fuzzy).
    """

    name = "feature-code"
    version = 2
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    max_distance: float = share(0.3)
    _: KW_ONLY
    matching: str = choice("fuzzy", ("strict", "fuzzy"))
    letters: int = whole(5, 1)
    stops: int = whole(20, 1)
    min_stops: int = whole(2, 1, "stops")

    def sketch(self, document: Document) -> Array | None:
        """Return the digests of the codes, or that of the page code, shape (n,), uint64."""
        codes = self.weighted_features(document)
        if len(codes) < self.min_stops:
            return None
        return digests(codes if self.matching == "fuzzy" else ["\n".join(codes)], self.hashing)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        parts, width = sentences(document.text), self.letters
        text = "".join(parts)
        codes = dict.fromkeys(
            f"{text[max(0, place - width) : place]}。{text[place : place + width]}"
            for place in accumulate(len(part) for part in parts[:-1])
            if place
        )
        least = set(sorted(codes, key=self.hashing.feature_hash)[: self.stops])
        return {code: 1.0 for code in codes if code in least}


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
    min_equal: int = whole(2, 1, "sentences")
    min_length: int = whole(30, 1)

    def sketch(self, document: Document) -> Array | None:
        """Return the digests of the longest sentences, shape (n,), uint64, if there are enough."""
        return digests(self.weighted_features(document), self.hashing, self.min_equal)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        lengths = {
            sentence: len(sentence.encode())
            for paragraph in document.paragraphs
            for sentence in clauses(paragraph)
        }
        long = [sentence for sentence, length in lengths.items() if length >= self.min_length]
        # Ties by their characters: the places of the sentences on the page do not matter.
        longest = sorted(long, key=lambda sentence: (-lengths[sentence], sentence))
        return dict.fromkeys(longest[: self.sentences], 1.0)
