"""The numbers of one crawl."""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Protocol

from dedup.detector import Detector, Kind, Verdict
from dedup.ledger import SqliteLedger
from dedup.report.groups import Groups
from dedup.report.quantiles import Quantiles
from dedup.scopes import host

_GROUPS_SHOWN = 50
_REVISITS_NAMED = 1000


class StatCollector(Protocol):
    """Where counters live: Scrapy's stats in a crawl."""

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None: ...

    def set_value(self, key: str, value: Any) -> None: ...

    def get_value(self, key: str, default: Any = None) -> Any: ...

    def get_stats(self) -> dict[str, Any]: ...


class Summary:
    """Counts what happened, in the crawl's own stats, and what these cannot hold, here."""

    def __init__(
        self, stats: StatCollector, settings: Mapping[str, Any], *, drops: bool = True
    ) -> None:
        """Start to count into *stats*.

        *settings* are shown in the report as they are; *drops*: duplicates are not stored.
        """
        self._stats = stats
        self._drops = drops
        self._settings = settings
        self._started = datetime.now(UTC)
        self._start = monotonic()
        self._hosts: Counter[str] = Counter()
        self._stages: dict[str, Quantiles] = {}
        self._groups = Groups()
        self._revisited: dict[Kind, list[dict[str, Any]]] = {Kind.UNCHANGED: [], Kind.CHANGED: []}

    def count(self, name: str, by: float = 1) -> None:
        """Add to the counter ``dedup/<name>``."""
        self._stats.inc_value(f"dedup/{name}", by)  # type: ignore[arg-type]  # Scrapy adds floats

    def record(self, verdict: Verdict, url: str, size: int) -> None:
        """Count the *verdict* on the page at *url*, whose body has *size* bytes."""
        self.count("pages")
        if verdict.kind is Kind.SKIPPED:
            self.count(f"skipped/{verdict.reason}")
            return
        self.count(_COUNTER[verdict.kind])
        if verdict.is_duplicate:
            if self._drops:
                self.count("bytes_saved", size)
            if verdict.kind is Kind.NEAR:
                # A share of something is counted by whole percents.
                self.count(f"distance/{math.ceil(100 * (verdict.distance or 0)) / 100:g}")
            self._hosts[host(url)] += 1
            self._groups.add(verdict, url)
        elif verdict.kind in self._revisited:
            named = self._revisited[verdict.kind]
            if len(named) < _REVISITS_NAMED:
                named.append({"url": url, "distance": verdict.distance})

    def record_time(self, stage: str, seconds: float) -> None:
        """Count what one page took in *stage*."""
        self._stages.setdefault(stage, Quantiles()).add(seconds)

    def finish(
        self, detector: Detector, other_bytes: int = 0, ledger: SqliteLedger | None = None
    ) -> dict[str, Any]:
        """Return all numbers in the form of the JSON report; docs/stats.md describes it.

        *other_bytes*: what is remembered of pages outside the detector.
        """
        index = {"pages": len(detector), "bytes": detector.nbytes + other_bytes}
        for name, value in index.items():
            self._stats.set_value(f"dedup/index/{name}", value)
        elapsed = monotonic() - self._start
        pages = self._value("pages")
        return {
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(elapsed, 3),
            "settings": dict(self._settings),
            "pages": {
                "judged": pages,
                "new": self._value("new"),
                "exact_duplicates": self._value("exact_duplicates"),
                "near_duplicates": self._value("near_duplicates"),
                "unchanged": self._value("unchanged"),
                "changed": self._value("changed"),
                "skipped": self._below("skipped"),
                "per_second": round(pages / elapsed, 2) if elapsed else None,
            },
            "items": {
                "dropped": self._value("items/dropped"),
                "marked": self._value("items/marked"),
                "unmarked": self._value("items/unmarked"),
                "unknown": self._value("items/unknown"),
            },
            "links_held_back": self._value("links_held_back"),
            "revisits": {kind.value: named for kind, named in self._revisited.items()},
            "ledger": ledger
            and {
                "path": str(ledger.path),
                "crawl": ledger.crawl,
                "resumed": ledger.resumed,
                "checkpoints": self._value("checkpoints/written"),
                "failed_checkpoints": self._value("checkpoints/failed"),
                "pages_not_written": ledger.unwritten,
            },
            "distances": self._distances(),
            "groups": len(self._groups),
            "largest_groups": [
                {
                    "original": group.original,
                    "duplicates": group.duplicates,
                    "first": [
                        {"url": url, "verdict": verdict.kind.value, "distance": verdict.distance}
                        for url, verdict in group.first
                    ],
                }
                for group in self._groups.largest(_GROUPS_SHOWN)
            ],
            "duplicates_by_host": dict(self._hosts.most_common()),
            "saved": {
                "bytes": self._value("bytes_saved"),
                "pages_not_read_again": self._value("bodies_repeated")
                - self._value("bodies_read_again"),
                "seconds": round(self._value("seconds_saved"), 3),
            },
            "seconds_per_page": {
                stage: {
                    "pages": durations.count,
                    "median": _rounded(durations.quantile(0.5)),
                    "p95": _rounded(durations.quantile(0.95)),
                    "sum": _rounded(durations.sum),
                }
                for stage, durations in self._stages.items()
            },
            "index": index,
            "claims": self._below("claims"),
            "unread": self._below("unread"),
            "errors": self._value("errors"),
        }

    def _distances(self) -> dict[float, int]:
        counted = sorted((float(key), count) for key, count in self._below("distance").items())
        return {int(key) if key.is_integer() else key: count for key, count in counted}

    def _value(self, name: str) -> Any:
        return self._stats.get_value(f"dedup/{name}", 0)

    def _below(self, name: str) -> dict[str, int]:
        prefix = f"dedup/{name}/"
        return {
            key.removeprefix(prefix): value
            for key, value in sorted(self._stats.get_stats().items())
            if key.startswith(prefix)
        }


_COUNTER = {
    Kind.NEW: "new",
    Kind.EXACT: "exact_duplicates",
    Kind.NEAR: "near_duplicates",
    Kind.UNCHANGED: "unchanged",
    Kind.CHANGED: "changed",
}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
