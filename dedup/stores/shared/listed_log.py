"""A log whose server lists its entries as bytes: how it is read from its start."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable

from dedup.sqlite_file import LedgerError
from dedup.stores.base import HistoryChangedError
from dedup.stores.shared.entries import many_from_bytes
from dedup.stores.shared.log import Entry, Log


class ListedLog(Log):
    """A log of entries as entries.py writes them, at their positions."""

    @abstractmethod
    async def _listed(self, after: int) -> list[bytes]:
        """Return the entries after a position, `MOST_ENTRIES` at most."""

    async def snapshot(self, since: float = 0.0) -> AsyncIterator[list[Entry]]:
        last: list[Entry] = []
        while True:
            # From the last one on, which shows whether the log is still the same.
            entries = await self.entries(last[0].position - 1 if last else 0)
            if entries[:1] != last and last:
                raise HistoryChangedError(f"{self.name} lost what it had while it was read")
            if entries == last:
                return
            yield entries[len(last) :]
            last = entries[-1:]

    async def entries(self, after: int) -> list[Entry]:
        return self._decoded(after + 1, await self._listed(after))

    def _decoded(self, first: int, data: Iterable[bytes]) -> list[Entry]:
        try:
            return many_from_bytes(first, data)
        except ValueError as error:
            raise LedgerError(f"{self.name} is damaged: {error}") from error
