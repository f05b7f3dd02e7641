"""What a report means, and what to do next: sentences with figures, and settings to copy."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dedup.item_values import NUMBERS_OF
from dedup.report.charts import numbered, threshold_of
from dedup.report.kept_pages import priority
from dedup.report.report import Report
from dedup.report.templating import cut_url, messages
from dedup.text import printable
from dedup.units import Count, format_seconds

_LOG_LINES = 3
_LONGEST_URL = 100
# Fewer pages may be chance.
_FEW = 5
_FEW_FIELDS = 2
_SECONDS_WAITED = 1.0
# In a shorter crawl, many of the pages wait for the workers to start.
_LEAST_TIMED = 200
_SHARE_OF_WEAK_PAGES = 0.05
_SHARE_OF_ONE_TEXT = 0.05
_LEAST_ALARMING, _SHARE_ALARMING = 100, 0.9


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence of the messages, ``finding_<name>``, and the *values* that it has.

    *setting* is Python code for the settings, empty where nothing is to be set; *anchor* is where
    the report shows it.
    """

    name: str
    values: tuple[Any, ...]
    setting: str
    anchor: str

    def __str__(self) -> str:
        values = (Count(value) if isinstance(value, int) else value for value in self.values)
        return printable(messages()[f"finding_{self.name}"][0].format(*values), None)


def findings(report: Report) -> list[Finding]:
    """Return what is found in *report*, what matters most first."""
    return [finding for find in _FINDERS if (finding := find(report))]


def lines_of(found: list[Finding]) -> Iterator[str]:
    """Yield the first three findings as lines for the log, each with its setting."""
    for finding in found[:_LOG_LINES]:
        setting = "" if "\n" in finding.setting else finding.setting
        yield f"{finding}{f' Try {printable(setting, None)}' if setting else ''}"


def _alarm(report: Report) -> Finding | None:
    """Find that nearly everything was dropped."""
    pages = report.pages
    dropped = pages.exact_duplicates + pages.near_duplicates
    is_kept = report.settings.get("DEDUP_ACTION") == "mark"
    if is_kept or pages.judged < _LEAST_ALARMING or dropped <= _SHARE_ALARMING * pages.judged:
        return None
    return Finding("alarm", (dropped, pages.judged), "", "groups")


def _items(report: Report) -> Finding | None:
    """Find fields that keep pages.

    Where a page differs in two of them, or others in many, they may be other things. So may those
    that differ in a number of their main text, which no setting leaves out.
    """
    found = report.item_differences
    if found is None or found.in_fields < _FEW:
        return None
    ignored = report.settings.get("DEDUP_IGNORE_FIELDS") or []
    fields = [field.name for field in found.fields]
    shown = ", ".join(map(_told, found.fields[:_FEW]))
    more = f", … ({len(fields) - _FEW})" if len(fields) > _FEW else ""
    urls = (printable(cut_url(url), _LONGEST_URL) for url in (found.url, found.original))
    names = ", ".join(f'"{name}"' for name in [*ignored, *fields])
    are_few = len(fields) <= _FEW_FIELDS
    is_alone = sum(field.pages for field in found.fields) <= found.in_fields
    has_numbers = any(name.startswith(NUMBERS_OF) for name in fields)
    can_be_ignored = are_few and is_alone and not has_numbers
    setting = f"DEDUP_IGNORE_FIELDS = [{names}]" if can_be_ignored else ""
    return Finding("items", (found.in_fields, shown + more, *urls), setting, "items")


def _told(field: Report) -> str:
    more = ", …" * (field.pages > 1)
    return f"{printable(field.name)} ({field.pages:,}×: {printable(field.value)}{more})"


def _one_text(report: Report) -> Finding | None:
    for group in report.largest_groups[:1]:
        exact = sum(copy.verdict == "exact-duplicate" for copy in group.first)
        most = max(4 * _FEW, _SHARE_OF_ONE_TEXT * report.pages.judged)
        if group.duplicates >= most and 2 * exact > len(group.first):
            url = printable(cut_url(group.original), _LONGEST_URL)
            anchor = f"group-{priority(group.original):016x}"
            return Finding("one_text", (group.duplicates, url), "", anchor)
    return None


