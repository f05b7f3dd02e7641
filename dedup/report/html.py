"""The report, and the texts behind it, as one HTML file that needs no network."""

import json
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

from dedup.diff import word_diff
from dedup.limits import shorten
from dedup.lost_text import LostText
from dedup.report import templating
from dedup.report.charts import distances, shares, tables, threshold_of
from dedup.report.events import Copy
from dedup.report.findings import findings
from dedup.report.kept_pages import priority
from dedup.report.report import Report
from dedup.text import printable

_BYTES = 1_900_000
_BYTES_OF_A_COPY = 500  # without its URL and its title
_LONGEST_TITLE = 200
_BYTES_OF_DIFFS = 900_000
_SECONDS_OF_DIFFS = 4.0
_PARTS_OF_A_DIFF = 300
_LONGEST_PART = 1_000
_SIGNS = {"equal": "=", "removed": "-", "added": "+"}

TextOf = Callable[[str], tuple[str | None, str] | None]
"""Returns title and text of the page at a URL, ``None`` if they were not kept."""


class _Diffs:
    """Numbers the diffs that the report shows; `parts` has those of each, which begin with a sign.

    When there are too many, or they take too long, no more are shown.
    """

    def __init__(self, text_of: TextOf) -> None:
        self._text_of = text_of
        self._bytes = 0
        self._deadline = monotonic() + _SECONDS_OF_DIFFS
        self.parts: list[list[str]] = []

    def add(self, url: str, other: str) -> int | None:
        """Return the number of the diff of two pages, ``None`` if it is not shown."""
        if self._bytes > _BYTES_OF_DIFFS or monotonic() > self._deadline:
            return None
        before, after = self._text_of(url), self._text_of(other)
        if not (before and after):
            return None
        parts: list[str] = []
        for kind, words in word_diff(before[1], after[1]):
            if len(parts) == _PARTS_OF_A_DIFF:
                parts.append("…")
                break
            parts.append(_SIGNS[kind] + shorten(words, _LONGEST_PART))
        # As JSON in HTML, where some characters are escaped.
        text = json.dumps(parts, ensure_ascii=False)
        self._bytes += len(text.encode("utf-8", "replace")) + 5 * sum(map(text.count, "<>&'"))
        self.parts.append(parts)
        return len(self.parts) - 1


def as_html(
    report: Report,
    text_of: TextOf,
    copies: Iterable[Copy],
    *,
    copies_in: str = "",
    crawls: int | None = None,
) -> str:
    """Return *report* as HTML.

    *text_of* tells the texts of pages whose differences can be shown; *copies* are all duplicates,
    those first that are shown where not all can be; *copies_in* the name of the file that has them;
    *crawls*: how many the report is of, if it is of a ledger.
    """
    diffs, text = _Diffs(text_of), report.dropped_text
    near_misses = [
        (pair.distance, pair.url, pair.other, diffs.add(pair.url, pair.other))
        for pair in report.near_misses
    ]
    groups, left_out = _groups(copies, diffs)
    sizes = {group.original: group.duplicates for group in report.largest_groups}
    for group in groups:
        group["count"] = max(group["count"], sizes.get(group["url"], 0))
    lossiest = [
        (
            f"{page.lost:,} / {page.sequences:,}",
            page.url,
            page.original,
            diffs.add(page.original, page.url),
        )
        for page in (text.lossiest if text else ())
    ]
    messages, (bars, within) = templating.messages().items(), distances(report)
    return templating.template().render(
        {
            "report": report,
            "crawls": crawls,
            "findings": findings(report),
            "threshold": threshold_of(report),
            "title": f"{report.spider} {report.started[:10]}",
            "restore": _restore(report),
            "shares": shares(report),
            "distances": bars,
            "within": within,
            "tables": tables(report),
            "groups": groups,
            "left_out": left_out,
            "copies_in": copies_in,
            "lossiest": lossiest,
            "lost": round(text.share * text.sequences) if text else 0,
            "lost_percent": text and LostText(text.sequences, text.share, text.error).percent,
            "near_misses": near_misses,
            "data": {
                "diffs": diffs.parts,
                "messages": {name: text for name, text in messages if name.startswith("js_")},
            },
        },
    )


def _groups(copies: Iterable[Copy], diffs: _Diffs) -> tuple[list[dict[str, Any]], int]:
    """Return the groups with as many of the *copies* as there is room for, and how many have none.

    The largest group comes first.
    """
    groups: dict[str, dict[str, Any]] = {}
    size = left_out = 0
    for copy in copies:
        title = printable(copy.title or "", _LONGEST_TITLE)
        if size > _BYTES:
            left_out += 1
            if copy.original in groups:
                groups[copy.original]["count"] += 1
            continue
        group = groups.get(copy.original)
        if group is None:
            group = groups[copy.original] = {
                "id": f"{priority(copy.original):016x}",
                "url": copy.original,
                "title": printable(copy.original_title or "", _LONGEST_TITLE),
                "count": 0,
                "copies": [],
            }
        is_exact = copy.verdict == "exact-duplicate" or copy.distance is None
        difference = None if is_exact else diffs.add(copy.original, copy.url)
        group["count"] += 1
        title_shown = "" if title == group["title"] else title
        distance = None if is_exact else copy.distance
        group["copies"].append((copy._replace(title=title_shown, distance=distance), difference))
        for text in (copy.url, copy.url, title):
            size += len(text.encode("utf-8", "replace"))
        size += _BYTES_OF_A_COPY
    return sorted(groups.values(), key=lambda group: -group["count"]), left_out


def _restore(report: Report) -> str:
    settings = report.settings
    dropped, ledger = settings.get("DEDUP_DUPLICATES"), settings.get("DEDUP_INDEX")
    if not dropped:
        return ""
    is_file = ledger and "://" not in str(ledger)
    known = f" --ledger {ledger}" if is_file else ""
    return f"dedup restore {dropped}{known} >> restored.jsonl"
