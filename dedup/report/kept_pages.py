"""A sample of the kept pages, which is looked at again at the end of a crawl."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import heappush, heappushpop
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

import xxhash

from dedup.index.base import Match
from dedup.record import PageRecord
from dedup.rule import Rule
from dedup.text import to_utf8

if TYPE_CHECKING:
    from dedup.stores.base import Store
    from dedup.view.view import View

_PAGES = 2000
_PAIRS_SHOWN = 50
_SECONDS = 1.5


class PageKeys(Protocol):
    """Where the keys of pages are looked up: a store, or the reader of a ledger."""

    @property
    def nbytes(self) -> int: ...

    def key(self, number: int) -> str: ...


def priority(key: str) -> int:
    """Return 64 bits that are as good as random, and equal in every crawl."""
    return xxhash.xxh3_64_intdigest(to_utf8(key))


class KeptPages:
    """An even sample of the kept pages of a crawl, to be compared with all others at the end.

    It is that of the lowest priorities of keys: the same in every crawl. Each look at it ends after
    1.5 s, whatever it has not come to by then.
    """

    def __init__(self) -> None:
        # The highest priority is on top; the count keeps records from being compared.
        self._heap: list[tuple[int, int, PageRecord]] = []
        self._added = 0

    def add(self, record: PageRecord) -> None:
        entry = (-priority(record.key), -self._added, record)
        self._added += 1
        if len(self._heap) < _PAGES:
            heappush(self._heap, entry)
        else:
            heappushpop(self._heap, entry)

    @property
    def _sample(self) -> list[PageRecord]:
        return [record for *_, record in sorted(self._heap, reverse=True)]

    async def fetch_near_misses(self, view: "View", store: "Store") -> None:
        """Have *store* at hand what `near_misses` asks it; waits only if that does.

        Raises LedgerError if it cannot be asked: the report has other words for the pages.
        """
        if store.is_shared:
            await store.pages({match.page for _, match in self._nearest(view) if match})

    def near_misses(self, view: "View", pages: PageKeys, threshold: object) -> dict[str, Any]:
        """Return the distances of the nearest page beyond the threshold, and the nearest pairs.

        None is farther than twice the *threshold*, if that is known. Of the distances, the sample
        says how many pages it stands for.
        """
        pairs: dict[frozenset[str], dict[str, Any]] = {}
        compared, distances = 0, Counter[float]()
        for record, match in self._nearest(view):
            compared += 1
            if match:
                other, distance = pages.key(match.page), match.distance
                objection = view.objection_to(record, match.page)
                distances[math.ceil(100 * distance) / 100] += 1
                miss = {"url": record.key, "other": other, "distance": round(distance, 4)}
                pairs.setdefault(frozenset((record.key, other)), {**miss, "objection": objection})
        # What is farther is not just beyond the threshold.
        upto = 2 * threshold or 1 if isinstance(threshold, int | float) else math.inf
        nearest = sorted(pairs.values(), key=lambda pair: pair["distance"])[:_PAIRS_SHOWN]
        long_enough = sum(map(len, self._by_scope(view.rule).values()))
        return {
            "near_misses": [pair for pair in nearest if pair["distance"] <= upto],
            "nearest_kept": {
                "sample": compared,
                # The share of long enough pages is taken to be that of the sample.
                "pages": round(self._added * long_enough / max(1, len(self._heap))),
                "within": view.method.near_miss_distance,
                "distances": {f"{distance:g}": n for distance, n in sorted(distances.items())},
            },
        }

    def _by_scope(self, rule: Rule) -> dict[str, list[PageRecord]]:
        by_scope: dict[str, list[PageRecord]] = defaultdict(list)
        for record in self._sample:
            if not rule.is_short(record):
                by_scope[record.scope].append(record)
        return by_scope

    def _nearest(self, view: "View") -> Iterator[tuple[PageRecord, Match | None]]:
        """Yield the pages with the nearest stored one of their scope that is just no match.

        What is found beyond the threshold depends on the index: all with fingerprints, else a part.
        """
        deadline, within = monotonic() + _SECONDS, view.method.near_miss_distance
        for scope, records in self._by_scope(view.rule).items():
            matches = view.nearest_beyond(records, scope, within)
            for pair in zip(records, matches, strict=True):
                yield pair
                if monotonic() > deadline:
                    return
