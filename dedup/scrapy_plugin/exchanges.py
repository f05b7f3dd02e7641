"""Exchanges with a store that others share: who stored what, several times a minute."""

import asyncio
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from scrapy.exceptions import CloseSpider

from dedup.follower import Follower
from dedup.logs import get_logger
from dedup.report.texts import TextStore
from dedup.scrapy_plugin.awaiting import result_of
from dedup.scrapy_plugin.checkpoints import Checkpoints, Plan
from dedup.scrapy_plugin.feeds import Feeds
from dedup.scrapy_plugin.outages import Outages
from dedup.stores import HistoryChangedError, News, StoreDownError
from dedup.stores.shared.log import LEASE
from dedup.stores.shared.log_url import without_secrets
from dedup.stores.shared.store import SharedStore

logger = get_logger(__name__)

FEEDS_HELD_BACK = "dedup_feeds_held_back"
"""The finish reason of a crawl that shares a store, and stores items in the end only."""
_SECONDS_OF_A_TICK = 1.0
_SECONDS_IN_SILENCE = LEASE / 4
# How long the end of a crawl waits for a store that is down, and for it to take the report.
_SECONDS_FOR_THE_REST = 10.0
_SECONDS_TO_LEAVE = 30.0


class Exchanges(Checkpoints):
    """Tells a shared store what is stored, and learns from it what others did, on the event loop.

    One at a time: when there is news, always after the feeds; every second while a page waits for
    one of another process, or the store is down; else often enough to keep the lease, with whatever
    may be told.
    """

    def __init__(
        self,
        store: SharedStore,
        feeds: Feeds,
        plan: Plan,
        count: Callable[[str], object],
        follower: Follower,
        outages: Outages,
    ) -> None:
        super().__init__(store, feeds, plan, count)
        self._shared = store
        self._follower = follower
        self._outages = outages
        self._last_exchange = self._last_news = self._last_try = monotonic()

    def start(self) -> None:
        """Begin with the regular exchanges; raises CloseSpider for feeds as `Checkpoints` does.

        And for those that keep the pages of the whole crawl from being shared.
        """
        self._feeds.refuse_torn()
        if self._waits_for_feeds and (held := self._feeds.held_back):
            logger.error(
                "The crawl does not start: other crawls share %s, and would wait until the end of "
                "this one for what it stores, since a feed cannot be flushed before: %s. Use local "
                "feeds without compression, or set DEDUP_COMMIT = \"passed\" if your pipelines "
                "store the items", self._store.name, ", ".join(map(_shown, held)),
            )  # fmt: skip
            raise CloseSpider(FEEDS_HELD_BACK)
        logger.info(
            "This crawl shares %s: its pages count as stored, for all crawls, when %s",
            self._store.name,
            "their feeds are flushed" if self._waits_for_feeds else
            "their items have passed the pipelines; what is lost after that is not stored again",
        )  # fmt: skip
        self._loop.start(min(_SECONDS_OF_A_TICK, self._interval), now=False)

    @property
    def _is_due(self) -> bool:
        if not (self._store.has_joined or self._store.is_down):
            return False
        return (
            self._store.is_down
            or bool(self._follower.late_claims)
            or self._follower.waits_for_others
            or monotonic() - self._last_exchange >= _SECONDS_IN_SILENCE
            or (self._has_news and monotonic() - self._last_news >= self._interval)
        )

    async def _regular(self) -> None:
        try:
            if not self._feeds.has_storage:  # they are remembered by nobody
                self._shared.release_stored()
            if not (self._has_news and self._is_safe) or not await self._write():
                await self._exchange_nothing()
            if self._follower.waits_for_others and not self._store.is_down:
                await self._expire()
        finally:
            self._is_busy = False

    async def _exchange_nothing(self) -> None:
        """Keep the lease, and learn what others did, unless that was tried just now."""
        if self._store.is_down and monotonic() - self._last_try < _SECONDS_OF_A_TICK / 2:
            return
        try:
            await self._exchange(News())
        except Exception as error:
            self._tell_failure(error)

    async def _publish(self, news: News, files: list[int]) -> None:
        if self._disk:
            await result_of(self._thread.submit(self._disk.synchronise, files))
        await self._exchange(news)
        self._last_news = monotonic()

    async def _exchange(self, news: News) -> None:
        try:
            await self._follower.exchange(news)
        except Exception:
            self._count("store/failed_exchanges")
            raise
        finally:
            self._last_try = monotonic()
        self._count("store/exchanges")
        self._last_exchange = monotonic()
        self._outages.end()

    async def _expire(self) -> None:
        try:
            await self._follower.expire()
        except Exception as error:
            self._tell_failure(error)

    def _tell_failure(self, error: Exception) -> None:
        match error:
            case StoreDownError():
                self._outages.begin(error)
            case HistoryChangedError():
                logger.warning("%s. What it has lost of this crawl is entered again", error)
            case _:
                self._tell("%s cannot be used: %s", self._store.name, error)

    async def _write_the_rest(self) -> None:
        """Tell all; an item that was not checked has to be claimed before it can be published."""
        deadline = monotonic() + _SECONDS_FOR_THE_REST
        while self._has_news or self._follower.late_claims:
            if await self._write():  # a part, if there is much
                deadline = monotonic() + _SECONDS_FOR_THE_REST
                continue
            if monotonic() > deadline:
                return
            await asyncio.sleep(_SECONDS_OF_A_TICK)

    @property
    def _unpublished(self) -> int:
        return super()._unpublished + self._follower.late_claims.stored

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: TextStore) -> None:
        """Have the store note the end of the crawl, for which it has some time."""
        try:
            if self._store.is_down:
                raise StoreDownError("it cannot be reached")
            async with asyncio.timeout(_SECONDS_TO_LEAVE):
                await self._store.leave(reason, report, texts)
        except Exception as error:
            logger.warning(
                "%s may lack the end of this crawl, and its report: %s", self._store.name, error
            )

    async def disconnect(self) -> None:
        try:
            async with asyncio.timeout(_SECONDS_TO_LEAVE):
                await self._shared.disconnect()
        except Exception as error:
            logger.warning("%s: the connection was not closed: %s", self._store.name, error)


def _shown(uri: str) -> str:
    return without_secrets(uri) if "://" in uri else uri
