"""Requests that were not sent, and are if the reason for that proves wrong."""

import pickle
import sqlite3
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


class PutOffRequests:
    """Keeps requests on disk, each with the reasons not to send it: any of them may prove wrong.

    In the folder of a job, so that they outlive the process, else in a temporary file.
    """

    def __init__(self, crawler: "Crawler", job: str | None, savings: Savings) -> None:
        self._crawler = crawler
        self._savings = savings
        self._path = Path(job, _IN_A_JOB) if job else None

    @cached_property
    def _file(self) -> sqlite3.Connection:
        file = sqlite3.connect(self._path or "", isolation_level=None)
        file.execute("PRAGMA synchronous = OFF")  # a process may die, the machine is no matter
        file.executescript(_TABLES)
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

    def send(self, reason: bytes, most: int = -1) -> int:
        """Send the requests that were not sent for *reason*, *most* of them; return how many."""
        if "_file" not in vars(self) and not (self._path and self._path.exists()):
            return 0
        engine, spider = self._crawler.engine, self._crawler.spider
        if engine is None or engine.spider is None:
            return 0
        rows = self._file.execute(
            "SELECT id, data, saved FROM requests "
            "WHERE id IN (SELECT id FROM reasons WHERE reason = ?) "
            f"ORDER BY id * {_SPREAD} % 4294967296 LIMIT ?",
            (reason, most),
        ).fetchall()
        for number, data, saved in rows:
            request = request_from_dict(pickle.loads(data), spider=spider)
            engine.crawl(request.replace(dont_filter=True))  # it was asked for before
            self._savings.request_is_saved(request, saved, -1)
            for table in ("requests", "reasons"):
                self._file.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
        return len(rows)

    def close(self, *, has_finished: bool) -> None:
        """Close the file; forget the requests if the crawl *has_finished*."""
        if "_file" in vars(self):
            self._file.close()
        if self._path and has_finished:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
