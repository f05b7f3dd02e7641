"""Whether anybody stores the items of a crawl without feeds."""

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher
from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def has_storing_part(crawler: "Crawler") -> bool:
    """Return whether an item may be stored by a pipeline, or by who is told of scraped items.

    Any pipeline is taken for one that stores, but for ours; of the receivers, those that are not
    Scrapy's own, which count.
    """
    assert crawler.engine
    # A processor of items of somebody else's need not have pipelines.
    pipelines = getattr(crawler.engine.scraper.itemproc, "middlewares", None)
    if pipelines is None or not all(_is_of(type(pipeline), "dedup") for pipeline in pipelines):
        return True
    receivers = dispatcher.liveReceivers(
        dispatcher.getAllReceivers(crawler.signals.sender, signals.item_scraped)
    )
    return not all(_is_of(_owner(receiver), "dedup", "scrapy") for receiver in receivers)


def _owner(receiver: Any) -> Any:
    """Return the class of a method, or a function itself."""
    return type(receiver.__self__) if hasattr(receiver, "__self__") else receiver


def _is_of(part: Any, *packages: str) -> bool:
    return str(getattr(part, "__module__", "")).partition(".")[0] in packages
