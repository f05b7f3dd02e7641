"""Checkpoints: when the ledger is written."""

import sqlite3
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from dedup.logs import get_logger
from dedup.report.texts import TextStore
from dedup.scrapy_plugin.awaiting import result_of
from dedup.scrapy_plugin.feeds import Disk, Feeds
from dedup.stores import LedgerError, News, Store, finished
from dedup.units import Count

logger = get_logger(__name__)

SECONDS_FOR_FEEDS = 1200.0
"""How long the end of a crawl waits for feeds to be uploaded."""
_SECONDS_IN_SILENCE = 5.0


@dataclass(frozen=True, slots=True)
class Plan:
    """When and how a store is told what is stored.

    *interval*: seconds between two checkpoints, 0 for one at the end of the crawl only. *fsync*:
    have the system write to the disk. *waits_for_feeds*: items are safe when their feeds are.
    """

    interval: float
    fsync: bool
    waits_for_feeds: bool


class Checkpoints:
    """Writes the ledger, always after the feeds: what it says is stored has left the process.

    Each checkpoint takes what was committed so far, flushes the open feeds, and then writes that in
    one transaction, in a thread. If one of these fails, nothing is written, and the next checkpoint
    tries again. Feeds that cannot be flushed put all off until they are closed, and stored. All
    this about feeds does not hold where items are safe once they have passed the pipelines.
    """

    def __init__(
        self,
        store: Store,
        feeds: Feeds,
        plan: Plan,
        count: Callable[[str], object],
    ) -> None:
        """Create it; *count* is called with the names of counters."""
        self._store = store
        self._feeds = feeds
        self._interval = plan.interval
        self._waits_for_feeds = plan.waits_for_feeds
        self._disk = feeds.disk = Disk() if plan.fsync else None
        self._count = count
        self._thread = ThreadPoolExecutor(1, "dedup-ledger")
        self._loop = create_looping_call(self._tick)
        self._is_busy = False
        self._last: Deferred[None] | None = None
        self._told: set[str] = set()

    def start(self) -> None:
        """Begin with the regular checkpoints; raises CloseSpider if a feed cannot be added to."""
        self._feeds.refuse_torn()
        if not self._waits_for_feeds:
            logger.info(
                "Pages count as stored when their items have passed the pipelines (DEDUP_COMMIT): "
                "what feeds lose after that is not stored again"
            )
        if self._interval:
            self._loop.start(self._interval, now=False)

    @property
    def _has_news(self) -> bool:
        if not self._store.has_news:
            return False
        if not self._feeds.has_storage:
            self._tell(
                "Nobody stores the items of this crawl, neither a feed nor a pipeline: its pages "
                "are not remembered in %s", self._store.name,
            )  # fmt: skip
            return False
        return True

    @property
    def _is_due(self) -> bool:
        return self._has_news

    @property
    def _is_safe(self) -> bool:
        """Whether what was stored so far is out of the process, once the feeds are flushed."""
        return self._feeds.can_be_flushed or not self._waits_for_feeds

    def _tick(self) -> None:
        if not self._is_busy and self._is_due:
            # It may end at once, so what it changes cannot be told from what it returns.
            self._is_busy = True
            self._last = deferred_from_coro(self._regular())

    async def _regular(self) -> None:
        try:
            if self._is_safe:
                await self._write()
            else:
                self._tell("There are feeds that cannot be flushed: the ledger waits for their end")
        finally:
            self._is_busy = False

    async def _write(self) -> bool:
        """Have the store told all news; return whether it was."""
        news, written = self._store.take_news(), False
        try:
            if self._waits_for_feeds:
                self._feeds.flush()
            files = self._disk.take() if self._disk else []
            await self._publish(news, files)
            written = True
        except (OSError, sqlite3.Error, LedgerError) as error:
            self._count("checkpoints/failed")
            self._tell_failure(error)
        except Exception:
            self._count("checkpoints/failed")
            self._count("errors")
            logger.exception("Dedup failed to write its ledger; it will try again")
        else:
            self._count("checkpoints/written")
        finally:
            self._store.end_exchange(published=written)
        return written

    async def _publish(self, news: News, files: list[int]) -> None:
        """Have the disk hold *files*, then the store *news*."""
        await result_of(self._thread.submit(self._write_in_thread, news, files))

    def _write_in_thread(self, news: News, files: list[int]) -> None:
        if self._disk:
            self._disk.synchronise(files)
        finished(self._store.exchange([], news))

    async def finish(self) -> None:
        """Make the last checkpoint, if need be once the feeds are stored."""
        is_safe = self._is_safe or await self._are_feeds_stored()
        if self._loop.running:
            self._loop.stop()
        if self._is_busy and self._last is not None:
            await maybe_deferred_to_future(self._last)
        if is_safe:
            await self._write_the_rest()
        # Without anybody who stores them, that was the warning.
        if self._feeds.has_storage and (left := self._unpublished):
            told = f"{Count(left):page is|pages are}"
            logger.warning("%s not in the ledger: a next crawl stores what is missing again", told)

    async def _write_the_rest(self) -> None:
        if self._has_news:
            await self._write()

    @property
    def _unpublished(self) -> int:
        return self._store.unpublished

    async def _are_feeds_stored(self) -> bool:
        if not await self._feeds.wait_until_closed(_SECONDS_IN_SILENCE):
            logger.info("The ledger waits for the feeds, which are being stored")
            if not await self._feeds.wait_until_closed(SECONDS_FOR_FEEDS):
                self._tell("The feeds are not closed yet, and the ledger does not wait any longer")
                return False
        if not self._feeds.are_stored:
            self._tell("A feed has failed: what it may have held is not remembered")
            return False
        return True

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: TextStore) -> None:
        """Have the store note the end of the crawl, in the thread; tell of a failure."""
        try:
            leaving = self._store.leave(reason, report, texts)
            await result_of(self._thread.submit(finished, leaving))
        except Exception as error:
            logger.warning(
                "%s may lack the end of this crawl, and its report: %s", self._store.name, error
            )

    async def disconnect(self) -> None:
        """Give the connection of the store back, if it has one."""

    def _tell_failure(self, error: Exception) -> None:
        self._tell("The ledger %s was not written: %s", self._store.name, error)

    def close(self) -> None:
        """End the thread."""
        if self._loop.running:
            self._loop.stop()
        self._thread.shutdown()
        if self._disk:
            self._disk.close()

    def _tell(self, message: str, *arguments: object) -> None:
        if message not in self._told:
            self._told.add(message)
            logger.warning(message, *arguments)
