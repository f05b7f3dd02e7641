"""The store of one crawl, which is forgotten with it."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dedup.arrays import Packed
from dedup.record import Claimed, Committed, PageRecord
from dedup.stores.base import News, Store, Texts
from dedup.text import from_utf8, to_utf8


class MemoryStore(Store):
    """Pages of one crawl: all that is needed beside the view are their URLs."""

    is_durable = False

    def __init__(self) -> None:
        super().__init__("memory")
        self._last = -1
        # By number, while the pages are being stored.
        self._open: dict[int, bytes] = {}
        # In the order in which they were stored; of each number, sorted, the place there.
        self._keys = Packed()
        self._numbers, self._places = array("Q"), array("Q")

    async def join(self, spider: str) -> None:
        self.has_joined = True

    async def exchange(self, claims: Sequence[Claimed], news: News) -> Sequence[Claimed]:
        made = []
        for claim in claims:
            self._last += 1
            self._open[self._last] = to_utf8(claim.record.key)
            made.append(claim._replace(number=self._last))
        return made

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return {number: PageRecord(from_utf8(self._key(number))) for number in numbers}

    def _key(self, number: int) -> bytes:
        if number in self._open:
            return self._open[number]
        return self._keys[self._places[bisect_left(self._numbers, number)]]

    async def leave(
        self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()
    ) -> None: ...

    @property
    def last(self) -> int:
        return self._last

    def close(self) -> None: ...

    def commit(self, claimed: Claimed, event: Committed) -> None:
        # Mostly the last number: what waits is what was claimed last.
        place = bisect_left(self._numbers, claimed.number)
        self._numbers.insert(place, claimed.number)
        self._places.insert(place, self._keys.append(self._open.pop(claimed.number)))

    def release(self, number: int) -> None:
        del self._open[number]

    # Nobody else is to know, now or later.

    def note_duplicate(self, key: str, number: int, kind: str, distance: float) -> None: ...

    def note_seen(self, number: int) -> None: ...

    def note_preferred(self, number: int, key: str) -> None:
        self._preferred[number] = key

    @property
    def nbytes(self) -> int:
        is_open = sum(len(key) + 130 for key in self._open.values())
        numbers = len(self._numbers) * self._numbers.itemsize
        return self._keys.nbytes + 2 * numbers + is_open
