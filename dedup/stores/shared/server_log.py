"""The log of a server that lists its entries as bytes, and what a ledger is made of."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Iterable
from itertools import count

from dedup.sqlite_file import LedgerError
from dedup.stores.base import DuplicateNote, HistoryChangedError
from dedup.stores.shared.entries import from_bytes
from dedup.stores.shared.log import CrawlRow, Entry, Log


class ServerLog(Log):
    """A log of entries as entries.py writes them, at their positions."""

    @abstractmethod
    async def _listed(self, after: int) -> list[bytes]:
        """Return the entries after a position, `MOST_ENTRIES` at most."""

    async def snapshot(self, since: float = 0.0) -> AsyncIterator[list[Entry]]:
        last: list[bytes] = []
        position = 0
        while True:
            # From the last one on, which shows whether the log is still the same.
            found = await self._listed(position - len(last))
            if found[: len(last)] != last:
                raise HistoryChangedError(f"{self.name} lost what it had while it was read")
            if found == last:
                return
            new = found[len(last) :]
            yield self._entries(position + 1, new)
            position += len(new)
            last = new[-1:]

    async def entries(self, after: int) -> list[Entry]:
        return self._entries(after + 1, await self._listed(after))

    def _entries(self, first: int, data: Iterable[bytes]) -> list[Entry]:
        """Return the entries from position *first* on; raises LedgerError for what is none."""
        try:
            return list(map(from_bytes, count(first), data))
        except ValueError as error:
            raise LedgerError(f"{self.name} is damaged: {error}") from error

    # What a ledger is made of.

    @abstractmethod
    async def crawls(self) -> list[CrawlRow]:
        """Return who took part, the oldest first."""

    @abstractmethod
    def duplicates(self) -> AsyncIterator[tuple[int, DuplicateNote]]:
        """Yield the duplicates that were met, each with its run; a later one for the same page and
        key takes the place of an earlier one. Some may be yielded twice.
        """
