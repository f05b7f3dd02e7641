"""The parts of the plug-in: what judges pages and items in one crawl."""

from typing import TYPE_CHECKING

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.page import PageReader
from dedup.preference import canonical
from dedup.scrapy_plugin.awaiting import Backlog
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.canonicals import Canonicals
from dedup.scrapy_plugin.closing import Closing
from dedup.scrapy_plugin.course import Course
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.judging import Judge
from dedup.scrapy_plugin.keeper import Keeper
from dedup.scrapy_plugin.links import Links
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.outages import Outages
from dedup.scrapy_plugin.provenance import Provenance
from dedup.scrapy_plugin.quarantine import Quarantine
from dedup.scrapy_plugin.reporting import Reporting
from dedup.scrapy_plugin.reservations import Reservations
from dedup.scrapy_plugin.response_pages import ResponsePages
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.scrapy_plugin.visits import Visits
from dedup.workers import InlinePool, WorkerPool

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_PAGES_WAITING = 48
_PAGES_WAITING_PER_WORKER = 16


class Parts:
    """Builds what judges the pages and items of a crawl, each part with those that it asks."""

    def __init__(self, settings: DedupSettings, crawler: "Crawler") -> None:
        """Build all that asks for no stored pages; the others are there once `use` is called."""
        assert crawler.stats
        self.settings = settings
        self._crawler = crawler
        reader = PageReader(settings.extractor, settings.method)
        self.pool = (
            WorkerPool(reader, workers=settings.workers, page_timeout=settings.page_timeout)
            if settings.workers
            else InlinePool(reader)
        )
        self.feeds = Feeds(crawler)
        self.reporting = Reporting(settings, crawler.stats)
        self.summary = self.reporting.summary
        self.notices = Notices(self.summary.count)
        self.quarantine = Quarantine(settings.duplicates) if settings.duplicates else None
        self.visits = Visits(self._end_claim)
        self.backlog = Backlog(_PAGES_WAITING + _PAGES_WAITING_PER_WORKER * settings.workers)
        self.bodies = BodyReader(self.pool, self.backlog, self.reporting.halvings)
        self.pages = ResponsePages(
            self.bodies,
            self.visits,
            count=self.summary.count,
            record_time=self.summary.record_time,
        )
        self.provenance = Provenance(
            self.visits, self.bodies, self.notices, settings.max_page_bytes
        )
        # Items are judged by themselves with an item field, and name nothing.
        believes = settings.enabled and canonical in settings.prefer.criteria
        self.canonicals = (
            Canonicals(
                crawler,
                self.visits.gone,
                self.notices,
                timeout=settings.wait_timeout,
                count=self.summary.count,
            )
            if believes and not settings.item_field
            else None
        )
        self._outages = Outages(settings.store_down, crawler, self.summary.count)

    def use(self, detector: Detector) -> None:
        """Build what compares pages with those that *detector* knows."""
        if self.reporting.losses and len(detector):
            self.reporting.losses.expect_past()
        self.keeper = Keeper(
            detector,
            self.settings,
            self.feeds,
            self.summary.count,
            self.notices,
            self._outages,
        )
        self.judge = Judge(
            self.settings,
            self.pages,
            detector,
            self.provenance,
            Reservations(
                self.settings.wait_timeout,
                self.settings.prefer,
                detector,
                self.visits,
                self.summary,
                self.notices,
                self._join,
                self._outages,
                self.canonicals,
            ),
            self.summary,
            self.visits,
            self.notices,
            Closing(self._crawler, self.settings.close_unchanged),
        )
        self.links = (
            None
            if self.settings.follow_duplicates
            else Links(self.settings, self.pages, self.notices)
        )
        self.course = Course(
            self.settings,
            self.visits,
            self.provenance,
            self.judge,
            self.links,
            self.canonicals,
            self.feeds,
            self.summary,
            self.notices,
        )

    async def _join(self) -> None:
        assert self._crawler.spider
        await self.keeper.join(self._crawler.spider.name)

    def _end_claim(self, claim: Claim, is_stored: bool) -> None:
        self.keeper.end_claim(claim, is_stored)
        self.summary.claim_ends(claim, is_stored=is_stored)
