"""Whole crawls in the tests' own process: Scrapy without a reactor, one event loop a crawl."""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self

import pytest
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.settings import Settings

ADDON = {"dedup.scrapy_plugin.Addon": 500}


@dataclass
class Crawl:
    """What came out of a crawl."""

    items: list[Any] = field(default_factory=list)
    dropped: list[tuple[Any, Any]] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    log: list[logging.LogRecord] = field(default_factory=list)

    @property
    def dedup_stats(self) -> dict[str, Any]:
        """The counters of pages and items, without time, memory, bytes, claims and texts."""
        unsteady = ("index/", "seconds_saved", "bytes_saved", "claims/", "lost/")
        return {
            key.removeprefix("dedup/"): value
            for key, value in self.stats.items()
            if key.startswith("dedup/") and not key.removeprefix("dedup/").startswith(unsteady)
        }

    def messages(self, level: int = logging.WARNING) -> list[str]:
        """Return what dedup itself logged."""
        return [
            record.getMessage()
            for record in self.log
            if record.levelno >= level and record.name.startswith("dedup")
        ]


def crawl(
    spider: type[Spider],
    *,
    keep_log: bool = True,
    keep_items: bool = True,
    limits: Mapping[str, float] = MappingProxyType({}),
    arguments: Mapping[str, str] = MappingProxyType({}),
    **settings: Any,
) -> Crawl:
    """Run *spider* with dedup switched on, inline unless *settings* say otherwise.

    *keep_log*: keep all records, from DEBUG on, and with them all responses and items.
    *keep_items*: keep scraped and dropped items, and with that be somebody who may store them.
    *limits*: what other values those of `dedup.scrapy_plugin.limits` have. *arguments* are those of
    the spider.
    """
    settings = {
        "TWISTED_REACTOR_ENABLED": False,
        "ADDONS": ADDON,
        "DEDUP_WORKERS": 0,
        "LOG_ENABLED": False,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "MEMUSAGE_ENABLED": False,
        # Each loads all certificates of the system.
        "DOWNLOAD_HANDLERS": {"https": None, "ftp": None, "s3": None},
        "CONCURRENT_REQUESTS": 1,  # pages arrive in the order of their requests
        "CONCURRENT_ITEMS": 10,  # Scrapy starts as many tasks for each page
        **settings,
    }
    result = Crawl()

    async def run() -> None:
        crawler = Crawler(spider, _Uncopied(settings))

        # Weakly referenced receivers: they must have a name until the crawl ends.
        def scraped(item: Any) -> None:
            result.items.append(item)

        def dropped(item: Any, exception: Any) -> None:
            # The traceback holds the response.
            result.dropped.append((item, exception.with_traceback(None)))

        if keep_items:
            crawler.signals.connect(scraped, signals.item_scraped)
            crawler.signals.connect(dropped, signals.item_dropped)
        await crawler.crawl_async(**arguments)
        result.stats = dict(crawler.stats.get_stats())

    with logged(result.log) if keep_log else nullcontext(), pytest.MonkeyPatch.context() as patch:
        for name, value in limits.items():
            patch.setattr(f"dedup.scrapy_plugin.limits.{name}", value)
        asyncio.run(run())
    return result


class _Uncopied(Settings):
    """Settings of one crawl alone: to copy them takes a tenth of the time of a small crawl."""

    def copy(self) -> Self:
        return self


@contextmanager
def logged(records: list[logging.LogRecord]) -> Iterator[None]:
    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    keeper, root = Keeper(), logging.getLogger()
    level = root.level
    root.addHandler(keeper)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(keeper)
        root.setLevel(level)


def spider_over(*urls: str, **attributes: Any) -> type[Spider]:
    """Return a spider that yields ``{"url": ...}`` for each of *urls*, in their order.

    *attributes* replace or add attributes and methods of it.
    """

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}

    return type(
        "TestSpider",
        (Spider,),
        {"name": "test", "start_urls": list(urls), "parse": parse, **attributes},
    )
