"""Outages of a store that crawls share: what is said of them, and whether the crawl goes on."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from dedup.logs import get_logger

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

REASON = "dedup_store_down"
"""The finish reason of a crawl that stops because its store is down."""
_CONSEQUENCES = {
    "keep": "items are kept meanwhile, and entered when it is back",
    "stop": "the crawl stops, and keeps the items under way",
}


class StoreOutage:
    """Whether the store is out of reach now: then nobody knows what other crawls have stored."""

    def __init__(self, policy: str, crawler: "Crawler", count: Callable[[str], object]) -> None:
        """Create it; *policy*: "keep" or "stop". *count* is called with the names of counters."""
        self._policy = policy
        self._crawler = crawler
        self._count = count
        self._is_under_way = self._is_stopped = False

    def begin(self, error: Exception) -> None:
        """Tell of an outage, if it is not known yet, and stop the crawl if that is wanted."""
        if self._is_under_way:
            return
        self._is_under_way = True
        self._count("store/outages")
        logger.warning("%s; %s (store_down of DEDUP_INDEX)", error, _CONSEQUENCES[self._policy])
        if self._policy == "stop" and not self._is_stopped and self._crawler.engine:
            self._is_stopped = True
            deferred_from_coro(self._crawler.engine.close_spider_async(reason=REASON))

    def end(self) -> None:
        """The store has answered."""
        if self._is_under_way:
            self._is_under_way = False
            logger.warning("The store that crawls share is back")
