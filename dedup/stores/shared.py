"""The store of a process that is not alone: one of a fleet, over the log that they share."""

import json
import math
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from secrets import token_bytes
from time import monotonic, time
from typing import Any

from dedup.record import Claimed, Event, PageRecord, RecordColumns
from dedup.stores.base import (
    HistoryChangedError,
    News,
    Store,
    Stored,
    StoreDownError,
    Texts,
)
from dedup.stores.identity import check_identity
from dedup.stores.known_pages import KnownPages
from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import Log, Member
from dedup.stores.log_client import LogClient, Replay
from dedup.units import SECONDS_OF_A_DAY

_MOST_NEWS = 10_000
"""How many of a kind travel at a time: a long outage leaves many."""


class SharedStore(Store):
    """What one process knows and says of a log that many share.

    The order of the log decides. A claim is named by the process (a random number of each start)
    and its count of claims. The lease of a process is renewed by each exchange.
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
        self._stored_since = time() - max_age * SECONDS_OF_A_DAY if max_age else 0.0
        self._spider = ""
        self._owner = token_bytes(8)
        self._began_at = 0
        self.is_in_use = False
        """Whether others took part when it was opened: then it is not reset."""
        self._up_since = math.inf
        self._has_to_read = False
        self._client = LogClient(log, self._owner)
        self._preferred = self._client.pages.preferred
        self._replay: Replay | None = None

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
        """Take part, as a crawl of *spider*.

        Raises StoreDownError if the log cannot be reached: the first exchange tries again.
        """
        self._spider = spider
        member = Member(self._owner, spider, self._job)
        with self._noting_outage():
            joined = await self._log.join(member, self._identity, reset=self._reset)
        self.run, self.is_resumed, self._began_at = joined.run, joined.is_resumed, joined.position
        self._client.pages.begin_run(self.run, self._began_at)
        self.has_joined = True
        # Another process has reset it, and may have stored pages since.
        self._has_to_read = self._reset and not joined.is_reset
        self._reset = False
        self._is_up()

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()) -> None:
        if self.has_joined:
            await self._log.leave(self._owner, reason, report, texts)

    async def disconnect(self) -> None:
        await self._log.close()

    def close(self) -> None: ...

    # From the start.

    async def stored(self) -> AsyncGenerator[RecordColumns, None]:
        if self._reset:
            return
        self._has_to_read = True
        self._replay = replay = Replay(KnownPages(self.run, self._began_at), self._stored_since)
        try:
            with self._noting_outage():
                async for entries in self._log.snapshot(self._stored_since):
                    replay.add(entries)
                    while columns := replay.take():
                        yield columns
            while columns := replay.take(is_end=True):
                yield columns
        except (ValueError, OverflowError) as error:
            if isinstance(error, LedgerError):
                raise
            raise self.damage_error(error) from error
        # All of what was read, and nothing else: the numbers of another history say nothing.
        self._has_to_read = self.is_down = False
        self._client.start_after(replay)
        self._preferred = replay.pages.preferred
        self._news, self._news_under_way = News(), News()

    # The log.

    async def exchange(self, claims: Sequence[Claimed], news: News) -> Sequence[Event]:
        if not self.has_joined:
            await self.join(self._spider)
        if self._has_to_read:
            raise HistoryChangedError(f"{self.name} was reset")
        try:
            with self._noting_outage():
                events = await self._client.exchange(self.run, claims, news)
        except (StoreDownError, HistoryChangedError):
            raise
        except Exception as error:  # refused, for whatever reason: all of it waits
            self.is_down, self._up_since = True, math.inf
            raise StoreDownError(f"{self.name} refuses an exchange: {error}") from error
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

    def is_own(self, number: int) -> bool:
        return self._client.is_own(number)

    # What waits in memory.

    def take_news(self) -> News:
        news = super().take_news()
        self._news = news.split(_MOST_NEWS)
        return news

    def release(self, number: int) -> None:
        """The claimed page *number* was not stored: any exchange tells it."""
        self._client.release(number)

    def release_stored(self) -> None:
        """Release the pages that are stored, and not published: others shall not wait for them."""
        for number in self._news.commits:
            self.release(number)
        self._news.commits.clear()

    @property
    def has_news(self) -> bool:
        return self.has_joined and bool(self._news or self._client.releases)

    # Looking up.

    async def expire(self, numbers: Iterable[int]) -> float:
        claims = self._client.claims_of_others(numbers)
        # After an outage, others may not have been able to renew their leases.
        connected = monotonic() - self._up_since
        if not claims or connected < self._log.lease:
            return max(self._log.lease - connected, 0.0) if claims else math.inf
        return await self._log.expire(claims)

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        found = {number: self._at_hand(number) for number in numbers}
        if missing := [number for number, record in found.items() if record is None]:
            if self.is_down:  # else each duplicate would wait for it
                raise StoreDownError(f"{self.name} cannot be reached")
            with self._noting_outage():
                fetched = await self._log.pages(missing)
            self._client.pages.keep(fetched)
            found |= {number: fetched.get(number) for number in missing}
        return {number: record or PageRecord(self.key(number)) for number, record in found.items()}

    def key(self, number: int) -> str:
        record = self._at_hand(number)
        return record.key if record else f"page {number} of {self.name}"

    def _at_hand(self, number: int) -> PageRecord | None:
        return self._client.record(number) or self._client.pages.record(number)

    async def earlier(self, key: str) -> list[Stored]:
        return await self._client.pages.earlier(key, self.pages)

    @property
    def version_of_earlier(self) -> object:
        return self._client.pages.version

    @property
    def last(self) -> int:
        reader = self._client if self._replay is None or self._client.last_entry else self._replay
        return reader.last_entry.position if reader.last_entry else 0

    @property
    def nbytes(self) -> int:
        return self._client.nbytes + 200 * len(self._news.duplicates)
