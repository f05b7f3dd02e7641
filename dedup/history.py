"""What became of a page, in words, from what crawls left: a ledger, and files of dropped items.

An event is an object of JSON: *what* became of the page in one word, the facts, and all in *words*.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from dedup.dropped import DroppedItem, read_dropped
from dedup.record import unpack_items
from dedup.rule import Kind
from dedup.stores.reader import LedgerReader, StoredMatch, StoredPage
from dedup.units import Count, iso_time, readable_time
from dedup.view.view import View

MOST_LISTED = 10
"""The most URLs that an event names."""
_NOUNS = {
    Kind.EXACT: "an exact duplicate",
    Kind.NEAR: "a near-duplicate",
    Kind.REPEATED: "a page that was met before in the crawl, under this URL",
}

Event = dict[str, Any]


class LedgerHistory:
    """What a ledger knows of pages."""

    def __init__(self, ledger: LedgerReader) -> None:
        self.name = ledger.name
        self._ledger = ledger
        self._crawls = {crawl.id: crawl for crawl in ledger.crawls()}

    def events(self, url: str) -> list[Event]:
        """Return what became of the page at *url*, in the order in which it did."""
        versions = self._ledger.versions(url)
        events = [(page.stored, self._event_of_version(page, versions)) for page in versions]
        events += [(m.found, self._event_of_match(m)) for m in self._ledger.matches_of(url)]
        found = [event for _, event in sorted(events, key=lambda event: event[0])]
        if versions:
            copies = ((c.duplicate, c.kind, c.distance) for c in self._ledger.copies_of(url))
            found += _events_of_copies("page", copies)
        return [*found, *self._why_kept(url, versions)]

    def _event_of_version(self, page: StoredPage, versions: Sequence[StoredPage]) -> Event:
        crawl = self._crawls.get(page.crawl)
        how = "restored" if crawl and crawl.reason == "restored" else "stored"
        words = (
            f"It was {how} {self._in(page.crawl, page.stored)}, as page {page.number}, with "
            f"{Count(page.record.tokens):word}"
            f"{'; it had changed since it was stored before' * page.is_change}."
        )
        if page.seen > page.stored:
            words += f" It was met again unchanged, last on {_format_time(page.seen)}."
        by = next((other.number for other in versions if other.stored == page.ended), None)
        ended = _format_time(page.ended)
        if by is not None:
            words += f" Page {by} took its place on {ended}."
        elif ended is not None:
            words += f" It expired on {ended} (DEDUP_REVISITS): no page is compared with it."
        return {
            "what": "changed" if page.is_change else how, "page": page.number,
            "crawl": page.crawl, "stored": _format_time(page.stored),
            "seen": _format_time(page.seen), "replaced_by": by,
            "ended": ended, "tokens": page.record.tokens, "words": words,
        }  # fmt: skip

    def _event_of_match(self, match: StoredMatch) -> Event:
        crawl = self._crawls.get(match.crawl)
        is_marked = crawl is not None and crawl.setting("DEDUP_ACTION") == "mark"
        words = (
            f"It was {'marked, and stored,' if is_marked else 'dropped'} "
            f"{self._in(match.crawl, match.found)}, as {_noun(match.kind, match.distance)} of "
            f"<{match.original}>, which is page {match.page}."
        )
        if ended := _format_time(match.ended):
            words += f" That page does not count since {ended}: this one is compared anew."
        return {
            "what": "marked" if is_marked else "dropped", "verdict": match.kind,
            "original": match.original, "page": match.page, "distance": match.distance,
            "crawl": match.crawl, "found": _format_time(match.found), "words": words,
        }  # fmt: skip

    def _in(self, crawl: int, at: float) -> str:
        known = self._crawls.get(crawl)
        if known and self._ledger.is_copy:
            return f"in run {known.run} on {_format_time(at)}"
        of = f" of {known.spider}" if known else ""
        return f"in crawl {crawl}{of} on {_format_time(at)}"

    def _why_kept(self, url: str, versions: Sequence[StoredPage]) -> Iterator[Event]:
        """Yield what keeps the page at *url* from being a duplicate, where its main text matches.

        All pages that count are asked, but for those that came later.
        """
        ledger, method = self._ledger, self._ledger.method
        current = [page for page in versions if page.ended is None]
        if method is None or not current:
            return
        view, last = View(method, ledger.rule), 0
        for batch in ledger.stored():
            view.load(batch)
            last = batch.pages[-1].number
        own = {page.number for page in versions}
        for page in current:
            [item, *_] = [*unpack_items(page.items), b""]
            others = own.union(range(page.number + 1, last + 1))
            look = view.look(page.record._replace(item=item), others)
            if look.objection:
                other, fields = ledger.difference_of(url) or (look.page, None)
                its_url, within = ledger.key(other), f", in {fields}" if fields else ""
                yield {
                    "what": "kept although alike", "objection": look.objection.value,
                    "fields": fields, "other": its_url, "other_page": other,
                    "words": f"It is kept although its main text matches that of <{its_url}>, page "
                    f"{other}: {look.objection}{within}.",
                }  # fmt: skip
            elif ledger.rule.is_short(page.record):
                yield {
                    "what": "too short", "tokens": page.record.tokens,
                    "words": f"It has {Count(page.record.tokens):word}: with fewer than "
                    f"{ledger.rule.min_tokens} (DEDUP_MIN_TOKENS), a page can only be a duplicate "
                    "of one with an equal text.",
                }  # fmt: skip


class DroppedHistory:
    """What a file of dropped items knows of pages; lines that are none are passed over."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path

    def events(self, url: str) -> list[Event]:
        """Return why items of the page at *url* were dropped, and what was dropped for it."""
        drops: dict[tuple[str, str | None], list[DroppedItem]] = defaultdict(list)
        for item in self._items():
            if item.url == url:
                drops[item.verdict, item.original].append(item._replace(item=None))
        copies = (
            (item.url, item.verdict, item.distance)
            for item in self._items()
            if item.original == url != item.url
        )
        events = [_event_of_drops(items) for items in islice(drops.values(), MOST_LISTED)]
        return [*events, *_events_of_copies("item", copies)]

    def _items(self) -> Iterator[DroppedItem]:
        """Yield the items; raises ValueError if the file has lines, and none is one."""
        wrong, has_items = None, False
        for item in read_dropped(self._path):
            if isinstance(item, DroppedItem):
                has_items = True
                yield item
            else:
                wrong = wrong or item
        if wrong and not has_items:
            raise ValueError(f"{self.name} is no file of dropped items: {wrong}")


