"""The report at the end of a crawl: what its detector knows besides the figures of `Summary`."""

import math
from collections import Counter
from time import monotonic
from typing import Any

from dedup.detector import Detector
from dedup.evidence import Objection
from dedup.report.kept_pages import PAIRS_SHOWN, KeptPages
from dedup.report.report import Report
from dedup.report.second_opinion import chinese_scripts, second_opinion
from dedup.report.summary import Summary
from dedup.stores.base import StoreState

_SECONDS = 1.5


def finish(
    summary: Summary,
    detector: Detector | None,
    other_bytes: int = 0,
    store: StoreState | None = None,
    *,
    spider: str = "",
) -> Report:
    """Return the report of the crawl of *spider*.

    *detector*: where the pages are, if they are still in memory; *other_bytes*: what is remembered
    of pages outside of it.
    """
    found: dict[str, Any] = {}
    if detector is None:
        return summary.finish(0, other_bytes, found, store, spider=spider)
    if summary.contents is not None:
        with summary.figures_only():
            nearest_kept, pairs = _near_misses(summary.kept, detector)
            # What is farther is not just beyond the threshold.
            threshold = summary.settings.get("DEDUP_MAX_DISTANCE")
            upto = 2 * threshold or 1 if isinstance(threshold, int | float) else math.inf
            near_misses = [pair for pair in pairs if pair["distance"] <= upto]
            found = {"nearest_kept": nearest_kept, "near_misses": near_misses}
    if summary.texts is not None:
        with summary.figures_only():
            sample = detector, summary.kept, summary.texts
            found["second_opinion"] = second_opinion(*sample)
            found["chinese_scripts"] = chinese_scripts(*sample)
    index_bytes = other_bytes + detector.nbytes
    return summary.finish(len(detector), index_bytes, found, store, spider=spider)


async def fetch_near_misses(kept: KeptPages, detector: Detector) -> None:
    """Have *detector* know what `finish` asks it of *kept* pages; waits only if its store does.

    Raises LedgerError if that cannot be asked: the report has other words for the pages.
    """
    deadline = monotonic() + _SECONDS
    for scope, records in kept.by_scope(detector.rule).items():
        if monotonic() > deadline:
            break
        await detector.neighbours.fetch(records, scope)


def _near_misses(
    kept: KeptPages, detector: Detector
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the distances of the nearest other page beyond the threshold; the nearest pairs.

    These begin with long texts that only another title kept: they may be reprints. The search
    ends after 1.5 s, whatever it has not come to by then.
    """
    neighbours = detector.neighbours
    by_scope = kept.by_scope(detector.rule)
    distances: Counter[float] = Counter()
    pairs: dict[frozenset[str], dict[str, Any]] = {}
    sampled, method = dict(kept.sample), detector.method
    for _, (record, key) in kept.retitled:
        original = sampled.get(key or "")
        if original and original.sketch and record.sketch:
            sketches = map(method.from_bytes, (record.sketch, original.sketch))
            pair = record.key, original.key
            pairs[frozenset(pair)] = _miss(*pair, method.distance(*sketches), Objection.TITLE)
    compared, deadline = 0, monotonic() + _SECONDS
    for scope, records in by_scope.items():
        if monotonic() > deadline:
            break
        matches = neighbours.of(records, scope)
        for record, match in zip(records, matches, strict=False):
            compared += 1
            if match:
                other, distance, objection = match
                distances[math.ceil(100 * distance) / 100] += 1
                miss = _miss(record.key, other, distance, objection)
                pairs.setdefault(frozenset((record.key, other)), miss)
            if monotonic() > deadline:
                break
    nearest = sorted(pairs.values(), key=lambda pair: pair["distance"])[:PAIRS_SHOWN]
    long_enough = sum(map(len, by_scope.values()))
    # The share of long enough pages is taken to be that of the sample.
    pages_in_all = round(kept.sample.added * long_enough / max(1, len(kept.sample)))
    nearest_kept = {
        "sample": compared,
        "pages": pages_in_all,
        "within": neighbours.distance,
        "distances": {f"{distance:g}": distances[distance] for distance in sorted(distances)},
    }
    return nearest_kept, nearest


def _miss(url: str, other: str, distance: float, objection: Objection | None) -> dict[str, Any]:
    return {"url": url, "other": other, "distance": round(distance, 4), "objection": objection}
