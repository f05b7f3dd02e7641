"""The store of a process that is not alone: one of a fleet, over the log that they share."""

import json
import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_bytes
from time import monotonic, time
from typing import Any, cast

from dedup.record import (
    Claimed,
    Committed,
    Event,
    Lost,
    PageRecord,
    Preferred,
    RecordColumns,
    Released,
)
from dedup.stores.base import (
    HistoryChangedError,
    News,
    Store,
    Stored,
    StoreDownError,
    StoreState,
    Texts,
)
from dedup.stores.identity import check_identity
from dedup.stores.shared.log import Answer, Entry, Log, Member, Request
from dedup.stores.shared.replay import Replay
from dedup.stores.shared.url_table import UrlTable

_SECONDS_OF_A_DAY = 86400.0
_PAGES_AT_HAND = 10_000
_KEYS_AT_HAND = 16


class _Reading:
    """The log on the way from its start: what the store knows when it has come to the end."""

    def __init__(self, log: Log, stored_since: float, after: int) -> None:
        self.number = after
        self.pieces = aiter(log.snapshot(stored_since))
        self.replay = Replay(stored_since, after)
        self.last_entry: Entry | None = None
        self.urls = UrlTable()
        self.replaced: set[int] = set()

    def learn_urls(self, columns: RecordColumns, runs: list[int]) -> None:
        self.replaced.update(columns.replaced)
        keys = cast(list[str], columns.keys)
        self.urls.add_many(keys, columns.numbers, runs)
        # As many as a ledger gives tell what the pages of a host share.
        columns.keys = [
            key if number <= 2000 or place % 16 == 0 else None
            for place, (number, key) in enumerate(zip(columns.numbers, keys, strict=True))
        ]


