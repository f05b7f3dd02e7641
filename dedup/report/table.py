"""The report as a table for the log."""

import io
import math
import os
import sys
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from dedup.readable_url import readable_url
from dedup.report.report import Copy, Group, Report
from dedup.text import Lines, printable
from dedup.units import count_of, format_bytes, format_seconds

_WIDTH = 100
_LEAST_WIDTH, _MOST_WIDTH = 60, 160
# What the first column takes at most, and the least that is left for a URL.
_LABELS, _LEAST_ROOM = 34, 24
_GROUPS = 5
_URLS = 3
_HOSTS = 5
_BAR = 30
_ROWS = 20

_WEAK = {
    "links": "links or a menu, less than half of the page",
    "little": "less than half of the page",
}

Rows = Iterator[tuple[str, str]]


def as_text(
    report: Report, defaults: Mapping[str, Any] | None = None, *, width: int = _WIDTH
) -> Lines:
    """Return *report* as plain text, *width* columns wide; long URLs lack their middle.

    Of the settings, those are shown whose values are not those in *defaults*, by name. Lines are
    drawn in ASCII, since logs are read in all kinds of terminals and files.
    """
    from rich import box  # 45 modules, at the end of a crawl instead of its start
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    output = io.StringIO()
    console = Console(file=output, width=width, color_system=None, legacy_windows=False)
    room = max(_LEAST_ROOM, width - _LABELS)
    table = Table(box=box.ASCII2, show_header=False, title="Duplicates in this crawl", expand=True)
    table.add_column()
    table.add_column(ratio=1, overflow="fold")
    for section in (
        chain(_page_rows(report, room), _item_rows(report), _problem_rows(report)),
        chain(_text_rows(report, room), _duplicate_rows(report, room)),
        chain(_cost_rows(report), _setting_rows(report.settings, defaults or {})),
    ):
        for label, value in section:
            # Text, not str: a URL may contain what would be markup to rich.
            lines = (printable(line, None) for line in value.split("\n"))
            table.add_row(Text(printable(label)), Text("\n".join(lines)))
        table.add_section()
    console.print(table)
    return Lines("\n".join(line.rstrip() for line in output.getvalue().split("\n")).rstrip("\n"))


def log_width() -> int:
    """Return how wide a table in the log may be: as wide as the terminal that shows it, if any."""
    try:
        width = os.get_terminal_size(sys.stderr.fileno()).columns
    except (OSError, ValueError, AttributeError):  # a file, or nothing at all
        return _WIDTH
    return min(_MOST_WIDTH, max(_LEAST_WIDTH, width)) if width else _WIDTH


def _url(url: str, room: int) -> str:
    return printable(readable_url(url), room)


def _page_rows(report: Report, room: int) -> Rows:
    pages = report.pages
    total = pages.judged
    yield "pages", f"{total:,} ({pages.per_second or 0:,.1f} pages a second)"
    if report.ledger and report.ledger.resumed:
        yield "  counted", "since the interrupted crawl was resumed"
    yield "  new", _share(pages.new, total)
    yield "  exact duplicates", _share(pages.exact_duplicates, total)
    yield "  near-duplicates", _share(pages.near_duplicates, total)
    yield from _revisit_rows(report, room)
    if pages.repeated:
        yield "  met again", f"{_share(pages.repeated, total)}, under the same URL"
    if report.preferred.duplicates:
        lines = [f"{_share(report.preferred.duplicates, total)} with better URLs than is stored"]
        for found in report.preferred.first[:_URLS]:
            lines += [printable(found.url), f"  stored: {printable(found.original)}"]
        yield "  not preferred", "\n".join(lines)
    for objection, count in report.objections.items():
        reason = printable(objection).replace("_", " ")
        yield "  new, though alike", f"{_share(count, total)}: {reason}"
    for weakness, count in report.weak.items():
        yield "extracted too little", f"{_share(count, total)}: {_WEAK.get(weakness, weakness)}"
    skipped = _share(sum(pages.skipped.values()), total)
    reasons = ", ".join(
        f"{printable(name).replace('_', ' ')}: {count:,}" for name, count in pages.skipped.items()
    )
    yield "  skipped (kept)", f"{skipped}: {reasons}" if reasons else skipped


def _revisit_rows(report: Report, room: int) -> Rows:
    pages, total = report.pages, report.pages.judged
    if pages.unchanged or pages.changed:
        yield "  unchanged", f"{_share(pages.unchanged, total)} since an earlier crawl"
        again = ", stored again" if pages.changed else ""
        urls = [_url(page.url, room) for page in report.revisits.changed[:_URLS]]
        lines = [f"{_share(pages.changed, total)}{again}", *urls]
        if pages.changed > _URLS:
            lines.append(f"and {pages.changed - _URLS:,} more")
        yield "  changed", "\n  ".join(lines)


def _item_rows(report: Report) -> Rows:
    items = report.items
    yield "items dropped", f"{items.dropped:,}"
    if items.marked:
        yield "items marked", f"{items.marked:,}"
    if items.unknown:
        yield "items not judged", f"{items.unknown:,} (of unknown pages)"
    if report.links_held_back:
        yield "links held back", f"{report.links_held_back:,}"


