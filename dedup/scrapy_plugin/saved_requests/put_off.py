"""Requests that were not sent, how many that were, and the sending of them after all."""

import pickle
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

ONE_IN = 20
"""Of so many requests that could be saved, one is sent as a test."""
_TABLE = """
    CREATE TABLE put_off (
        id INTEGER PRIMARY KEY,
        reason BLOB,   -- sent, if that proves wrong
        saved TEXT,    -- as what it is counted
        request BLOB,  -- pickled
        url BLOB,      -- what stands for its URL
        instead BLOB   -- and for the one whose page is to come in its place
    );
    CREATE INDEX by_reason ON put_off (reason);
"""
_SPREAD = 2_654_435_761  # some are chosen evenly (Knuth, The Art of Computer Programming 3, 6.4)


def is_a_test(name: str, run: int) -> bool:
    """Return whether the request that *name* stands for is one of those that test in a *run*."""
    return blake2b(f"{run} {name}".encode("utf-8", "replace")).digest()[0] % ONE_IN == 0


class PutOffRequests:
    """Keeps requests in a temporary file that are not sent, unless the reason proves wrong."""

    def __init__(self, crawler: "Crawler", count: Callable[..., object]) -> None:
        """Create it; *count* is called with the names of counters."""
        self._crawler = crawler
        self.count = count
        self.saved: Counter[str] = Counter()
        """How many requests were not sent, or answered without a body, by the reason."""
        self._has_new = True
        self._file = sqlite3.connect("", isolation_level=None)
        self._file.executescript(_TABLE)

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
        self.request_is_saved(saved)
        self._has_new = True
        return True

    def request_is_saved(self, reason: str, number: int = 1) -> None:
        """Count a request that is not sent; with a *number* of -1, it is sent after all."""
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

    def send_waiting(self, has_come: Callable[[bytes], bool]) -> list[bytes]:
        """Send the requests for which no page *has come* that is to be there instead.

        Each is looked at once: what has come stays. Return the reasons of those that are sent.
        """
        if not self._has_new:
            return []
        self._has_new = False
        return self._send(list(self._without_page(has_come)))

    def _without_page(self, has_come: Callable[[bytes], bool]) -> Iterator[int]:
        """Yield the ids of requests of whose other pages none *has come*.

        Nor one in whose place that would be.
        """
        rows = self._file.execute(
            "SELECT id, url, instead FROM put_off WHERE instead NOT NULL"
        ).fetchall()
        others = {url: instead for _, url, instead in rows}
        for number, _, instead in rows:
            while not has_come(instead) and instead in others:
                instead = others[instead]
            if not has_come(instead):
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

    def close(self) -> None:
        self._file.close()
