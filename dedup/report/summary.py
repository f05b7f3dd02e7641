"""Counts what dedup does in a crawl."""

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from time import monotonic
from typing import TYPE_CHECKING, Any

from dedup.evidence import Evidence
from dedup.limits import LONGEST_LINE, shorten, shorten_url
from dedup.logs import get_logger
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.counts import COUNTER_OF, StatCollector, counted
from dedup.report.events import PageEvents
from dedup.report.kept_pages import KeptPages, PageKeys
from dedup.report.report import Report
from dedup.rule import Kind, Verdict
from dedup.stores.base import StoreState
from dedup.url_advice.contents import Content, Contents

if TYPE_CHECKING:
    from dedup.view.view import View

logger = get_logger(__name__)

_NOTHING_NEAR = {"sample": 0, "pages": 0, "within": 0, "distances": {}}
_LOST = ("pages", "pages_of_earlier_crawls", "sequences", "share", "error")


class Summary:
    """Counts in the crawl's own stats, and in `PageEvents` what these cannot hold.

    A failure to count costs figures, and never the item that is counted: `count`, `record` and
    `record_time` raise nothing.
    """

    def __init__(
        self,
        stats: StatCollector,
        settings: Mapping[str, Any],
        *,
        drops: bool = True,
        with_lost_text: bool = False,
        contents: Contents | None = None,
        min_tokens: int = 20,
        has_report: bool = True,
    ) -> None:
        """Start to count into *stats*.

        *settings* are shown in the report as they are; *drops*: duplicates are not stored.
        *with_lost_text*: pages come with the sequences of their texts. *contents* is given those of
        pages, for URL advice: sketches of pages of fewer tokens than *min_tokens* are not compared.
        Without a report, nobody will see more than the table in the log: no texts are kept, and no
        near misses are sought.
        """
        self._stats = stats
        self.settings = settings
        self._drops = drops
        self._with_lost_text = with_lost_text
        self.contents = contents
        self._min_tokens = min_tokens
        self._has_report = has_report
        self._started = datetime.now(UTC)
        self._start = monotonic()
        self._stages: dict[str, tuple[int, float]] = {}
        # The sequences of pages that are about to be stored.
        self._claimed: dict[Hashable, tuple[str, bytes]] = {}
        self.kept = KeptPages()
        self._has_failed = False
        self.saved_requests: Callable[[], dict[str, Any] | None] = lambda: None
        """What is known of requests that were not sent."""
        self.events = PageEvents()
        """The pages."""

    @contextmanager
    def _figures_only(self) -> Iterator[None]:
        """Have an exception within the block cost no more than figures.

        The first one is logged; each is counted as an error of dedup.
        """
        try:
            yield
        except Exception:
            if not self._has_failed:
                logger.exception("Dedup failed to count; figures of its report are wrong")
            self._has_failed = True
            with suppress(Exception):  # it may be the stats that fail
                self._stats.inc_value("dedup/errors")

    def count(self, name: str, by: float = 1) -> None:
        with self._figures_only():
            self._stats.inc_value(f"dedup/{name}", by)  # type: ignore[arg-type]  # Scrapy adds floats

    def record(
        self,
        verdict: Verdict,
        url: str,
        size: int,
        page: Page | None = None,
        record: PageRecord | None = None,
        *,
        differences: Mapping[str, str] | None = None,
    ) -> None:
        """Count the *verdict* on the page at *url*, whose body has *size* bytes.

        *page* is what was read of it, *record* what is compared: by default, that of *page*.
        *differences*: what the items of the page say, and those of the page that it repeats do not.
        """
        if record is None and page:
            record = page.record
        with self._figures_only():
            self._count(verdict, size, page.evidence if page else None)
        with self._figures_only():
            whole_url, url = url, shorten_url(url)
            self.events.add(verdict, url, page, differences)
            if self.contents is not None:
                self.contents.add(whole_url, _content_of(verdict, record, self._min_tokens))
            if page is None or not self._has_report:
                return
            if record and verdict.kind in (Kind.NEW, Kind.CHANGED):
                self.kept.add(record._replace(key=url))
            self.events.add_text(verdict, url, page)

    def _count(self, verdict: Verdict, size: int, evidence: Evidence | None) -> None:
        increase = self._stats.inc_value
        increase("dedup/pages")
        if verdict.kind is Kind.SKIPPED:
            increase(f"dedup/skipped/{verdict.reason}")
        else:
            increase(f"dedup/{COUNTER_OF[verdict.kind]}")
        if verdict.objection:
            increase(f"dedup/objections/{verdict.objection.replace(' ', '_')}")
        if evidence and evidence.weakness:
            increase(f"dedup/weak/{evidence.weakness}")
        if verdict.is_duplicate and self._drops:
            increase("dedup/bytes_saved", size)
        if verdict.kind is Kind.NEAR:
            increase(f"dedup/distance/{math.ceil(100 * (verdict.distance or 0)) / 100:g}")
        if verdict.preferred:
            increase("dedup/preferred")

    def claim_begins(self, claim: Hashable, url: str, page: Page) -> None:
        """Take note that *page* at *url* is about to be stored, under *claim*."""
        if page.sequences:
            self._claimed[claim] = url, page.sequences.to_bytes()

    def claim_ends(self, claim: Hashable, *, is_stored: bool) -> None:
        """Count whether the page of *claim* was stored."""
        self.count("claims/committed" if is_stored else "claims/released")
        claimed = self._claimed.pop(claim, None)
        if claimed and is_stored:
            with self._figures_only():
                self.events.add_stored(*claimed)

    def record_time(self, stage: str, seconds: float) -> None:
        pages, total = self._stages.get(stage, (0, 0.0))
        self._stages[stage] = pages + 1, total + seconds

    def finish(
        self,
        view: "View | None" = None,
        store: PageKeys | None = None,
        state: StoreState | None = None,
        *,
        spider: str = "",
    ) -> Report:
        """Return the report of the crawl of *spider*.

        *view* and *store*: where the pages are, if they are still in memory; *state* is that of the
        store, if it outlives the crawl.
        """
        seconds = monotonic() - self._start
        pages = 0 if view is None else len(view)
        index_bytes = 0 if view is None or store is None else view.nbytes + store.nbytes
        self._stats.set_value("dedup/index/pages", pages)
        self._stats.set_value("dedup/index/bytes", index_bytes)
        if texts_lost := self.events.texts_lost:
            self._stats.set_value("dedup/texts_lost", texts_lost)
        gathered = self._gathered(view, store)
        numbers = counted(self._stats, seconds)
        if state is not None:
            numbers["ledger"] = {
                "path": state.path,
                "crawl": state.run,
                "resumed": state.is_resumed,
                "checkpoints": self._stats.get_value("dedup/checkpoints/written", 0),
                "failed_checkpoints": self._stats.get_value("dedup/checkpoints/failed", 0),
                "pages_not_written": state.unpublished,
            }
        return Report.of(
            {
                "spider": spider,
                "started": self._started.isoformat(timespec="seconds"),
                "seconds": round(seconds, 3),
                "settings": {
                    name: value if len(str(value)) <= LONGEST_LINE else shorten(str(value))
                    for name, value in self.settings.items()
                },
                "ledger": None,
                **numbers,
                "saved_requests": self.saved_requests(),
                **gathered,
                "seconds_per_page": {
                    name: {"pages": pages, "sum": round(total, 6)}
                    for name, (pages, total) in self._stages.items()
                },
                "index": {"pages": pages, "bytes": index_bytes},
                "texts_lost": texts_lost,
            }
        )

    def _gathered(self, view: "View | None", store: PageKeys | None) -> dict[str, Any]:
        """Return what the pages show, by the keys of a report; a failure costs one part of it."""
        figures: dict[str, Any] = {
            "nearest_kept": _NOTHING_NEAR, "near_misses": [], "chinese_scripts": None,
            "url_advice": None, "dropped_text": None,
            **PageEvents().figures(),
        }  # fmt: skip
        with self._figures_only():
            figures |= self.events.figures()
        if self.contents is not None:
            with self._figures_only():
                figures["url_advice"] = self.contents.advice()
        if view is not None and store is not None and self._has_report:
            threshold = self.settings.get("DEDUP_MAX_DISTANCE")
            with self._figures_only():
                figures |= self.kept.near_misses(view, store, threshold)
        if view is not None and not view.method.simplifies_chinese:
            with self._figures_only():
                figures["chinese_scripts"] = self.events.chinese_scripts()
        if self._with_lost_text and self.events.failure is None:
            with self._figures_only():
                text = self.events.lost_text()
                figures["dropped_text"] = {**text, "is_stored": not self._drops}
                for name in _LOST:
                    self._stats.set_value(f"dedup/lost/{name}", text[name])
        return figures


def _content_of(verdict: Verdict, record: PageRecord | None, min_tokens: int) -> Content | None:
    if verdict.kind is Kind.SKIPPED or record is None or record.digest is None:
        return None
    if (evidence := record.witness.evidence) and evidence.weakness:
        # Its main text is no evidence: it is the same as what shows the same.
        return Content(evidence.view, record.scope)
    sketch = record.sketch if record.tokens >= min_tokens else None
    return Content(record.digest, record.scope, sketch)
