"""The counters of a crawl, all of which are below ``dedup/`` in its stats."""

from typing import Any, Protocol

from dedup.report.report import ItemCounts, PageCounts, Savings
from dedup.rule import Kind

COUNTER_OF = {
    Kind.NEW: "new",
    Kind.EXACT: "exact_duplicates",
    Kind.NEAR: "near_duplicates",
    Kind.UNCHANGED: "unchanged",
    Kind.CHANGED: "changed",
    Kind.REPEATED: "repeated",
}
"""Skipped pages have a counter for each reason."""


class StatCollector(Protocol):
    """Where counters live: Scrapy's stats in a crawl."""

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None: ...

    def set_value(self, key: str, value: Any) -> None: ...

    def get_value(self, key: str, default: Any = None) -> Any: ...

    def get_stats(self) -> dict[str, Any]: ...


class Counters:
    """Counters that live by themselves, where Scrapy's stats do in a crawl."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None:
        self._values[key] = self._values.get(key, start) + count

    def set_value(self, key: str, value: Any) -> None:
        self._values[key] = value

    def get_value(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def get_stats(self) -> dict[str, Any]:
        return self._values


class CounterReader:
    """Reads the counters of *stats*."""

    def __init__(self, stats: StatCollector) -> None:
        self._stats = stats

    def value(self, name: str) -> Any:
        """Return the counter ``dedup/<name>``."""
        return self._stats.get_value(f"dedup/{name}", 0)

    def below(self, name: str) -> dict[str, int]:
        """Return the counters whose names begin with ``dedup/<name>/``, by the rest of these."""
        prefix = f"dedup/{name}/"
        return {
            key.removeprefix(prefix): value
            for key, value in sorted(self._stats.get_stats().items())
            if key.startswith(prefix)
        }

    def pages(self, seconds: float) -> PageCounts:
        """Return the verdicts on pages in a crawl of so many *seconds*."""
        judged = self.value("pages")
        counts = {name: self.value(name) for name in COUNTER_OF.values()}
        per_second = round(judged / seconds, 2) if seconds else None
        return PageCounts(
            judged=judged, **counts, skipped=self.below("skipped"), per_second=per_second
        )

    def items(self) -> ItemCounts:
        """Return what became of items."""
        return ItemCounts(
            dropped=self.value("items/dropped"),
            marked=self.value("items/marked"),
            unmarked=self.value("items/unmarked"),
            unknown=self.value("items/unknown"),
        )

    def savings(self) -> Savings:
        """Return what duplicates did not cost."""
        return Savings(
            bytes=self.value("bytes_saved"),
            pages_not_read_again=self.value("bodies_repeated") - self.value("bodies_read_again"),
            seconds=round(self.value("seconds_saved"), 3),
        )