def _event_of_drops(items: Sequence[DroppedItem]) -> Event:
    last, count = items[-1], Count(len(items))
    of = "" if last.verdict == Kind.REPEATED else f" of <{last.original}>"
    words = (
        f"{count:item of it was|items of it were} dropped, last on "
        f"{readable_time(last.dropped)}, as {_noun(last.verdict, last.distance)}{of} "
        f"({last.method}). dedup restore has "
        f"{'it' if count == 1 else 'them'} back."
    )
    return {
        "what": "dropped", "verdict": last.verdict, "original": last.original,
        "distance": last.distance, "method": last.method, "dropped": last.dropped,
        "items": count, "words": words,
    }  # fmt: skip


def _events_of_copies(
    noun: str, copies: Iterable[tuple[str, str, float | None]]
) -> Iterator[Event]:
    """Yield the event that *copies* repeat a page, if there are any: pages or items by *noun*.

    Each with its URL, verdict and distance.
    """
    rest = iter(copies)
    listed = list(islice(rest, MOST_LISTED))
    count = len(listed) + sum(1 for _ in rest)
    if not count:
        return
    words = f"{Count(count):{noun} was|{noun}s were} found to repeat it:"
    for url, verdict, distance in listed:
        near = f", distance {distance or 0:.4g}" * (verdict == Kind.NEAR)
        words += f"\n  <{url}> ({verdict}{near})"
    words += f"\n  and {count - len(listed):,} more" * (count > len(listed))
    first = [{"url": url, "verdict": kind, "distance": far} for url, kind, far in listed]
    yield {"what": "repeated by others", "count": count, "first": first, "words": words}


def _noun(kind: str, distance: float | None) -> str:
    is_near = kind == Kind.NEAR and distance is not None
    return _NOUNS[Kind(kind)] + (f" at distance {distance:.4g}" if is_near else "")


def _format_time(seconds: float | None) -> str | None:
    return None if seconds is None else readable_time(iso_time(seconds))
