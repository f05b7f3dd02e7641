"""The ledger as a log: one SQLite file, which the processes of a machine share."""

import json
import os
import sqlite3
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import Any

from dedup.record import PageRecord
from dedup.sqlite_file import LedgerError
from dedup.stores.base import DuplicateNote, Texts
from dedup.stores.identity import check_identity
from dedup.stores.shared import sqlite_tables
from dedup.stores.shared.log import (
    LEASE,
    Answer,
    CrawlRow,
    Entry,
    Found,
    Joined,
    Log,
    Member,
    Request,
)
from dedup.stores.shared.shared_file import SharedFile

_ENTRIES_BETWEEN_PRUNES = 1_000


class SqliteLog(Log):
    """The ledger file of a crawl alone, for several processes of one machine.

    Pages that are stored are where a crawl alone has them, so that crawls alone and fleets take
    turns with a file. The lock of a crawl alone is held for moments only: when a process begins to
    take part, and when it goes on after its lease was over. Meanwhile, its lease bars crawls alone.

    All SQL runs in one thread of its own, step by step.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        timeout: float = 30.0,
        *,
        fsync: bool = False,
        lease: float = LEASE,
    ) -> None:
        """Create it without opening the file *path*.

        No call that pages wait for takes longer than *timeout* seconds, which are more than it
        takes to give up a lock that others have; those that read or forget the whole ledger take
        the time they need. *fsync*: what is written shall survive a power failure, too; else it
        survives the death of processes. Raises LedgerError for a broken link.
        """
        self._file = SharedFile(path, timeout, fsync=fsync)
        super().__init__(self._file.name, lease=lease)
        self._identity: dict[str, Any] | None = None
        self._entries_to_prune = 0

    # Taking part.

    async def open(self) -> Found | None:
        return await self._file.run(self._open)

    def _open(self) -> Found | None:
        if self._file.is_nowhere:
            return None
        with self._file.lock(), self._file.errors():
            file = self._file.connected()
            return Found(self._file.identity(file), sqlite_tables.somebody_shares(file, time()))

    async def join(self, member: Member, identity: Mapping[str, Any], *, reset: bool) -> Joined:
        return await self._file.run(self._join, member, identity, reset)

    def _join(self, member: Member, identity: Mapping[str, Any], reset: bool) -> Joined:
        self._identity = json.loads(json.dumps(identity, default=str))
        with self._file.lock():
            self._file.make(self._identity)
            with self._file.transaction() as file:
                now = time()
                joined = sqlite_tables.join(
                    file, member, self._identity, reset=reset, now=now, lease_end=now + self.lease
                )
                self._check_identity(file, is_resumed=joined.is_resumed)
                return joined

    def _check_identity(self, file: sqlite3.Connection, *, is_resumed: bool = False) -> None:
        if self._identity is not None:
            there = self._file.identity(file)
            check_identity(self.name, there, self._identity, is_resumed=is_resumed)

    async def exchange(self, request: Request) -> Answer:
        return await self._file.in_time(self._exchange, request)

    def _exchange(self, request: Request) -> Answer:
        with self._file.transaction() as file:
            if sqlite_tables.has_lease(file, request.owner, time()):
                return self._exchanged(file, request)
        # The lease was over: meanwhile, a crawl alone may have the file, or has had it.
        with self._file.lock(again=True), self._file.transaction() as file:
            self._check_identity(file)
            return self._exchanged(file, request)

    def _exchanged(self, file: sqlite3.Connection, request: Request) -> Answer:
        now = time()
        try:
            answer = sqlite_tables.exchange(file, request, now, now + self.lease)
        except sqlite_tables.LateError as error:
            raise LedgerError(f"{self.name}: {error}") from error
        self._entries_to_prune += len(request.commits) + len(request.releases) + len(answer.made)
        if self._entries_to_prune > _ENTRIES_BETWEEN_PRUNES:
            self._entries_to_prune = 0
            sqlite_tables.prune(file, now)
        return answer

    async def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> float:
        return await self._file.in_time(self._expire, claims)

    def _expire(self, claims: Sequence[tuple[int, bytes, int]]) -> float:
        with self._file.transaction() as file:
            return sqlite_tables.expire(file, claims, time())

    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        await self._file.run(self._leave, owner, reason, report, texts)

    def _leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        with self._file.transaction() as file:
            now = time()
            sqlite_tables.leave(file, owner, reason, report, texts, now)
            sqlite_tables.prune(file, now)
            is_last = not sqlite_tables.somebody_shares(file, now)
        if is_last:
            with suppress(sqlite3.Error):  # whoever opens the file next does it
                file.execute("PRAGMA wal_checkpoint")

    async def close(self) -> None:
        await self._file.close()

    # Reading.

    def snapshot(self, since: float = 0.0) -> AsyncIterator[list[Entry]]:
        return self._file.pieces(sqlite_tables.snapshot, since)

    async def entries(self, after: int) -> list[Entry]:
        return await self._file.read(sqlite_tables.entries_after, after)

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return await self._file.read(sqlite_tables.pages, list(numbers))

    async def crawls(self) -> list[CrawlRow]:
        return await self._file.read(sqlite_tables.crawls)

    async def duplicates(self) -> AsyncIterator[tuple[int, DuplicateNote]]:
        async for piece in self._file.pieces(sqlite_tables.duplicates):
            for note in piece:
                yield note

    async def seen_again(self) -> AsyncIterator[tuple[int, float]]:
        async for piece in self._file.pieces(sqlite_tables.seen_again):
            for number, at in piece:
                yield number, at

    async def texts(self) -> AsyncIterator[tuple[str, str | None, str]]:
        async for piece in self._file.pieces(sqlite_tables.texts):
            for text in piece:
                yield text
