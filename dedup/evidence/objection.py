"""What is asked of the evidence of two pages whose main texts match, and what their names tell."""

from collections import OrderedDict
from enum import StrEnum
from math import inf
from typing import NamedTuple

from dedup.evidence.evidence import ENOUGH_COVERAGE, Evidence, segments_of


class Witness(NamedTuple):
    """What is asked of a page where the main texts of two match: how long it is, what it shows.

    *evidence* is ``None`` for a text of which nobody saw the page.
    """

    tokens: int
    evidence: Evidence | None

    @property
    def coverage(self) -> float:
        """How much of the page was extracted, as far as anybody saw it."""
        return self.evidence.coverage if self.evidence else 1.0


class KnownNames(NamedTuple):
    """What is known of the names of a page.

    *own*: those segments of its title and headline that are no names of its site, its section or
    its version. *common*: its title and its headline, if the site gives them to a quarter of its
    pages; *shared*: if it gives them to eight.
    """

    own: frozenset[bytes]
    common: frozenset[bytes]
    shared: frozenset[bytes]


class Names:
    """Learns which titles and headlines the pages of a host share, or parts of them.

    In bounded memory: what stands beside a segment is counted up to 256, by a bit each.

    Source: Whang, Vander-Zanden, Taylor, "A Linear-Time Probabilistic Counting Algorithm for
    Database Applications", ACM Transactions on Database Systems 15, 1990.
    """

    many = 8
    most = 50_000
    """So many names are known; of more, the one that was not met for longest is forgotten."""

    def __init__(self) -> None:
        # Of each host and name: how many pages have it, and the bits of the others beside it.
        self._met: OrderedDict[tuple[str, bytes], tuple[int, int]] = OrderedDict()

    def learn(self, host: str, page: Evidence) -> None:
        """Take note of the names of another page of *host*."""
        segments = _segments_of(page)
        # Each page has the empty name, too.
        for name in {b"", page.title, page.headline} | segments:
            pages, bits = self._met.pop((host, name), (0, 0))
            for segment in segments - {name}:
                bits |= 1 << segment[0]
            self._met[host, name] = pages + 1, bits
        while len(self._met) > self.most:
            self._met.popitem(last=False)

    def of(self, host: str, page: Evidence) -> KnownNames | None:
        """Return what is known of the names of a *page* of *host*; ``None`` if no page is known.

        A segment beside eight others is not its own, if another one is beside half of these at
        most; but for a headline that is not known to be common. What a quarter of the pages have is
        common; of fewer than eight pages, nobody knows: then what one of them has is.
        """
        segments = _segments_of(page)
        names = {page.title, page.headline, *segments} - {b""}
        met, none = self._met, (0, 0)
        pages = {name: met.get((host, name), none)[0] for name in names}
        quarter = met.get((host, b""), none)[0] / 4
        if not quarter:
            return None
        least_common = quarter if quarter >= self.many / 4 else 1
        beside = {name: met.get((host, name), none)[1].bit_count() for name in segments}
        many = max(self.many, 2 * min(beside.values(), default=0))
        own = {name for name, others in beside.items() if others < many}
        if pages.get(page.headline, inf) < max(self.many, quarter):
            own.add(page.headline)
        common, shared = (
            frozenset(name for name, count in pages.items() if count >= least)
            for least in (least_common, self.many)
        )
        return KnownNames(frozenset(own), common, shared)


def _segments_of(page: Evidence) -> set[bytes]:
    return {*segments_of(page.title), *segments_of(page.headline)}


class Demands(NamedTuple):
    """What is asked of the evidence before a page is dropped.

    *coverage*: below it, a main text says too little of its page. *longer*: a page that has so many
    times as much text as its original, or more, has content of its own; near-duplicates of which
    one has so many times as many tokens are none. *titled_tokens* and *titled_coverage*: an equal
    main text of fewer tokens, or of a smaller share of its page, is not enough, since the title may
    be what counts then.
    """

    coverage: float
    longer: float
    titled_tokens: int
    titled_coverage: float = 0.9

    def are_met_by_text(self, tokens: int, coverage: float) -> bool:
        """Return whether an equal main text is enough, whatever the names of its pages are."""
        return tokens >= self.titled_tokens and coverage >= self.titled_coverage


NORMAL = Demands(coverage=ENOUGH_COVERAGE, longer=1.25, titled_tokens=50)
DEMANDS: dict[str, Demands | None] = {"on": NORMAL, "off": None}
"""What is demanded, by the names that commands have for it; ``None`` demands nothing."""


class Objection(StrEnum):
    """Why a page is kept although its main text matches that of another."""

    WEAK = "weak evidence"
    LONGER = "longer than its original"
    SHORTER = "shorter than its original"
    TITLE = "other title"
    ADDRESS = "other address"
    ITEM = "other item"


def names_agree(page: Evidence, original: Evidence, known: KnownNames | None = None) -> bool | None:
    """Return whether the titles or the headlines of two pages agree.

    They do if the original's has all segments that are the page's own. ``None`` if there is nothing
    to compare: what one of them lacks does not count, nor a common name that both have. If titles
    neither begin nor end alike, a headline that neither has may be that of a kind, as "Methods".
    """
    titles = _agree(page.title, original.title, known)
    headlines = _agree(page.headline, original.headline, known)
    if titles is False and headlines:
        own, others = _ends_of(page.title), _ends_of(original.title)
        in_common = own & others if known is None else own & others & known.own - known.common
        headlines = bool(in_common) or page.headline in own | others
    told = [agrees for agrees in (titles, headlines) if agrees is not None]
    return any(told) if told else None


def _ends_of(title: bytes) -> set[bytes]:
    """Return the first and the last segment: between them are sections."""
    segments = segments_of(title)
    return {*segments[:1], *segments[-1:]}


def _agree(name: bytes, other: bytes, known: KnownNames | None) -> bool | None:
    segments, others = set(segments_of(name)), set(segments_of(other))
    is_common = known is not None and name in known.common
    if not (name and other) or (is_common and name == other):
        return None
    own = segments if known is None else segments & known.own
    return bool(own) and own <= others and len(others) <= len(segments) and not is_common
