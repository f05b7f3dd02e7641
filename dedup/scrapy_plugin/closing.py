"""The end of a crawl that meets nothing new any more (DEDUP_CLOSE_UNCHANGED)."""

from typing import TYPE_CHECKING

from scrapy.utils.defer import deferred_from_coro

from dedup.rule import Kind, Verdict

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

REASON = "dedup_unchanged"


class Closing:
    """Closes the crawl after *limit* unchanged pages in a row, with the reason `REASON`; 0: never.

    New and changed pages begin the row anew; others do not count.
    """

    def __init__(self, crawler: "Crawler", limit: int) -> None:
        self._crawler = crawler
        self._limit = limit
        self._unchanged = 0

    def verdict_is_given(self, verdict: Verdict) -> None:
        """Count a page by its *verdict*."""
        if verdict.kind in (Kind.NEW, Kind.CHANGED):
            self._unchanged = 0
        elif verdict.kind is Kind.UNCHANGED:
            self._unchanged += 1
            if self._unchanged == self._limit and self._crawler.engine:
                deferred_from_coro(self._crawler.engine.close_spider_async(reason=REASON))
