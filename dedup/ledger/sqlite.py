"""The ledger in a file: SQLite, readable with any tool, whole after any death of the process."""

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from socket import gethostname
from typing import Any

from dedup.ledger.base import Earlier, Entry, Ledger, StoredPages
from dedup.limits import cut
from dedup.sqlite_file import Kind, LedgerError, SqliteFile, differences

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


@dataclass(slots=True)
class Batch:
    """What was added since the last checkpoint."""

    pages: dict[int, tuple[Entry, float]] = field(default_factory=dict)
    matches: list[tuple[int, str, float, float, str]] = field(default_factory=list)
    seen: dict[int, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.pages or self.matches or self.seen)

    def __iadd__(self, later: "Batch") -> "Batch":
        self.pages.update(later.pages)
        self.matches += later.matches
        self.seen.update(later.seen)
        return self


class SqliteLedger(Ledger):
    """Pages in an SQLite file, for one crawl at a time.

    What is added stands in memory until `write` puts a batch of it into the file, in one
    transaction: the caller says when, since an entry may only outlive the process if the content
    it stands for does. `write` may run in another thread, meanwhile the ledger can be used.
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
        that exists is changed before `begin`.

        Raises LedgerInUseError if another crawl has the file; LedgerError if it is damaged, no
        ledger, was made with another identity (unless it is reset), or cannot be made.
        """
        self._file = SqliteFile(path, KIND)
        self.path = self._file.path
        self._identity = json.loads(json.dumps(identity, default=str))
        self._job = job
        self._next = 0
        self._now = Batch()
        self._in_writing = Batch()
        self._closing = ExitStack()
        self.crawl = 0
        self.resumed = False
        self.has_begun = False
        try:
            self._closing.enter_context(self._file.locked())
            if not self.path.exists():
                self._file.create(self._identity)
            self._inode = self.path.stat().st_ino
            with self._file.errors():
                self._reader = self._closing.enter_context(closing(self._file.connect()))
                self._writer = self._closing.enter_context(closing(self._file.connect(fsync=fsync)))
                self._find_job()
                self._reset = reset and not self.resumed
                if not self._reset:
                    self._check_identity()
                self._expired = 0.0
                if max_age:
                    self._expired = time.time() - max_age * _SECONDS_OF_A_DAY
                last = "SELECT coalesce(max(id), 0) FROM pages"
                self._next = 1 + (0 if self._reset else int(self._value(last)))
                self._sign()
                crawl = self.crawl if self.resumed else -1
                self._has_earlier = not self._reset and bool(
                    self._value("SELECT EXISTS (SELECT 1 FROM pages WHERE crawl <> ?)", crawl)
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
            if self.resumed
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
            self.crawl, self.resumed = last[0], True

    def begin(self, spider: str) -> None:
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
            if self.resumed:
                file.execute(
                    "UPDATE crawls SET finished = NULL, reason = NULL WHERE id = ?", (self.crawl,)
                )
            else:
                added = file.execute(
                    "INSERT INTO crawls (spider, job, started) VALUES (?, ?, ?)",
                    (_text(cut(spider)), self._job, now),
                )
                self.crawl = added.lastrowid or 0
        self.has_begun = True

    @property
    def last(self) -> int:
        """The highest number of a page so far; 0 if there is none."""
        return self._next - 1

    def stored(self) -> Iterator[StoredPages]:
        if not self._reset:
            with self._file.errors():
                yield from stored_pages(self._reader, self._expired)

    def damaged(self, error: Exception) -> LedgerError:
        """Return the error that says that the file is damaged, and what to do."""
        return self._file.damaged(error)

    def add(self, entry: Entry) -> int:
        number = self._next
        self._next += 1
        self._now.pages[number] = entry, time.time()
        return number

    def url(self, number: int) -> str:
        for batch in (self._now, self._in_writing):
            if number in batch.pages:
                return batch.pages[number][0].url
        return str(self._value("SELECT url FROM pages WHERE id = ?", number))

    def earlier(self, url: str) -> list[Earlier]:
        if not self._has_earlier:
            return []
        rows = self._reader.execute(
            f"SELECT id, digest, sketch FROM pages WHERE {_COUNTS} AND url = ? AND crawl <> ?",
            (self._expired, _text(url), self.crawl),
        )
        return [Earlier(*row) for row in rows]

    def add_match(self, url: str, number: int, kind: str, distance: float) -> None:
        # Whatever kind of number a method gives: SQLite takes few.
        self._now.matches.append((number, kind, float(distance), time.time(), url))

    def seen_again(self, number: int) -> None:
        self._now.seen[number] = time.time()

    def take(self) -> Batch:
        """Return what was added since the last time, for `write`; then tell what came of it."""
        assert not self._in_writing
        self._in_writing, self._now = self._now, Batch()
        return self._in_writing

    def write(self, batch: Batch) -> None:
        """Put *batch* into the file; it is there wholly or not at all.

        Raises LedgerError or sqlite3.Error if the file cannot be written.
        """
        if not self.path.exists() or self.path.stat().st_ino != self._inode:
            raise LedgerError(f"{self.path} was moved or removed while it was in use")
        with self._writer as file:
            file.executemany(
                "INSERT INTO pages (id, crawl, tokens, digest, sketch, scope, stored, seen, url) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self._row(number, *added) for number, added in batch.pages.items()),
            )
            file.executemany(
                "UPDATE pages SET ended = ?, replaced_by = ? WHERE id = ?",
                (
                    (at, number, replaced)
                    for number, (entry, at) in batch.pages.items()
                    for replaced in entry.replaces
                ),
            )
            file.executemany(
                "INSERT INTO matches (page, kind, distance, found, url, crawl) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET kind = excluded.kind, "
                "distance = excluded.distance, found = excluded.found, crawl = excluded.crawl",
                ((*match, _text(url), self.crawl) for *match, url in batch.matches),
            )
            file.executemany(
                "UPDATE pages SET seen = ? WHERE id = ?",
                ((at, number) for number, at in batch.seen.items()),
            )

    def _row(self, number: int, entry: Entry, at: float) -> tuple[Any, ...]:
        content = entry.tokens, entry.digest, entry.sketch
        return number, self.crawl, *content, _text(entry.scope), at, at, _text(entry.url)

    def end_writing(self, *, written: bool) -> None:
        """Forget the batch in writing, which is in the file; or take it back, for the next time."""
        batch, self._in_writing = self._in_writing, Batch()
        if not written:
            batch += self._now
            self._now = batch

    @property
    def has_news(self) -> bool:
        """Whether there is anything to write."""
        return self.has_begun and bool(self._now)

    @property
    def unwritten(self) -> int:
        """The number of pages that are not in the file yet."""
        return len(self._now.pages) + len(self._in_writing.pages)

    def finish(
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
                (time.time(), _text(cut(reason)), self.crawl),
            )
        if report is not None:
            text = json.dumps(report, ensure_ascii=True, default=str)
            with self._writer as file:
                file.execute("UPDATE crawls SET report = ? WHERE id = ?", (text, self.crawl))
        rows = (
            (_text(url), title and _text(title), zlib.compress(_text(text).encode()))
            for url, title, text in texts
        )
        with self._writer as file:
            file.executemany("REPLACE INTO texts VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Close and unlock the file. What was not written is forgotten."""
        self._closing.close()

    def _value(self, query: str, *arguments: Any) -> Any:
        row = self._reader.execute(query, arguments).fetchone()
        if row is None:
            raise sqlite3.DatabaseError(f"nothing is there for {query!r} {arguments}")
        return row[0]

    @property
    def nbytes(self) -> int:
        """The memory of what is not in the file yet, estimated."""
        return 500 * self.unwritten + 200 * len(self._now.matches)


_COUNTS = "ended IS NULL AND stored >= ?"


def stored_pages(file: sqlite3.Connection, expired: float = 0.0) -> Iterator[StoredPages]:
    """Yield the pages that count, in pieces; raises sqlite3.DatabaseError for a wrong value."""
    rows = file.execute(
        f"SELECT id, digest, sketch, tokens, scope FROM pages WHERE {_COUNTS} ORDER BY id",
        (expired,),
    )
    while columns := list(zip(*rows.fetchmany(_ROWS_AT_ONCE), strict=True)):
        numbers, digests, sketches, tokens, scopes = map(list, columns)
        if set(map(type, digests)) != {bytes} or set(map(len, digests)) != {16}:
            raise sqlite3.DatabaseError("a digest has not 16 bytes")
        if not set(map(type, sketches)) <= {bytes, type(None)}:
            raise sqlite3.DatabaseError("a sketch is no blob")
        if set(map(type, tokens)) != {int} or set(map(type, scopes)) != {str}:
            raise sqlite3.DatabaseError("a column has values of a wrong type")
        yield StoredPages(numbers, digests, sketches, tokens, scopes)


def _text(value: str) -> str:
    """Return *value* without what SQLite cannot keep: halves of characters."""
    return value.encode("utf-8", "backslashreplace").decode()
