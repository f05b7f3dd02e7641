"""The parts of the plug-in: what judges pages and items in one crawl."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.page import PageReader
from dedup.preference import canonical
from dedup.record import PageRecord
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.awaiting import Backlog
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.canonicals import Canonicals
from dedup.scrapy_plugin.closing import Closing
from dedup.scrapy_plugin.course import Course
from dedup.scrapy_plugin.crawling import is_crawl
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.feeds.batch import Batch
from dedup.scrapy_plugin.judging import Judge
from dedup.scrapy_plugin.keeper import Keeper
from dedup.scrapy_plugin.links import Links
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.opening import Opening
from dedup.scrapy_plugin.outages import Outages
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
        """Build them, and open the store of the crawl, unless it has to be waited for.

        Raises LedgerError if that cannot be used, SettingError if the settings forbid it.
        """
        assert crawler.stats
        self.settings = settings
        self._crawler = crawler
        reader = PageReader(settings.extractor, settings.method)
        self.pool = (
            WorkerPool(reader, workers=settings.workers, page_timeout=limits.PAGE_TIMEOUT)
            if settings.workers
            else InlinePool(reader)
        )
        self.feeds = Feeds(crawler)
        self.reporting = Reporting(settings, crawler.stats)
        self.summary = self.reporting.summary
        self.notices = Notices(self.summary.count)
        self.quarantine = Quarantine(settings.duplicates) if settings.duplicates else None
        self.visits = Visits(self._end_claim, self._renew)
        self.backlog = Backlog(_PAGES_WAITING + _PAGES_WAITING_PER_WORKER * settings.workers)
        self.bodies = BodyReader(self.pool, self.backlog, self.reporting.halvings)
        self.pages = ResponsePages(
            self.bodies,
            self.visits,
            count=self.summary.count,
            record_time=self.summary.record_time,
        )
        # Items are judged by themselves with an item field, and name nothing.
        believes = settings.enabled and canonical in settings.prefer.criteria
        self.canonicals = (
            Canonicals(
                crawler,
                self.visits.gone,
                self.notices,
                timeout=limits.WAIT_TIMEOUT,
                count=self.summary.count,
            )
            if believes and not settings.item_field
            else None
        )
        self._outages = Outages(settings.store_down, crawler, self.summary.count)
        self.opening = Opening(settings, crawler, self.summary.count)
        self._use(self.opening.detector_now())

    async def wait_for_ledger(self) -> None:
        """Wait until another crawl gives the ledger back, or for a server that crawls share.

        Raises LedgerError if it cannot be used then.
        """
        if self.opening.is_awaited:
            self._use(await self.opening.detector_then())

    def _use(self, detector: Detector) -> None:
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
            Reservations(
                limits.WAIT_TIMEOUT,
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
            else Links(
                self.settings,
                self.pages,
                self.notices,
                self._crawler.request_fingerprinter.fingerprint,
            )
        )
        self.course = Course(
            self.settings,
            self.visits,
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

    def _end_claim(self, claim: Claim, is_stored: bool, batches: Collection[Batch]) -> None:
        """End *claim*, if its content *is_stored* only when all *batches* with it are closed."""
        if not claim.is_open:
            return
        if is_stored and (open_ones := [one for one in batches if one.is_stored is None]):
            open_ones[0].when_closed(partial(self._end_claim, claim, True, batches))
            claim.put_off()
            return
        is_stored = is_stored and all(one.is_stored for one in batches)
        self.keeper.end_claim(claim, is_stored)
        self.summary.claim_ends(claim, is_stored=is_stored)

    def _renew(self, record: PageRecord, said: Mapping[int, Collection[bytes]]) -> None:
        try:
            self.keeper.detector.renew(record, said)
        except Exception:
            self.notices.count_error("what <%s> says no more", record.key)


class PartsOwner(ABC):
    """What has the parts of a crawl, and gives them to its components: the extension."""

    parts: Parts

    def __init__(self) -> None:
        self.components: set[str] = set()
        """The names of the components that have asked for the parts."""

    @property
    def has_begun(self) -> bool:
        """Whether the parts are there."""
        return hasattr(self, "parts")

    @abstractmethod
    def begin(self) -> None:
        """Build the parts, if they are not there; raises NotConfigured if dedup is switched off."""

    @classmethod
    def parts_for(cls, crawler: "Crawler", component: str) -> Parts:
        """Return the parts of *crawler* for its *component*, which will not be missed then.

        Raises NotConfigured if dedup is switched off, ValueError if the extension is missing.
        """
        if owner := crawler.get_extension(cls):
            owner.begin()
            owner.components.add(component)
            return owner.parts
        if is_crawl(crawler) and crawler.settings.getbool("DEDUP_ENABLED", True):
            raise ValueError("EXTENSIONS lacks dedup.scrapy_plugin.Extension")
        raise NotConfigured
