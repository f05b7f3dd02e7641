"""Which parts of titles and headlines are the pages' own, and which those of a site."""

from collections import OrderedDict
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from dedup.evidence.evidence import Evidence, segments_of


class KnownNames(NamedTuple):
    """What is known of the names of a page.

    *own*: those segments of its title and headline that are no names of its site, its section or
    its version. *common*: its title and its headline, if the site gives them to many pages.
    """

    own: frozenset[bytes]
    common: frozenset[bytes]


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
            pages += name in (b"", page.title, page.headline)
            self._met[host, name] = pages, bits | _bits_of(segments - {name})
        while len(self._met) > self.most:
            self._met.popitem(last=False)

    def of(self, host: str, page: Evidence) -> KnownNames | None:
        """Return what is known of the names of a *page* of *host*; ``None`` if no page is known.

        A segment beside eight others is not its own, if another one is beside half of these at
        most; but for a headline that is not known to be common. What a quarter of the pages have is
        common; of fewer than eight pages, nobody knows: then what one of them has is.
        """
        names = {page.title, page.headline} - {b""}
        pages = {name: self._get(host, name)[0] for name in names}
        quarter = self._get(host, b"")[0] / 4
        if not quarter:
            return None
        least_common = quarter if quarter >= self.many / 4 else 1
        beside = {name: self._get(host, name)[1].bit_count() for name in _segments_of(page)}
        many = max(self.many, 2 * min(beside.values(), default=0))
        own = {name for name, others in beside.items() if others < many}
        if pages.get(page.headline, inf) < max(self.many, quarter):
            own.add(page.headline)
        common = (name for name, count in pages.items() if count >= least_common)
        return KnownNames(frozenset(own), frozenset(common))

    def _get(self, host: str, name: bytes) -> tuple[int, int]:
        return self._met.get((host, name), (0, 0))


def _segments_of(page: Evidence) -> set[bytes]:
    return {*segments_of(page.title), *segments_of(page.headline)}


def _bits_of(segments: Iterable[bytes]) -> int:
    bits = 0
    for segment in segments:
        bits |= 1 << segment[0]
    return bits
