"""Feature codes: the letters around the full stops of a page."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from itertools import accumulate

from dedup.arrays import Array
from dedup.methods.arguments import check_whole, choice, share, whole
from dedup.methods.digests import DigestMethod, digests
from dedup.methods.sentences import sentences
from dedup.text import Document

MATCHINGS = ("strict", "fuzzy")


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
    matching: str = choice("fuzzy", MATCHINGS)
    letters: int = whole(5, 1)
    stops: int = whole(20, 1)
    min_stops: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("min_stops", self.min_stops, 1, self.stops)

    def sketch(self, document: Document) -> Array | None:
        """Return the digests of the codes, or that of the page code, shape (n,), uint64."""
        codes = self.weighted_features(document)
        if len(codes) < self.min_stops:
            return None
        return digests(codes if self.matching == "fuzzy" else ["\n".join(codes)], self.hashing)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        codes = stop_codes(document.text, self.letters)
        least = set(sorted(codes, key=self.hashing.feature_hash)[: self.stops])
        return {code: 1.0 for code in codes if code in least}


def stop_codes(text: str, width: int) -> list[str]:
    """Return the unique codes of the stops of normalised *text*, in order.

    >>> stop_codes("门板一上。老板去打牌了!", 3)
    ['板一上。老板去', '打牌了。']
    """
    parts = sentences(text)
    text = "".join(parts)
    places = accumulate(len(part) for part in parts[:-1])
    codes = (
        f"{text[max(0, place - width) : place]}。{text[place : place + width]}"
        for place in places
        if place
    )
    return list(dict.fromkeys(codes))
