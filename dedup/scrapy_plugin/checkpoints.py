"""Checkpoints: when the ledger is written."""

import logging
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from dedup.ledger import LedgerError, SqliteLedger
from dedup.ledger.sqlite import Batch
from dedup.scrapy_plugin.awaiting import result_of
from dedup.scrapy_plugin.feeds import Feeds

logger = logging.getLogger(__name__)

# How long the last checkpoint waits for feeds to be uploaded.
_SECONDS_FOR_FEEDS = 3600.0


class Checkpoints:
    """Writes the ledger, always after the feeds: what it says is stored has left the process.

    Each checkpoint takes what was committed so far, flushes the open feeds, and then writes that in
    one transaction, in a thread. If one of these fails, nothing is written, and the next checkpoint
    tries again. Feeds that cannot be flushed put all off until they are closed.
    """

    def __init__(
        self,
        ledger: SqliteLedger,
        feeds: Feeds,
        *,
        interval: float,
        fsync: bool,
        count: Callable[[str], object],
    ) -> None:
        """Create it; *interval*: seconds between two, 0 for one at the end of the crawl only.

        *fsync*: have the system write to the disk. *count* is called with the names of counters.
        """
        self._ledger = ledger
        self._feeds = feeds
        self._interval = interval
        self._fsync = fsync
        self._count = count
        self._thread = ThreadPoolExecutor(1, "dedup-ledger")
        self._loop = create_looping_call(self._tick)
        self._under_way: Deferred[None] | None = None
        self._told: set[str] = set()

    def start(self) -> None:
        """Begin with the regular checkpoints."""
        if self._interval:
            self._loop.start(self._interval, now=False)

    def _tick(self) -> None:
        if self._under_way is None and self._ledger.has_news:
            self._under_way = deferred_from_coro(self._checkpoint())

    async def _checkpoint(self) -> None:
        try:
            if self._feeds.have_failed:
                self._tell("A feed has failed: what it may have held is not remembered")
            elif self._feeds.can_be_flushed:
                await self._write()
            else:
                self._tell("There are feeds that cannot be flushed: the ledger waits for their end")
        except Exception:
            self._count("errors")
            logger.exception("Dedup failed to write its ledger; it will try again")
        finally:
            self._under_way = None

    async def _write(self) -> None:
        batch, written = self._ledger.take(), False
        try:
            self._feeds.flush()
            files = self._feeds.opened_again() if self._fsync else []
            await result_of(self._thread.submit(self._write_in_thread, batch, files))
            written = True
        except (OSError, sqlite3.Error, LedgerError) as error:
            self._count("checkpoints/failed")
            self._tell("The ledger %s was not written: %s", self._ledger.path, error)
        else:
            self._count("checkpoints/written")
        finally:
            self._ledger.end_writing(written=written)

    def _write_in_thread(self, batch: Batch, files: list[int]) -> None:
        try:
            for file in files:
                os.fsync(file)
        finally:
            for file in files:
                os.close(file)
        self._ledger.write(batch)

    async def finish(self) -> None:
        """Make the last checkpoint, once the feeds are stored."""
        if self._loop.running:
            self._loop.stop()
        if self._under_way is not None:
            await maybe_deferred_to_future(self._under_way)
        if not await self._feeds.closed_within(_SECONDS_FOR_FEEDS):
            self._tell("The feeds are not closed yet, and the ledger does not wait any longer")
        elif not self._feeds.are_stored:
            self._tell("A feed has failed: what it may have held is not remembered")
        elif self._ledger.has_news:
            await self._write()
        if left := self._ledger.unwritten:
            logger.warning("%d pages are not in the ledger: a next crawl stores them again", left)
        self._thread.shutdown()

    def _tell(self, message: str, *arguments: object) -> None:
        if message not in self._told:
            self._told.add(message)
            logger.warning(message, *arguments)
