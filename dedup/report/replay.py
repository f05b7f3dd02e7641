"""The report of pages whose verdicts are known: without a crawl to watch."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.counts import Counters
from dedup.report.details import Details
from dedup.report.near_misses import KeptIndex
from dedup.report.report import Report
from dedup.report.summary import Summary, method_name
from dedup.rule import Kind, Verdict
from dedup.url_advice import Content, Contents


class PageVerdict(NamedTuple):
    """A page and the verdict on it.

    *original* is the URL of the page that a duplicate repeats, *tokens* the length of its main
    text, *size* that of its body in bytes, *reason* why a skipped page was not compared. *sketch*
    and *scope* are what it was compared by, and where. *content* is for URL advice; without it, it
    is derived from the rest.
    """

    url: str
    kind: Kind
    original: str | None = None
    distance: float | None = None
    tokens: int | None = None
    size: int = 0
    reason: str | None = None
    sketch: bytes | None = None
    scope: str = ""
    content: Content | None = None


def replay(
    pages: Iterable[PageVerdict],
    settings: Mapping[str, Any],
    *,
    spider: str,
    started: datetime,
    seconds: float,
    detector: KeptIndex | None = None,
    contents: Contents | None = None,
) -> Report:
    """Return the report of *pages*, given in the order in which they came.

    What only a crawl knows is empty: stages and items. *started* has a time zone. *detector* knows
    the pages, for near misses; *contents* is where their contents are noted, for URL advice:
    without it, there is none.

    >>> from datetime import UTC
    >>> pages = [
    ...     PageVerdict("http://a/", Kind.NEW),
    ...     PageVerdict("http://b/", Kind.EXACT, "http://a/", 0),
    ... ]
    >>> start = datetime(2026, 1, 1, tzinfo=UTC)
    >>> report = replay(pages, {}, spider="mine", started=start, seconds=1)
    >>> report.pages.judged, report.largest_groups[0].original
    (2, 'http://a/')
    """
    method = method_name(settings)
    summary = Summary(Counters(), settings, details=Details(contents=contents))
    for page in pages:
        verdict = Verdict(page.kind, method, page.original, page.distance, page.reason)
        known = None
        if page.tokens is not None:
            known = Page(PageRecord(tokens=page.tokens, sketch=page.sketch))
        summary.record(verdict, page.url, page.size, known, page.scope, content=page.content)
    report = summary.finish(detector, spider=spider)
    judged = report.pages.judged
    return replace(
        report,
        started=started.isoformat(timespec="seconds"),
        seconds=round(seconds, 3),
        pages=replace(report.pages, per_second=round(judged / seconds, 2) if seconds else None),
    )
