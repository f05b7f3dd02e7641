"""Why a crawl ends early: nothing is new any more, or the store that crawls share is down."""

from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from dedup.logs import get_logger
from dedup.scrapy_plugin.notices import Notices

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = get_logger(__name__)

UNCHANGED = "dedup_unchanged"
STORE_DOWN = "dedup_store_down"
_CONSEQUENCES = {
    "keep": "items are kept meanwhile, and entered when it is back",
    "stop": "the crawl stops, and keeps the items under way",
}


def end_early(crawler: "Crawler", reason: str) -> None:
    """Have *crawler* end with *reason*, once its requests under way are done."""
    if crawler.engine:
        deferred_from_coro(crawler.engine.close_spider_async(reason=reason))


class StoreOutage:
    """Whether the store is out of reach now: then nobody knows what other crawls have stored."""

    def __init__(self, policy: str, crawler: "Crawler", notices: Notices) -> None:
        """Create it; *policy*: "keep" or "stop"."""
        self._policy = policy
        self._crawler = crawler
        self._notices = notices
        self._is_under_way = False

    def begin(self, error: Exception) -> None:
        """Tell of an outage, if it is not known yet, and stop the crawl if that is wanted."""
        if self._is_under_way:
            return
        self._is_under_way = True
        self._notices.count("store/outages")
        logger.warning("%s; %s (store_down of DEDUP_INDEX)", error, _CONSEQUENCES[self._policy])
        if self._policy == "stop":
            end_early(self._crawler, STORE_DOWN)

    def end(self) -> None:
        """The store has answered."""
        if self._is_under_way:
            self._is_under_way = False
            logger.warning("The store that crawls share is back")
