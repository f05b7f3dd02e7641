"""The store of one crawl, which is forgotten with it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dedup.packed import Packed
from dedup.record import Claimed, PageRecord, RecordColumns
from dedup.stores.base import News, Store, Stored, Texts


class MemoryStore(Store):
    """Pages of one crawl: all that is needed beside the view are their URLs."""

    is_durable = False

    def __init__(self) -> None:
        super().__init__("memory")
        self._keys = Packed()

    async def join(self, spider: str) -> None:
        self.has_joined = True

    async def exchange(self, claims: Sequence[Claimed], news: News) -> Sequence[Claimed]:
        keys = [claim.record.key.encode("utf-8", "surrogatepass") for claim in claims]
        return [
            claim._replace(number=self._keys.append(key))
            for claim, key in zip(claims, keys, strict=True)
        ]

    async def since(self, number: int) -> RecordColumns | None:
        return None

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return {
            number: PageRecord(self._keys[number].decode("utf-8", "surrogatepass"))
            for number in numbers
        }

    async def earlier(self, key: str) -> list[Stored]:
        return []

    async def leave(
        self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()
    ) -> None: ...

    @property
    def last(self) -> int:
        return len(self._keys) - 1

    def close(self) -> None: ...

    # Nobody else is to know, now or later.

    def commit(self, claimed: Claimed) -> None: ...

    def release(self, number: int) -> None: ...

    def note_duplicate(self, key: str, number: int, kind: str, distance: float) -> None: ...

    def note_seen(self, number: int) -> None: ...

    @property
    def nbytes(self) -> int:
        return self._keys.nbytes
