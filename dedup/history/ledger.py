"""What a ledger knows of pages."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from dedup.history.event import (
    MOST_LISTED,
    Event,
    History,
    event_of_copies,
    format_time,
    noun_of,
)
from dedup.history.report import events_of_report
from dedup.report.report import Report
from dedup.stores.reader import LedgerReader, StoredMatch, StoredPage
from dedup.units import count_of


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
        events = [(page.stored, self._event_of_version(page, versions)) for page in versions]
        events += [(m.found, self._event_of_match(m)) for m in self._ledger.matches_of(url)]
        events.sort(key=lambda event: event[0])
        history = History(self._ledger.name, [event for _, event in events])
        if versions:
            history.events += self._tell_copies(url)
        for crawl in self._crawls.values() if history.events else ():
            if crawl.report:
                told = events_of_report(Report.from_json(crawl.report), url, has_ledger=True)
                history.events += told
        history.hints = [] if history.events else [*self._tell_skipped()]
        return history

    def _event_of_version(self, page: StoredPage, versions: Sequence[StoredPage]) -> Event:
        crawl = self._crawls.get(page.crawl)
        how = "restored" if crawl and crawl.reason == "restored" else "stored"
        words = f"It was {how} {self._in(page.crawl, page.stored)}, as page {page.number}, with "
        words += f"{count_of(page.record.tokens, 'word')}"
        if page.is_change:
            words += "; it had changed since it was stored before"
        words += "."
        if page.seen > page.stored:
            words += f" It was met again unchanged, last on {format_time(page.seen)}."
        by = next((other for other in versions if other.stored == page.ended), None)
        if page.ended is not None and by:
            words += f" Page {by.number} took its place on {format_time(page.ended)}."
        elif page.ended is not None:
            words += (
                f" It expired on {format_time(page.ended)} (DEDUP_REVISITS): no page is compared "
                "with it."
            )
        facts = {
            "page": page.number, "crawl": page.crawl, "stored": format_time(page.stored),
            "seen": format_time(page.seen), "ended": format_time(page.ended),
            "replaced_by": by and by.number, "tokens": page.record.tokens,
            "is_change": bool(page.is_change),
        }  # fmt: skip
        return Event("changed" if page.is_change else how, words, facts)

    def _event_of_match(self, match: StoredMatch) -> Event:
        crawl = self._crawls.get(match.crawl)
        is_marked = crawl is not None and crawl.setting("DEDUP_ACTION") == "mark"
        done = "marked, and stored," if is_marked else "dropped"
        words = (
            f"It was {done} {self._in(match.crawl, match.found)}, as "
            f"{noun_of(match.kind, match.distance)} of <{match.original}>, which is page "
            f"{match.page}."
        )
        if match.ended is not None:
            words += (
                f" That page does not count since {format_time(match.ended)}: this one is compared "
                "anew."
            )
        facts = {
            "verdict": match.kind, "original": match.original, "page": match.page,
            "distance": match.distance, "crawl": match.crawl, "found": format_time(match.found),
            "original_ended": format_time(match.ended),
        }  # fmt: skip
        return Event("marked" if is_marked else "dropped", words, facts)

    def _tell_copies(self, url: str) -> Iterator[Event]:
        copies = self._ledger.copies_of(url)
        first = list(islice(copies, MOST_LISTED))
        if count := len(first) + sum(1 for _ in copies):
            listed = [(copy.duplicate, copy.kind, copy.distance) for copy in first]
            yield event_of_copies(count, "page", listed)

    def _in(self, crawl: int, at: float) -> str:
        known = self._crawls.get(crawl)
        if known and self._ledger.is_copy:
            spiders = [other.spider for other in self._crawls.values() if other.run == known.run]
            if len(spiders) > 1:
                told = ", ".join(dict.fromkeys(spiders))
                return f"in run {known.run} of {told} on {format_time(at)}"
        of = f" of {known.spider}" if known else ""
        return f"in crawl {crawl}{of} on {format_time(at)}"

    def _tell_skipped(self) -> Iterator[str]:
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
