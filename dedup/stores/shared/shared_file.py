"""The file of a ledger that several processes share: steps of SQL, in a thread of their own."""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

from dedup.ledger_lock import lock_to_share
from dedup.sqlite_file import LedgerError, LedgerInUseError, SqliteFile
from dedup.stores.base import StoreDownError
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

T = TypeVar("T")


class SharedFile:
    """Runs steps in one thread, one after the other; what they find has to be the same file."""

    def __init__(self, path: str | os.PathLike[str], timeout: float, *, fsync: bool) -> None:
        """Create it without opening the file *path*.

        *timeout*: how long steps may take that are done `in_time`, in seconds. Raises LedgerError
        for a broken link.
        """
        self._file = SqliteFile(path, KIND)
        self.name = str(self._file.path)
        self._timeout = timeout
        self._fsync = fsync
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="dedup-ledger")
        self._is_closed = False
        # What is being read piece by piece.
        self._readings: set[Generator[Any, None, None]] = set()
        self._connection: sqlite3.Connection | None = None
        self._place: tuple[int, int] | None = None

    async def run(self, step: Callable[..., T], *arguments: Any) -> T:
        """Return what *step* does, in the thread, however long that takes.

        Raises LedgerError once the file is closed; what follows is for such steps.
        """
        if self._is_closed:
            raise LedgerError(f"{self.name} is not used any more: it was closed")
        return await asyncio.wrap_future(self._thread.submit(step, *arguments))

    async def in_time(self, step: Callable[..., T], *arguments: Any) -> T:
        """Return what *step* does, for which pages wait, so that it must be short.

        Raises StoreDownError if that takes too long: then it is done later, or not at all.
        """
        try:
            async with asyncio.timeout(self._timeout):
                return await self.run(step, *arguments)
        except TimeoutError:
            raise StoreDownError(
                f"{self.name} did not answer within {self._timeout:g} seconds"
            ) from None

    async def close(self) -> None:
        """Close the file, and what reads it, and end the thread, once what was begun is done."""
        if not self._is_closed:
            self._is_closed = True
            closing = self._thread.submit(self._close)
            self._thread.shutdown(wait=False)
            # Whoever does not wait for it any longer does not keep it from being closed.
            await asyncio.shield(asyncio.wrap_future(closing))

    def _close(self) -> None:
        while self._readings:
            self._readings.pop().close()
        if self._connection is not None:
            self._connection.close()
            self._connection = self._place = None

    # Reading.

    async def read(self, query: Callable[..., T], *arguments: Any) -> T:
        """Return what one *query* or several find in time, in one state of the file."""
        return await self.in_time(self._read, query, *arguments)

    def _read(self, query: Callable[..., T], *arguments: Any) -> T:
        with self.errors():
            if self.is_nowhere:
                with closing(self._empty()) as file:
                    return query(file, *arguments)
            with self.transaction("BEGIN") as file:
                return query(file, *arguments)

    async def pieces(self, query: Callable[..., Iterator[T]], *arguments: Any) -> AsyncIterator[T]:
        """Yield what *query* does, all of one state of the file, while others write it."""
        pieces = self._read_piecewise(query, *arguments)
        self._readings.add(pieces)
        try:
            while (piece := await self.run(next, pieces, None)) is not None:
                yield piece
        finally:
            if not self._is_closed:  # else it is closed with the file
                await self.run(self._end_reading, pieces)

    def _end_reading(self, pieces: Generator[Any, None, None]) -> None:
        pieces.close()
        self._readings.discard(pieces)

    def _read_piecewise(
        self, query: Callable[..., Iterator[T]], *arguments: Any
    ) -> Generator[T, None, None]:
        with self.errors():
            if not self.is_nowhere:
                self.connected()  # which sees whether the file is still the same
            file = self._empty() if self.is_nowhere else self._file.read_only()
            with closing(file):
                yield from query(file, *arguments)

    def _empty(self) -> sqlite3.Connection:
        """Return a connection to what a new file would be, in memory."""
        file = sqlite3.connect(":memory:", check_same_thread=False)
        self._file.lay_out(file, {})
        return file

    # The file.

    @property
    def is_nowhere(self) -> bool:
        """Whether nobody has made the file yet."""
        return self._place is None and not self._file.path.exists()

    def make(self, identity: Mapping[str, Any]) -> None:
        """Make the file if it was never there; the caller must hold the lock."""
        if self._connection is None:
            self._file.make(identity)

    def identity(self, file: sqlite3.Connection) -> dict[str, Any]:
        """Return the settings that the ledger was made with."""
        return self._file.identity(file)

    @contextmanager
    def lock(self, *, again: bool = False) -> Iterator[None]:
        """Hold the lock to begin to share the file; *again*: a crawl alone may have it for a while.

        Raises LedgerInUseError, or StoreDownError in its place.
        """
        try:
            with lock_to_share(self._file):
                yield
        except LedgerInUseError as error:
            raise StoreDownError(str(error)) if again else error from error

    def connected(self) -> sqlite3.Connection:
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
    def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
        """Have what the block writes happen wholly or not at all, and nothing meanwhile.

        *begin*: if it only reads, ``"BEGIN"`` will do.
        """
        with self.errors():
            file = self.connected()
            file.execute(begin)
            try:
                yield file
                file.execute("COMMIT")
            finally:
                if file.in_transaction:
                    with suppress(sqlite3.Error):  # what has failed is told already
                        file.execute("ROLLBACK")

    @contextmanager
    def errors(self) -> Iterator[None]:
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