def _text_rows(report: Report, room: int) -> Rows:
    text = report.dropped_text
    if not text or not (text.pages or text.pages_of_earlier_crawls):
        return
    lines = []
    if text.pages:
        said = str(text.estimate)
        lines.append(said.replace("nowhere", "nowhere else") if text.is_stored else said)
    for page in text.lossiest[:_URLS]:
        lines.append(f"{page.lost:,} of the {page.sequences:,} of {_url(page.url, room - 18)}")
        lines.append(f"  for {_url(page.original, room - 4)}")
    if left_out := text.pages_of_earlier_crawls:
        lines.append(f"without copies of pages that only earlier crawls met: {left_out:,}")
    yield f"extracted, {'marked' if text.is_stored else 'dropped'}", "\n".join(lines)


def _problem_rows(report: Report) -> Rows:
    if report.unread:
        causes = ", ".join(f"{printable(cause)}: {n:,}" for cause, n in report.unread.items())
        yield "pages not read", causes
    if report.errors:
        yield "errors (items kept)", f"{report.errors:,}"
    if report.texts_lost:
        yield "texts not kept", f"{report.texts_lost:,}: their differences are missing"


def _duplicate_rows(report: Report, room: int) -> Rows:
    distances = _histogram(report.distances)
    most = max(distances.values(), default=0)
    for distance, count in distances.items():
        yield f"distance {distance}", f"{'#' * -(-_BAR * count // most)} {count:,}".strip()
    for group in report.largest_groups[:_GROUPS]:
        yield f"group of {group.duplicates + 1:,}", "\n".join(_group_lines(group, room))
    if len(report.largest_groups) > _GROUPS:
        yield "groups in all", f"{report.groups:,}"
    hosts = list(report.duplicates_by_host.items())
    if hosts:
        names = ", ".join(f"{printable(name) or '(none)'}: {n:,}" for name, n in hosts[:_HOSTS])
        more = f" and {len(hosts) - _HOSTS:,} more" if len(hosts) > _HOSTS else ""
        yield "duplicates by host", names + more


def _histogram(distances: Mapping[float, int]) -> dict[str, int]:
    """Return the counts of all distances up to the largest, in steps if they are many or shares."""
    if not distances:
        return {}
    widest = max(distances)
    if all(isinstance(distance, int) for distance in distances) and widest < _ROWS:
        return {str(distance): distances.get(distance, 0) for distance in range(int(widest) + 1)}
    step = math.ceil(widest / _ROWS) if widest > 1 else 1 / _ROWS
    counts = [0] * (int(widest / step + 1e-9) + 1)
    for distance, count in distances.items():
        counts[int(distance / step + 1e-9)] += count
    starts = [round(row * step, 2) for row in range(len(counts) + 1)]
    return {
        f"{start:g} to {end:g}": count
        for start, end, count in zip(starts, starts[1:], counts, strict=False)
    }


def _group_lines(group: Group, room: int) -> Iterator[str]:
    yield _url(group.original, room)
    copies = group.first[:_URLS]
    yield from (_copy_line(copy, room) for copy in copies)
    if group.duplicates > len(copies):
        yield f"  and {group.duplicates - len(copies):,} more"


def _copy_line(copy: Copy, room: int) -> str:
    is_exact = copy.verdict == "exact-duplicate" or copy.distance is None
    how = "exact" if is_exact else f"distance {copy.distance:.3g}"
    return f"  = {_url(copy.url, room - len(how) - 7)} ({how})"


def _cost_rows(report: Report) -> Rows:
    if saved := report.saved:
        yield (
            "saved",
            f"{format_bytes(saved.bytes)} not stored; "
            f"{count_of(saved.pages_not_read_again, 'page')} ({format_seconds(saved.seconds)} of "
            "work) not read twice",
        )
    for stage, time in report.seconds_per_page.items():
        # Many pages wait at once, so that the sum is no time that anybody spent.
        total = "" if stage == "waiting" else f", sum {format_seconds(time.sum)}"
        within = f"95 % within {_time(time.p95)}"
        yield f"time: {stage}", f"median {_time(time.median)}, {within}{total}"
    index = report.index
    yield "memory of the index", f"{format_bytes(index.bytes)} for {count_of(index.pages, 'page')}"
    if ledger := report.ledger:
        missing = ledger.pages_not_written
        without = f", without {count_of(missing, 'page')}" if missing else ""
        yield "ledger", printable(ledger.path) + without
    if report.store:
        counts = {**report.store, "claims lost": report.claims.get("lost", 0)}
        told = (f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items() if count)
        yield "  shared", printable(", ".join(told))


def _setting_rows(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> Rows:
    distance = settings["DEDUP_MAX_DISTANCE"]
    at_most = "" if distance is None else f", distance at most {distance}"
    yield "method", f"{printable(str(settings['DEDUP_METHOD']))}{at_most}"
    others = ", ".join(
        f"{name.removeprefix('DEDUP_').lower()}={printable(str(value))}"
        for name, value in settings.items()
        if name not in ("DEDUP_METHOD", "DEDUP_MAX_DISTANCE")
        and not (name in defaults and value == defaults[name])
    )
    yield "other settings", others or "the defaults"


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})" if count and total else f"{count:,}"


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else format_seconds(seconds)