class SharedStore(Store):
    """What one process knows and says of a log that many share.

    The order of the log decides. A claim is named by the process (a random number of each start)
    and its count of claims, so whatever became of a message is seen from what the log then has: a
    claim whose answer did not come is released when it is met there, and a commit is only lost if
    the log does not have it. The lease of a process is renewed by each exchange.
    """

    is_shared = True

    def __init__(
        self,
        log: Log,
        identity: Mapping[str, Any],
        *,
        job: str | None = None,
        reset: bool = False,
        max_age: float | None = None,
    ) -> None:
        """Create it without connecting; *identity*, *job* and the others as `SqliteStore` has them.

        *reset* counts for the first process of a fleet.
        """
        super().__init__(log.name)
        self._log = log
        self._identity = json.loads(json.dumps(identity, default=str))
        self._job = job
        self._reset = reset
        # A log that nobody has joined yet cannot be read.
        self._is_there = True
        self._stored_since = time() - max_age * _SECONDS_OF_A_DAY if max_age else 0.0
        self._spider = ""
        self._owner = token_bytes(8)
        self._serial = 0
        self._turn = 0
        self.run = 0
        self.is_resumed = False
        self.is_in_use = False
        """Whether others took part when it was opened: then it is not reset."""
        self._up_since = math.inf
        self._has_to_read = False
        # The last entry that was followed.
        self._last_entry: Entry | None = None
        # Own claims that are open in the log, by number, with their serials.
        self._own: dict[int, tuple[int, Claimed]] = {}
        # Those of them that nobody wants any more: told with the next exchange.
        self._releases: dict[int, int] = {}
        # Open claims of others, by number.
        self._others: dict[int, Entry] = {}
        # Own pages that were published lately, and when: the log may forget them.
        self._published: deque[tuple[float, Claimed]] = deque()
        self._reading: _Reading | None = None
        self._unseen: list[Event] = []
        self._urls = UrlTable()
        # Pages in that table that do not count any more.
        self._replaced: set[int] = set()
        self._pages: dict[int, PageRecord] = {}
        # What was looked up by key: a page may have thousands of items.
        self._earlier: dict[str, list[Stored]] = {}

    # Taking part.

    async def open(self) -> None:
        """Connect to the log, and look whether one may take part: nothing is changed.

        Raises StoreDownError or LedgerError.
        """
        found = await self._log.open()
        self._is_there = found is not None
        self.is_in_use = found is not None and found.is_in_use
        if found is None:
            self._reset = False
        elif self._reset and found.is_in_use:
            self._reset = False  # the first one of the fleet has done that
        if found and not self._reset:
            check_identity(self.name, found.identity, self._identity, is_resumed=False)

    async def join(self, spider: str) -> None:
        """Take part, as a crawl of *spider*.

        Raises StoreDownError if the log cannot be reached: the first exchange tries again.
        """
        self._spider = spider
        member = Member(self._owner, spider, self._job)
        with self._noting_outage():
            joined = await self._log.join(member, self._identity, reset=self._reset)
        self.run, self.is_resumed = joined.run, joined.is_resumed
        self._earlier = {}
        self.has_joined = self._is_there = True
        # Another process has reset it, and may have stored pages since.
        self._has_to_read = self._reset and not joined.is_reset
        self._reset = False
        self._is_up()

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()) -> None:
        if self.has_joined:
            await self._log.leave(self._owner, reason, report, texts)

    async def disconnect(self) -> None:
        """Give the connection back; what is not published is forgotten."""
        await self._log.close()

    def close(self) -> None: ...

    # From the start.

    async def since(self, number: int) -> RecordColumns | None:
        if self._reset or not self._is_there:
            return None
        try:
            with self._noting_outage():
                return await self._since(number)
        except BaseException:
            self._reading, self._has_to_read = None, True
            raise

    async def _since(self, number: int) -> RecordColumns | None:
        reading = self._reading
        if reading is None or reading.number != number:
            reading = self._reading = _Reading(self._log, self._stored_since, number)
        while True:
            piece = await anext(reading.pieces, None)
            if piece:
                reading.replay.add(piece)
                reading.last_entry = piece[-1]
            if taken := reading.replay.take(is_end=not piece):
                columns, runs = taken
                reading.learn_urls(columns, runs)
                reading.number = columns.numbers[-1]
                return columns
            if not piece:
                self._end_reading(reading)
                return None

    def _end_reading(self, reading: _Reading) -> None:
        """Know what was read, and nothing else: the numbers of another history say nothing."""
        self._reading, self._has_to_read, self.is_down = None, False, False
        self._last_entry = reading.last_entry
        self._urls, self._replaced = reading.urls, reading.replaced
        self._own, self._releases, self._others, self._unseen = {}, {}, {}, []
        self._pages, self._preferred, self._earlier = {}, {}, {}
        for news in (self._news, self._news_under_way):
            news.clear()
        for number, (key, run) in reading.replay.preferred.items():
            self._preferred[number] = key
            self._urls.add(key, number, run)
        for number, entry in reading.replay.open.items():
            if entry.owner == self._owner:  # of before the history changed
                self._releases[number] = entry.serial
            else:
                self._others[number] = entry
                self._unseen.append(entry.event)

    # The log.

    async def exchange(self, claims: Sequence[Claimed], news: News) -> Sequence[Event]:
        if not self.has_joined:
            await self.join(self._spider)
        if self._has_to_read:
            raise HistoryChangedError(f"{self.name} was reset")
        with self._noting_outage():
            events = await self._exchange(claims, news)
        self._is_up()
        return events

    @contextmanager
    def _noting_outage(self) -> Iterator[None]:
        try:
            yield
        except StoreDownError:
            self.is_down = True
            self._up_since = math.inf
            raise

    def _is_up(self) -> None:
        if self.is_down or self._up_since == math.inf:
            self._up_since = monotonic()
        self.is_down = False

    async def _exchange(self, claims: Sequence[Claimed], news: News) -> list[Event]:
        first, self._serial = self._serial + 1, self._serial + len(claims)
        serials = range(first, self._serial + 1)
        self._turn += 1
        seen = self._last_entry.position if self._last_entry else 0
        # What is not there was lost, and is claimed again under another number.
        commits = {
            number: self._own[number][0]
            for number, (claimed, _) in news.commits.items()
            if number in self._own and self._own[number][1] == claimed
        }
        releases = dict(self._releases)
        answer = await self._log.exchange(
            Request(
                self._owner, self._turn, self.run, seen,
                commits=list(commits.items()),
                releases=list(releases.items()),
                preferred=news.preferred,
                claims=list(zip(serials, claims, strict=True)),
                duplicates=news.duplicates,
                seen_again=news.seen,
            )
        )  # fmt: skip
        entries = await self._new_entries(answer)
        # From here on all has been told, and nothing waits.
        if entries:
            self._last_entry = entries[-1]
        for number in releases:
            self._releases.pop(number, None)
        events, self._unseen = self._unseen, []
        made: list[Event] = []
        for entry in entries:
            if entry.owner != self._owner:
                events += self._event_of_other(entry)
            elif claimed := self._own_claim(entry, serials):
                made.append(claimed)
            else:
                events += self._own_event(entry)
        lost = set(answer.lost)
        for number, serial in commits.items():
            if number in self._own:
                if serial in lost:
                    events.append(Lost(self._own.pop(number)[1]))
                else:  # that is farther on in the log
                    self._note_published(number)
        if len(made) != len(claims):
            raise HistoryChangedError(f"{self.name} has lost entries: it is read anew")
        return [*events, *made]

    async def _new_entries(self, answer: Answer) -> list[Entry]:
        """Return the entries that were not followed yet, up to the own claims."""
        entries = answer.entries
        if self._last_entry:
            if not entries or not _is_same(entries[0], self._last_entry):
                raise HistoryChangedError(
                    f"{self.name} is another one than before: it is read anew"
                )
            entries = entries[1:]
        elif entries and entries[0].position != 1:
            raise HistoryChangedError(f"{self.name} does not begin where it did: it is read anew")
        last = answer.made[-1] if answer.made else math.inf if answer.lost else 0
        end = answer.entries[-1].position if answer.entries else 0
        while end < last and (more := await self._log.entries(end)):
            entries += more
            end = more[-1].position
        if answer.made and end < last:
            raise HistoryChangedError(f"{self.name} has lost entries: it is read anew")
        return [entry for entry in entries if not answer.made or entry.position <= last]

    def _own_claim(self, entry: Entry, serials: range) -> Claimed | None:
        """Return the claim of *entry*, if it is one that was just made."""
        if not isinstance(entry.event, Claimed):
            return None
        if entry.serial in serials:
            self._own[entry.position] = entry.serial, entry.event
            return entry.event
        self._releases[entry.position] = entry.serial  # its answer did not come
        return None

    def _own_event(self, entry: Entry) -> list[Event]:
        """Return what the view does not know of an own *entry*."""
        match entry.event:
            case Committed(number):
                if number in self._own:
                    self._note_published(number)
            case Released(number):
                if number in self._own:  # by another process: the lease was over
                    return [Lost(self._own.pop(number)[1])]
        return []

    def _note_published(self, number: int) -> None:
        """Take note that the log has the commit of the own page *number*."""
        _, claimed = self._own.pop(number)
        self._replaced.update(claimed.replaces)
        self._published.append((monotonic(), claimed))
        self._forget_published()

    def _event_of_other(self, entry: Entry) -> list[Event]:
        match entry.event:
            case Claimed():
                self._others[entry.position] = entry
            case Committed(number):
                claim = self._others.pop(number, None)
                if claim is None:
                    return []
                assert isinstance(claim.event, Claimed)
                self._replaced.update(claim.event.replaces)
                self._learn_url(claim.event.record.key, number, claim.run)
            case Released(number):
                if self._others.pop(number, None) is None:
                    return []
            case Preferred(number, key):
                self._preferred[number] = key
                self._learn_url(key, number, entry.run)
                return []
        return [entry.event]

    def _learn_url(self, key: str, number: int, run: int) -> None:
        self._urls.add(key, number, run)
        if run != self.run:
            self._earlier = {}

    def _forget_published(self) -> None:
        while self._published and self._published[0][0] < monotonic() - _SECONDS_TO_REMEMBER:
            self._published.popleft()

    def is_own(self, number: int) -> bool:
        return number in self._own

    def take_unpublished(self) -> list[Claimed]:
        self._forget_published()
        pages = {claimed.number: claimed for _, claimed in self._published}
        for news in (self._news, self._news_under_way):
            pages |= {number: claimed for number, (claimed, _) in news.commits.items()}
            news.commits.clear()  # lest they are meant for other pages of these numbers
        self._published.clear()
        return list(pages.values())

    # What waits in memory.

    def release(self, number: int) -> None:
        """The claimed page *number* was not stored: any exchange tells it."""
        if number in self._own:
            self._releases[number] = self._own.pop(number)[0]

    def release_stored(self) -> None:
        """Release the pages that are stored, and not published: others shall not wait for them."""
        for number in self._news.commits:
            self.release(number)
        self._news.commits.clear()

    @property
    def has_news(self) -> bool:
        return self.has_joined and bool(self._news or self._releases)

    # Looking up.

    async def expire(self, numbers: Iterable[int]) -> float:
        claims = [self._others[number] for number in numbers if number in self._others]
        # After an outage, others may not have been able to renew their leases.
        connected = monotonic() - self._up_since
        if not claims or connected < self._log.lease:
            return max(self._log.lease - connected, 0.0) if claims else math.inf
        return await self._log.expire([(e.position, e.owner, e.serial) for e in claims])

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        found, missing = {}, []
        for number in numbers:
            record = self.at_hand(number)
            if record is None:
                missing.append(number)
            else:
                found[number] = record
        if missing:
            if self.is_down:  # else each duplicate would wait for it
                raise StoreDownError(f"{self.name} cannot be reached")
            with self._noting_outage():
                fetched = await self._log.pages(missing)
            for number in missing:
                found[number] = fetched.get(number, PageRecord(f"page {number} of {self.name}"))
            self._pages |= fetched
            while len(self._pages) > _PAGES_AT_HAND:
                del self._pages[next(iter(self._pages))]
        return found

    def at_hand(self, number: int) -> PageRecord | None:
        if number in self._own:
            return self._own[number][1].record
        if number in self._others:
            event = self._others[number].event
            assert isinstance(event, Claimed)
            return event.record
        return self._pages.get(number)

    async def earlier(self, key: str) -> list[Stored]:
        at_hand = self._earlier  # another one when it is out of date
        if key not in at_hand:
            if not (stored := await self._stored_under(key)):
                return []
            if len(at_hand) >= _KEYS_AT_HAND:
                del at_hand[next(iter(at_hand))]
            at_hand[key] = stored
        return at_hand[key]

    async def _stored_under(self, key: str) -> list[Stored]:
        found = self._urls.pages(key)
        numbers = list(dict.fromkeys(number for number, run in found if run != self.run))
        numbers = [number for number in numbers if number not in self._replaced]
        if not numbers:
            return []
        records = await self.pages(numbers)
        return [
            Stored(number, records[number])
            for number in numbers
            if key in (records[number].key, self._preferred.get(number))
        ]

    @property
    def last(self) -> int:
        entry = self._reading.last_entry if self._reading else self._last_entry
        return entry.position if entry else 0

    @property
    def state(self) -> StoreState:
        return StoreState(self.name, self.run, self.is_resumed, self.unpublished)

    @property
    def nbytes(self) -> int:
        at_hand = len(self._pages) + len(self._own) + len(self._others)
        return self._urls.nbytes + 500 * at_hand + 200 * len(self._news.duplicates)


_SECONDS_TO_REMEMBER = 60.0


def _is_same(entry: Entry, other: Entry) -> bool:
    """Return whether two entries are one, as far as it can be told without their pages."""
    return entry[:4] == other[:4] and type(entry.event) is type(other.event)
