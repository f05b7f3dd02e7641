"""Feature codes: the letters around the full stops of a page."""

from collections.abc import Mapping
from itertools import accumulate

from dedup.methods.arguments import check_choice, check_share, check_whole
from dedup.methods.digests import DigestMethod, Digests, digests, missing_share
from dedup.methods.sentences import sentences
from dedup.text import Document

MATCHINGS = ("strict", "fuzzy")


class FeatureCode(DigestMethod):
    """Matches pages by the letters next to their full stops; navigation has no full stops.

    The code of a full stop, question mark or exclamation mark is the *letters* letters, digits and
    marks before it and as many after it. If *matching* is "strict", the unique codes of a page form
    one page code, and pages match if it is equal, whatever *max_distance* is. If it is "fuzzy",
    codes are compared one by one: the distance is the share of the codes of the page with fewer
    that the other page lacks.

    Of more than *stops* codes, the method uses those with the lowest hashes. (Nearly all of evenly
    spaced codes would change with one more sentence near the beginning.)

    Source: Zhang Gang, Liu Ting et al., 大规模网页快速去重算法, 2001 (strict); Wu Pingbo, Chen
    Qunxiu, Ma Liang, 基于特征串的大规模中文网页快速去重算法研究, Journal of Chinese Information
    Processing 17(2), 2003 (fuzzy).
    """

    name = "feature-code"
    version = 2
    sweep = ("max_distance", tuple(step / 20 for step in range(20)))

    def __init__(
        self,
        max_distance: float = 0.3,
        *,
        matching: str = "fuzzy",
        letters: int = 5,
        stops: int = 20,
        min_stops: int = 2,
    ) -> None:
        """Create the method with the threshold *max_distance*, from 0 to 1.

        *matching*: "strict" or "fuzzy". *letters*: the number of letters on each side of a stop.
        *stops*: the greatest number of codes of a page. *min_stops*: a page with fewer unique codes
        has no sketch. Raises ValueError for a value out of range.
        """
        check_share("max_distance", max_distance)
        check_choice("matching", matching, MATCHINGS)
        check_whole("letters", letters, 1)
        check_whole("stops", stops, 1)
        check_whole("min_stops", min_stops, 1, stops)
        self.max_distance = max_distance
        self.matching = matching
        self.letters = letters
        self.stops = stops
        self.min_stops = min_stops

    def sketch(self, document: Document) -> Digests | None:
        """Return the digests of the codes, or that of the page code, shape (n,), uint64."""
        codes = self.weighted_features(document)
        if len(codes) < self.min_stops:
            return None
        return digests(codes if self.matching == "fuzzy" else ["\n".join(codes)], self.hashing)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        codes = stop_codes(document.text, self.letters)
        least = set(sorted(codes, key=self.hashing.feature_hash)[: self.stops])
        return {code: 1.0 for code in codes if code in least}

    def distance(self, sketch: Digests, other: Digests) -> float:
        return missing_share(sketch, other)


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
