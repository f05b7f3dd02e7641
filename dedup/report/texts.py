"""The main texts of some pages, for the differences that the report shows."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import xxhash

from dedup.limits import LONGEST_TEXT, shorten
from dedup.logs import get_logger
from dedup.page import Page
from dedup.rule import Kind, Verdict
from dedup.text import from_utf8, to_utf8

logger = get_logger(__name__)

_MOST_COPIES = 10


def priority(key: str) -> int:
    """Return 64 bits that are as good as random, and equal in every crawl."""
    return xxhash.xxh3_64_intdigest(to_utf8(key))


class TextStore:
    """Keeps the texts of up to *limit* pages on disk: those that are most likely to be shown.

    The differences of a near-duplicate need the text of its original too, and nobody knows of a
    page that comes whether it will have copies. So every page that is new, or was stored by an
    earlier crawl, is kept while there is room, and then an even sample of them, by the hash of the
    URL. Once its first copy comes, an original stays, and up to 10 copies with it, in the place of
    pages without copies. These keep a quarter of the room, for the near misses.

    Texts are cut after 40,000 characters, titles after 1,000. They are in a private temporary file
    of SQLite, which the process deletes; SQLITE_TMPDIR or TMPDIR says where. If it cannot be
    written, no more texts are kept, and `lost` counts the pages from then on; nothing is raised.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self.lost = 0
        # How many are originals with copies, and their copies.
        self._staying = 0

    @cached_property
    def _database(self) -> sqlite3.Connection:
        # Another thread may read all texts, once no more come.
        database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # Without a journal, a text for which the disk is too full would damage the others.
        database.execute("PRAGMA journal_mode = MEMORY")
        # What stays has no priority.
        database.execute(
            "CREATE TABLE texts (url BLOB PRIMARY KEY, priority INTEGER, copies INTEGER, "
            "title TEXT, text BLOB)"
        )
        database.execute("CREATE INDEX by_priority ON texts (priority)")
        return database

    def record(self, verdict: Verdict, url: str, page: Page) -> None:
        """Keep the text of *page* at *url*, if it is likely enough to be shown."""
        text, title = page.text, page.title
        if not text or not self._limit or verdict.kind is Kind.EXACT:
            return
        if self.lost:
            self.lost += 1
            return
        with self._warn_of_failure():
            if url in self:  # items may share a URL: the first one is kept
                return
            if verdict.kind in (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED):
                self._record_new(url, title, text)
            elif verdict.kind is Kind.NEAR and verdict.original is not None:
                self._record_copy(verdict.original, url, title, text)

    def _record_new(self, url: str, title: str | None, text: str) -> None:
        own = priority(url) >> 1  # SQLite has 63 bits
        if self._count >= self._limit:
            [highest] = self._database.execute("SELECT max(priority) FROM texts").fetchone()
            if highest is None or highest <= own:
                return
        self._put(url, own, title, text)

    def _record_copy(self, original: str, url: str, title: str | None, text: str) -> None:
        row = self._row("copies, priority", original)
        if row is None or row[0] >= _MOST_COPIES:
            return
        self._staying += row[1] is not None
        self._database.execute(
            "UPDATE texts SET priority = NULL WHERE url = ?", (to_utf8(original),)
        )
        if self._count >= self._limit and self._count - self._staying <= self._limit // 4:
            return
        self._put(url, None, title, text)
        self._staying += 1
        self._database.execute(
            "UPDATE texts SET copies = copies + 1 WHERE url = ?", (to_utf8(original),)
        )

    def _put(self, url: str, own: int | None, title: str | None, text: str) -> None:
        """Add a text with its *own* priority, in the place of that with the highest if need be."""
        if self._count >= self._limit:
            self._database.execute(
                "DELETE FROM texts WHERE url = (SELECT url FROM texts "
                "WHERE priority IS NOT NULL ORDER BY priority DESC LIMIT 1)"
            )
            self._count -= 1
        compressed = zlib.compress(to_utf8(text[:LONGEST_TEXT]))
        row = to_utf8(url), own, to_utf8(shorten(title)) if title else None, compressed
        self._database.execute("INSERT INTO texts VALUES (?, ?, 0, ?, ?)", row)
        self._count += 1

    def text(self, url: str) -> tuple[str | None, str] | None:
        """Return title and text of the page at *url*, ``None`` if it was not kept."""
        with self._warn_of_failure():
            if row := self._row("title, text", url):
                return _read(*row)
        return None

    def __iter__(self) -> Iterator[tuple[str, str | None, str]]:
        if not self._count:
            return
        with self._warn_of_failure():
            for url, *row in self._database.execute("SELECT url, title, text FROM texts"):
                yield from_utf8(url), *_read(*row)

    def _row(self, columns: str, url: str) -> Any:
        if not self._count:  # most crawls keep no texts, and need no database
            return None
        query = f"SELECT {columns} FROM texts WHERE url = ?"
        return self._database.execute(query, (to_utf8(url),)).fetchone()

    @contextmanager
    def _warn_of_failure(self) -> Iterator[None]:
        """Warn of a disk that fails within the block, and begin to count what is lost."""
        try:
            yield
        except (sqlite3.Error, zlib.error) as error:
            if not self.lost:
                logger.warning(
                    "Texts for the report cannot be kept (%s): no more are, and differences will "
                    "be missing. They go to a temporary file (SQLITE_TMPDIR, TMPDIR)", error,
                )  # fmt: skip
                self.lost = 1

    def __contains__(self, url: str) -> bool:
        return self._row("1", url) is not None

    def __len__(self) -> int:
        return self._count

    def close(self) -> None:
        if "_database" in vars(self):
            self._database.close()


def _read(title: bytes | None, text: bytes) -> tuple[str | None, str]:
    return from_utf8(title) if title else None, from_utf8(zlib.decompress(text))
