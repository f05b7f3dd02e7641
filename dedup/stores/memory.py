"""The store of one crawl, which is forgotten with it."""

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
        # By number; also those of the few pages that were not stored.
        self._keys = Packed()

    async def join(self, spider: str) -> None:
        self.has_joined = True

    async def exchange(self, claims: Sequence[Claimed], news: News | None) -> Sequence[Claimed]:
        return [
            claim._replace(number=self._keys.append(to_utf8(claim.record.key))) for claim in claims
        ]

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return {number: PageRecord(from_utf8(self._keys[number])) for number in numbers}

    async def leave(
        self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()
    ) -> None: ...

    @property
    def last(self) -> int:
        return len(self._keys) - 1

    def close(self) -> None: ...

    # Nobody else is to know, now or later.

    def commit(self, claimed: Claimed, event: Committed) -> None: ...

    def release(self, number: int) -> None: ...

    def note_duplicate(self, key: str, number: int, kind: str, distance: float) -> None: ...

    def note_seen(self, number: int) -> None: ...

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes
