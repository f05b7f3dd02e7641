"""The numbers as a table for the log."""

import io
import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.text import Lines, printable

_WIDTH = 100
_GROUPS = 5
_URLS = 3
_HOSTS = 5
_BAR = 30
_ROWS = 20


def as_text(numbers: Mapping[str, Any], defaults: Mapping[str, Any] | None = None) -> Lines:
    """Return the report of `Summary.finish` as plain text, about 100 columns wide.

    Settings are shown whose values are not those of *defaults*, by their names. Built of ASCII
    lines, since logs are read in all kinds of terminals and files.
    """
    output = io.StringIO()
    console = Console(file=output, width=_WIDTH, color_system=None, legacy_windows=False)
    table = Table(box=box.ASCII2, show_header=False, title="Duplicates in this crawl", expand=True)
    table.add_column()
    table.add_column(ratio=1, overflow="fold")
    sections = (_pages(numbers), _duplicates(numbers), _cost(numbers, defaults or {}))
    for section in sections:
        for label, value in section:
            # Text, not str: a URL may contain what would be markup to rich.
            lines = (printable(line, None) for line in value.split("\n"))
            table.add_row(Text(printable(label)), Text("\n".join(lines)))
        table.add_section()
    console.print(table)
    return Lines("\n".join(line.rstrip() for line in output.getvalue().split("\n")).rstrip("\n"))


def _pages(numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    pages, items = numbers["pages"], numbers["items"]
    total = pages["judged"]
    yield "pages", f"{total:,} ({pages['per_second'] or 0:,.1f} a second)"
    yield "  new", _share(pages["new"], total)
    yield "  exact duplicates", _share(pages["exact_duplicates"], total)
    yield "  near-duplicates", _share(pages["near_duplicates"], total)
    if pages["unchanged"] or pages["changed"]:
        yield "  unchanged", f"{_share(pages['unchanged'], total)} since an earlier crawl"
        changed = [printable(page["url"]) for page in numbers["revisits"]["changed"]]
        again = ", stored again" if pages["changed"] else ""
        lines = [f"{_share(pages['changed'], total)}{again}", *changed[:_URLS]]
        if pages["changed"] > _URLS:
            lines.append(f"and {pages['changed'] - _URLS:,} more")
        yield "  changed", "\n  ".join(lines)
    if repeated := pages.get("repeated"):
        yield "  met again", f"{_share(repeated, total)}, under the same URL"
    skipped = pages["skipped"]
    if skipped:
        reasons = ", ".join(
            f"{printable(name).replace('_', ' ')}: {n:,}" for name, n in skipped.items()
        )
        yield "  skipped (kept)", f"{_share(sum(skipped.values()), total)}: {reasons}"
    else:
        yield "  skipped (kept)", "0"
    yield "items dropped", f"{items['dropped']:,}"
    if items["marked"]:
        yield "items marked", f"{items['marked']:,}"
    if items["unknown"]:
        yield "items not judged", f"{items['unknown']:,} (of unknown pages)"
    if numbers["links_held_back"]:
        yield "links held back", f"{numbers['links_held_back']:,}"
    if numbers["unread"]:
        causes = ", ".join(f"{printable(cause)}: {n:,}" for cause, n in numbers["unread"].items())
        yield "pages not read", causes
    if numbers["errors"]:
        yield "errors (items kept)", f"{numbers['errors']:,}"
    if numbers["texts_lost"]:
        yield "texts not kept", f"{numbers['texts_lost']:,}: their differences are missing"


def _duplicates(numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    distances = _histogram(numbers["distances"])
    most = max(distances.values(), default=0)
    for distance, count in distances.items():
        yield f"distance {distance}", f"{'#' * -(-_BAR * count // most)} {count:,}".strip()
    for group in numbers["largest_groups"][:_GROUPS]:
        copies = group["duplicates"]
        shown = group["first"][:_URLS]
        lines = [printable(group["original"]), *map(_copy, shown)]
        if copies > len(shown):
            lines.append(f"  and {copies - len(shown):,} more")
        yield f"group of {copies + 1:,}", "\n".join(lines)
    if len(numbers["largest_groups"]) > _GROUPS:
        yield "groups in all", f"{numbers['groups']:,}"
    hosts = list(numbers["duplicates_by_host"].items())
    if hosts:
        named = ", ".join(f"{printable(name) or '(none)'}: {n:,}" for name, n in hosts[:_HOSTS])
        more = f" and {len(hosts) - _HOSTS:,} more" if len(hosts) > _HOSTS else ""
        yield "duplicates by host", named + more


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


def _copy(copy: Mapping[str, Any]) -> str:
    how = "exact" if copy["verdict"] == "exact-duplicate" else f"distance {copy['distance']:.3g}"
    return f"  = {printable(copy['url'])} ({how})"


def _cost(numbers: Mapping[str, Any], defaults: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    saved, index = numbers["saved"], numbers["index"]
    yield (
        "saved",
        (
            f"{_bytes(saved['bytes'])} not stored; {saved['pages_not_read_again']:,} pages "
            f"({saved['seconds']:.1f} s of work) not read twice"
        ),
    )
    for stage, seconds in numbers["seconds_per_page"].items():
        yield (
            f"time: {stage}",
            f"median {_milliseconds(seconds['median'])}, "
            f"95 % within {_milliseconds(seconds['p95'])}, sum {seconds['sum']:.2f} s",
        )
    yield "memory of the index", f"{_bytes(index['bytes'])} for {index['pages']:,} pages"
    if ledger := numbers["ledger"]:
        missing = ledger["pages_not_written"]
        yield (
            "ledger",
            printable(ledger["path"]) + (f", without {missing:,} pages" if missing else ""),
        )
    settings = numbers["settings"]
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


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1000:.3g} ms"


def _bytes(count: float) -> str:
    if count < 1000:
        return f"{count:,.0f} bytes"
    for unit in ("kB", "MB"):
        count /= 1000
        if count < 1000:
            return f"{count:,.1f} {unit}"
    return f"{count / 1000:,.1f} GB"
