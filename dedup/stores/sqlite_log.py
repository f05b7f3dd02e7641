"""The ledger as a log: one SQLite file, which the processes of a machine share."""

import asyncio
import json
import os
import sqlite3
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial, wraps
from time import time
from typing import Any, Concatenate, ParamSpec, TypeVar

from dedup.record import Claimed, PageRecord, Released
from dedup.stores import sqlite_tables, tables
from dedup.stores.base import Commit, News, StoreDownError, Texts
from dedup.stores.entries import Entry
from dedup.stores.identity import check_identity
from dedup.stores.ledger_file import LedgerError, LedgerFile, lock_to_share
from dedup.stores.log import LEASE, Answer, Found, Joined, Log, Request
from dedup.text import writable

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
P = ParamSpec("P")


def _in_thread(
    step: Callable[Concatenate["SqliteLog", P], T],
) -> Callable[Concatenate["SqliteLog", P], Coroutine[Any, Any, T]]:
    """Have a method be one step in the thread of its log.

    A lock of others is given up after a while; a whole ledger takes the time that it needs.
    """

    @wraps(step)
    async def run(self: "SqliteLog", /, *arguments: P.args, **options: P.kwargs) -> T:
        return await self._run(partial(step, self, *arguments, **options))

    return run


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
        self._identity: dict[str, Any] | None = None

    # Taking part.

    @_in_thread
    def open(self) -> Found | None:
        if self._is_nowhere:
            return None
        with self._errors():
            file = self._connected()
            is_in_use = bool(sqlite_tables.runs_under_way(file, time()))
            return Found(self._file.identity(file), is_in_use)

    @_in_thread
    def join(
        self, owner: bytes, spider: str, job: str | None, identity: Mapping[str, Any], reset: bool
    ) -> Joined:
        self._identity = json.loads(json.dumps(identity, default=str))
        job = job and writable(job)
        with self._transaction() as file:
            now = time()
            resumed = tables.unfinished_crawl(file, job)
            runs = sqlite_tables.runs_under_way(file, now)
            is_reset = reset and not resumed and not runs
            if is_reset:
                tables.clear(file)
                tables.set_identity(file, self._identity)
            last = sqlite_tables.last_position(file)
            if resumed:
                _, run, position = resumed
            else:
                run, position = next(filter(None, runs), 0) or tables.new_run(file), last
            before, turn = sqlite_tables.crawl_and_turn(file, owner)
            # If the answer to an earlier request did not come, this one takes its place.
            crawl = tables.insert_crawl(
                file, spider, job, run=run, position=position, started=now, number=before
            )
            row = owner, crawl, now + self.lease, turn, last
            file.execute("REPLACE INTO owners VALUES (?, ?, ?, ?, ?)", row)
            self._check_identity(file, is_resumed=resumed is not None)
            return Joined(run, resumed is not None, is_reset, position)

    def _check_identity(self, file: sqlite3.Connection, *, is_resumed: bool = False) -> None:
        if self._identity is not None:
            there = self._file.identity(file)
            check_identity(self.name, there, self._identity, is_resumed=is_resumed)

    @_in_thread
    def exchange(self, request: Request) -> Answer:
        owner, run = request.owner, request.run
        with self._transaction() as file:
            self._check_identity(file)  # another process may have reset it, while this one slept
            now = time()
            crawl, turn = sqlite_tables.crawl_and_turn(file, owner)
            if request.turn <= turn:
                raise LedgerError(f"request {request.turn} came after request {turn}")
            row = owner, crawl, now + self.lease, request.turn, request.seen
            file.execute("REPLACE INTO owners VALUES (?, ?, ?, ?, ?)", row)
            if crawl is None:  # what it took part in is forgotten, and it goes on
                query = "SELECT min(id) FROM crawls WHERE run = ?"
                crawl = tables.value(file, query, run) or run
            entries: list[Entry] = []
            stored: dict[int, Commit] = {}
            lost: list[int] = []
            ended = [event.number for _, event in request.commits]
            ended += [number for number, _ in request.releases]
            condition = f"id IN {tables.LISTED} AND owner = ?"
            own = sqlite_tables.claims(file, condition, json.dumps(ended), owner)
            claims = {(claim.position, claim.serial): claim for claim in own}
            for serial, event in request.commits:
                claim = claims.pop((event.number, serial), None)
                if claim is None:
                    lost.append(serial)
                    continue
                stored[event.number] = Commit(Claimed(claim.record, event.number), event, now)
                entries.append(sqlite_tables.end(claim, now, event))
            for name in request.releases:
                if claim := claims.pop(name, None):
                    entries.append(sqlite_tables.end(claim, now, Released(claim.position)))
            duplicates = {(note.number, note.key): note for note in request.duplicates}
            tables.insert_news(file, News(stored, duplicates, {**request.seen_again}), crawl)
            entries += (Entry(0, owner, n, run, now, claimed) for n, claimed in request.claims)
            end = sqlite_tables.append(file, entries)
            if end % sqlite_tables.EVENTS_BETWEEN_PRUNES < len(entries):
                sqlite_tables.prune(file, now)
            made = list(range(end - len(request.claims), end))
            return Answer(sqlite_tables.entries_from(file, request.seen), made, lost)

    @_in_thread
    def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> None:
        with self._transaction() as file:
            now = time()
            for number, owner, serial in claims:
                condition = (
                    "id = ? AND owner = ? AND serial = ? AND NOT EXISTS "
                    "(SELECT 1 FROM owners WHERE owner = claims.owner AND lease > ?)"
                )
                left = sqlite_tables.claims(file, condition, number, owner, serial, now)
                sqlite_tables.release(file, left, now)

    @_in_thread
    def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        with self._transaction() as file:
            now = time()
            own = sqlite_tables.claims(file, "owner = ?", owner)
            sqlite_tables.release(file, own, now)
            file.execute("UPDATE owners SET lease = 0 WHERE owner = ?", (owner,))
            crawl, _ = sqlite_tables.crawl_and_turn(file, owner)
            if crawl is not None:  # else what it took part in is forgotten
                tables.note_end(file, crawl, reason, report, now)
            tables.insert_texts(file, texts)

    async def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            closing = self._thread.submit(self._closing.close)
            self._thread.shutdown(wait=False)
            # Whoever does not wait for it any longer does not keep it from being closed.
            await asyncio.shield(asyncio.wrap_future(closing))

    # Reading.

    async def snapshot(self) -> AsyncGenerator[list[Entry], None]:
        if (file := await self._open_to_read()) is not None:
            pieces = self._snapshot(file)
            while (piece := await self._run(next, pieces, None)) is not None:
                yield piece

    @_in_thread
    def _open_to_read(self) -> sqlite3.Connection | None:
        if self._is_nowhere:
            return None
        with self._errors():
            self._connected()  # which sees whether the file is still the same
            # Whoever reads no further leaves it to the end of the log.
            return self._closing.enter_context(closing(self._file.read_only()))

    def _snapshot(self, file: sqlite3.Connection) -> Iterator[list[Entry]]:
        with self._errors(), closing(file):
            yield from sqlite_tables.snapshot(file)

    @_in_thread
    def entries(self, after: int) -> list[Entry]:
        with self._transaction("BEGIN") as file:
            return sqlite_tables.entries_after(file, after)

    @_in_thread
    def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        with self._transaction("BEGIN") as file:
            return sqlite_tables.pages(file, list(numbers))

    # The thread, and the file.

    async def _run(self, step: Callable[..., T], *arguments: Any) -> T:
        """Return what *step* does, in the thread."""
        if self._is_closed:
            raise LedgerError(f"{self.name} is not used any more: it was closed")
        return await asyncio.wrap_future(self._thread.submit(step, *arguments))

    @property
    def _is_nowhere(self) -> bool:
        """Whether nobody has made the file yet."""
        return self._connection is None and not self._file.path.exists()

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
        self._file.check_place()
        return self._connection

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
                raise self._file.moved_error() from error
            if code & 0xFF in _MAY_COME_BACK:
                raise StoreDownError(str(error)) from error
            raise
