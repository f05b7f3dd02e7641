"""What a process reads of a log from its start, and knows of pages beside what it compares."""

from array import array
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

import numpy as np
import xxhash

from dedup.index.key_table import KeyTable
from dedup.record import Claimed, Committed, PageRecord, Preferred, Released, Stored, StoredBatch
from dedup.stores.entries import Entry
from dedup.stores.log import MOST_ENTRIES
from dedup.text import to_utf8

_PAGES_AT_HAND = 10_000


class KnownPages:
    """Finds the pages that were stored before under a URL, and keeps some records at hand.

    These are the pages of other runs, and those of the own one that were there when the process
    began, or its job that goes on: a run lasts as long as any process takes part.
    """

    def __init__(self, run: int, position: int) -> None:
        """Create it without pages.

        *run* is the own one, of which pages up to *position* were stored before.
        """
        self._run, self._position = run, position
        # By a hash of its URL, the places of a page, where its number and its run are.
        self._places = KeyTable()
        self._numbers, self._runs = array("I"), array("I")
        # Pages of these that do not count any more.
        self._replaced: set[int] = set()
        self._records: dict[int, PageRecord] = {}
        self.preferred: dict[int, str] = {}
        """The better keys of pages, by number."""
        self.version = object()
        """Another one, once `earlier` may return other pages for a key."""

    def begin_run(self, run: int, position: int) -> None:
        """Have *run* be the own one, from *position* on."""
        self._run, self._position, self.version = run, position, object()

    def learn_urls(self, pages: Sequence[tuple[str, int, int]]) -> None:
        """Have *pages*, one or more, found: by keys, with numbers and the runs that met them."""
        urls, numbers, runs = zip(*pages, strict=True)
        places = np.arange(len(urls)) + len(self._numbers)
        self._places.add(np.array(list(map(_hash, urls)), np.uint64), places)
        self._numbers.extend(numbers)
        self._runs.extend(runs)
        if any(self._is_earlier(number, run) for _, number, run in pages):
            self.version = object()

    def _is_earlier(self, number: int, run: int) -> bool:
        # By the number, which is the position of the claim: what was committed only after the
        # process began counts as earlier, too. In doubt a page has changed, and is stored.
        return run != self._run or number <= self._position

    def prefer(self, key: str, number: int, run: int) -> None:
        """Have *key*, under which *run* has met page *number*, be the better one."""
        self.preferred[number] = key
        self.learn_urls([(key, number, run)])

    def replace(self, numbers: Iterable[int]) -> None:
        """Have the pages *numbers* not count any more."""
        self._replaced.update(numbers)

    async def earlier(
        self, key: str, fetch: Callable[[Iterable[int]], Awaitable[Mapping[int, PageRecord]]]
    ) -> list[Stored]:
        """Return what was stored before under *key*, or if that is the better one.

        *fetch* returns records by number.
        """
        # Maybe those of other URLs, too.
        _, places = self._places.find(np.array([_hash(key)], np.uint64))
        found = [(self._numbers[place], self._runs[place]) for place in sorted(places.tolist())]
        numbers = dict.fromkeys(number for number, run in found if self._is_earlier(number, run))
        counting = [number for number in numbers if number not in self._replaced]
        records = await fetch(counting) if counting else {}
        return [
            Stored(number, records[number])
            for number in counting
            if key in (records[number].key, self.preferred.get(number))
        ]

    def record(self, number: int) -> PageRecord | None:
        """Return the record of page *number*, if it is at hand."""
        return self._records.get(number)

    def keep(self, records: Mapping[int, PageRecord]) -> None:
        """Have *records* at hand for a while."""
        self._records |= records
        while len(self._records) > _PAGES_AT_HAND:
            del self._records[next(iter(self._records))]

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes; an estimate."""
        return self._places.nbytes + 8 * len(self._numbers) + 500 * len(self._records)


def _hash(url: str) -> int:
    return xxhash.xxh3_64_intdigest(to_utf8(url))


class Replay:
    """Follows a log from its start; pages are given on by number, when those before are known."""

    def __init__(self, pages: KnownPages, stored_since: float = 0.0) -> None:
        """Create it; *pages* learns what is there, unless that was stored before *stored_since*."""
        self.pages = pages
        self.last_entry: Entry | None = None
        self._stored_since = stored_since
        self._last_given = 0
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
            elif old <= self._last_given:
                self._replaced.append(old)
        if at >= self._stored_since:
            self._stored[event.number] = event
        else:
            del self._claims[event.number]

    @property
    def open(self) -> dict[int, Entry]:
        """The claims that are open, by number."""
        return {
            number: claim for number, claim in self._claims.items() if number not in self._stored
        }

    def take(self, *, is_end: bool = False) -> StoredBatch | None:
        """Return pages that were not given on yet, and with them, what they replace.

        Only those before the first open claim, unless *is_end*. ``None`` if there are no more.
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
        pages = []
        for number, claim in zip(numbers, claims, strict=True):
            items = self._stored.pop(number).packed_items(claim.record)
            pages.append(Stored(number, claim.record, items))
        replaced, self._replaced = self._replaced, []
        self.pages.replace(replaced)
        self.pages.learn_urls(
            [
                (claim.record.key, number, claim.run)
                for number, claim in zip(numbers, claims, strict=True)
            ]
        )
        self._last_given = numbers[-1]
        return StoredBatch(pages, replaced)
