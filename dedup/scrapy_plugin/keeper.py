"""The keeper of what a crawl stores: its store, the detector of it, and the checkpoints."""

from asyncio import Lock
from collections.abc import Callable
from dataclasses import replace

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.scrapy_plugin.checkpoints import SECONDS_FOR_FEEDS, Checkpoints, Plan
from dedup.scrapy_plugin.exchanges import Exchanges
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.outages import Outages
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.stores import LedgerError, StoreDownError
from dedup.stores.base import StoreState
from dedup.stores.shared.log_url import without_secrets
from dedup.stores.shared.store import SharedStore
from dedup.units import Count

logger = get_logger(__name__)


class Keeper:
    """Keeps which pages are stored: in the detector at once, in the store with each checkpoint."""

    def __init__(
        self,
        detector: Detector,
        settings: DedupSettings,
        feeds: Feeds,
        count: Callable[[str], object],
        notices: Notices,
        outages: Outages,
    ) -> None:
        """Create it; *count* is called with the names of counters."""
        self.store = store = detector.store
        self.detector = detector
        plan = Plan(
            settings.checkpoint_interval,
            settings.fsync,
            waits_for_feeds=settings.commit == "stored",
        )
        self.checkpoints: Checkpoints | None = None
        if isinstance(store, SharedStore):
            self.checkpoints = Exchanges(store, feeds, plan, count, detector.follower, outages)
        elif store.is_durable:
            self.checkpoints = Checkpoints(store, feeds, plan, count)
        # Never contended, so that no event loop is needed, unless the store waits.
        self._joining = Lock()
        self._feeds = feeds
        self._notices = notices

    def start(self) -> None:
        """Begin with the checkpoints; warn if files are overwritten whose pages are known."""
        if not self.checkpoints:
            return
        self.checkpoints.start()
        if len(self.detector):
            self._warn_of_overwritten()

    def _warn_of_overwritten(self) -> None:
        try:
            names = self._feeds.names_of_overwritten()
        except Exception as error:  # storages may be anybody's, and a crawl does not need this
            kind = type(error).__name__
            logger.warning("Dedup cannot tell whether feeds are overwritten: %s: %s", kind, error)
            return
        for name in names:
            logger.warning(
                "%s is overwritten, and %s not stored again while unchanged, since %s knows "
                "that: append (-o), use another file (%%(time)s in its name), or start afresh "
                "(-a dedup_reset=1)",
                without_secrets(name) if "://" in name else name,
                f"{Count(len(self.detector)):page is|pages are}", self.store.name,
            )  # fmt: skip

    async def join(self, spider: str) -> None:
        """Join the store with the first page: a crawl without items changes nothing there.

        A shared store that is down is joined later, by whoever tells it something.
        """
        if self.store.has_joined:
            return
        async with self._joining:
            if self.store.has_joined or self.store.is_down:
                return
            try:
                await self.store.join(spider)
            except StoreDownError:
                return
            except LedgerError as error:
                self._notices.tell_once("The ledger is not written: %s", error)

    @property
    def state(self) -> StoreState | None:
        """What a report says of the store; ``None`` if it is gone with the process."""
        if state := self.store.state:
            unpublished = state.unpublished + self.detector.follower.late_claims.stored
            return replace(state, unpublished=unpublished)
        return None

    def end_claim(self, claim: Claim, is_stored: bool) -> None:
        """Commit *claim* if its content *is_stored*, else release it."""
        if is_stored:
            self.detector.commit(claim)
        else:
            self.detector.release(claim)

    async def wait_for_batches(self) -> None:
        """Wait until it is known of all pages in batches of feeds whether they are stored."""
        await self._feeds.wait_until_closed(SECONDS_FOR_FEEDS)

    async def disconnect(self) -> None:
        """Give back the connection to a shared store."""
        if self.checkpoints:
            await self.checkpoints.disconnect()

    def close(self) -> None:
        """End the checkpoints and give the store back."""
        try:
            if self.checkpoints:
                self.checkpoints.close()
        finally:
            self.store.close()
