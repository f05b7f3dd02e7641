"""The figures of the HTML report: shares, charts and bars."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dedup.report.charts import bin_distances, draw_bars
from dedup.report.report import NameCounts, PageCounts, Report, StageTime
from dedup.report.templating import cut_url
from dedup.units import shorten_number

_ROWS = 12
# Without a ledger there are none, and they are not shown.
_SELDOM = ("changed", "unchanged", "repeated")
# The CSS class of each kind of verdict, in the order of bars.
_CLASSES = {
    "new": "new",
    "changed": "changed",
    "exact-duplicate": "exact",
    "near-duplicate": "near",
    "unchanged": "unchanged",
    "repeated": "repeated",
    "skipped": "skipped",
}


@dataclass(frozen=True, slots=True)
class Share:
    """How many pages are of a kind, whose CSS class is *name*."""

    name: str
    count: int
    percent: float


@dataclass(frozen=True, slots=True)
class Chart:
    """Bars, the same as *rows* of a table, and a *legend*: CSS classes and names of messages."""

    svg: str
    rows: list[tuple[Any, ...]]
    legend: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a table: *width* is that of its bar in percent, *percent* the part of duplicates."""

    name: str
    pages: int
    duplicates: int
    width: float
    percent: float


@dataclass(frozen=True, slots=True)
class StageBar:
    """A stage with the *width* of its bar in percent."""

    name: str
    width: float
    time: StageTime


def share_of_each_kind(pages: PageCounts) -> list[Share]:
    """Return how many pages have which verdict."""
    counts = {
        "new": pages.new,
        "changed": pages.changed,
        "unchanged": pages.unchanged,
        "exact": pages.exact_duplicates,
        "near": pages.near_duplicates,
        "repeated": pages.repeated,
        "skipped": sum(pages.skipped.values()),
    }
    total = max(1, sum(counts.values()))
    return [
        Share(name, count, 100 * count / total)
        for name, count in counts.items()
        if count or name not in _SELDOM
    ]


def draw_charts(report: Report) -> dict[str, Chart]:
    """Return the charts by name, without those that there is nothing for."""
    charts = {
        "distances": _distance_chart(report),
        "timeline": _timeline_chart(report),
        "lengths": _length_chart(report),
    }
    return {name: chart for name, chart in charts.items() if chart}


def is_sample(report: Report) -> bool:
    """Return whether bars of kept pages are estimates."""
    return report.nearest_kept.pages > max(1, report.nearest_kept.sample)


def _distance_chart(report: Report) -> Chart | None:
    nearest = report.nearest_kept
    # Pages that were not looked at are taken to be like the sample.
    scale = nearest.pages / max(1, nearest.sample)
    kept = {distance: round(scale * count) for distance, count in nearest.distances.items()}
    upto = nearest.within if kept else 0
    threshold = threshold_of(report)
    labels, (near, beyond), place = bin_distances(
        report.distances, kept, upto=upto, threshold=threshold
    )
    if not any(near) and not any(beyond):
        return None
    legend = [("dropped", "legend_dropped"), ("kept", "legend_kept")]
    return _draw("distances", labels, [near, beyond], legend, threshold=place)


def threshold_of(report: Report) -> float | None:
    """Return the greatest distance of a near-duplicate, ``None`` where it is not known."""
    distance = report.settings.get("DEDUP_MAX_DISTANCE")
    return distance if isinstance(distance, int | float) else None


def _timeline_chart(report: Report) -> Chart | None:
    course = report.timeline
    if not course.buckets:
        return None
    width = course.pages_per_bucket
    labels = [f"{width * number:,}" for number in range(len(course.buckets))]
    counts = dict(zip(course.kinds, zip(*course.buckets, strict=True), strict=True))
    names = {
        kind: name
        for kind, name in _CLASSES.items()
        if kind in counts and (any(counts[kind]) or name not in _SELDOM)
    }
    legend = [(name, name) for name in names.values()]
    bars = [counts[kind] for kind in names]
    return _draw("timeline", labels, bars, legend, width=width)


def _length_chart(report: Report) -> Chart | None:
    lengths = report.lengths
    if not lengths:
        return None
    labels = [shorten_number(bucket.from_) for bucket in lengths]
    bars, legend = [[bucket.kept for bucket in lengths]], [("kept", "legend_new")]
    if lengths[0].duplicates is not None:
        bars.append([bucket.duplicates or 0 for bucket in lengths])
        legend.append(("duplicates", "legend_duplicates"))
    return _draw("lengths", labels, bars, legend)


def _draw(
    name: str,
    labels: Sequence[str],
    bars: Sequence[Sequence[float]],
    legend: list[tuple[str, str]],
    *,
    threshold: int | None = None,
    width: float | None = None,
) -> Chart:
    series = [(css_class, values) for (css_class, _), values in zip(legend, bars, strict=True)]
    svg = draw_bars(labels, series, title_id=f"{name}-title", threshold=threshold, width=width)
    rows = [row for row in zip(labels, *bars, strict=True) if any(row[1:])]
    return Chart(svg, rows, legend)


def bars_of_names(counts: NameCounts, prefix: str = "") -> list[Bar]:
    """Return the names with the most pages, without their common *prefix*."""
    names = counts.largest[:_ROWS]
    most = max((name.pages for name in names), default=1)
    return [
        Bar(
            cut_url(name.name.removeprefix(prefix)),
            name.pages,
            name.duplicates,
            100 * name.pages / most,
            100 * name.duplicates / name.pages,
        )
        for name in names
    ]


def bars_of_stages(seconds: Mapping[str, StageTime]) -> Iterator[StageBar]:
    """Yield the stages, with bars for what each took of the work."""
    # Waiting is no work: many pages do so at once.
    work = (time.sum for name, time in seconds.items() if name != "waiting")
    most = max(work, default=0) or 1
    for name, time in seconds.items():
        yield StageBar(name, min(100, 100 * time.sum / most), time)
