"""A few of many, chosen evenly and always the same."""

from collections.abc import Iterator
from heapq import heappush, heappushpop
from typing import Generic, TypeVar

import xxhash

T = TypeVar("T")


def priority(key: str) -> int:
    """Return a number of 64 bits that is as good as random, and equal in every crawl."""
    return xxhash.xxh3_64_intdigest(key.encode("utf-8", "surrogatepass"))


class Sample(Generic[T]):
    """Keeps those of what was added whose keys have the least priorities, *limit* of them.

    Whatever the order and the number of what is added, each is as likely to be among them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # The greatest priority first; the count keeps values from being compared.
        self._heap: list[tuple[int, int, str, T]] = []
        self.added = 0

    def add(self, key: str, value: T) -> None:
        entry = (-priority(key), -self.added, key, value)
        self.added += 1
        if len(self._heap) < self._limit:
            heappush(self._heap, entry)
        elif self._limit:
            heappushpop(self._heap, entry)

    def __iter__(self) -> Iterator[tuple[str, T]]:
        """Iterate over keys and values, by priority."""
        return ((key, value) for *_, key, value in sorted(self._heap, reverse=True))

    def __len__(self) -> int:
        return len(self._heap)
