"""What a process reads of a log from its start, and knows of pages beside what it compares."""

from array import array
from collections.abc import Awaitable, Callable, Iterable, Mapping

import xxhash

from dedup.index.digest_table import DigestTable
from dedup.record import Claimed, Committed, PageRecord, Released, Stored, StoredBatch
from dedup.stores.entries import Entry
from dedup.text import to_utf8

_PAGES_AT_HAND = 10_000


class KnownPages:
    """What a process follows of a log: which claims are open, and which pages are stored.

    It finds the pages that were stored before under a URL, and keeps some records at hand. Those
    are the pages of other runs, and those of the own one that were there when the process began,
    or its job that goes on: a run lasts as long as any process takes part.
    """

    def __init__(self, run: int = 0, position: int = 0, stored_since: float = 0.0) -> None:
        """Create it without pages; what was stored before *stored_since* is not learned.

        *run* is the own one, of which pages up to *position* were stored before.
        """
        self._run, self._position, self._stored_since = run, position, stored_since
        self.open: dict[int, Entry] = {}
        """The claims that are open, by number."""
        # By a hash of its URL, the places of a page, where its number and its run are.
        self._places = DigestTable()
        self._numbers, self._runs = array("I"), array("I")
        # Pages of these that do not count any more.
        self._replaced: set[int] = set()
        self._records: dict[int, PageRecord] = {}
        self.version = object()
        """Another one, once `earlier` may return other pages for a key."""

    def begin_run(self, run: int, position: int) -> None:
        """Have *run* be the own one, from *position* on."""
        self._run, self._position, self.version = run, position, object()

    def learn(self, key: str, number: int, run: int) -> None:
        """Have page *number* found by *key*, under which *run* has stored it."""
        self._places.add(_digest_of(key), len(self._numbers))
        self._numbers.append(number)
        self._runs.append(run)
        if self._is_earlier(number, run):
            self.version = object()

    def _is_earlier(self, number: int, run: int) -> bool:
        # By the number, which is the position of the claim: what was committed only after the
        # process began counts as earlier, too. In doubt a page has changed, and is stored.
        return run != self._run or number <= self._position

    async def earlier(
        self, key: str, fetch: Callable[[Iterable[int]], Awaitable[Mapping[int, PageRecord]]]
    ) -> list[Stored]:
        """Return what was stored before under *key*; *fetch* returns records by number."""
        # Maybe those of other URLs, too.
        places = self._places.find(_digest_of(key), len(self._numbers))
        found = [(self._numbers[place], self._runs[place]) for place in places]
        earlier = [number for number, run in found if self._is_earlier(number, run)]
        numbers = [number for number in earlier if number not in self._replaced]
        records = await fetch(numbers) if numbers else {}
        return [Stored(number, records[number]) for number in numbers if records[number].key == key]

    def record(self, number: int) -> PageRecord | None:
        """Return the record of page *number*, if its claim is open or it is at hand."""
        claim = self.open.get(number)
        return claim.record if claim else self._records.get(number)

    def keep(self, records: Mapping[int, PageRecord]) -> None:
        """Have *records* at hand for a while."""
        self._records |= records
        while len(self._records) > _PAGES_AT_HAND:
            del self._records[next(iter(self._records))]

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes; an estimate."""
        records = len(self._records) + len(self.open)
        return self._places.nbytes + 8 * len(self._numbers) + 500 * records

    def follow(self, entry: Entry) -> Entry | None:
        """Have *entry* happen, and return the claim that it makes or ends.

        ``None`` if it does neither, or tells that a page was stored too long ago.
        """
        match entry.event:
            case Claimed():
                self.open[entry.position] = entry
                return entry
            case Committed(number, _, replaces):
                claim = self.open.pop(number, None)
                if claim is None or entry.at < self._stored_since:
                    return None
                self._replaced.update(replaces)
                self.learn(claim.record.key, number, claim.run)
                return claim
            case Released(number):
                return self.open.pop(number, None)

    def read(self, entries: Iterable[Entry]) -> StoredBatch | None:
        """Have *entries* happen, and return the pages that are stored by them, ``None`` if none."""
        stored: dict[int, Stored] = {}
        replaced: list[int] = []
        for entry in entries:
            claim, event = self.follow(entry), entry.event
            if claim and isinstance(event, Committed):
                replaced += (old for old in event.replaces if stored.pop(old, None) is None)
                items = event.packed_items(claim.record)
                stored[event.number] = Stored(event.number, claim.record, items)
        return StoredBatch(list(stored.values()), replaced) if stored else None


def _digest_of(key: str) -> bytes:
    return xxhash.xxh3_64_digest(to_utf8(key))
