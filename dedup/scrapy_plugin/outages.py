"""Outages of a store that crawls share: what is said of them, and what pages do meanwhile."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from dedup.logs import get_logger
from dedup.scrapy_plugin.awaiting import wait_for_call
from dedup.scrapy_plugin.crawling import is_stopping

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

REASON = "dedup_store_down"
"""The finish reason of a crawl that stops while its store is down."""
_SECONDS_BETWEEN_TRIES = 1.0
_CONSEQUENCES = {
    "keep": "items are kept meanwhile, and entered when it is back",
    "wait": "pages wait until it is back",
    "stop": "the crawl stops, and keeps the items under way",
}


class Outages:
    """Does with pages what DEDUP_STORE_DOWN says, while nobody knows what others have stored."""

    def __init__(self, policy: str, crawler: "Crawler", count: Callable[[str], object]) -> None:
        """Create it; *policy* is the setting, *count* is called with the names of counters."""
        self._policy = policy
        self._crawler = crawler
        self._count = count
        self._is_one = self._is_stopped = False

    def begin(self, error: Exception) -> None:
        """Tell of an outage, if it is not known yet."""
        if not self._is_one:
            self._is_one = True
            self._count("store/outages")
            logger.warning("%s; %s (DEDUP_STORE_DOWN)", error, _CONSEQUENCES[self._policy])

    def end(self) -> None:
        """The store has answered."""
        if self._is_one:
            self._is_one = False
            logger.warning("The store that crawls share is back")

    async def wait(self) -> bool:
        """Wait if pages are to; return whether the store is to be asked again."""
        if self._policy == "wait" and not is_stopping(self._crawler):
            await wait_for_call(_SECONDS_BETWEEN_TRIES, lambda _: None)
            return not is_stopping(self._crawler)
        if self._policy == "stop" and not self._is_stopped and self._crawler.engine:
            self._is_stopped = True
            deferred_from_coro(self._crawler.engine.close_spider_async(reason=REASON))
        return False
