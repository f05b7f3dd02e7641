"""What a report shows and the table in the log does not."""

from collections import Counter
from collections.abc import Iterable

from dedup.limits import shorten_url
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.copies import CopyLog
from dedup.report.near_misses import KeptIndex, KeptPages
from dedup.report.report import (
    Copy,
    LengthBucket,
    NameCounts,
    NearestKept,
    NearMiss,
    SecondOpinion,
    TitleCounts,
    VerdictTimeline,
)
from dedup.report.second_opinion import second_opinion
from dedup.report.tally import Tally, url_pattern
from dedup.report.texts import TextStore
from dedup.report.timeline import Timeline
from dedup.report.titles import Titles
from dedup.rule import Kind, Verdict
from dedup.url_advice.advice import UrlAdvice
from dedup.url_advice.contents import Content, Contents

_KINDS = tuple(Kind)


class Details:
    """Gathers what costs memory and time, for reports that somebody will see.

    That is a report that is written, or kept in a ledger. *texts* is given the pages' texts,
    *copies* every duplicate, and *contents* the pages' contents, for URL advice; without it, there
    is none.
    """

    def __init__(
        self,
        *,
        texts: TextStore | None = None,
        copies: CopyLog | None = None,
        contents: Contents | None = None,
        min_tokens: int = 20,
    ) -> None:
        """Create it; sketches of pages of fewer tokens than *min_tokens* are not compared."""
        self._texts = texts
        self._copies = copies
        self._contents = contents
        self._min_tokens = min_tokens
        self._patterns = Tally()
        self._near_patterns = Tally()
        self._titles = Titles()
        self._timeline = Timeline(len(_KINDS))
        self._lengths_of_kept: Counter[int] = Counter()
        self._lengths_of_duplicates: Counter[int] = Counter()
        self._kept = KeptPages()

    def record(
        self, verdict: Verdict, url: str, page: Page | None, scope: str, content: Content | None
    ) -> None:
        """Take note of the *verdict* on the page at *url*; see `Summary.record`."""
        whole_url, url, scope = url, shorten_url(url), shorten_url(scope)
        self._timeline.add(_KINDS.index(verdict.kind))
        if self._contents is not None:
            self._contents.add(whole_url, content or self._content(verdict, url, page, scope))
        if verdict.kind is Kind.SKIPPED:
            return
        pattern = url_pattern(url)
        self._patterns.add(pattern, is_duplicate=verdict.is_duplicate)
        self._near_patterns.add(pattern, is_duplicate=verdict.kind is Kind.NEAR)
        if page is not None:
            self._titles.record(verdict, url, page.evidence)
        if page is None or verdict.kind is Kind.REPEATED:
            return
        lengths = self._lengths_of_duplicates if verdict.is_duplicate else self._lengths_of_kept
        lengths[page.record.tokens.bit_length()] += 1
        if verdict.kind in (Kind.NEW, Kind.CHANGED):
            self._kept.add(page.record.under(url, scope))
        if self._texts is not None:
            self._texts.record(verdict, url, page)

    def add_copy(self, original: str, copy: Copy) -> None:
        """Take note of a duplicate of the page at *original*."""
        if self._copies is not None:
            self._copies.add(original, copy)

    def _content(self, verdict: Verdict, url: str, page: Page | None, scope: str) -> Content | None:
        """Return the content of *url*, ``None`` if it was not compared.

        Where its text is unknown, the verdict says whose text is equal, or near.
        """
        if verdict.kind is Kind.SKIPPED:
            return None
        if page and page.evidence and page.evidence.weakness:
            # Its main text is no evidence: it is the same as what shows the same.
            return Content(page.evidence.view, scope)
        record = page.record if page else PageRecord()
        sketch = record.sketch if record.tokens >= self._min_tokens else None
        if record.digest:
            return Content(record.digest, scope, sketch)
        if verdict.kind is Kind.NEAR:
            return Content(url, scope, None, verdict.original)
        return Content(verdict.original or url, scope, sketch)

    async def fetch_near_misses(self, detector: KeptIndex) -> None:
        """Have *detector* know what `near_misses` asks it; raises LedgerError as `KeptPages`."""
        await self._kept.fetch_near_misses(detector)

    def near_misses(self, detector: KeptIndex) -> tuple[NearestKept, tuple[NearMiss, ...]]:
        """Return what `KeptPages.near_misses` finds with *detector*, which has the kept pages."""
        return self._kept.near_misses(detector)

    def second_opinion(self, near_misses: Iterable[NearMiss], method: str) -> SecondOpinion | None:
        """Return what the most exact method says of *near_misses*, where it is not *method*."""
        return None if self._texts is None else second_opinion(near_misses, self._texts, method)

    def url_advice(self) -> UrlAdvice | None:
        """Return what in URLs never changed the content, ``None`` if that was not gathered."""
        return None if self._contents is None else self._contents.advice()

    def timeline(self) -> VerdictTimeline:
        """Return which kinds of verdicts came when."""
        buckets = tuple(map(tuple, self._timeline.buckets))
        return VerdictTimeline(tuple(kind.value for kind in _KINDS), self._timeline.width, buckets)

    def lengths(self) -> tuple[LengthBucket, ...]:
        """Return how many pages have how many tokens; each bucket is as wide as all before it."""
        kept, duplicates = self._lengths_of_kept, self._lengths_of_duplicates
        longest = max([*kept, *duplicates], default=-1)
        return tuple(
            LengthBucket((1 << bits) >> 1, max(0, (1 << bits) - 1), kept[bits], duplicates[bits])
            for bits in range(longest + 1)
        )

    def url_patterns(self) -> NameCounts:
        """Return the patterns of URLs with the most pages."""
        return self._patterns.counts()

    def near_patterns(self) -> NameCounts:
        """Return the same patterns with their near-duplicates."""
        return self._near_patterns.counts()

    def titles(self) -> TitleCounts:
        """Return how many duplicates have another title than their originals."""
        return self._titles.counts()

    def texts_lost(self) -> int:
        """Return how many pages' texts could not be kept."""
        return 0 if self._texts is None else self._texts.lost
