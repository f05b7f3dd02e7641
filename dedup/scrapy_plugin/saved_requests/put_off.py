"""Requests that were not sent, and are if the reason for that proves wrong."""

import pickle
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import request_from_dict

from dedup.logs import get_logger
from dedup.scrapy_plugin.saved_requests.savings import Savings

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

_IN_A_JOB = "dedup.put-off.sqlite"
_TABLES = """
    CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, data BLOB, saved TEXT);
    CREATE TABLE IF NOT EXISTS reasons (reason BLOB, id INTEGER);
    CREATE INDEX IF NOT EXISTS by_reason ON reasons (reason);
    CREATE INDEX IF NOT EXISTS by_id ON reasons (id);
"""
_SPREAD = 2_654_435_761  # some are chosen evenly (Knuth, The Art of Computer Programming 3, 6.4)
LENGTH_OF_PAGE = 8
"""How many bytes stand for a page that is to come."""
_NOBODY_KNOWS = bytes(LENGTH_OF_PAGE)  # what of the last pages was stored


class PutOffRequests:
    """Keeps requests on disk, each with the reasons not to send it: any of them may prove wrong.

    A reason of `LENGTH_OF_PAGE` bytes is a page that is to come first.
    In the folder of a job, so that they outlive the process, else in a temporary file.
    """

    def __init__(self, crawler: "Crawler", job: str | None, savings: Savings) -> None:
        self._crawler = crawler
        self._savings = savings
        self._path = Path(job, _IN_A_JOB) if job else None

    @cached_property
    def _file(self) -> sqlite3.Connection:
        try:
            return self._opened()
        except sqlite3.DatabaseError as error:
            if self._path is None:
                raise
            logger.warning(
                "%s is damaged, and begun anew: crawl once more to fetch what it has put off (%s)",
                self._path, error,
            )  # fmt: skip
            self._path.unlink(missing_ok=True)
            return self._opened()

    def _opened(self) -> sqlite3.Connection:
        file = sqlite3.connect(self._path or "", isolation_level=None)
        file.execute("PRAGMA synchronous = OFF")  # a process may die, the machine is no matter
        file.executescript(_TABLES)
        if not file.execute("PRAGMA user_version").fetchone()[0]:  # the process was killed
            file.execute(
                "INSERT INTO reasons SELECT ?, id FROM requests WHERE saved != 'not_modified'",
                (_NOBODY_KNOWS,),
            )
        file.execute("PRAGMA user_version = 0")
        return file

    def add(self, request: Request, reasons: Iterable[bytes], saved: str) -> bool:
        """Keep *request* for the case that one of *reasons* proves wrong, and count it as *saved*.

        Return False if it cannot be kept: then it is to be sent.
        """
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
            row = self._file.execute(
                "INSERT INTO requests (data, saved) VALUES (?, ?)", (data, saved)
            )
            self._file.executemany(
                "INSERT INTO reasons VALUES (?, ?)", ((reason, row.lastrowid) for reason in reasons)
            )
        except (ValueError, TypeError, AttributeError, pickle.PicklingError, sqlite3.Error):
            return False
        self._savings.request_is_saved(request, saved)
        return True

    @property
    def _is_empty(self) -> bool:
        return "_file" not in vars(self) and not (self._path and self._path.exists())

    def reasons(self) -> list[bytes]:
        """Return the reasons but for pages that are to come."""
        if self._is_empty:
            return []
        query = "SELECT DISTINCT reason FROM reasons WHERE length(reason) != ?"
        return [reason for (reason,) in self._file.execute(query, (LENGTH_OF_PAGE,))]

    def page_comes(self, page: bytes, instead: bytes | None = None) -> None:
        """Have no request wait for *page* any more, or have it wait for another one *instead*."""
        if self._is_empty:
            return
        if instead:
            query = "UPDATE reasons SET reason = ? WHERE reason = ?"
            self._file.execute(query, (instead, page))
        else:
            self._file.execute("DELETE FROM reasons WHERE reason = ?", (page,))

    def send(self, reason: bytes, most: int = -1) -> Counter[bytes]:
        """Send the requests that were not sent for *reason*, *most* of them.

        Return all reasons that these had, and how many had each.
        """
        return self._send("reason = ?", reason, most)

    def send_waiting(self) -> Counter[bytes]:
        """Send the requests that wait for a page: none is to come any more."""
        return self._send("length(reason) = ?", LENGTH_OF_PAGE, -1)

    def _send(self, condition: str, value: bytes | int, most: int) -> Counter[bytes]:
        sent: Counter[bytes] = Counter()
        engine, spider = self._crawler.engine, self._crawler.spider
        if self._is_empty or engine is None or engine.spider is None:
            return sent
        rows = self._file.execute(
            "SELECT id, data, saved FROM requests "
            f"WHERE id IN (SELECT id FROM reasons WHERE {condition}) "
            f"ORDER BY id * {_SPREAD} % 4294967296 LIMIT ?",
            (value, most),
        ).fetchall()
        for number, data, saved in rows:
            request = request_from_dict(pickle.loads(data), spider=spider)
            engine.crawl(request.replace(dont_filter=True))  # it was asked for before
            self._savings.request_is_saved(request, saved, -1)
            reasons = self._file.execute("SELECT reason FROM reasons WHERE id = ?", (number,))
            sent.update(reason for (reason,) in reasons)
            for table in ("requests", "reasons"):
                self._file.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
        return sent

    def close(self, *, has_finished: bool) -> None:
        """Close the file; forget the requests if the crawl *has_finished*."""
        if "_file" in vars(self):
            self._file.execute("PRAGMA user_version = 1")
            self._file.close()
        if self._path and has_finished:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
