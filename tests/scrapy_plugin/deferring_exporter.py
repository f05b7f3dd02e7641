"""Feed exporters for crawls of other processes: they export in a later turn of the event loop."""

from typing import Any

from scrapy.extensions.feedexport import FeedExporter
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred, inlineCallbacks


class DeferringExporter(FeedExporter):
    async def item_scraped(self, item: Any, spider: Any) -> None:
        later: Deferred[None] = Deferred()
        call_later(0.01, later.callback, None)
        await maybe_deferred_to_future(later)
        super().item_scraped(item, spider)


class DeferredExporter(DeferringExporter):
    """Has begun when it returns."""

    def item_scraped(self, item: Any, spider: Any) -> Any:
        return deferred_from_coro(super().item_scraped(item, spider))


class GeneratingExporter(FeedExporter):
    """Has begun when it returns."""

    @inlineCallbacks
    def item_scraped(self, item: Any, spider: Any) -> Any:
        later: Deferred[None] = Deferred()
        call_later(0.01, later.callback, None)
        yield later
        super().item_scraped(item, spider)


class CallingBackExporter(FeedExporter):
    """Exports in a callback, which has a context of its own on the asyncio reactor only."""

    def item_scraped(self, item: Any, spider: Any) -> Any:
        later: Deferred[None] = Deferred()
        call_later(0.01, later.callback, None)
        export = super().item_scraped
        return later.addCallback(lambda _: export(item, spider))
