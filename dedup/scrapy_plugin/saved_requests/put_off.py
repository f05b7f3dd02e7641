"""Requests that were not sent, how many that were, and the sending of them after all."""

import pickle
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import request_from_dict

from dedup.logs import get_logger

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

ONE_IN = 20
"""Of so many requests that could be saved, one is sent as a test."""
_IN_A_JOB = "dedup.put-off.sqlite"
_TABLE = """
    CREATE TABLE IF NOT EXISTS put_off (
        id INTEGER PRIMARY KEY,
        reason BLOB,   -- sent, if that proves wrong
        saved TEXT,    -- as what it is counted
        request BLOB,  -- pickled
        url BLOB,      -- what stands for its URL
        instead BLOB   -- and for what is to come in its place, together with the reason
    );
    CREATE INDEX IF NOT EXISTS by_reason ON put_off (reason);
"""
_SPREAD = 2_654_435_761  # some are chosen evenly (Knuth, The Art of Computer Programming 3, 6.4)


def is_a_test(name: str, run: int) -> bool:
    """Return whether the request that *name* stands for is one of those that test in a *run*."""
    return blake2b(f"{run} {name}".encode("utf-8", "replace")).digest()[0] % ONE_IN == 0


class PutOffRequests:
    """Keeps requests on disk that are not sent, unless the reason for that proves wrong.

    In the folder of a job, so that they outlive the process, else in a temporary file.
    """

    def __init__(self, crawler: "Crawler", job: str | None, count: Callable[..., object]) -> None:
        """Create it; *job* is a folder, *count* is called with the names of counters."""
        self._crawler = crawler
        self.count = count
        self.saved: Counter[str] = Counter()
        """How many requests were not sent, or answered without a body, by the reason."""
        self._has_new = True
        self._path = Path(job, _IN_A_JOB) if job else None
        try:
            self._file = self._open()
        except sqlite3.DatabaseError as error:
            if self._path is None:
                raise
            logger.warning(
                "%s is damaged, and begun anew: crawl once more to fetch what it has put off (%s)",
                self._path, error,
            )  # fmt: skip
            self._path.unlink(missing_ok=True)
            self._file = self._open()

    def _open(self) -> sqlite3.Connection:
        file = sqlite3.connect(self._path or "", isolation_level=None)
        file.execute("PRAGMA synchronous = OFF")  # a process may die, the machine is no matter
        file.executescript(_TABLE)
        return file

    def add(
        self,
        request: Request,
        reason: bytes,
        saved: str,
        url: bytes | None = None,
        instead: bytes | None = None,
    ) -> bool:
        """Keep *request* for the case that *reason* proves wrong, and count it as *saved*.

        Or that no page comes for which *reason* and *instead* stand, in whose place that of *url*
        would be. Return False if the request cannot be kept: then it is to be sent.
        """
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
            self._file.execute(
                "INSERT INTO put_off (reason, saved, request, url, instead) VALUES (?, ?, ?, ?, ?)",
                (reason, saved, data, url, instead),
            )
        except (ValueError, TypeError, AttributeError, pickle.PicklingError, sqlite3.Error):
            return False
        self.request_is_saved(saved)
        self._has_new = True
        return True

    def request_is_saved(self, reason: str, number: int = 1) -> None:
        """Count a request that is not sent; with a *number* of -1, it is sent after all."""
        if self.saved[reason] + number >= 0:  # else it was saved before the job was interrupted
            self.count(f"saved_requests/{reason}", number)
            self.saved[reason] += number

    def send(self, reason: bytes, most: int = -1) -> list[bytes]:
        """Send the requests that were not sent for *reason*, *most* of them, here and there.

        Return the reasons of those that are sent.
        """
        self._has_new = True  # others may wait for what is sent now, which may not come
        query = (
            f"SELECT id FROM put_off WHERE reason = ? ORDER BY id * {_SPREAD} % 4294967296 LIMIT ?"
        )
        return self._send([number for (number,) in self._file.execute(query, (reason, most))])

    def send_waiting(self, has_come: Callable[[bytes, bytes], bool]) -> list[bytes]:
        """Send the requests for which no page *has come* that is to be there instead.

        It is called with the reason of each and what stands for that page. Each is looked at once:
        what has come stays. Return the reasons of those that are sent.
        """
        if not self._has_new:
            return []
        self._has_new = False
        return self._send(list(self._without_page(has_come)))

    def _without_page(self, has_come: Callable[[bytes, bytes], bool]) -> Iterator[int]:
        """Yield the ids of requests of whose other pages none *has come*.

        Nor one in whose place that would be.
        """
        rows = self._file.execute(
            "SELECT id, url, reason, instead FROM put_off WHERE instead NOT NULL"
        ).fetchall()
        others = {url: (reason, instead) for _, url, reason, instead in rows}
        for number, _, reason, instead in rows:
            while not has_come(reason, instead) and instead in others:
                reason, instead = others[instead]
            if not has_come(reason, instead):
                yield number

    def _send(self, numbers: Iterable[int]) -> list[bytes]:
        engine, spider = self._crawler.engine, self._crawler.spider
        if engine is None or engine.spider is None:
            return []
        sent = []
        for number in numbers:
            query = "SELECT reason, saved, request FROM put_off WHERE id = ?"
            reason, saved, data = self._file.execute(query, (number,)).fetchone()
            request = request_from_dict(pickle.loads(data), spider=spider)
            engine.crawl(request.replace(dont_filter=True))  # it was asked for before
            self._file.execute("DELETE FROM put_off WHERE id = ?", (number,))
            self.request_is_saved(saved, -1)
            sent.append(reason)
        return sent

    def close(self, *, has_finished: bool) -> None:
        """Close the file; forget the requests if the crawl *has_finished*, else its job goes on."""
        self._file.close()
        if self._path and has_finished:
            self._path.unlink(missing_ok=True)
