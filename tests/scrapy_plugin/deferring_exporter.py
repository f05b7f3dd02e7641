"""A feed exporter for crawls of other processes: it exports in a later turn of the event loop."""

from typing import Any

from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred


class DeferringExporter(FeedExporter):
    async def item_scraped(self, item: Any, spider: Any) -> None:
        later: Deferred[None] = Deferred()
        call_later(0.01, later.callback, None)
        await maybe_deferred_to_future(later)
        super().item_scraped(item, spider)
