"""The keeper of what a crawl stores: its store, the detector of it, and the checkpoints."""

from collections.abc import Callable

from dedup.claim import Claim
from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.scrapy_plugin.checkpoints import Checkpoints
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.settings.crawl import DedupSettings
from dedup.stores import LedgerError, Store

logger = get_logger(__name__)


class Keeper:
    """Keeps which pages are stored: in the detector at once, in the store with each checkpoint."""

    def __init__(
        self,
        store: Store,
        detector: Detector,
        settings: DedupSettings,
        feeds: Feeds,
        count: Callable[[str], object],
        notices: Notices,
    ) -> None:
        """Create it; *detector* knows the pages of *store*.

        *count* is called with the names of counters.
        """
        self.store = store
        self.detector = detector
        self.checkpoints = (
            Checkpoints(
                store,
                feeds,
                interval=settings.checkpoint_interval,
                fsync=settings.fsync,
                count=count,
            )
            if store.is_durable
            else None
        )
        self._feeds = feeds
        self._notices = notices

    def start(self) -> None:
        """Begin with the checkpoints; warn if files are overwritten whose pages are known."""
        if self.checkpoints:
            self.checkpoints.start()
            for path in self._feeds.files_to_overwrite() if len(self.detector) else ():
                logger.warning(
                    "%s is overwritten, and %s knows %d pages, which are not stored again while "
                    "they are unchanged: append (-o), use another file, or start afresh (-a "
                    "dedup_reset=1)", path, self.store.name, len(self.detector),
                )  # fmt: skip

    async def join(self, spider: str) -> None:
        """Join the store with the first page: a crawl without items changes nothing there."""
        if not self.store.has_joined:
            try:
                await self.store.join(spider)
            except LedgerError as error:
                self._notices.tell_once("The ledger is not written: %s", error)

    def end_claim(self, claim: Claim, is_stored: bool) -> None:
        """Commit *claim* if its content *is_stored*, else release it."""
        if is_stored:
            self.detector.commit(claim)
        else:
            self.detector.release(claim)

    def close(self) -> None:
        """End the checkpoints and give the store back."""
        try:
            if self.checkpoints:
                self.checkpoints.close()
        finally:
            self.store.close()
