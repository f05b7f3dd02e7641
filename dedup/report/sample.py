"""Even samples, the same in every crawl, and that of the kept pages."""

from collections import defaultdict
from collections.abc import Iterator
from heapq import heappush, heappushpop
from typing import Generic, TypeVar

import xxhash

from dedup.evidence import Objection
from dedup.record import PageRecord
from dedup.rule import Rule, Verdict
from dedup.text import to_utf8

_KEPT_PAGES = 2000
PAIRS_SHOWN = 50
# Shorter texts with other titles are mostly other pages of one template.
_TOKENS_OF_REPRINT = 200

T = TypeVar("T")


def priority(key: str) -> int:
    """Return 64 bits that are as good as random, and equal in every crawl."""
    return xxhash.xxh3_64_intdigest(to_utf8(key))


class Sample(Generic[T]):
    """Keeps the *limit* values whose keys have the lowest priorities.

    Each value is equally likely to be kept, whenever it is added. `added` counts all of them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # The highest priority is on top; the count keeps values from being compared.
        self._heap: list[tuple[int, int, str, T]] = []
        self.added = 0

    def add(self, key: str, value: T) -> None:
        """Keep *value* if its priority is among the lowest so far."""
        entry = (-priority(key), -self.added, key, value)
        self.added += 1
        if len(self._heap) < self._limit:
            heappush(self._heap, entry)
        elif self._limit:
            heappushpop(self._heap, entry)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """Iterate over keys and values, the lowest priority first."""
        return ((key, value) for *_, key, value in sorted(self._heap, reverse=True))

    def __len__(self) -> int:
        return len(self._heap)


class KeptPages:
    """An even sample of the kept pages, to be compared with all others at the end."""

    def __init__(self) -> None:
        self.sample: Sample[PageRecord] = Sample(_KEPT_PAGES)
        self.retitled: Sample[tuple[PageRecord, str | None]] = Sample(PAIRS_SHOWN // 2)
        """With what they would repeat if it had the same title."""

    def add(self, record: PageRecord, verdict: Verdict) -> None:
        self.sample.add(record.key, record)
        if verdict.objection is Objection.TITLE and record.tokens >= _TOKENS_OF_REPRINT:
            self.retitled.add(record.key, (record, verdict.original))

    def by_scope(self, rule: Rule) -> dict[str, list[PageRecord]]:
        """Return those pages of the sample that are long enough."""
        by_scope: dict[str, list[PageRecord]] = defaultdict(list)
        for _, record in self.sample:
            if not rule.is_short(record):
                by_scope[record.scope].append(record)
        return by_scope
