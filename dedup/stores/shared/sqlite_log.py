"""The ledger as a log: one SQLite file, which the processes of a machine share."""

import asyncio
import json
import os
import sqlite3
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from time import time
from typing import Any, TypeVar

from dedup.record import PageRecord
from dedup.sqlite_file import LedgerError, LedgerInUseError, SqliteFile
from dedup.stores.base import DuplicateNote, StoreDownError, Texts
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
from dedup.stores.sqlite import KIND

_MAY_COME_BACK = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}
_ENTRIES_BETWEEN_PRUNES = 1_000

T = TypeVar("T")


class SqliteLog(Log):
    """The ledger file of a crawl alone, for several processes of one machine.

    Pages that are stored are where a crawl alone has them, so that crawls alone and fleets take
    turns with a file. The lock of a crawl alone is held for moments only: when a process begins to
    take part, and when it goes on after its lease was over. Meanwhile, its lease bars crawls alone.

    All SQL runs in one thread of its own, step by step.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, fsync: bool = False, lease: float = LEASE
    ) -> None:
        """Create it without opening the file *path*.

        *fsync*: what is written shall survive a power failure, too; else it survives the death of
        processes. Raises LedgerError for a broken link.
        """
        self._file = SqliteFile(path, KIND)
        super().__init__(str(self._file.path), lease=lease)
        self._fsync = fsync
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None
        self._identity: dict[str, Any] | None = None
        self._entries_to_prune = 0

    # Taking part.

    async def open(self) -> Found | None:
        return await self._run(self._open)

    def _open(self) -> Found | None:
        if self._is_nowhere:
            return None
        with self._file.lock_to_share(), self._errors():
            file = self._connected()
            return Found(self._file.identity(file), sqlite_tables.somebody_shares(file, time()))

    async def join(self, member: Member, identity: Mapping[str, Any], *, reset: bool) -> Joined:
        return await self._run(self._join, member, identity, reset)

    def _join(self, member: Member, identity: Mapping[str, Any], reset: bool) -> Joined:
        self._identity = json.loads(json.dumps(identity, default=str))
        with self._file.lock_to_share():
            if self._connection is None:
                self._file.make(self._identity)
            with self._transaction() as file:
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
        return await self._run(self._exchange, request)

    def _exchange(self, request: Request) -> Answer:
        with self._transaction() as file:
            if sqlite_tables.has_lease(file, request.owner, time()):
                return self._exchanged(file, request)
        # The lease was over: meanwhile, a crawl alone may have the file, or has had it.
        with self._lock_again(), self._transaction() as file:
            self._check_identity(file)
            return self._exchanged(file, request)

    @contextmanager
    def _lock_again(self) -> Iterator[None]:
        try:
            with self._file.lock_to_share():
                yield
        except LedgerInUseError as error:
            raise StoreDownError(str(error)) from error

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
        return await self._run(self._expire, claims)

    def _expire(self, claims: Sequence[tuple[int, bytes, int]]) -> float:
        with self._transaction() as file:
            return sqlite_tables.expire(file, claims, time())

    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        await self._run(self._leave, owner, reason, report, texts)

    def _leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        with self._transaction() as file:
            now = time()
            sqlite_tables.leave(file, owner, reason, report, texts, now)
            sqlite_tables.prune(file, now)
            is_last = not sqlite_tables.somebody_shares(file, now)
        if is_last:
            with suppress(sqlite3.Error):  # whoever opens the file next does it
                file.execute("PRAGMA wal_checkpoint")

    async def close(self) -> None:
        if self._thread is not None:
            await self._run(self._close)
            self._thread.shutdown(wait=False)
            self._thread = None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = self._place = None

    # Reading.

    def snapshot(self, since: float = 0.0) -> AsyncIterator[list[Entry]]:
        return self._pieces(sqlite_tables.snapshot, since)

    async def entries(self, after: int) -> list[Entry]:
        return await self._run(self._read, sqlite_tables.entries_after, after)

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return await self._run(self._read, sqlite_tables.pages, list(numbers))

    async def crawls(self) -> list[CrawlRow]:
        return await self._run(self._read, sqlite_tables.crawls)

    async def duplicates(self) -> AsyncIterator[tuple[int, DuplicateNote]]:
        async for piece in self._pieces(sqlite_tables.duplicates):
            for note in piece:
                yield note

    async def seen_again(self) -> dict[int, float]:
        return await self._run(self._read, sqlite_tables.seen_again)

    async def texts(self) -> AsyncIterator[tuple[str, str | None, str]]:
        async for piece in self._pieces(sqlite_tables.texts):
            for text in piece:
                yield text

    def _read(self, query: Callable[..., T], *arguments: Any) -> T:
        """Return what one *query* or several find, in one state of the file."""
        with self._errors():
            if self._is_nowhere:
                with closing(self._empty()) as file:
                    return query(file, *arguments)
            with self._transaction("BEGIN") as file:
                return query(file, *arguments)

    async def _pieces(self, query: Callable[..., Iterator[T]], *arguments: Any) -> AsyncIterator[T]:
        """Yield what *query* does, all of one state of the file, while others write it."""
        pieces = self._read_piecewise(query, *arguments)
        try:
            while (piece := await self._run(next, pieces, None)) is not None:
                yield piece
        finally:
            await self._run(pieces.close)

    def _read_piecewise(
        self, query: Callable[..., Iterator[T]], *arguments: Any
    ) -> Generator[T, None, None]:
        with self._errors():
            if not self._is_nowhere:
                self._connected()  # which sees whether the file is still the same
            file = self._empty() if self._is_nowhere else self._file.read_only()
            with closing(file):
                yield from query(file, *arguments)

    # The file, in the thread.

    async def _run(self, step: Callable[..., T], *arguments: Any) -> T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="dedup-ledger")
        return await asyncio.wrap_future(self._thread.submit(step, *arguments))

    @property
    def _is_nowhere(self) -> bool:
        """Whether nobody has made the file yet."""
        return self._place is None and not self._file.path.exists()

    def _empty(self) -> sqlite3.Connection:
        """Return a connection to what a new file would be, in memory."""
        file = sqlite3.connect(":memory:", check_same_thread=False)
        self._file.lay_out(file, {})
        return file

    def _connected(self) -> sqlite3.Connection:
        """Return the connection to the file.

        Raises LedgerError if it cannot be used, or is another one than before.
        """
        try:
            status = self._file.path.stat()
        except OSError as error:
            raise self._moved_error() from error
        place = status.st_dev, status.st_ino
        if self._place not in (None, place):
            raise self._moved_error()
        if self._connection is None:
            self._connection = self._file.connect(fsync=self._fsync)
            self._connection.isolation_level = None
            self._place = place
        return self._connection

    def _moved_error(self) -> LedgerError:
        return LedgerError(f"{self.name} was moved or removed while it was in use")

    @contextmanager
    def _transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Have what the block writes happen wholly or not at all, and nothing meanwhile.

        *begin*: if it only reads, ``"BEGIN"`` will do.
        """
        with self._errors():
            file = self._connected()
            file.execute(begin)
            try:
                yield file
                file.execute("COMMIT")
            finally:
                if file.in_transaction:
                    with suppress(sqlite3.Error):  # what has failed is told already
                        file.execute("ROLLBACK")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of SQLite, and those of what it holds, into a LedgerError."""
        try:
            with self._file.errors():
                yield
        except LedgerError as error:
            code = getattr(error.__cause__, "sqlite_errorcode", 0)
            if code == sqlite3.SQLITE_READONLY_DBMOVED:
                raise self._moved_error() from error
            if code & 0xFF in _MAY_COME_BACK:
                raise StoreDownError(str(error)) from error
            raise
