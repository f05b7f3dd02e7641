"""Checkpoints: when the store is told what is stored, and what other crawls have stored."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

from scrapy.exceptions import CloseSpider
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from dedup.detector import Detector
from dedup.logs import get_logger
from dedup.scrapy_plugin import limits
from dedup.scrapy_plugin.awaiting import result_of
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.notices import Notices
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores import HistoryChangedError, LedgerError, News, StoreDownError, finished
from dedup.stores.base import StoreState, Texts
from dedup.stores.shared import SharedStore
from dedup.units import Count

logger = get_logger(__name__)

STORE_DOWN = "dedup_store_down"
"""The finish reason of a crawl whose store cannot be written, if it is to stop then."""
_CONSEQUENCES = {
    "keep": "items are kept meanwhile, and entered when it is back",
    "stop": "the crawl stops, and keeps the items under way",
}
_SECONDS_FOR_FEEDS = 1200.0
"""How long the end of a crawl waits for feeds to be uploaded."""


class Checkpoints:
    """Tells the store what is stored, always after the feeds: what it knows has left the process.

    Each checkpoint takes what was committed so far, flushes the open feeds, and then has the store
    write that, all or nothing: a ledger in a thread; a store that crawls share on the event loop,
    from which it also learns what others did, and which thereby keeps its lease. If one of these
    fails, nothing is written, and the next checkpoint tries again. Feeds that cannot be flushed put
    all off until they are closed, and stored. All this about feeds does not hold where items are
    safe once they have passed the pipelines.
    """

    def __init__(
        self,
        detector: Detector,
        settings: DedupSettings,
        feeds: Feeds,
        notices: Notices,
        end_early: Callable[[str], object],
    ) -> None:
        """Create it; *end_early* ends the crawl, for a reason."""
        self._detector = detector
        self._store = detector.store
        self._feeds = feeds
        self._notices = notices
        self._end_early = end_early
        self._is_outage = False
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, "dedup-ledger")
        self._loop = create_looping_call(self._tick)
        self._last: Deferred[None] | None = None

    async def start(self, spider: str) -> None:
        """Take part in the store, as a crawl of *spider*, and begin with the regular checkpoints.

        Raises CloseSpider if a feed would lose items by them, or if the store cannot be written.
        """
        if not self._store.is_durable:
            return
        self._check_feeds()
        try:
            await self._store.join(spider)
        except LedgerError as error:
            logger.error("The crawl does not start: %s", error)
            raise CloseSpider(STORE_DOWN) from None
        self._loop.start(limits.CHECKPOINT_INTERVAL, now=False)

    def _check_feeds(self) -> None:
        store, feeds, settings = self._store, self._feeds, self._settings
        known = len(self._detector)
        if settings.action == "drop" and not settings.revisits.are_kept and known:
            pages = f"{Count(known):page is|pages are}"
            feeds.refuse_overwriting(
                f"{pages} not stored again while unchanged, since {store.name} knows that"
            )
        feeds.refuse_torn()
        if store.is_shared:
            if settings.index.waits_for_feeds:
                feeds.refuse_held_back(store.name)
            logger.info("This crawl shares %s", store.name)

    def begin_outage(self, error: StoreDownError) -> None:
        """Tell of an outage, if it is not known yet, and stop the crawl if that is wanted."""
        policy = self._settings.index.store_down
        if not self._is_outage:
            self._is_outage = True
            self._notices.count("store/outages")
            logger.warning("%s; %s (store_down of DEDUP_INDEX)", error, _CONSEQUENCES[policy])
            if policy == "stop":
                self._end_early(STORE_DOWN)

    @property
    def state(self) -> StoreState | None:
        """What a report says of the store; ``None`` if it is gone with the process."""
        store = self._store
        if not store.is_durable:
            return None
        return StoreState(store.name, store.run, store.is_resumed, self._unpublished)

    @property
    def _unpublished(self) -> int:
        late = sum(claim.is_stored for claim in self._detector.follower.late_claims)
        return self._store.unpublished + late

    @property
    def _has_news(self) -> bool:
        if not self._store.has_news:
            return False
        if not self._feeds.has_storage:
            self._notices.tell_once(
                "Nobody stores the items of this crawl, neither a feed nor a pipeline: its pages "
                "are not remembered in %s", self._store.name,
            )  # fmt: skip
            return False
        return True

    @property
    def _is_safe(self) -> bool:
        """Whether what was stored so far is out of the process, once the feeds are flushed."""
        return self._feeds.can_be_flushed or not self._settings.index.waits_for_feeds

    def _tick(self) -> None:
        is_busy = self._last is not None and not self._last.called
        if not is_busy and (self._store.is_shared or self._has_news):
            self._last = deferred_from_coro(self._checkpoint())

    async def _checkpoint(self) -> None:
        store = self._store
        if isinstance(store, SharedStore) and not self._feeds.has_storage:
            store.release_stored()  # they are remembered by nobody
        has_news = self._has_news
        if has_news and not self._is_safe:
            self._notices.tell_once(
                "There are feeds that cannot be flushed: the ledger waits for their end"
            )
            has_news = False
        is_written = has_news and await self._write()
        if store.is_shared and not is_written and not (has_news and store.is_down):
            # This keeps the lease, and tells what others did.
            await self._has_succeeded(self._exchange())
        if store.is_shared and not store.is_down:
            await self._has_succeeded(self._detector.follower.expire())

    async def _write(self) -> bool:
        """Have the store told all news; return whether it was."""
        is_written = await self._has_succeeded(self._publish())
        self._notices.count("checkpoints/written" if is_written else "checkpoints/failed")
        return is_written

    async def _publish(self) -> None:
        with self._store.publishing() as news:
            if self._settings.index.waits_for_feeds:
                self._feeds.flush()
            if self._store.is_shared:
                await self._exchange(news)
            else:
                await self._in_thread(self._store.exchange([], news))

    async def _exchange(self, news: News | None = None) -> None:
        try:
            await self._detector.follower.exchange(news)
        except Exception:
            self._notices.count("store/failed_exchanges")
            raise
        self._notices.count("store/exchanges")
        if self._is_outage:
            self._is_outage = False
            logger.warning("The store that crawls share is back")

    async def _in_thread(self, work: Coroutine[Any, Any, Any]) -> None:
        await result_of(self._thread.submit(finished, work))

    async def _has_succeeded(self, work: Coroutine[Any, Any, Any]) -> bool:
        try:
            await work
        except StoreDownError as error:
            self.begin_outage(error)
        except HistoryChangedError as error:
            logger.warning("%s. What it has lost is stored again when it is met", error)
        except (OSError, sqlite3.Error, LedgerError) as error:
            self._notices.tell_once("The ledger %s was not written: %s", self._store.name, error)
        except Exception:
            self._notices.count("errors")
            logger.exception("Dedup failed to write its ledger; it will try again")
        else:
            return True
        return False

    async def finish(self) -> None:
        """Make the last checkpoint, if need be once the feeds are stored."""
        if not self._store.is_durable:  # but until then nobody knows what is stored in batches
            await self._feeds.wait_until_closed(_SECONDS_FOR_FEEDS)
            return
        is_safe = self._is_safe
        if not is_safe:
            is_closed = await self._feeds.wait_until_closed(_SECONDS_FOR_FEEDS)
            is_safe = is_closed and self._feeds.are_stored
            if not is_closed:
                logger.warning("The feeds are not closed yet: the ledger waits no longer")
            elif not is_safe:
                logger.warning("A feed has failed: what it may have held is not remembered")
        if self._loop.running:
            self._loop.stop()
        if self._last is not None and not self._last.called:
            await maybe_deferred_to_future(self._last)
        if is_safe:
            await self._write_the_rest()
        # Without anybody who stores them, that was the warning.
        if self._feeds.has_storage and (left := self._unpublished):
            pages = f"{Count(left):page is|pages are}"
            logger.warning("%s not in the ledger: a next crawl stores what is missing again", pages)

    async def _write_the_rest(self) -> None:
        """Tell all; an item that was not checked has to be claimed before it can be published."""
        deadline = monotonic() + limits.OUTAGE_TIMEOUT
        while self._has_news or self._detector.follower.late_claims:
            if await self._write():  # a part, if there is much
                deadline = monotonic() + limits.OUTAGE_TIMEOUT
            elif self._store.is_shared and monotonic() < deadline:
                await asyncio.sleep(limits.CHECKPOINT_INTERVAL)
            else:
                return

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: Texts) -> None:
        """Have the store note the end of the crawl, if it takes part; tell of a failure."""
        if not self._store.has_joined:
            return
        try:
            if self._store.is_down:
                raise StoreDownError("it cannot be reached")
            leaving = self._store.leave(reason, report, texts)
            if self._store.is_shared:
                await asyncio.wait_for(leaving, limits.OUTAGE_TIMEOUT)
            else:
                await self._in_thread(leaving)
        except Exception as error:
            logger.warning(
                "%s may lack the end of this crawl, and its report: %s", self._store.name, error
            )

    async def close(self) -> None:
        """End the checkpoints, and give the store back."""
        try:
            if self._loop.running:
                self._loop.stop()
            self._thread.shutdown()
            if self._store.is_shared:
                await asyncio.wait_for(self._store.disconnect(), limits.OUTAGE_TIMEOUT)
        except Exception as error:
            logger.warning("%s: the connection was not closed: %s", self._store.name, error)
        finally:
            self._store.close()
