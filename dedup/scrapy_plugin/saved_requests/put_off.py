"""Requests that were not sent, what that has saved, and the sending of them after all."""

import pickle
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scrapy import Request
from scrapy.http import Response
from scrapy.utils.request import request_from_dict

from dedup.logs import get_logger
from dedup.report.counts import Quantiles
from dedup.scopes import host

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
        instead BLOB   -- and for the one whose page is to come in its place; NULL if it has come
    );
    CREATE INDEX IF NOT EXISTS by_reason ON put_off (reason);
"""
_SPREAD = 2_654_435_761  # some are chosen evenly (Knuth, The Art of Computer Programming 3, 6.4)
_MOST_HOSTS = 1_000


def is_a_test(name: str, run: int) -> bool:
    """Return whether the request that *name* stands for is one of those that test in a *run*."""
    return blake2b(f"{run} {name}".encode("utf-8", "replace")).digest()[0] % ONE_IN == 0


class Sent(NamedTuple):
    """A request that is sent after all: why it was not, and what stands for its URL."""

    reason: bytes
    url: bytes | None


class Savings:
    """Counts requests by the reason for which they were not sent, and estimates what they save.

    By the medians of the bytes and seconds of the downloads of their hosts.
    """

    def __init__(self, count: Callable[..., object]) -> None:
        self.count = count
        """Is called with the names of counters."""
        self._bytes: defaultdict[str, Quantiles] = defaultdict(Quantiles)
        self._seconds: defaultdict[str, Quantiles] = defaultdict(Quantiles)
        self._saved: Counter[tuple[str, str]] = Counter()

    def response_arrives(self, request: Request, response: Response) -> None:
        """Note what the download of *response* has cost."""
        name = host(response.url)
        if response.status == 304 or (len(self._bytes) >= _MOST_HOSTS and name not in self._bytes):
            return
        self._bytes[name].add(len(response.body))
        self._seconds[name].add(request.meta.get("download_latency") or 0.0)

    def request_is_saved(self, request: Request, reason: str, number: int = 1) -> None:
        """Count *request*, which was not sent for *reason*, or without a body in the answer.

        With a *number* of -1, it is sent after all.
        """
        name = host(request.url)
        if self._saved[name, reason] + number < 0:  # it was saved before the job was interrupted
            return
        self.count(f"saved_requests/{reason}", number)
        self._saved[name, reason] += number

    def figures(self) -> dict[str, Any]:
        """Return how many requests were saved, by reason, and about how many bytes and seconds."""
        reasons: Counter[str] = Counter()
        saved = {"bytes": 0.0, "seconds": 0.0}
        for (name, reason), number in self._saved.items():
            reasons[reason] += number
            if name in self._bytes:
                saved["bytes"] += number * (self._bytes[name].quantile(0.5) or 0)
            if name in self._seconds and reason != "not_modified":
                saved["seconds"] += number * (self._seconds[name].quantile(0.5) or 0)
        return {
            "reasons": dict(reasons),
            "bytes": round(saved["bytes"]),
            "seconds": round(saved["seconds"], 3),
        }


class PutOffRequests:
    """Keeps requests on disk that are not sent, unless the reason for that proves wrong.

    In the folder of a job, so that they outlive the process, else in a temporary file.
    """

    def __init__(self, crawler: "Crawler", job: str | None, count: Callable[..., object]) -> None:
        """Create it; *count* is called with the names of counters."""
        self._crawler = crawler
        self.savings = Savings(count)
        self._path = Path(job, _IN_A_JOB) if job else None
        self._has_new = True

        try:
            self._file = self._opened()
        except sqlite3.DatabaseError as error:
            if self._path is None:
                raise
            logger.warning(
                "%s is damaged, and begun anew: crawl once more to fetch what it has put off (%s)",
                self._path, error,
            )  # fmt: skip
            self._path.unlink(missing_ok=True)
            self._file = self._opened()

    def _opened(self) -> sqlite3.Connection:
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

        Or that the page that *instead* stands for does not come, in whose place that of *url* would
        be. Return False if the request cannot be kept: then it is to be sent.
        """
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
            self._file.execute(
                "INSERT INTO put_off (reason, saved, request, url, instead) VALUES (?, ?, ?, ?, ?)",
                (reason, saved, data, url, instead),
            )
        except (ValueError, TypeError, AttributeError, pickle.PicklingError, sqlite3.Error):
            return False
        self.savings.request_is_saved(request, saved)
        self._has_new = True
        return True

    def reasons(self) -> set[bytes]:
        """Return the reasons of all requests."""
        return {reason for (reason,) in self._file.execute("SELECT DISTINCT reason FROM put_off")}

    def send(self, reason: bytes, most: int = -1) -> list[Sent]:
        """Send the requests that were not sent for *reason*, *most* of them, here and there."""
        self._has_new = True  # others may wait for what is sent now, which may not come
        query = (
            f"SELECT id FROM put_off WHERE reason = ? ORDER BY id * {_SPREAD} % 4294967296 LIMIT ?"
        )
        return self._send([number for (number,) in self._file.execute(query, (reason, most))])

    def send_waiting(self, has_come: Callable[[bytes], bool]) -> list[Sent]:
        """Send the requests for which no page *has come* that is to be there instead.

        Each is looked at once: what has come stays.
        """
        if not self._has_new:
            return []
        self._has_new = False
        return self._send(number for number, comes in self._waiting(has_come) if not comes)

    def _waiting(self, has_come: Callable[[bytes], bool]) -> list[tuple[int, bool]]:
        """Return the ids of requests that wait for another page, and whether that *has come*.

        Or one has in whose place that would be.
        """
        query = "SELECT id, url, instead FROM put_off WHERE instead IS NOT NULL"
        rows = self._file.execute(query).fetchall()
        others = {url: instead for _, url, instead in rows}
        waiting = []
        for number, _, instead in rows:
            while not has_come(instead) and instead in others:
                instead = others[instead]
            waiting.append((number, has_come(instead)))
        return waiting

    def _send(self, numbers: Iterable[int]) -> list[Sent]:
        engine, spider = self._crawler.engine, self._crawler.spider
        if engine is None or engine.spider is None:
            return []
        sent = []
        for number in numbers:
            query = "SELECT reason, saved, request, url FROM put_off WHERE id = ?"
            reason, saved, data, url = self._file.execute(query, (number,)).fetchone()
            request = request_from_dict(pickle.loads(data), spider=spider)
            engine.crawl(request.replace(dont_filter=True))  # it was asked for before
            self._file.execute("DELETE FROM put_off WHERE id = ?", (number,))
            self.savings.request_is_saved(request, saved, -1)
            sent.append(Sent(reason, url))
        return sent

    def close(self, has_come: Callable[[bytes], bool], *, has_finished: bool) -> None:
        """Close the file; forget the requests if the crawl *has_finished*.

        Else a job goes on: it need not wait for what *has_come*. After a kill, it does.
        """
        come = ((number,) for number, comes in self._waiting(has_come) if comes)
        self._file.executemany("UPDATE put_off SET instead = NULL WHERE id = ?", list(come))
        self._file.close()
        if self._path and has_finished:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)
