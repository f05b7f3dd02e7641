"""Counts what dedup does in a crawl."""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from time import monotonic
from typing import Any

from dedup.limits import LONGEST_LINE, shorten, shorten_url
from dedup.logs import get_logger
from dedup.page import Page
from dedup.report.copies import copy_of
from dedup.report.counts import COUNTER_OF, CounterReader, StatCollector
from dedup.report.details import Details
from dedup.report.distances import round_up, sort_distances
from dedup.report.first_pages import FirstPreferred, FirstRevisits
from dedup.report.groups import Groups
from dedup.report.item_differences import Difference, DifferenceCounts
from dedup.report.losses import Losses
from dedup.report.near_misses import NOTHING_NEAR, KeptIndex
from dedup.report.quantiles import Quantiles
from dedup.report.report import (
    DroppedText,
    IndexSize,
    LedgerUse,
    NearMiss,
    Report,
    StageTime,
)
from dedup.report.tally import Tally
from dedup.rule import Kind, Verdict
from dedup.scopes import host
from dedup.stores.base import StoreState
from dedup.url_advice.contents import Content

logger = get_logger(__name__)

_GROUPS_SHOWN = 1000
_LOST = ("pages", "pages_of_earlier_crawls", "sequences", "share", "error")


class Summary:
    """Counts in the crawl's own stats, and here what these cannot hold.

    A failure to count costs figures, and never the item that is counted: `count`, `record` and
    `record_time` raise nothing.
    """

    def __init__(
        self,
        stats: StatCollector,
        settings: Mapping[str, Any],
        *,
        drops: bool = True,
        details: Details | None = None,
        losses: Losses | None = None,
    ) -> None:
        """Start to count into *stats*.

        *settings* are shown in the report as they are; *drops*: duplicates are not stored. Without
        *details*, the report has what the table in the log shows; without *losses*, nothing of the
        text of dropped pages.
        """
        self._stats = stats
        self._counts = CounterReader(stats)
        self._settings = settings
        self._drops = drops
        self._details = details
        self._losses = losses
        self._started = datetime.now(UTC)
        self._start = monotonic()
        self._stages: dict[str, Quantiles] = {}
        self._groups = Groups()
        self._differences = DifferenceCounts()
        self._revisits = FirstRevisits()
        self._preferred = FirstPreferred()
        self._hosts = Tally()
        self._has_failed = False

    @contextmanager
    def _figures_only(self) -> Iterator[None]:
        """Log the first exception within such blocks, and count it as an error of dedup."""
        try:
            yield
        except Exception:
            if not self._has_failed:
                logger.exception("Dedup failed to count; figures of its report are wrong")
            self._has_failed = True
            with suppress(Exception):  # it may be the stats that fail
                self._stats.inc_value("dedup/errors")

    def count(self, name: str, by: float = 1) -> None:
        """Add to the counter ``dedup/<name>``."""
        with self._figures_only():
            self._stats.inc_value(f"dedup/{name}", by)  # type: ignore[arg-type]  # Scrapy adds floats

    def record(
        self,
        verdict: Verdict,
        url: str,
        size: int,
        page: Page | None = None,
        scope: str = "",
        *,
        content: Content | None = None,
        difference: Difference | None = None,
    ) -> None:
        """Count the *verdict* on the page at *url*, whose body has *size* bytes.

        *page* is what was read of it, *scope* where it is compared. *content* is for URL advice,
        where *page* does not have it. *difference*: what the items of the page say, and those of
        the page that it repeats do not.
        """
        with self._figures_only():
            self.count("pages")
            if verdict.kind is Kind.SKIPPED:
                self.count(f"skipped/{verdict.reason}")
            else:
                self._count_verdict(verdict, shorten_url(url), size, page.title if page else None)
                if difference:
                    self._differences.add(difference, shorten_url(url), verdict.original)
                if self._losses is not None and page is not None and page.sequences:
                    self._losses.page_is_judged(verdict, shorten_url(url), page.sequences)
            if page and page.evidence and page.evidence.weakness:
                self.count(f"weak/{page.evidence.weakness}")
            if self._details is not None:
                self._details.record(verdict, url, page, scope, content)

    def claim_begins(self, claim: Hashable, url: str, page: Page) -> None:
        """Take note that *page* at *url* is about to be stored, under *claim*."""
        with self._figures_only():
            if self._losses is not None and page.sequences:
                self._losses.claim_begins(claim, url, page.sequences)

    def claim_ends(self, claim: Hashable, *, is_stored: bool) -> None:
        """Count whether the page of *claim* was stored."""
        self.count("claims/committed" if is_stored else "claims/released")
        with self._figures_only():
            if self._losses is not None:
                self._losses.claim_ends(claim, is_stored=is_stored)

    def _count_verdict(self, verdict: Verdict, url: str, size: int, title: str | None) -> None:
        self.count(COUNTER_OF[verdict.kind])
        if verdict.objection:
            self.count(f"objections/{verdict.objection.replace(' ', '_')}")
        if verdict.is_duplicate:
            self._count_duplicate(verdict, url, size, title)
        self._revisits.add(verdict, url)
        self._hosts.add(host(url), is_duplicate=verdict.is_duplicate)

    def _count_duplicate(self, verdict: Verdict, url: str, size: int, title: str | None) -> None:
        if self._drops:
            self.count("bytes_saved", size)
        if verdict.kind is Kind.NEAR:
            self.count(f"distance/{round_up(verdict.distance or 0):g}")
        original = verdict.original
        if verdict.preferred and original:
            self.count("preferred")
            self._preferred.add(original, verdict.preferred)
        if original is not None and original != url:  # several items may have one URL
            copy = copy_of(verdict, url, title)
            self._groups.add(original, copy)
            if self._details is not None:
                self._details.add_copy(original, copy)

    def record_time(self, stage: str, seconds: float) -> None:
        """Count what one page took in *stage*."""
        with self._figures_only():
            self._stages.setdefault(stage, Quantiles()).add(seconds)

    async def fetch_near_misses(self, detector: KeptIndex) -> None:
        """Have *detector* know what the report says of near misses; waits only if its store does.

        Raises LedgerError if that cannot be asked: the report has other words for the pages.
        """
        if self._details is not None:
            await self._details.fetch_near_misses(detector)

    def finish(
        self,
        detector: KeptIndex | None,
        other_bytes: int = 0,
        store: StoreState | None = None,
        *,
        spider: str = "",
    ) -> Report:
        """Return the report of the crawl of *spider*.

        *detector*: where the pages are, if they are still in memory; *other_bytes*: what is
        remembered of pages outside of it.
        """
        seconds = monotonic() - self._start
        details = Details() if self._details is None else self._details
        method = method_name(self._settings)
        index = IndexSize(0, other_bytes)
        nearest_kept, near_misses = NOTHING_NEAR, tuple[NearMiss, ...]()
        url_advice = second_opinion = None
        if detector is not None:
            index = IndexSize(len(detector), detector.nbytes + other_bytes)
            with self._figures_only():
                nearest_kept, near_misses = details.near_misses(detector)
                second_opinion = details.second_opinion(near_misses, method)
        with self._figures_only():
            url_advice = details.url_advice()
        self._stats.set_value("dedup/index/pages", index.pages)
        self._stats.set_value("dedup/index/bytes", index.bytes)
        if texts_lost := details.texts_lost():
            self._stats.set_value("dedup/texts_lost", texts_lost)
        return Report(
            spider=spider,
            started=self._started.isoformat(timespec="seconds"),
            seconds=round(seconds, 3),
            settings={name: _bound(value) for name, value in self._settings.items()},
            pages=self._counts.pages(seconds),
            items=self._counts.items(),
            dropped_text=self._dropped_text(),
            objections=self._counts.below("objections"),
            weak=self._counts.below("weak"),
            item_differences=self._differences.result(),
            links_held_back=self._counts.value("links_held_back"),
            preferred=self._preferred.preferred(self._counts.value("preferred")),
            revisits=self._revisits.revisits(),
            ledger=None if store is None else _ledger_use(store, self._counts),
            distances=_distances(self._counts),
            nearest_kept=nearest_kept,
            near_misses=near_misses,
            second_opinion=second_opinion,
            timeline=details.timeline(),
            lengths=details.lengths(),
            groups=len(self._groups),
            largest_groups=self._groups.largest(_GROUPS_SHOWN),
            duplicates_by_host=self._hosts.duplicates(),
            hosts=self._hosts.counts(),
            url_patterns=details.url_patterns(),
            near_patterns=details.near_patterns(),
            titles=details.titles(),
            url_advice=url_advice,
            saved=self._counts.savings(),
            seconds_per_page={stage: _stage_time(times) for stage, times in self._stages.items()},
            index=index,
            claims=self._counts.below("claims"),
            store=self._counts.below("store"),
            unread=self._counts.below("unread"),
            errors=self._counts.value("errors"),
            texts_lost=texts_lost,
        )

    def _dropped_text(self) -> DroppedText | None:
        text = None
        with self._figures_only():
            if self._losses is not None:
                text = self._losses.result()
                for name in _LOST:
                    self._stats.set_value(f"dedup/lost/{name}", getattr(text, name))
        return text


def _distances(counts: CounterReader) -> dict[float, int]:
    return sort_distances({float(d): n for d, n in counts.below("distance").items()})


def _ledger_use(store: StoreState, counts: CounterReader) -> LedgerUse:
    return LedgerUse(
        path=store.path,
        crawl=store.run,
        resumed=store.is_resumed,
        checkpoints=counts.value("checkpoints/written"),
        failed_checkpoints=counts.value("checkpoints/failed"),
        pages_not_written=store.unpublished,
    )


def method_name(settings: Mapping[str, Any]) -> str:
    """Return the name of the method that *settings* choose, by its name alone or in a dict."""
    chosen = settings.get("DEDUP_METHOD", "")
    return str(chosen["name"] if isinstance(chosen, Mapping) else chosen)


def _bound(value: Any) -> Any:
    """Return the value of a setting, a long one as the beginning of its text."""
    text = str(value)
    return value if len(text) <= LONGEST_LINE else shorten(text)


def _stage_time(times: Quantiles) -> StageTime:
    return StageTime(
        pages=times.count,
        median=_round(times.quantile(0.5)),
        p95=_round(times.quantile(0.95)),
        sum=round(times.sum, 6),
    )


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)
