"""Entries of a log, from its start -> the pages that are stored, and what is open."""

from collections.abc import Iterable

from dedup.record import Claimed, Committed, PageRecord, RecordColumns, Released
from dedup.stores.shared.log import Entry


class Replay:
    """Follows a log from its start; pages are given on by number, when those before are known."""

    def __init__(self, stored_since: float, after: int = 0) -> None:
        """Create it; pages that were stored before *stored_since* do not count any more.

        Those with numbers up to *after* are not given on.
        """
        self._stored_since = stored_since
        self.open: dict[int, Entry] = {}
        """The claims that are open, by number."""
        self.preferred: dict[int, tuple[str, int]] = {}
        """The better keys of pages, by number, and the runs in which they were met."""
        self._stored: dict[int, tuple[int, PageRecord]] = {}
        self._after = self._given = after
        self._replaced: list[int] = []

    def add(self, entries: Iterable[Entry]) -> None:
        """Have *entries* happen."""
        for entry in entries:
            event = entry.event
            if isinstance(event, Claimed):
                self.open[entry.position] = entry
            elif isinstance(event, Committed):
                self._commit(event.number, entry.at)
            elif isinstance(event, Released):
                self.open.pop(event.number, None)
            else:
                self.preferred[event.number] = event.key, entry.run

    def _commit(self, number: int, at: float) -> None:
        entry = self.open.pop(number, None)
        if entry is None:
            return
        assert isinstance(entry.event, Claimed)
        for old in entry.event.replaces:
            if self._stored.pop(old, None) is None and old <= self._given:
                self._replaced.append(old)
        if at >= self._stored_since and number > self._after:
            self._stored[number] = entry.run, entry.event.record

    def take(self, *, is_end: bool = False) -> tuple[RecordColumns, list[int]] | None:
        """Return pages that were not given on yet, and the runs of their crawls.

        With them, what was replaced of those that were given on. Only those before the first open
        claim, unless *is_end*. ``None`` if there are none.
        """
        first_open = min(self.open, default=None)
        numbers = sorted(n for n in self._stored if is_end or first_open is None or n < first_open)
        if not numbers:
            return None
        self._given = numbers[-1]
        pages = [self._stored.pop(number) for number in numbers]
        records = [record for _, record in pages]
        columns = RecordColumns(
            numbers,
            [record.digest or b"" for record in records],
            [record.sketch for record in records],
            [record.tokens for record in records],
            [record.evidence for record in records],
            [record.scope for record in records],
            [record.key for record in records],
            self._replaced,
        )
        self._replaced = []
        return columns, [run for run, _ in pages]
