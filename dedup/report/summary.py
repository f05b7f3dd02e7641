"""The numbers of one crawl."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Protocol

from dedup.detector import Detector
from dedup.limits import LONGEST_LINE, shorten, shorten_url
from dedup.logs import get_logger
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.groups import Groups
from dedup.report.quantiles import Quantiles
from dedup.report.sample import Sample
from dedup.report.tally import Tally, url_pattern
from dedup.report.texts import TextStore
from dedup.report.timeline import Timeline
from dedup.rule import Kind, Verdict
from dedup.scopes import host
from dedup.stores import StoreState
from dedup.url_advice import Content, Contents, url_advice

logger = get_logger(__name__)

_GROUPS_SHOWN = 1000
_NAMES_SHOWN = 50
# How many kept pages are compared with all others at the end, and the most time that it takes.
_NEAR_MISSES_SOUGHT = 500
_NEAR_MISSES_SECONDS = 1.5
_NEAR_MISSES_SHOWN = 50
_REVISITS_NAMED = 1000


class StatCollector(Protocol):
    """Where counters live: Scrapy's stats in a crawl."""

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None: ...

    def set_value(self, key: str, value: Any) -> None: ...

    def get_value(self, key: str, default: Any = None) -> Any: ...

    def get_stats(self) -> dict[str, Any]: ...


