"""The ledger: a store in an SQLite file, which any tool can read."""

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from socket import gethostname
from typing import Any

from dedup.limits import shorten
from dedup.record import Claimed, PageRecord, RecordColumns
from dedup.sqlite_file import Kind, LedgerError, SqliteFile, differences
from dedup.stores.base import News, Store, Stored, StoreState

KIND = Kind(
    name="ledger of scrapy-dedup",
    application_id=0x64656475,  # "dedu"
    version=2,
    schema=Path(__file__).with_name("schema.sql"),
    user="crawl",
    memory="stored",
    remedy="use another file (DEDUP_INDEX)",
)
OTHERS = ("extractor", "item_field", "scope")
"""The parts of an identity that are none of the method's."""
_ROWS_AT_ONCE = 10_000
_SECONDS_OF_A_DAY = 86400.0


class SqliteStore(Store):
    """Pages in an SQLite file, for one crawl at a time.

    News are written by `exchange`, in one transaction: the caller says when, since a page may only
    count as stored if its content outlives the process, too. An exchange of news alone may run in
    another thread; the store can be used meanwhile.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: Mapping[str, Any],
        *,
        job: str | None = None,
        reset: bool = False,
        max_age: float | None = None,
        fsync: bool = False,
    ) -> None:
        """Open or create the file *path*, and lock it.

        *identity*: what the sketches depend on, an object of JSON. *job*: the name of a crawl that
        can be interrupted; it goes on if its last one has not finished. *reset*: forget all that is
        stored, unless a job goes on. *max_age*: in days, how long an entry counts after its content
        was stored. *fsync*: what is written shall survive a power failure, too. Nothing in a file
        that exists is changed before `join`.

        Raises LedgerInUseError if another crawl has the file; LedgerError if it is damaged, no
        ledger, was made with another identity (unless it is reset), or cannot be made.
        """
        self._file = SqliteFile(path, KIND)
        self.path = self._file.path
        super().__init__(str(self.path))
        self._identity = json.loads(json.dumps(identity, default=str))
        self._job = job
        self._next = 0
        # What was claimed and is neither in the file nor released.
        self._claimed: dict[int, PageRecord] = {}
        self._closing = ExitStack()
        self.run = 0
        self.is_resumed = False
        try:
            self._closing.enter_context(self._file.lock())
            if not self.path.exists():
                self._file.create(self._identity)
            self._inode = self.path.stat().st_ino
            with self._file.errors():
                self._reader = self._closing.enter_context(closing(self._file.connect()))
                self._writer = self._closing.enter_context(closing(self._file.connect(fsync=fsync)))
                self._find_job()
                self._reset = reset and not self.is_resumed
                if not self._reset:
                    self._check_identity()
                self._expired = 0.0
                if max_age:
                    self._expired = time.time() - max_age * _SECONDS_OF_A_DAY
                last = "SELECT coalesce(max(id), 0) FROM pages"
                self._next = 1 + (0 if self._reset else int(self._value(last)))
                self._sign()
                run = self.run if self.is_resumed else -1
                self._has_earlier = not self._reset and bool(
                    self._value("SELECT EXISTS (SELECT 1 FROM pages WHERE crawl <> ?)", run)
                )
        except BaseException:
            self.close()
            raise

    def _check_identity(self) -> None:
        stored = self._file.identity(self._reader)
        if stored == self._identity:
            return
        names = sorted({*stored, *self._identity})
        if stored.get("method") != self._identity.get("method"):  # its arguments are others anyway
            names = [name for name in names if name in ("method", "secret", *OTHERS)]
        told = "; ".join(differences(stored, self._identity, names))
        ways = (
            "Its job goes on: use the settings that it began with, or remove its JOBDIR"
            if self.is_resumed
            else "Use another file (DEDUP_INDEX), start afresh (DEDUP_RESET), or convert it (dedup "
            "reindex)"
        )
        raise LedgerError(f"{self.path} was made with other settings: {told}. {ways}")

    def _sign(self) -> None:
        """Write down who uses the file, for others that want to."""
        user = {"process": os.getpid(), "host": gethostname()}
        with self._writer as file:
            file.execute("REPLACE INTO about VALUES ('used by', ?)", (json.dumps(user),))

    def _find_job(self) -> None:
        if self._job is None:
            return
        last = self._reader.execute(
            "SELECT id, reason FROM crawls WHERE job = ? ORDER BY id DESC LIMIT 1", (self._job,)
        ).fetchone()
        if last and last[1] != "finished":
            self.run, self.is_resumed = last[0], True

    async def join(self, spider: str) -> None:
        """Begin a crawl, or go on with the job's: from here on the file is changed.

        Raises LedgerError if it cannot be written.
        """
        now = time.time()
        with self._file.errors(), self._writer as file:
            if self._reset:
                for table in ("matches", "pages", "crawls", "texts"):
                    file.execute(f"DELETE FROM {table}")
                file.execute(
                    "UPDATE about SET value = ? WHERE name = 'identity'",
                    (json.dumps(self._identity),),
                )
            if self._expired:
                file.execute(
                    "UPDATE pages SET ended = ? WHERE ended IS NULL AND stored < ?",
                    (now, self._expired),
                )
            if self.is_resumed:
                file.execute(
                    "UPDATE crawls SET finished = NULL, reason = NULL WHERE id = ?", (self.run,)
                )
            else:
                added = file.execute(
                    "INSERT INTO crawls (spider, job, started) VALUES (?, ?, ?)",
                    (_text(shorten(spider)), self._job, now),
                )
                self.run = added.lastrowid or 0
        self.has_joined = True

    @property
    def last(self) -> int:
        return self._next - 1

    async def since(self, number: int) -> RecordColumns | None:
        if self._reset:
            return None
        with self._file.errors():
            return columns_since(self._reader, number, self._expired)

    def damage_error(self, error: Exception) -> LedgerError:
        return self._file.damage_error(error)

    async def exchange(self, claims: Sequence[Claimed], news: News) -> Sequence[Claimed]:
        if news:
            self._write(news)
        events = []
        for claim in claims:
            events.append(claim._replace(number=self._next))
            self._claimed[self._next] = claim.record
            self._next += 1
        return events

    def release(self, number: int) -> None:
        del self._claimed[number]  # nobody else knows of it

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        return {number: self._claimed.get(number) or self._page(number) for number in numbers}

    def _page(self, number: int) -> PageRecord:
        query = "SELECT url, scope, tokens, digest, sketch FROM pages WHERE id = ?"
        return PageRecord(*self._one(query, number))

    async def earlier(self, key: str) -> list[Stored]:
        if not self._has_earlier:
            return []
        rows = self._reader.execute(
            "SELECT id, url, scope, tokens, digest, sketch FROM pages "
            f"WHERE {_COUNTS} AND url = ? AND crawl <> ?",
            (self._expired, _text(key), self.run),
        )
        return [Stored(number, PageRecord(*values)) for number, *values in rows]

    def end_exchange(self, *, published: bool) -> None:
        if published:
            for number in self._news_under_way.commits:
                del self._claimed[number]
        super().end_exchange(published=published)

    def _write(self, news: News) -> None:
        """Put *news* into the file; they are there wholly or not at all.

        Raises LedgerError or sqlite3.Error if the file cannot be written.
        """
        if not self.path.exists() or self.path.stat().st_ino != self._inode:
            raise LedgerError(f"{self.path} was moved or removed while it was in use")
        with self._writer as file:
            file.executemany(
                "INSERT INTO pages (id, crawl, tokens, digest, sketch, scope, stored, seen, url) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._row(claimed, at) for claimed, at in news.commits.values()),
            )
            file.executemany(
                "UPDATE pages SET ended = ?, replaced_by = ? WHERE id = ?",
                (
                    (at, claimed.number, replaced)
                    for claimed, at in news.commits.values()
                    for replaced in claimed.replaces
                ),
            )
            file.executemany(
                "INSERT INTO matches (page, kind, distance, found, url, crawl) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET kind = excluded.kind, "
                "distance = excluded.distance, found = excluded.found, crawl = excluded.crawl",
                (
                    (note.number, note.kind, note.distance, note.at, _text(note.key), self.run)
                    for note in news.duplicates
                ),
            )
            file.executemany(
                "UPDATE pages SET seen = ? WHERE id = ?",
                ((at, number) for number, at in news.seen.items()),
            )

    def _row(self, claimed: Claimed, at: float) -> tuple[Any, ...]:
        record = claimed.record
        content = record.tokens, record.digest, record.sketch
        return claimed.number, self.run, *content, _text(record.scope), at, at, _text(record.key)

    @property
    def state(self) -> StoreState:
        return StoreState(self.name, self.run, self.is_resumed, self.unpublished)

    async def leave(
        self,
        reason: str,
        report: Mapping[str, Any] | None,
        texts: Iterable[tuple[str, str | None, str]] = (),
    ) -> None:
        """Note how the crawl has ended, and the *texts* of some pages: URL, title, main text.

        Each is there even if what follows it cannot be written. Raises sqlite3.Error for that.
        """
        with self._writer as file:
            file.execute(
                "UPDATE crawls SET finished = ?, reason = ? WHERE id = ?",
                (time.time(), _text(shorten(reason)), self.run),
            )
        if report is not None:
            text = json.dumps(report, ensure_ascii=True, default=str)
            with self._writer as file:
                file.execute("UPDATE crawls SET report = ? WHERE id = ?", (text, self.run))
        rows = (
            (_text(url), title and _text(title), zlib.compress(_text(text).encode()))
            for url, title, text in texts
        )
        with self._writer as file:
            file.executemany("REPLACE INTO texts VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Close and unlock the file. What was not written is forgotten."""
        self._closing.close()

    def _one(self, query: str, *arguments: Any) -> tuple[Any, ...]:
        row = self._reader.execute(query, arguments).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(f"nothing is there for {query!r} {arguments}")
        return row  # type: ignore[no-any-return]

    def _value(self, query: str, *arguments: Any) -> Any:
        return self._one(query, *arguments)[0]

    @property
    def nbytes(self) -> int:
        return 500 * len(self._claimed) + 200 * len(self._news.duplicates)


