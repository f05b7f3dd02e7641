"""The counters of a crawl, all of which are below ``dedup/`` in its stats."""

from typing import Any, Protocol

from dedup.rule import Kind

COUNTER_OF = {
    Kind.NEW: "new", Kind.EXACT: "exact_duplicates", Kind.NEAR: "near_duplicates",
    Kind.UNCHANGED: "unchanged", Kind.CHANGED: "changed", Kind.REPEATED: "repeated",
}  # fmt: skip
"""Skipped pages have a counter for each reason."""


class StatCollector(Protocol):
    """Where counters live: Scrapy's stats in a crawl."""

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None: ...

    def set_value(self, key: str, value: Any) -> None: ...

    def get_value(self, key: str, default: Any = None) -> Any: ...

    def get_stats(self) -> dict[str, Any]: ...


class Counters(dict[str, Any]):
    """Counters that live by themselves, where Scrapy's stats do in a crawl."""

    set_value = dict.__setitem__
    get_value = dict.get

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None:
        self[key] = self.get(key, start) + count

    def get_stats(self) -> dict[str, Any]:
        return self


def counted(stats: StatCollector, seconds: float) -> dict[str, Any]:
    """Return what *stats* of a crawl of so many *seconds* have of a `Report`, by its keys."""

    def value(name: str) -> Any:
        return stats.get_value(f"dedup/{name}", 0)

    def below(name: str) -> dict[str, int]:
        prefix = f"dedup/{name}/"
        values = sorted(stats.get_stats().items())
        return {key.removeprefix(prefix): n for key, n in values if key.startswith(prefix)}

    judged = value("pages")
    distances = sorted((float(distance), n) for distance, n in below("distance").items())
    return {
        "pages": {
            "judged": judged,
            **{name: value(name) for name in COUNTER_OF.values()},
            "skipped": below("skipped"),
            "per_second": round(judged / seconds, 2) if seconds else None,
        },
        "items": {
            name: value(f"items/{name}") for name in ("dropped", "marked", "unmarked", "unknown")
        },
        "objections": below("objections"),
        "weak": below("weak"),
        "links_held_back": value("links_held_back"),
        "preferred": value("preferred"),
        "distances": {f"{distance:g}": n for distance, n in distances},
        "saved": {
            "bytes": value("bytes_saved"),
            "pages_not_read_again": value("bodies_repeated") - value("bodies_read_again"),
            "seconds": round(value("seconds_saved"), 3),
        },
        **{name: below(name) for name in ("claims", "store", "unread")},
        "errors": value("errors"),
    }