class Summary:
    """Counts what happened, in the crawl's own stats, and what these cannot hold, here.

    Whatever fails in counting costs figures, and never the item that is counted: `count`, `record`
    and `record_time` raise nothing.
    """

    def __init__(
        self,
        stats: StatCollector,
        settings: Mapping[str, Any],
        *,
        drops: bool = True,
        texts: TextStore | None = None,
        contents: Contents | None = None,
        min_tokens: int = 20,
    ) -> None:
        """Start to count into *stats*.

        *settings* are shown in the report as they are; *drops*: duplicates are not stored; *texts*
        and *contents* are given the pages; those of fewer tokens than *min_tokens* without sketch.
        """
        self._stats = stats
        self._drops = drops
        self._settings = settings
        self._started = datetime.now(UTC)
        self._start = monotonic()
        self._texts = texts
        self._stages: dict[str, Quantiles] = {}
        self._groups = Groups()
        self._revisited: dict[Kind, list[dict[str, Any]]] = {Kind.UNCHANGED: [], Kind.CHANGED: []}
        self._hosts, self._patterns = Tally(), Tally()
        self._timeline = Timeline(len(_KINDS))
        self._lengths: dict[bool, Counter[int]] = {False: Counter(), True: Counter()}
        self._kept: Sample[PageRecord] = Sample(_NEAR_MISSES_SOUGHT)
        self._contents = Contents() if contents is None else contents
        self._min_tokens = min_tokens
        self._has_failed = False

    @contextmanager
    def _figures_only(self) -> Iterator[None]:
        """Log the first exception within such blocks, and count it as an error of dedup."""
        try:
            yield
        except Exception:
            if not self._has_failed:
                logger.exception("Dedup failed to count; figures of its report are wrong")
            self._has_failed = True
            with suppress(Exception):  # it may be the stats that fail
                self._stats.inc_value("dedup/errors")

    def count(self, name: str, by: float = 1) -> None:
        """Add to the counter ``dedup/<name>``."""
        with self._figures_only():
            self._stats.inc_value(f"dedup/{name}", by)  # type: ignore[arg-type]  # Scrapy adds floats

    def record(
        self,
        verdict: Verdict,
        url: str,
        size: int,
        page: Page | None = None,
        scope: str = "",
        *,
        content: Content | None = None,
    ) -> None:
        """Count the *verdict* on the page at *url*, whose body has *size* bytes.

        *page* is what was read of it, *scope* where it is compared; *content* tells what it has, if
        *page* does not.
        """
        with self._figures_only():
            self._record(verdict, url, size, page, scope, content)

    def _record(
        self,
        verdict: Verdict,
        whole_url: str,
        size: int,
        page: Page | None,
        scope: str,
        content: Content | None,
    ) -> None:
        url, scope = shorten_url(whole_url), shorten_url(scope)
        self.count("pages")
        self._timeline.add(_KINDS.index(verdict.kind))
        self._contents.add(whole_url, content or self._content(verdict, url, page, scope))
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
            if verdict.original != url:  # several items may have one URL
                self._groups.add(verdict, url)
        elif verdict.kind in self._revisited:
            named = self._revisited[verdict.kind]
            if len(named) < _REVISITS_NAMED:
                named.append({"url": url, "distance": verdict.distance})
        self._hosts.add(host(url), is_duplicate=verdict.is_duplicate)
        self._patterns.add(url_pattern(url), is_duplicate=verdict.is_duplicate)
        if page and verdict.kind is not Kind.REPEATED:
            self._lengths[verdict.is_duplicate][page.record.tokens.bit_length()] += 1
            if verdict.kind in (Kind.NEW, Kind.CHANGED):
                self._kept.add(url, page.record.under(url, scope))
            if self._texts is not None:
                self._texts.record(verdict, url, page)

    def _content(self, verdict: Verdict, url: str, page: Page | None, scope: str) -> Content | None:
        """Return the content of *url*, ``None`` if it was not compared.

        Where its text is not known, the verdict tells which other one has it, or is near.
        """
        if verdict.kind is Kind.SKIPPED:
            return None
        record = page.record if page else PageRecord()
        sketch = record.sketch if record.tokens >= self._min_tokens else None
        if record.digest:
            return Content(record.digest, scope, sketch)
        if verdict.kind is Kind.NEAR:
            return Content(url, scope, None, verdict.original)
        return Content(verdict.original or url, scope, sketch)

    def record_time(self, stage: str, seconds: float) -> None:
        """Count what one page took in *stage*."""
        with self._figures_only():
            self._stages.setdefault(stage, Quantiles()).add(seconds)

    def finish(
        self, detector: Detector | None, other_bytes: int = 0, store: StoreState | None = None
    ) -> dict[str, Any]:
        """Return all numbers in the form of the JSON report; docs/stats.md describes it.

        *detector*: where the pages are, if they are still in memory; *other_bytes*: what is
        remembered of pages outside of it.
        """
        index = {"pages": 0, "bytes": other_bytes}
        if detector is not None:
            index = {"pages": len(detector), "bytes": detector.nbytes + other_bytes}
        for name, value in index.items():
            self._stats.set_value(f"dedup/index/{name}", value)
        elapsed = monotonic() - self._start
        nearest_kept, near_misses = self._near_misses(None)
        with self._figures_only():
            nearest_kept, near_misses = self._near_misses(detector)
        advice = url_advice(())
        with self._figures_only():
            advice = self._contents.advice()
        texts_lost = 0 if self._texts is None else self._texts.lost
        if texts_lost:
            self._stats.set_value("dedup/texts_lost", texts_lost)
        pages = self._value("pages")
        return {
            "started": self._started.isoformat(timespec="seconds"),
            "seconds": round(elapsed, 3),
            "settings": {name: _shown(value) for name, value in self._settings.items()},
            "pages": {
                "judged": pages,
                "new": self._value("new"),
                "exact_duplicates": self._value("exact_duplicates"),
                "near_duplicates": self._value("near_duplicates"),
                "unchanged": self._value("unchanged"),
                "changed": self._value("changed"),
                "repeated": self._value("repeated"),
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
            "ledger": store
            and {
                "path": store.path,
                "crawl": store.run,
                "resumed": store.is_resumed,
                "checkpoints": self._value("checkpoints/written"),
                "failed_checkpoints": self._value("checkpoints/failed"),
                "pages_not_written": store.unpublished,
            },
            "distances": self._distances(),
            "nearest_kept": nearest_kept,
            "near_misses": near_misses,
            "timeline": {
                "kinds": [kind.value for kind in _KINDS],
                "pages_per_bucket": self._timeline.width,
                "buckets": self._timeline.buckets,
            },
            "lengths": self._length_histogram(),
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
            "duplicates_by_host": self._hosts.duplicates(),
            "hosts": {"names": len(self._hosts), "largest": self._hosts.largest(_NAMES_SHOWN)},
            "url_patterns": {
                "names": len(self._patterns),
                "largest": self._patterns.largest(_NAMES_SHOWN),
            },
            "url_advice": advice.as_dict(),
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
            "texts_lost": texts_lost,
        }

    def _near_misses(
        self, detector: Detector | None
    ) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return how far the nearest other page is from some kept ones, and the nearest pairs."""
        if detector is None:
            return {"sample": 0, "pages": 0, "within": 0, "distances": {}}, []
        within = detector.near_miss_distance
        by_scope: dict[str, list[PageRecord]] = defaultdict(list)
        for _, record in self._kept:
            if not detector.rule.is_short(record):
                by_scope[record.scope].append(record)
        distances: Counter[float] = Counter()
        pairs: dict[frozenset[str], dict[str, Any]] = {}
        sought, deadline = 0, monotonic() + _NEAR_MISSES_SECONDS
        for scope, kept in by_scope.items():
            if monotonic() > deadline:
                break
            found = detector.near_misses(kept, scope, within)
            for record, match in zip(kept, found, strict=False):
                sought += 1
                if match:
                    other, distance = match
                    distances[math.ceil(100 * distance) / 100] += 1
                    pair = {"url": record.key, "other": other, "distance": round(distance, 4)}
                    pairs.setdefault(frozenset((record.key, other)), pair)
                if monotonic() > deadline:
                    break
        nearest = sorted(pairs.values(), key=lambda pair: pair["distance"])[:_NEAR_MISSES_SHOWN]
        compared = sum(map(len, by_scope.values()))
        nearest_kept = {
            "sample": sought,
            # Of those that were not drawn, as many are long enough as of those that were.
            "pages": round(self._kept.added * compared / max(1, len(self._kept))),
            "within": within,
            "distances": _by_number(distances),
        }
        return nearest_kept, nearest

    def _length_histogram(self) -> list[dict[str, int]]:
        """Return how many pages have how many tokens; each bucket is as wide as all before it."""
        kept, duplicates = self._lengths[False], self._lengths[True]
        longest = max([*kept, *duplicates], default=-1)
        return [
            {
                "from": (1 << bits) >> 1,
                "to": max(0, (1 << bits) - 1),
                "kept": kept[bits],
                "duplicates": duplicates[bits],
            }
            for bits in range(longest + 1)
        ]

    def _distances(self) -> dict[float, int]:
        return _by_number({float(key): n for key, n in self._below("distance").items()})

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
    Kind.REPEATED: "repeated",
}
_KINDS = tuple(Kind)


def _shown(value: Any) -> Any:
    """Return the value of a setting as reports have it: a long one as the beginning of its text."""
    text = str(value)
    return value if len(text) <= LONGEST_LINE else shorten(text)


def _by_number(counts: Mapping[float, int]) -> dict[float, int]:
    """Return *counts* in order, whole numbers as such."""
    return {int(key) if key == int(key) else key: counts[key] for key in sorted(counts)}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
