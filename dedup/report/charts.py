"""The charts of the HTML report, as rows with bars that its template draws."""

import math
from collections.abc import Iterable, Mapping
from operator import add
from typing import Any

from dedup.report.counts import COUNTER_OF
from dedup.report.report import Report
from dedup.report.templating import cut_url
from dedup.rule import Kind

_BINS = 24
_ROWS = 12
# Without a ledger there are none, and they are not shown.
_SELDOM = ("changed", "unchanged", "repeated")
# In the order of bars.
_KINDS = (
    Kind.NEW, Kind.CHANGED, Kind.EXACT, Kind.NEAR, Kind.UNCHANGED, Kind.REPEATED, Kind.SKIPPED,
)  # fmt: skip


def shares(report: Report) -> list[tuple[str, int, float]]:
    """Return CSS class, number and percentage of the pages with each verdict."""
    counts = {kind.partition("-")[0]: report.pages[COUNTER_OF.get(kind, kind)] for kind in _KINDS}
    counts["skipped"] = sum(counts["skipped"].values())
    total = max(1, sum(counts.values()))
    return [
        (name, count, 100 * count / total)
        for name, count in counts.items()
        if count or name not in _SELDOM
    ]


def threshold_of(report: Report) -> float | None:
    distance = report.settings.get("DEDUP_MAX_DISTANCE")
    return distance if isinstance(distance, int | float) else None


def numbered(distances: Mapping[str, int]) -> dict[float, int]:
    return {float(distance): count for distance, count in distances.items()}


def distances(report: Report) -> tuple[list[dict[str, Any]], int | None]:
    """Return how many pages are at which distance, *part* of them near-duplicates, the others kept.

    And how many of the bars are within the threshold. Without pages, there are no bars.
    """
    nearest = report.nearest_kept
    # Pages that were not looked at are taken to be like the sample.
    scale = nearest.pages / max(1, nearest.sample)
    kept = {at: round(scale * count) for at, count in numbered(nearest.distances).items()}
    labels, (near, beyond), within = bin_distances(
        numbered(report.distances),
        kept,
        upto=nearest.within if kept else 0,
        threshold=threshold_of(report),
    )
    bars = zip(labels, map(add, near, beyond), near, strict=True)
    return _bars(bars) if any(near) or any(beyond) else [], within


def tables(report: Report) -> list[tuple[str, str, list[dict[str, Any]], int]]:
    """Return message, title of a column, bars and the number of all names: of hosts, and patterns.

    Of each of the names with the most pages, *part* are duplicates.
    """
    hosts, patterns = report.hosts, report.url_patterns
    # Where there is one host only, its name tells nothing.
    only_host = hosts.largest[0].name if hosts.names == 1 else ""

    def bars(counts: Report) -> list[dict[str, Any]]:
        names = counts.largest[:_ROWS]
        shown = (cut_url(each.name.removeprefix(only_host)) for each in names)
        return _bars(
            (name, each.pages, each.duplicates) for name, each in zip(shown, names, strict=True)
        )

    return [
        ("hosts", "host", [] if only_host else bars(hosts), hosts.names),
        ("url_patterns", "url_pattern", bars(patterns), patterns.names),
    ]


def _bars(counts: Iterable[tuple[str, float, float]]) -> list[dict[str, Any]]:
    """Return bars for names with a *total* of which a *part* has another colour: in percent."""
    rows = list(counts)
    most = max((total for _, total, _ in rows), default=1)
    return [
        {
            "name": name,
            "total": total,
            "part": part,
            "width": 100 * total / most,
            "percent": 100 * part / (total or 1),
        }
        for name, total, part in rows
    ]


def bin_distances(
    *counts: Mapping[float, float], upto: float = 0, threshold: float | None = None
) -> tuple[list[str], list[list[float]], int | None]:
    """Return labels, and for each of *counts*, which are numbers by distance, a number per label.

    Each of a few whole distances has a bar; many of them, and shares, are counted in steps, each
    of which is labelled with the highest distance in it. No step reaches beyond *threshold* from
    below: the last value is how many bars are up to it, ``None`` if there is none or it lies
    beyond the axis. The axis reaches at least to *upto*.

    >>> bin_distances({0: 5, 2: 1}, {4: 7}, threshold=3)
    (['0', '1', '2', '3', '4'], [[5.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 7.0]], 4)
    """
    highest = max([upto, *(key for count in counts for key in count)], default=0)
    edge = threshold or 0.0
    step = max(0.01, math.ceil(100 * highest / _BINS) / 100)
    if highest > 1 and all(float(key).is_integer() for key in {edge, highest}.union(*counts)):
        step = max(1.0, math.ceil((highest + 1) / _BINS))

    def place(distance: float) -> int:
        """Return the number of steps from the one that ends at the threshold."""
        return math.ceil((distance - edge) / step - 1e-9)

    first = place(0)
    bars = [[0.0] * (place(highest) - first + 1) for _ in counts]
    for bar, count in zip(bars, counts, strict=True):
        for key, number in count.items():
            bar[place(key) - first] += number
    labels = [f"{round(edge + step * (first + n), 4):g}" for n in range(len(bars[0]))]
    is_within = threshold is not None and threshold <= highest
    return labels, bars, 1 - first if is_within else None
