"""The order of requests: those whose URLs are better come first (DEDUP_PREFER)."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from dedup.preference import Copy
from dedup.scrapy_plugin.plugin import Extension

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# Each level is a queue of its own, with a file of its own in a JOBDIR, and a hostile site could
# make any number of them. So many are shared by all download slots, but each has some.
_MOST_LEVELS, _LEAST_LEVELS = 256, 4


class PreferenceQueue(DownloaderAwarePriorityQueue):
    """Scrapy's default priority queue, in which better URLs come first among equal priorities.

    The priorities of the requests themselves stay as they are, and decide first.
    """

    def __init__(self, crawler: "Crawler", *arguments: Any, **options: Any) -> None:
        try:
            plugin: Extension | None = Extension.of(crawler, type(self).__name__)
        except NotConfigured:
            plugin = None
        if plugin and not (plugin.settings.enabled and plugin.settings.prefer):
            plugin = None
        self._plugin = plugin
        super().__init__(crawler, *arguments, **options)

    def pqfactory(self, slot: str, startprios: Iterable[int] = ()) -> ScrapyPriorityQueue:
        queue = super().pqfactory(slot, startprios)
        if self._plugin:
            # All that decides the order in a queue; its queues hold nothing else of a request.
            queue.priority = partial(self._level, self._plugin, {*startprios})  # type: ignore[method-assign]
        return queue

    def _level(self, plugin: Extension, levels: set[int], request: Request) -> int:
        """Return the place of *request* in a queue with *levels* so far, lower is earlier.

        If there are too many levels already, the last one of its priority.
        """
        preference = plugin.settings.prefer
        try:
            rank = int.from_bytes(preference.rank(Copy(request.url)), "big")
        except Exception:
            plugin.notices.count_error("the preference of <%s>", request.url)
            rank = 0
        level = rank - request.priority * preference.limit
        most = max(_LEAST_LEVELS, _MOST_LEVELS // max(1, len(self.pqueues)))
        if level not in levels and len(levels) >= most:
            level = (1 - request.priority) * preference.limit - 1
        levels.add(level)
        return level
