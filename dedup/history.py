"""What became of a page, in words, from what crawls left: ledgers, reports, dropped items."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from heapq import nsmallest
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from dedup.dropped import DroppedItem
from dedup.limits import LONGEST_URL
from dedup.report.report import Report
from dedup.rule import Kind
from dedup.stores.reader import LedgerReader, StoredMatch, StoredPage
from dedup.units import count_of

MOST_LISTED = 10
"""The most URLs that an event names, and the most nearest ones."""
_NOUNS = {
    Kind.EXACT: "an exact duplicate",
    Kind.NEAR: "a near-duplicate",
    Kind.REPEATED: "a page that was met before in the crawl, under this URL",
}


class Event(NamedTuple):
    """Something that became of a page: *what* in one word, in *words*, and the *facts* as JSON."""

    what: str
    words: str
    facts: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, **self.facts, "words": self.words}


@dataclass
class History:
    """What one source knows of a page, and what else it may help to know."""

    source: str
    events: list[Event] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


class LedgerHistory:
    """What a ledger knows of pages."""

    def __init__(self, ledger: LedgerReader) -> None:
        self._ledger = ledger
        self._crawls = {crawl.id: crawl for crawl in ledger.crawls()}

    def known_urls(self) -> Iterator[str]:
        return self._ledger.known_urls()

    def of(self, url: str) -> History:
        """Return what became of the page at *url*, in the order in which it did."""
        versions = self._ledger.versions(url)
        events = [(page.stored, self._stored(page, versions)) for page in versions]
        events += [(m.found, self._repeated(m)) for m in self._ledger.matches_of(url)]
        events.sort(key=lambda event: event[0])
        history = History(str(self._ledger.path), [event for _, event in events])
        if versions:
            history.events += self._copies(url)
        for crawl in self._crawls.values() if history.events else ():
            if crawl.report:
                told = events_of_report(Report.from_json(crawl.report), url, has_ledger=True)
                history.events += told
        history.hints = [] if history.events else [*self._skipped()]
        return history

    def _stored(self, page: StoredPage, versions: Sequence[StoredPage]) -> Event:
        crawl = self._crawls.get(page.crawl)
        how = "restored" if crawl and crawl.reason == "restored" else "stored"
        words = f"It was {how} {self._in(page.crawl, page.stored)}, as page {page.number}, with "
        words += f"{count_of(page.record.tokens, 'word')}"
        if page.is_change:
            words += "; it had changed since it was stored before"
        words += "."
        if page.seen > page.stored:
            words += f" It was met again unchanged, last on {_time(page.seen)}."
        by = next((other for other in versions if other.stored == page.ended), None)
        if page.ended is not None and by:
            words += f" Page {by.number} took its place on {_time(page.ended)}."
        elif page.ended is not None:
            words += (
                f" It expired on {_time(page.ended)} (DEDUP_MAX_AGE): no page is compared with it."
            )
        facts = {
            "page": page.number, "crawl": page.crawl, "stored": _time(page.stored),
            "seen": _time(page.seen), "ended": _time(page.ended),
            "replaced_by": by and by.number, "tokens": page.record.tokens,
            "is_change": bool(page.is_change),
        }  # fmt: skip
        return Event("changed" if page.is_change else how, words, facts)

    def _repeated(self, match: StoredMatch) -> Event:
        crawl = self._crawls.get(match.crawl)
        is_marked = crawl is not None and crawl.setting("DEDUP_ACTION") == "mark"
        done = "marked, and stored," if is_marked else "dropped"
        words = (
            f"It was {done} {self._in(match.crawl, match.found)}, as "
            f"{_noun(match.kind, match.distance)} of <{match.original}>, which is page "
            f"{match.page}."
        )
        if match.ended is not None:
            words += (
                f" That page does not count since {_time(match.ended)}: this one is compared anew."
            )
        facts = {
            "verdict": match.kind, "original": match.original, "page": match.page,
            "distance": match.distance, "crawl": match.crawl, "found": _time(match.found),
            "original_ended": _time(match.ended),
        }  # fmt: skip
        return Event("marked" if is_marked else "dropped", words, facts)

    def _copies(self, url: str) -> Iterator[Event]:
        copies = self._ledger.copies_of(url)
        first = list(islice(copies, MOST_LISTED))
        if count := len(first) + sum(1 for _ in copies):
            listed = [(copy.duplicate, copy.kind, copy.distance) for copy in first]
            yield _copies_event(count, "page", listed)

    def _in(self, crawl: int, at: float) -> str:
        known = self._crawls.get(crawl)
        of = f" of {known.spider}" if known else ""
        return f"in crawl {crawl}{of} on {_time(at)}"

    def _skipped(self) -> Iterator[str]:
        """Yield what is known of pages that no ledger names."""
        reasons: Counter[str] = Counter()
        for crawl in self._crawls.values():
            reasons.update((crawl.report or {}).get("pages", {}).get("skipped", {}))
        if reasons:
            told = ", ".join(f"{reason}: {count:,}" for reason, count in sorted(reasons.items()))
            yield (
                f"A ledger has no URLs of pages that were kept without being compared; its crawls "
                f"had {reasons.total():,} ({told})."
            )


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
            yield _copies_event(group.duplicates, "page", listed[:MOST_LISTED])
        for copy in group.first:
            if copy.url == url:
                words = (
                    f"It was {_noun(copy.verdict, copy.distance)} of <{group.original}> in {crawl}."
                )
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
        told = _list([f"<{other}> (distance {at:.4g})" for at, other in listed], count)
        words = (
            f"In {crawl}, {count_of(count, 'page')} just beyond the threshold {limit} "
            f"{_was(count)} kept beside it:{told}"
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


class DroppedHistory:
    """What the items of a file of dropped ones say of one page; they are told one by one."""

    def __init__(self, source: str, url: str) -> None:
        self._source = source
        self._url = url
        self._drops: dict[tuple[str, str | None], list[DroppedItem]] = {}
        self._copies: list[tuple[str, str, float | None]] = []
        self._count = 0

    def add(self, dropped: DroppedItem) -> None:
        """Take note of an item."""
        if dropped.url == self._url:
            key = dropped.verdict, dropped.original
            self._drops.setdefault(key, []).append(dropped._replace(item=None))
        elif dropped.original == self._url:
            self._count += 1
            if len(self._copies) < MOST_LISTED:
                self._copies.append((dropped.url, dropped.verdict, dropped.distance))

    def result(self) -> History:
        """Return what they said."""
        history = History(self._source)
        for (verdict, original), items in islice(self._drops.items(), MOST_LISTED):
            last = items[-1]
            is_repeated = verdict == Kind.REPEATED
            of = "" if is_repeated else f" of <{original}>"
            words = (
                f"{count_of(len(items), 'item').capitalize()} of it {_was(len(items))} dropped, "
                f"last on {_time_of(last.dropped)}, as {_noun(verdict, last.distance)}{of} "
                f"({last.method}). "
                f"dedup restore has {'it' if len(items) == 1 else 'them'} back."
            )
            facts = {
                "verdict": verdict, "original": original, "distance": last.distance,
                "method": last.method, "dropped": last.dropped, "items": len(items),
            }  # fmt: skip
            history.events.append(Event("dropped", words, facts))
        if self._count:
            history.events.append(_copies_event(self._count, "item", self._copies))
        return history


def _copies_event(count: int, noun: str, listed: Sequence[tuple[str, str, float | None]]) -> Event:
    pages = [
        f"<{url}> ({kind}" + (")" if kind != Kind.NEAR else f", distance {distance or 0:.4g})")
        for url, kind, distance in listed
    ]
    told = _list(pages, count)
    words = f"{count_of(count, noun).capitalize()} {_was(count)} found to repeat it:{told}"
    facts = [{"url": url, "verdict": kind, "distance": distance} for url, kind, distance in listed]
    return Event("repeated by others", words, {"count": count, "first": facts})


def _list(pages: Sequence[str], count: int) -> str:
    """Return a line for each of *pages*, the first of *count*, and one for the others."""
    told = "".join(f"\n  {page}" for page in pages)
    return told + f"\n  and {count - len(pages):,} more" * (count > len(pages))


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _noun(kind: str, distance: float | None) -> str:
    noun = _NOUNS.get(Kind(kind), kind)
    is_near = kind == Kind.NEAR and distance is not None
    return f"{noun} at distance {distance:.4g}" if is_near else noun


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _time_of(iso: str) -> str:
    try:
        return _time(datetime.fromisoformat(iso).timestamp()) or iso
    except (ValueError, OverflowError, OSError):
        return iso


# Nearest URLs.


class NearUrl(NamedTuple):
    """A known URL, and how it is like another one."""

    rank: int
    url: str

    @property
    def likeness(self) -> str:
        return _LIKENESS[self.rank]


_LIKENESS = (
    "but for case, encoding, scheme, www or a slash",
    "but for what follows the path",
    "the same path on another host",
    "the same name in another folder",
)


def nearest_urls(url: str, known: Iterable[str]) -> list[NearUrl]:
    """Return the *known* URLs that are most like *url*: at most `MOST_LISTED`, the nearest first.

    >>> [near.url for near in nearest_urls("http://a/B%C3%A9/", ["http://a/", "https://a/bé"])]
    ['https://a/bé']
    """
    asked = _form(url)
    ranked = ((_rank(asked, _form(other)), other) for other in known)
    return nsmallest(
        MOST_LISTED, {NearUrl(rank, other) for rank, other in ranked if rank is not None}
    )


class _Form(NamedTuple):
    host: str
    path: str
    query: str


def _form(url: str) -> _Form:
    """Return what is left of a URL without what people write in several ways."""
    try:
        parts = urlsplit(unquote(url[:LONGEST_URL]).casefold().strip())
    except ValueError:  # such as an unclosed bracket in the host
        return _Form("", url, "")
    host = parts.netloc.removeprefix("www.").removesuffix(":80").removesuffix(":443")
    return _Form(host, parts.path.rstrip("/"), parts.query)


def _rank(asked: _Form, other: _Form) -> int | None:
    if asked == other:
        return 0
    if asked[:2] == other[:2]:
        return 1
    if asked.path and asked.path == other.path:
        return 2
    name = asked.path.rpartition("/")[2]
    return 3 if name and name == other.path.rpartition("/")[2] else None
