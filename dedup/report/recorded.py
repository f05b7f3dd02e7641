"""The numbers of pages that were recorded: a report without a crawl to watch."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from dedup.detector import Detector
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.summary import Summary
from dedup.rule import Kind, Verdict
from dedup.url_advice import Content, Contents


class Recorded(NamedTuple):
    """A page and what was said of it.

    *original* is the URL of the page that a duplicate repeats, *tokens* the length of its main
    text, *size* that of its body in bytes, *reason* why a skipped page was not compared, *sketch*
    and *scope* with what it was compared. *content* is what it has, for URL advice; without it, the
    rest has to tell.
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


class Counters:
    """Counters that live by themselves, where Scrapy's stats do in a crawl."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def inc_value(self, key: str, count: int = 1, start: int = 0) -> None:
        self._values[key] = self._values.get(key, start) + count

    def set_value(self, key: str, value: Any) -> None:
        self._values[key] = value

    def get_value(self, key: str, default: Any = None) -> Any:
        return self._values.get(key, default)

    def get_stats(self) -> dict[str, Any]:
        return self._values


def numbers_of(
    pages: Iterable[Recorded],
    settings: Mapping[str, Any],
    *,
    spider: str,
    started: datetime,
    seconds: float,
    detector: Detector | None = None,
    contents: Contents | None = None,
) -> dict[str, Any]:
    """Return the numbers of *pages*, given in the order in which they came, as reports have them.

    What only a crawl knows is empty: stages and items. *started* has a time zone. *detector*: where
    the pages are, for near misses; *contents*: where what they have is noted, for URL advice.

    >>> from datetime import UTC
    >>> pages = [Recorded("http://a/", Kind.NEW), Recorded("http://b/", Kind.EXACT, "http://a/", 0)]
    >>> start = datetime(2026, 1, 1, tzinfo=UTC)
    >>> numbers = numbers_of(pages, {}, spider="mine", started=start, seconds=1)
    >>> numbers["pages"]["judged"], numbers["largest_groups"][0]["original"]
    (2, 'http://a/')
    """
    name = str(settings.get("DEDUP_METHOD", ""))
    summary = Summary(Counters(), settings, contents=contents)
    for record in pages:
        verdict = Verdict(record.kind, name, record.original, record.distance, record.reason)
        length = record.tokens
        page = None if length is None else Page(PageRecord(tokens=length, sketch=record.sketch))
        summary.record(verdict, record.url, record.size, page, record.scope, content=record.content)
    numbers = summary.finish(detector)
    judged = numbers["pages"]["judged"]
    numbers["pages"]["per_second"] = round(judged / seconds, 2) if seconds else None
    return {
        "spider": spider,
        **numbers,
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
    }
