"""An even sample of what is added, the same in every crawl."""

from collections.abc import Iterator
from heapq import heappush, heappushpop
from typing import Generic, TypeVar

import xxhash

from dedup.text import to_utf8

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