def _no_valley(report: Report) -> Finding | None:
    threshold, distances = threshold_of(report), numbered(report.distances)
    nearest = report.nearest_kept
    if threshold is None or not nearest.sample or not distances:
        return None
    width = max(1.0, threshold / 3) if threshold >= 1 else threshold / 4
    scale = nearest.pages / nearest.sample
    below = sum(n for d, n in distances.items() if threshold - width < d)
    beyond = sum(n for d, n in numbered(nearest.distances).items() if d <= threshold + width)
    estimate = round(scale * beyond)
    if min(below, beyond) < _FEW or 4 * min(below, estimate) < max(below, estimate):
        return None
    setting = "" if report.settings.get("DEDUP_ACTION") == "mark" else 'DEDUP_ACTION = "mark"'
    return Finding("no_valley", (f"{threshold:g}", below, estimate), setting, "near-misses")


def _weak(report: Report) -> Finding | None:
    weak, judged = sum(report.weak.values()), report.pages.judged
    if weak < max(_FEW, _SHARE_OF_WEAK_PAGES * judged):
        return None
    return Finding("weak", (weak, judged), "", "evidence")


def _chinese_scripts(report: Report) -> Finding | None:
    """Find pages in both scripts: versions of one page never match, unless one is simplified."""
    found = report.chinese_scripts
    if found is None or min(found.traditional, found.simplified) < _FEW:
        return None
    chosen = report.settings.get("DEDUP_METHOD")
    method = dict(chosen) if isinstance(chosen, Mapping) else {"name": chosen}
    setting = f"DEDUP_METHOD = {method | {'simplify_chinese': True}}"
    return Finding("scripts", (found.traditional, found.simplified), setting, "near-misses")


def _url_parts(report: Report) -> Finding | None:
    if report.url_advice is None:
        return None
    parts, setting = report.url_advice.advice, ""
    # It learns nothing of folders and hosts.
    others = [item for item in parts if item.kind in ("value", "host")]
    if report.settings.get("DEDUP_SKIP_URLS"):
        parts = others
    elif len(others) < len(parts):
        setting = "DEDUP_SKIP_URLS = True"
    return Finding("url_parts", (len(parts),), setting, "advice") if parts else None


def _waiting(report: Report) -> Finding | None:
    waiting = report.seconds_per_page.get("waiting")
    workers = report.settings.get("DEDUP_WORKERS")
    if waiting is None or waiting.pages < _LEAST_TIMED:
        return None
    mean = waiting.sum / waiting.pages
    if mean <= _SECONDS_WAITED:
        return None
    more = workers + 1 if isinstance(workers, int) else 2
    setting = f"DEDUP_WORKERS = {more}"
    return Finding("waiting", (format_seconds(mean),), setting, "stages")


def _copies_only(report: Report) -> Finding | None:
    patterns = [
        name
        for name in report.url_patterns.largest
        if _FEW <= name.pages == name.duplicates and "?" not in name.name
    ]
    if not patterns:
        return None
    [most, *_] = patterns
    values = most.pages, printable(cut_url(most.name), _LONGEST_URL)
    return Finding("copies_only", values, "", "url_patterns")


def _preferred(report: Report) -> Finding | None:
    count = report.preferred
    if not count:
        return None
    if not report.settings.get("DEDUP_PREFER"):
        return Finding("cleaner", (count,), 'DEDUP_PREFER = ["clean-url"]', "groups")
    is_set = report.settings.get("DEDUP_DUPLICATES")
    setting = "" if is_set else 'DEDUP_DUPLICATES = "dropped.jsonl"'
    return Finding("preferred", (count,), setting, "groups")


_FINDERS: tuple[Callable[[Report], Finding | None], ...] = (
    _alarm,
    _items,
    _one_text,
    _no_valley,
    _weak,
    _copies_only,
    _chinese_scripts,
    _url_parts,
    _preferred,
    _waiting,
)
