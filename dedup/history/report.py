"""What the report of a crawl says of pages: it has only the first ones of each kind."""

from collections.abc import Iterator

from dedup.history.event import (
    MOST_LISTED,
    Event,
    event_of_copies,
    format_list,
    noun_of,
    was,
)
from dedup.report.report import Report
from dedup.units import count_of


def events_of_report(report: Report, url: str, *, has_ledger: bool = False) -> Iterator[Event]:
    """Yield what the *report* of a crawl says of *url*; *has_ledger*: besides what a ledger does.

    It has only the first pages of each kind.
    """
    crawl = f"the crawl of {report.spider} on {report.started[:16].replace('T', ' ')} UTC"
    if not has_ledger:
        yield from _events_of_groups(report, url, crawl)
        yield from _events_of_revisits(report, url, crawl)
    yield from _events_of_near_misses(report, url, crawl)


def _events_of_groups(report: Report, url: str, crawl: str) -> Iterator[Event]:
    done = "marked" if report.settings.get("DEDUP_ACTION") == "mark" else "dropped"
    for group in report.largest_groups:
        if group.original == url:
            listed = [(copy.url, copy.verdict, copy.distance) for copy in group.first]
            yield event_of_copies(group.duplicates, "page", listed[:MOST_LISTED])
        for copy in group.first:
            if copy.url == url:
                noun = noun_of(copy.verdict, copy.distance)
                words = f"It was {noun} of <{group.original}> in {crawl}."
                facts = {
                    "verdict": copy.verdict, "original": group.original, "distance": copy.distance,
                }  # fmt: skip
                yield Event(done, words, facts)


def _events_of_revisits(report: Report, url: str, crawl: str) -> Iterator[Event]:
    for kind, pages in (
        ("unchanged", report.revisits.unchanged),
        ("changed", report.revisits.changed),
    ):
        for page in pages:
            if page.url == url:
                words = f"It was {kind} since an earlier crawl in {crawl}."
                yield Event(kind, words, {"distance": page.distance})


def _events_of_near_misses(report: Report, url: str, crawl: str) -> Iterator[Event]:
    misses = sorted(
        (miss.distance, miss.other if miss.url == url else miss.url)
        for miss in report.near_misses
        if url in (miss.url, miss.other)
    )
    if count := len(misses):
        limit = report.settings.get("DEDUP_MAX_DISTANCE")
        listed = misses[:MOST_LISTED]
        told = format_list([f"<{other}> (distance {at:.4g})" for at, other in listed], count)
        words = (
            f"In {crawl}, {count_of(count, 'page')} just beyond the threshold {limit} "
            f"{was(count)} kept beside it:{told}"
        )
        first = [{"url": other, "distance": at} for at, other in listed]
        yield Event("near misses", words, {"count": count, "first": first})


def urls_of_report(report: Report) -> Iterator[str]:
    """Yield the URLs that the report of a crawl names as pages."""
    for group in report.largest_groups:
        yield group.original
        yield from (copy.url for copy in group.first)
    for page in (*report.revisits.unchanged, *report.revisits.changed):
        yield page.url
    for miss in report.near_misses:
        yield from (miss.url, miss.other)
