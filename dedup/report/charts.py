"""The charts of the HTML report, as numbers that its template draws."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dedup.report.counts import COUNTER_OF
from dedup.report.report import Report
from dedup.rule import Kind
from dedup.units import shorten_number

_BINS = 24
# Of the labels below: how wide the plot is, a character on a phone, and the gap between two.
_WIDTH, _CHARACTER, _GAP = 480, 10, 16
# Without a ledger there are none, and they are not shown.
_SELDOM = ("changed", "unchanged", "repeated")
# The CSS class of each kind of verdict, in the order of bars.
_CLASSES = {
    Kind.NEW: "new",
    Kind.CHANGED: "changed",
    Kind.EXACT: "exact",
    Kind.NEAR: "near",
    Kind.UNCHANGED: "unchanged",
    Kind.REPEATED: "repeated",
    Kind.SKIPPED: "skipped",
}


def shares(report: Report) -> list[tuple[str, int, float]]:
    """Return CSS class, number and percentage of the pages with each verdict."""
    counts = {name: report.pages[COUNTER_OF.get(kind, kind)] for kind, name in _CLASSES.items()}
    counts["skipped"] = sum(counts["skipped"].values())
    total = max(1, sum(counts.values()))
    return [
        (name, count, 100 * count / total)
        for name, count in counts.items()
        if count or name not in _SELDOM
    ]


def charts(report: Report) -> dict[str, dict[str, Any]]:
    """Return the charts by name, without those that there is nothing for."""
    made = {
        "distances": _distances(report),
        "timeline": _timeline(report),
        "lengths": _lengths(report),
    }
    return {name: chart for name, chart in made.items() if chart}


def threshold_of(report: Report) -> float | None:
    """Return the greatest distance of a near-duplicate, ``None`` where it is not known."""
    distance = report.settings.get("DEDUP_MAX_DISTANCE")
    return distance if isinstance(distance, int | float) else None


def numbered(distances: Mapping[str, int]) -> dict[float, int]:
    """Return the counts of a report by distance, with numbers as keys."""
    return {float(distance): count for distance, count in distances.items()}


def _distances(report: Report) -> dict[str, Any] | None:
    nearest = report.nearest_kept
    # Pages that were not looked at are taken to be like the sample.
    scale = nearest.pages / max(1, nearest.sample)
    kept = {at: round(scale * count) for at, count in numbered(nearest.distances).items()}
    labels, (near, beyond), place = bin_distances(
        numbered(report.distances),
        kept,
        upto=nearest.within if kept else 0,
        threshold=threshold_of(report),
    )
    if not any(near) and not any(beyond):
        return None
    series = [("dropped", "legend_dropped", near), ("kept", "legend_kept", beyond)]
    return _chart(labels, series, threshold=place)


def _timeline(report: Report) -> dict[str, Any] | None:
    buckets, width = report.timeline.buckets, report.timeline.pages_per_bucket
    if not buckets:
        return None
    counts = dict(zip(report.timeline.kinds, zip(*buckets, strict=True), strict=True))
    series = [
        (name, name, counts[kind])
        for kind, name in _CLASSES.items()
        if kind in counts and (any(counts[kind]) or name not in _SELDOM)
    ]
    labels = [f"{width * number:,}" for number in range(len(buckets))]
    # Round numbers, where they belong.
    steps = axis_steps(width * len(buckets))
    ticks = [(step / width / len(buckets), f"{step:,}") for step in steps]
    return _chart(labels, series, [tick for tick in ticks if tick[0] <= 1])


def _lengths(report: Report) -> dict[str, Any] | None:
    lengths = report.lengths
    if not lengths:
        return None
    series = [("kept", "legend_new", [bucket.kept for bucket in lengths])]
    if lengths[0].duplicates is not None:
        series.append(("duplicates", "legend_duplicates", [each.duplicates for each in lengths]))
    return _chart([shorten_number(bucket["from"]) for bucket in lengths], series)


def _chart(
    labels: Sequence[str],
    series: Sequence[tuple[str, str, Sequence[float]]],
    ticks: Sequence[tuple[float, str]] | None = None,
    threshold: int | None = None,
) -> dict[str, Any]:
    """Return stacked bars over *labels*: *series* are CSS classes, messages, and their numbers.

    *ticks* are places from 0 to 1 with texts below the bars: by default as many labels as there is
    room for. A line behind the first *threshold* bars parts them from the others.
    """
    if ticks is None:
        widest = max(map(len, labels)) * _CHARACTER + _GAP
        every = math.ceil(len(labels) * widest / _WIDTH)
        ticks = [
            ((place + 0.5) / len(labels), labels[place]) for place in range(0, len(labels), every)
        ]
    values = [numbers for *_, numbers in series]
    rows = zip(labels, *values, strict=True)
    return {
        "labels": labels,
        "series": series,
        "ticks": ticks,
        "steps": axis_steps(max(map(sum, zip(*values, strict=True)))),
        "threshold": threshold,
        "rows": [row for row in rows if any(row[1:])],
    }


def axis_steps(highest: float) -> list[int]:
    """Return some round whole numbers from 0 to *highest* or just beyond.

    >>> axis_steps(35), axis_steps(2)
    ([0, 10, 20, 30, 40], [0, 1, 2])
    """
    least = max(1.0, highest / 5)
    power = 10 ** math.floor(math.log10(least))
    step = next(int(power * factor) for factor in (1, 2, 5, 10) if power * factor >= least)
    return [step * place for place in range(math.ceil(highest / step) + 1)]


def _step_of(distances: Collection[float], highest: float) -> float:
    if highest > 1 and all(float(distance).is_integer() for distance in distances):
        return float(max(1, math.ceil((highest + 1) / _BINS)))
    return max(0.01, math.ceil(100 * highest / _BINS) / 100)


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
    step = _step_of({edge, highest}.union(*counts), highest)

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
