"""The store of a process that is not alone: one of a fleet, over the log that they share."""

import json
import math
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_bytes
from time import monotonic, time
from typing import Any

from dedup.record import (
    Claimed,
    Event,
    Lost,
    PageRecord,
    Released,
    Stored,
    StoredBatch,
)
from dedup.stores.base import (
    HistoryChangedError,
    News,
    Store,
    StoreDownError,
    Texts,
)
from dedup.stores.entries import Entry
from dedup.stores.identity import check_identity
from dedup.stores.known_pages import KnownPages
from dedup.stores.log import Answer, Log, Request
from dedup.units import SECONDS_OF_A_DAY


class SharedStore(Store):
    """What one process knows and says of a log that many share.

    The order of the log decides. The lease of a process is renewed by each exchange; there is one
    at a time. A claim is named by its owner, the process (a random number of each start), and that
    one's count of claims, so whatever became of a message is seen from what the log then has: a
    claim whose answer did not come is released when it is met there, and a commit is only lost if
    the log does not have it.
    """

    is_shared = True
    _most_news = 10_000  # a long outage leaves many

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
        self._stored_since = time() - max_age * SECONDS_OF_A_DAY if max_age else 0.0
        self._owner = token_bytes(8)
        self._began_at = 0
        self.is_in_use = False
        """Whether others took part when it was opened: then it is not reset."""
        self._up_since = math.inf
        self._has_to_read = False
        self._serial = self._turn = 0
        self._start_after(KnownPages(), None)

    # Taking part.

    async def open(self) -> None:
        """Connect to the log, and look whether one may take part: nothing is changed.

        Raises StoreDownError or LedgerError.
        """
        found = await self._log.open()
        self.is_in_use = found is not None and found.is_in_use
        # Nothing is there, or the first one of a fleet has done that.
        self._reset = self._reset and found is not None and not found.is_in_use
        if found and not self._reset:
            check_identity(self.name, found.identity, self._identity, is_resumed=False)

    async def join(self, spider: str) -> None:
        joined = await self._log.join(
            self._owner, spider, self._job, self._identity, reset=self._reset
        )
        self.run, self.is_resumed, self._began_at = joined.run, joined.is_resumed, joined.position
        self._pages.begin_run(self.run, self._began_at)
        self.has_joined = True
        # Another process has reset it, and may have stored pages since.
        self._has_to_read = self._reset and not joined.is_reset
        self._reset = False

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()) -> None:
        await self._log.leave(self._owner, reason, report, texts)

    async def disconnect(self) -> None:
        await self._log.close()

    def close(self) -> None: ...

    # From the start.

    async def stored(self) -> AsyncGenerator[StoredBatch, None]:
        if self._reset:
            return
        self._has_to_read, last = True, None
        known = KnownPages(self.run, self._began_at, self._stored_since)
        with self._noting_outage():
            async for entries in self._log.snapshot():
                if pages := known.read(entries):
                    yield pages
                last = entries[-1]
        # All of what was read, and nothing else: the numbers of another history say nothing.
        self._has_to_read = self.is_down = False
        self._start_after(known, last)
        self._news, self._news_under_way = News(), News()

    def _start_after(self, pages: KnownPages, last: Entry | None) -> None:
        """Go on with what *pages* have read, up to the *last* entry, and forget all else."""
        self._pages = pages
        # The last one that was followed.
        self._last_entry = last
        # Of the open claims, the own ones that somebody wants.
        self._own: set[int] = set()
        # Those that nobody wants any more: told with the next exchange.
        self._releases: dict[int, int] = {}
        self._unseen: list[Event] = []
        for number, entry in pages.open.items():
            if entry.owner == self._owner:  # from before the history changed
                self._releases[number] = entry.serial
            else:
                self._unseen.append(entry.event)

    # The log.

    async def exchange(self, claims: Sequence[Claimed], news: News | None) -> Sequence[Event]:
        assert self.has_joined
        if self._has_to_read:
            raise HistoryChangedError(f"{self.name} was reset")
        with self._noting_outage():
            try:
                events = await self._exchange(claims, news or News())
            except (StoreDownError, HistoryChangedError):
                raise
            except Exception as error:  # refused, for whatever reason: all of it waits
                raise StoreDownError(f"{self.name} refuses an exchange: {error}") from error
        self._up_since = min(self._up_since, monotonic())
        self.is_down = False
        return events

    @contextmanager
    def _noting_outage(self) -> Iterator[None]:
        try:
            yield
        except StoreDownError:
            self.is_down, self._up_since = True, math.inf
            raise

    async def _exchange(self, claims: Sequence[Claimed], news: News) -> list[Event]:
        first, self._serial = self._serial + 1, self._serial + len(claims)
        serials = range(first, self._serial + 1)
        self._turn += 1
        # What is not there was lost, and is claimed again under another number.
        commits = [
            (self._pages.open[number].serial, page.event)
            for number, page in news.commits.items()
            if number in self._own and self._pages.open[number].event == page.claimed
        ]
        releases = dict(self._releases)
        answer = await self._log.exchange(
            Request(
                self._owner, self._turn, self.run, self.last,
                commits=commits,
                releases=list(releases.items()),
                claims=list(zip(serials, claims, strict=True)),
                duplicates=list(news.duplicates.values()),
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
            if event := self._follow(entry, serials):
                is_made = entry.owner == self._owner and isinstance(event, Claimed)
                (made if is_made else events).append(event)
        lost = set(answer.lost)
        for serial, event in commits:
            if serial in lost and event.number in self._own:
                self._own.remove(event.number)
                events.append(Lost(Claimed(self._pages.open[event.number].record, event.number)))
        if len(made) != len(claims):
            raise HistoryChangedError(f"{self.name} is another one than before: it is read anew")
        return [*events, *made]

    def _follow(self, entry: Entry, serials: range) -> Event | None:
        """Have *entry* happen, and return what the view does not know of it.

        Of own claims, that are those of these *serials*: nobody waits for another one any more.
        """
        claim, event = self._pages.follow(entry), entry.event
        if entry.owner != self._owner:
            return event if claim else None
        if isinstance(event, Claimed):
            if entry.serial in serials:
                self._own.add(event.number)
                return event
            self._releases[event.number] = entry.serial  # its answer did not come
        elif claim and claim.position in self._own:
            self._own.remove(claim.position)
            if isinstance(event, Released):  # by another process: the lease was over
                return Lost(Claimed(claim.record, claim.position))
        return None

    async def _new_entries(self, answer: Answer) -> list[Entry]:
        """Return the entries that were not followed yet, up to the own claims."""
        entries, known = answer.entries, self._last_entry
        is_same = _go_on_after(known, entries)
        last = answer.made[-1] if answer.made else math.inf if answer.lost else 0
        end = entries[-1].position if entries else 0
        entries = entries[1:] if known else entries
        while is_same and end < last and (more := await self._log.entries(end)):
            entries += more
            end = more[-1].position
        if not is_same or (answer.made and end < last):
            raise HistoryChangedError(f"{self.name} is another one than before: it is read anew")
        return [entry for entry in entries if not answer.made or entry.position <= last]

    def is_own(self, number: int) -> bool:
        return number in self._own

    # What waits in memory.

    def release(self, number: int) -> None:
        """The claimed page *number* was not stored: any exchange tells it."""
        if number in self._own:
            self._own.remove(number)
            self._releases[number] = self._pages.open[number].serial

    def release_stored(self) -> None:
        """Release the pages that are stored, and not published: others shall not wait for them."""
        for number in self._news.commits:
            self.release(number)
        self._news.commits.clear()

    @property
    def has_news(self) -> bool:
        return self.has_joined and bool(self._news or self._releases)

    # Looking up.

    async def expire(self, numbers: Iterable[int]) -> None:
        entries = [self._pages.open[n] for n in numbers if n in self._pages.open.keys() - self._own]
        claims = [(entry.position, entry.owner, entry.serial) for entry in entries]
        # After an outage, others may not have been able to renew their leases.
        if claims and monotonic() - self._up_since >= self._log.lease:
            await self._log.expire(claims)

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        found = {number: self._pages.record(number) for number in numbers}
        if missing := [number for number, record in found.items() if record is None]:
            if self.is_down:  # else each duplicate would wait for it
                raise StoreDownError(f"{self.name} cannot be reached")
            with self._noting_outage():
                fetched = await self._log.pages(missing)
            self._pages.keep(fetched)
            found |= {number: fetched.get(number) for number in missing}
        return {number: record or PageRecord(self.key(number)) for number, record in found.items()}

    def key(self, number: int) -> str:
        record = self._pages.record(number)
        return record.key if record else f"page {number} of {self.name}"

    async def earlier(self, key: str) -> list[Stored]:
        return await self._pages.earlier(key, self.pages)

    @property
    def version_of_earlier(self) -> object:
        return self._pages.version

    @property
    def last(self) -> int:
        return self._last_entry.position if self._last_entry else 0

    @property
    def nbytes(self) -> int:
        return self._pages.nbytes + 200 * len(self._news.duplicates)


def _go_on_after(known: Entry | None, entries: Sequence[Entry]) -> bool:
    """Return whether *entries* begin with the last *known* one, without that with the first of all.

    As far as it can be told without pages.
    """
    if not entries:
        return known is None
    first = entries[0]
    if known is None:
        return first.position == 1
    return first[:4] == known[:4] and type(first.event) is type(known.event)
