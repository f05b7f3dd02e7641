"""The main texts of some pages, for the differences that the report shows."""

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heapify, heappop, heappush
from typing import Any

from dedup.limits import LONGEST_TEXT, shorten
from dedup.logs import get_logger
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.sample import priority
from dedup.rule import Kind, Verdict

logger = get_logger(__name__)

# As long as half of the room is left, and later.
_MOST_COPIES, _LEAST_COPIES = 20, 3


class TextStore:
    """Keeps the texts of up to *limit* pages on disk, those that are most likely to be shown.

    A near-duplicate shows what it changed only beside its original, of which nobody knows when it
    comes whether it will have any. So every page that is new, or stored since an earlier crawl, is
    kept while there is room, and an even sample
    of them, by the hash of the URL, when there is none. An original whose copy comes stays,
    and some of its copies with it (3, and 20 as long as half of the room is left), in the place of
    pages without; a quarter of the room is left to those, for the near misses.

    Texts are cut after 40,000 characters, titles after 1,000. The file is SQLite's, private and
    gone with the process; it is where SQLITE_TMPDIR or TMPDIR says. If it cannot be written, no
    more texts are kept, and `lost` counts the pages from then on; nothing is raised for that.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._count = 0
        self.lost = 0
        # New pages without copies, the first to go at the top; and originals, with their copies.
        self._loose: list[tuple[int, str]] = []
        self._copies: dict[str, int] = {}
        # All may be read in another thread, once there are no more to come.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # Without a journal, a text that the disk is too full for would spoil the others.
        self._database.execute("PRAGMA journal_mode = MEMORY")
        self._database.execute("CREATE TABLE texts (url BLOB PRIMARY KEY, title TEXT, text BLOB)")

    def record(self, verdict: Verdict, url: str, page: Page) -> None:
        """Keep the text of *page* at *url*, if it is one of those to be kept."""
        if not page.text or not self._limit or verdict.kind is Kind.EXACT:
            return
        if self.lost:
            self.lost += 1
            return
        with self._fails_softly():
            if url in self:  # items may share a URL: the first one is kept
                return
            if verdict.kind in (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED):
                self._record_new(url, page)
            elif verdict.kind is Kind.NEAR and verdict.original is not None:
                self._record_copy(verdict.original, url, page)

    def _record_new(self, url: str, page: Page) -> None:
        if self._count >= self._limit:
            if not self._loose or -self._loose[0][0] <= priority(url):
                return
            self._forget(heappop(self._loose)[1])
        heappush(self._loose, (-priority(url), url))
        self._put(url, page)

    def _record_copy(self, original: str, url: str, page: Page) -> None:
        if original not in self._copies:
            if original not in self:
                return
            self._copies[original] = 0
            self._loose = [entry for entry in self._loose if entry[1] != original]
            heapify(self._loose)
        has_room = 2 * self._count < self._limit
        if self._copies[original] >= (_MOST_COPIES if has_room else _LEAST_COPIES):
            return
        if self._count >= self._limit:
            if len(self._loose) <= self._limit // 4:
                return
            self._forget(heappop(self._loose)[1])
        self._copies[original] += 1
        self._put(url, page)

    def _put(self, url: str, page: Page) -> None:
        text = zlib.compress((page.text or "")[:LONGEST_TEXT].encode("utf-8", "surrogatepass"))
        title = shorten(page.title).encode("utf-8", "surrogatepass") if page.title else None
        self._database.execute("INSERT INTO texts VALUES (?, ?, ?)", (_key(url), title, text))
        self._count += 1

    def _forget(self, url: str) -> None:
        self._database.execute("DELETE FROM texts WHERE url = ?", (_key(url),))
        self._count -= 1

    def get(self, url: str) -> str | None:
        """Return the text of the page at *url*, ``None`` if it was not kept."""
        with self._fails_softly():
            found = self._row("text", url)
            return _decoded(zlib.decompress(found[0])) if found else None
        return None

    def title(self, url: str) -> str | None:
        """Return the title of the page at *url*, if it has one and was kept."""
        found = self._row("title", url)
        return _decoded(found[0]) if found and found[0] else None

    def __iter__(self) -> Iterator[tuple[str, str | None, str]]:
        """Iterate over URLs, titles and texts."""
        with self._fails_softly():
            for url, title, text in self._database.execute("SELECT url, title, text FROM texts"):
                yield _decoded(url), title and _decoded(title), _decoded(zlib.decompress(text))

    def put(self, url: str, title: str | None, text: str) -> None:
        """Keep *text*, whatever the limit; the first one of a URL."""
        with self._fails_softly():
            if url not in self:
                self._put(url, Page(PageRecord(), text, title))

    def _row(self, column: str, url: str) -> Any:
        query = f"SELECT {column} FROM texts WHERE url = ?"
        with self._fails_softly():
            return self._database.execute(query, (_key(url),)).fetchone()
        return None

    @contextmanager
    def _fails_softly(self) -> Iterator[None]:
        """Begin to count what is lost if a disk fails within the block, and warn of it."""
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
        self._database.close()


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _key(url: str) -> bytes:
    return url.encode("utf-8", "surrogatepass")
