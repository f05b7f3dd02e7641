"""What requests that were not sent have saved."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.http import Response

from dedup.report.counts import Quantiles
from dedup.scopes import host

_MOST_HOSTS = 1_000


class Savings:
    """Counts requests by the reason for which they were not sent, and estimates what they save.

    By the medians of the bytes and seconds of the downloads of their hosts.
    """

    def __init__(self, count: Callable[..., object]) -> None:
        """Create it; *count* is called with the names of counters."""
        self._count = count
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
        self._count(f"saved_requests/{reason}", number)
        self._saved[name, reason] += number

    def request_is_tested(self, what: str) -> None:
        """Count a request that was sent, though it need not be, to test *what* is believed."""
        self._count(f"saved_requests/tests/{what}")

    def rule_breaks(self, what: str) -> None:
        """Count that a test has contradicted *what* was believed."""
        self._count(f"saved_requests/contradictions/{what}")

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
