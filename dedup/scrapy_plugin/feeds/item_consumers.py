"""Sinks of items: whether anything but feeds stores those of a crawl."""

from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher
from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def has_other_consumer(crawler: "Crawler") -> bool:
    """Return whether a pipeline, or a receiver of the signal item_scraped, may store items.

    Every pipeline but ours is assumed to store them, and so is every receiver that is not Scrapy's:
    Scrapy's own ones only count.
    """
    assert crawler.engine
    # Somebody else's item processor need not have pipelines.
    pipelines = getattr(crawler.engine.scraper.itemproc, "middlewares", None)
    if pipelines is None or not all(_is_of(type(pipeline), "dedup") for pipeline in pipelines):
        return True
    receivers = dispatcher.liveReceivers(
        dispatcher.getAllReceivers(crawler.signals.sender, signals.item_scraped)
    )
    return not all(_is_of(_owner(receiver), "dedup", "scrapy") for receiver in receivers)


def _owner(receiver: Any) -> Any:
    """Return the class of a bound method, or the function itself."""
    return type(receiver.__self__) if hasattr(receiver, "__self__") else receiver


def _is_of(part: Any, *packages: str) -> bool:
    return str(getattr(part, "__module__", "")).partition(".")[0] in packages