_COUNTS = "ended IS NULL AND stored >= ?"


def columns_since(
    file: sqlite3.Connection, number: int, expired: float = 0.0
) -> RecordColumns | None:
    """Return the next pages that count, from *number* on; raises sqlite3.DatabaseError.

    That is for a value that cannot be right.
    """
    rows = file.execute(
        f"SELECT id, digest, sketch, tokens, scope FROM pages WHERE {_COUNTS} AND id > ? "
        "ORDER BY id LIMIT ?",
        (expired, number, _ROWS_AT_ONCE),
    ).fetchall()
    if not rows:
        return None
    numbers, digests, sketches, tokens, scopes = map(list, zip(*rows, strict=True))
    if set(map(type, digests)) != {bytes} or set(map(len, digests)) != {16}:
        raise sqlite3.DatabaseError("a digest has not 16 bytes")
    if not set(map(type, sketches)) <= {bytes, type(None)}:
        raise sqlite3.DatabaseError("a sketch is no blob")
    if set(map(type, tokens)) != {int} or set(map(type, scopes)) != {str}:
        raise sqlite3.DatabaseError("a column has values of a wrong type")
    return RecordColumns(numbers, digests, sketches, tokens, scopes)


def _text(value: str) -> str:
    """Return *value* without what SQLite cannot keep: halves of characters."""
    return value.encode("utf-8", "backslashreplace").decode()
