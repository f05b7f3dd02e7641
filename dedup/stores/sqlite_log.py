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
from contextlib import ExitStack, closing, contextmanager, suppress
from time import time
from typing import Any, TypeVar

from dedup.record import PageRecord
from dedup.stores import sqlite_tables
from dedup.stores.base import StoreDownError, Texts
from dedup.stores.entries import Entry
from dedup.stores.identity import check_identity
from dedup.stores.ledger_file import LedgerError, LedgerFile
from dedup.stores.ledger_lock import lock_to_share
from dedup.stores.log import LEASE, Answer, Found, Joined, Log, Member, Request

_MAY_COME_BACK = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
}

T = TypeVar("T")


class SqliteLog(Log):
    """The ledger file of a crawl alone, for several processes of one machine.

    Pages that are stored are where a crawl alone has them, so that crawls alone and fleets take
    turns with a file. As long as the log is open, a lock bars crawls alone.

    All SQL runs in one thread of its own, step by step, and finds the same file each time.
    """

    def __init__(self, path: str | os.PathLike[str], *, lease: float = LEASE) -> None:
        """Create it without opening the file *path*; raises LedgerError for a broken link."""
        self._file = LedgerFile(path)
        super().__init__(str(self._file.path), lease=lease)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dedup-ledger")
        self._is_closed = False
        self._closing = ExitStack()
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None
        # What is being read piece by piece.
        self._readings: set[Generator[Any, None, None]] = set()
        self._identity: dict[str, Any] | None = None

    # Taking part.

    async def open(self) -> Found | None:
        return await self._run(self._open)

    def _open(self) -> Found | None:
        if self._is_nowhere:
            return None
        with self._errors():
            file = self._connected()
            return Found(self._file.identity(file), sqlite_tables.somebody_shares(file, time()))

    async def join(self, member: Member, identity: Mapping[str, Any], *, reset: bool) -> Joined:
        return await self._run(self._join, member, identity, reset)

    def _join(self, member: Member, identity: Mapping[str, Any], reset: bool) -> Joined:
        self._identity = json.loads(json.dumps(identity, default=str))
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
            self._check_identity(file)  # another process may have reset it, while this one slept
            now = time()
            return sqlite_tables.exchange(file, request, now, now + self.lease)

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
            sqlite_tables.leave(file, owner, reason, report, texts, time())

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            closing = self._thread.submit(self._close)
            self._thread.shutdown(wait=False)
            # Whoever does not wait for it any longer does not keep it from being closed.
            await asyncio.shield(asyncio.wrap_future(closing))

    def _close(self) -> None:
        while self._readings:
            self._readings.pop().close()
        self._closing.close()

    # Reading.

    async def snapshot(self, since: float = 0.0) -> AsyncIterator[list[Entry]]:
        pieces = self._snapshot(since)
        self._readings.add(pieces)
        try:
            while (piece := await self._run(next, pieces, None)) is not None:
                yield piece
        finally:
            if not self._is_closed:  # else it is closed with the file
                await self._run(pieces.close)
                self._readings.discard(pieces)

    def _snapshot(self, since: float) -> Generator[list[Entry], None, None]:
        with self._errors():
            if not self._is_nowhere:
                self._connected()  # which sees whether the file is still the same
                with closing(self._file.read_only()) as file:
                    yield from sqlite_tables.snapshot(file, since)

    async def entries(self, after: int) -> list[Entry]:
        return await self._run(self._read, sqlite_tables.entries_after, after) or []

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return await self._run(self._read, sqlite_tables.pages, list(numbers)) or {}

    def _read(self, query: Callable[..., T], *arguments: Any) -> T | None:
        """Return what a *query* finds, ``None`` if there is no file yet."""
        if self._is_nowhere:
            return None
        with self._transaction("BEGIN") as file:
            return query(file, *arguments)

    # The thread, and the file.

    async def _run(self, step: Callable[..., T], *arguments: Any) -> T:
        """Return what *step* does, in the thread.

        A lock of others is given up after a while; a whole ledger takes the time that it needs.
        """
        if self._is_closed:
            raise LedgerError(f"{self.name} is not used any more: it was closed")
        return await asyncio.wrap_future(self._thread.submit(step, *arguments))

    @property
    def _is_nowhere(self) -> bool:
        """Whether nobody has made the file yet."""
        return self._inode is None and not self._file.path.exists()

    def _connected(self) -> sqlite3.Connection:
        """Return the connection to the file.

        Raises LedgerError if it cannot be used, or is another one than before.
        """
        if self._connection is None:
            with ExitStack() as closing_on_failure:
                closing_on_failure.enter_context(lock_to_share(self._file, self._identity))
                connection = closing_on_failure.enter_context(closing(self._file.connect()))
                self._closing = closing_on_failure.pop_all()
            connection.isolation_level = None
            self._connection = connection
        try:
            status = self._file.path.stat()
        except OSError as error:
            raise self._moved_error() from error
        inode = status.st_dev, status.st_ino
        self._inode = self._inode or inode
        if self._inode != inode:
            raise self._moved_error()
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
