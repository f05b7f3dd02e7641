"""Entries of a log, from its start -> the pages that are stored, and what is open."""

from collections.abc import Iterable, Sequence

from dedup.record import Claimed, Committed, PageRecord, Preferred, RecordColumns, Released
from dedup.stores.shared.known_pages import KnownPages
from dedup.stores.shared.log import MOST_ENTRIES, Entry


class Replay:
    """Follows a log from its start; pages are given on by number, when those before are known."""

    def __init__(self, pages: KnownPages, stored_since: float = 0.0, after: int = 0) -> None:
        """Create it; *pages* learns what is there.

        Pages that were stored before *stored_since* do not count, those with numbers up to *after*
        are not given on.
        """
        self.pages = pages
        self.number = after
        """The number of the last page that was given on."""
        self.last_entry: Entry | None = None
        self._stored_since = stored_since
        self._after = after
        # In the order of their numbers.
        self._claims: dict[int, Entry] = {}
        # Of these, those whose pages are stored, and not given on yet; the others are open.
        self._stored: dict[int, Committed] = {}
        self._replaced: list[int] = []

    def add(self, entries: Iterable[Entry]) -> None:
        """Have *entries* happen."""
        for entry in entries:
            self.last_entry = entry
            match entry.event:
                case Claimed():
                    self._claims[entry.position] = entry
                case Committed(number) as event:
                    if self._is_open(number):
                        self._commit(event, entry.at)
                case Released(number):
                    if self._is_open(number):
                        del self._claims[number]
                case Preferred(number, key):
                    self.pages.prefer(key, number, entry.run)

    def _is_open(self, number: int) -> bool:
        return number in self._claims and number not in self._stored

    def _commit(self, event: Committed, at: float) -> None:
        for old in event.replaces:
            if self._stored.pop(old, None):
                del self._claims[old]
            elif old <= self.number:
                self._replaced.append(old)
        if at >= self._stored_since and event.number > self._after:
            self._stored[event.number] = event
        else:
            del self._claims[event.number]

    @property
    def open(self) -> dict[int, Entry]:
        """The claims that are open, by number."""
        return {
            number: claim for number, claim in self._claims.items() if number not in self._stored
        }

    def take(self, *, is_end: bool = False) -> RecordColumns | None:
        """Return pages that were not given on yet, and with them, what they replace.

        Only those before the first open claim, unless *is_end*. ``None`` if there are no more.
        Raises ValueError for a value that cannot be right.
        """
        numbers: list[int] = []
        for number in self._claims:
            if number in self._stored:
                numbers.append(number)
            elif not is_end:
                break
            if len(numbers) == MOST_ENTRIES:
                break
        if not numbers:
            return None
        claims = [self._claims.pop(number) for number in numbers]
        records = [claim.record for claim in claims]
        columns = _columns(numbers, records, map(self._stored.pop, numbers))
        columns.replaced, self._replaced = self._replaced, []
        self.pages.replace(columns.replaced)
        runs = [claim.run for claim in claims]
        keys = [record.key for record in records]
        self.pages.learn_urls(list(zip(keys, numbers, runs, strict=True)))
        self.number = numbers[-1]
        return columns


def _columns(
    numbers: Sequence[int], records: Sequence[PageRecord], commits: Iterable[Committed]
) -> RecordColumns:
    _, scopes, tokens, digests, sketches, evidence, _, _ = zip(*records, strict=True)
    items = [event.packed_items(record) for event, record in zip(commits, records, strict=True)]
    columns = RecordColumns.of(numbers, digests, sketches, tokens, evidence, scopes, items)
    # As many as a ledger gives the keys of: these tell what the pages of a host share.
    columns.keys = {
        number: record.key
        for number, record in zip(numbers, records, strict=True)
        if record.evidence is not None and (number <= 2000 or number % 16 == 0)
    }
    return columns
