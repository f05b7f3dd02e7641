"""The report as a few lines for the log."""

from collections.abc import Iterator, Mapping

from dedup.report.report import Report
from dedup.text import Lines, printable, readable_url
from dedup.units import Count

_WIDTH = 100
_GROUPS = 5
_LABEL = 22
_RULES = 5
_SAVED = {"leaf": "stored pages", "not_modified": "not modified", "url_rule": "copies by URL"}
_LONGEST_REASONS = 500

Rows = Iterator[tuple[str, str]]


def as_text(report: Report) -> Lines:
    """Return *report* as plain text that fits a screen, without the middle of long URLs."""
    rows = (
        *_page_rows(report), *_saved_rows(report), *_problem_rows(report),
        *_duplicate_rows(report),
    )  # fmt: skip
    lines = (f"{label:<{_LABEL}}{value}" for label, value in rows)
    return Lines("\n".join(printable(line, None) for line in lines))


def _page_rows(report: Report) -> Rows:
    pages, total = report.pages, report.pages.judged
    resumed = report.ledger and report.ledger.resumed
    yield "pages", f"{total:,}{', since the crawl was resumed' if resumed else ''}"
    yield "  new", _share(pages.new, total)
    yield "  exact duplicates", _share(pages.exact_duplicates, total)
    yield "  near-duplicates", _share(pages.near_duplicates, total)
    if pages.unchanged or pages.changed:
        yield "  unchanged", f"{_share(pages.unchanged, total)} since an earlier crawl"
        yield "  changed", _share(pages.changed, total) + ", stored again" * bool(pages.changed)
    if pages.repeated:
        yield "  met again", f"{_share(pages.repeated, total)}, under the same URL"
    if skipped := sum(pages.skipped.values()):
        yield "  skipped (kept)", f"{_share(skipped, total)}: {_reasons(pages.skipped)}"
    if alike := sum(report.objections.values()):
        yield "  new, though alike", f"{_share(alike, total)}: {_reasons(report.objections)}"
    if better := report.preferred:
        yield "  not preferred", f"{_share(better, total)} with better URLs than is stored"
    items = report["items"]
    others = (f"{items[name]:,} {name}" for name in ("marked", "unknown") if items[name])
    yield "items dropped", ", ".join((f"{items.dropped:,}", *others))


def _saved_rows(report: Report) -> Rows:
    if saved := report.saved_requests:
        counts = ", ".join(f"{_SAVED[name]} {n:,}" for name, n in saved.reasons.items() if n)
        yield "requests saved", counts or "none"
        for rule in saved.rules[:_RULES]:
            part = f"{printable(rule.host)}: {rule.kind} {printable(rule.name)}"
            figures = f"has spared {rule.spared:,}, tested {rule.tests:,}"
            yield "  URL rule", f"{part} {figures}{', broken' * rule.broken}"
    if report.links_held_back:
        yield "links held back", f"{report.links_held_back:,}"


def _problem_rows(report: Report) -> Rows:
    if report.unread:
        yield "pages not read", _reasons(report.unread)
    if report.errors:
        yield "errors (items kept)", f"{report.errors:,}"
    if report.texts_lost:
        yield "texts not kept", f"{report.texts_lost:,}: their differences are missing"
    if report.ledger and (missing := report.ledger.pages_not_written):
        yield "ledger", f"{printable(report.ledger.path)}, without {Count(missing):page}"
    if report.store:
        counts = {**report.store, "claims_lost": report.claims.get("lost", 0)}
        yield "shared store", _reasons({name: count for name, count in counts.items() if count})


def _duplicate_rows(report: Report) -> Rows:
    if (text := report.dropped_text) and text.pages:
        lost, about = round(text.share * text.sequences), "about " if text.error else ""
        value = f"{about}{lost:,} of {text.sequences:,} word sequences are nowhere else"
        yield f"text {'marked' if text.is_stored else 'dropped'}", value
    for group in report.largest_groups[:_GROUPS]:
        shown = printable(readable_url(group.original), _WIDTH - _LABEL)
        yield f"group of {group.duplicates + 1:,}", shown
    if report.groups > _GROUPS:
        yield "groups in all", f"{report.groups:,}"


def _reasons(counts: Mapping[str, int]) -> str:
    told = (f"{name.replace('_', ' ')}: {count:,}" for name, count in counts.items())
    return printable(", ".join(told), _LONGEST_REASONS)


def _share(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})" if count and total else f"{count:,}"
