"""Whole crawls in the tests' own process: Scrapy without a reactor, one event loop a crawl.

And what is in their feeds, reports and ledgers afterwards.
"""

import asyncio
import json
import logging
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import pytest
from itemadapter import ItemAdapter
from scrapy import Spider, signals
from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import BlockingFeedStorage
from scrapy.http import HtmlResponse
from scrapy.settings import Settings
from web import served

ADDON = {"dedup.scrapy_plugin.Addon": 500}


@dataclass
class Crawl:
    """What came out of a crawl."""

    url: str = ""
    """That of its site."""
    items: list[Any] = field(default_factory=list)
    dropped: list[tuple[Any, Any]] = field(default_factory=list)
    stats: dict[str, Any] = field(default_factory=dict)
    log: list[logging.LogRecord] = field(default_factory=list)

    @property
    def stored(self) -> list[str]:
        """The paths of the items' URLs."""
        return [path_of(ItemAdapter(item)["url"]) for item in self.items]

    @property
    def originals(self) -> dict[str, str]:
        """The paths of what dedup dropped, each with that of its original."""
        return {
            path_of(ItemAdapter(item)["url"]): path_of(error.verdict.original)
            for item, error in self.dropped
            if hasattr(error, "verdict")
        }

    @property
    def fetched(self) -> list[str]:
        """The URLs of the pages that were fetched, in their order."""
        return [one.args["request"].url for one in self.log if one.msg.startswith("Crawled (")]

    @property
    def table(self) -> str:
        """The report in the log."""
        [table] = [text for text in self.messages(logging.INFO) if text.startswith("Dedup report:")]
        return table

    def counts(self, prefix: str) -> dict[str, Any]:
        """The stats whose names begin with ``dedup/`` and *prefix*, by the rest of their names."""
        prefix = f"dedup/{prefix}"
        return {k.removeprefix(prefix): n for k, n in self.stats.items() if k.startswith(prefix)}

    @property
    def dedup_stats(self) -> dict[str, Any]:
        """The counters of pages and items, without time, memory, bytes, claims and texts."""
        unsteady = ("index/", "seconds_saved", "bytes_saved", "claims/", "lost/")
        return {k: n for k, n in self.counts("").items() if not k.startswith(unsteady)}

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


def follow_links(self: Any, response: Any) -> Iterator[Any]:
    """A callback that yields ``{"url": ...}``, and follows the links of a page."""
    yield {"url": response.url}
    if isinstance(response, HtmlResponse):
        yield from response.follow_all(css="a")


def crawl_paths(url: str, *paths: str, **options: Any) -> Crawl:
    """Crawl *paths* of the site at *url*, one after the other.

    Of *options*, those in capitals are settings, and others attributes and methods of the spider,
    but for the arguments of `crawl`. The spider has *url* as ``root``.
    """
    attributes = {
        name: options.pop(name)
        for name in tuple(options)
        if name.islower() and name not in signature(crawl).parameters
    }
    spider = spider_over(*(url + path for path in paths), **{"root": url, **attributes})
    return replace(crawl(spider, **options), url=url)


def crawl_site(site: Mapping[str, Any], *paths: str, **options: Any) -> Crawl:
    """Serve *site*, and crawl *paths* of it, or all of it, as `crawl_paths` does."""
    with served(site) as url:
        return crawl_paths(url, *(paths or site), **options)


@dataclass
class KnownSite:
    """A site at *url* that is crawled several times with one ledger, while its *pages* change."""

    pages: dict[str, Any]
    url: str
    ledger: Path

    def crawl(self, *paths: str, **options: Any) -> Crawl:
        """Crawl *paths*, or all pages, as `crawl_paths` does."""
        return crawl_paths(
            self.url, *(paths or self.pages), **{"DEDUP_INDEX": self.ledger, **options}
        )


@contextmanager
def known_site(pages: Mapping[str, Any], folder: Path) -> Iterator[KnownSite]:
    changing = dict(pages)
    with served(changing) as url:
        yield KnownSite(changing, url, folder / "pages.sqlite")


def start_process(
    reactor: str, urls: Iterable[str], workers: int = 0, **settings: Any
) -> "subprocess.Popen[str]":
    """Start a crawl on *reactor*, as ``reactor_crawl.py`` says it, in a process of its own."""
    script = Path(__file__).with_name("reactor_crawl.py")
    return subprocess.Popen(
        [sys.executable, script, reactor, str(workers), json.dumps(settings), *urls],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def path_of(url: str) -> str:
    return "/" + url.partition("//")[2].partition("/")[2] if "//" in url else url


def urls_in(feed: Path) -> list[str]:
    """The paths of the pages whose items a reader of JSON lines finds, up to the last line end."""
    lines = feed.read_text().split("\n")[:-1] if feed.exists() else []
    return [path_of(json.loads(line)["url"]) for line in lines]


def uploading_to(folder: Path, *failing: str) -> type[BlockingFeedStorage]:
    class Uploading(BlockingFeedStorage):
        """Copies what is complete into *folder* in a thread, but for the files named *failing*."""

        def __init__(self, uri: str, *, feed_options: Any = None) -> None:
            self.name = uri.rpartition("/")[2]

        def _store_in_thread(self, file: Any) -> None:
            with file:
                if self.name in failing:
                    raise OSError("421 too many connections")
                file.seek(0)
                (folder / self.name).write_bytes(file.read())

    return Uploading


def query(ledger: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(ledger)) as file, file:
        return file.execute(sql).fetchall()


def remembered(ledger: Path) -> list[str]:
    """The paths of the pages that count."""
    rows = query(ledger, "SELECT url FROM pages WHERE ended IS NULL ORDER BY id")
    return [path_of(url) for (url,) in rows]


def report_in(folder: Path) -> Any:
    """The one report in *folder*, as JSON."""
    [path] = folder.glob("*.json")
    return json.loads(path.read_text())


def html_report_in(folder: Path) -> str:
    [path] = folder.glob("*Z.html")
    return path.read_text("utf-8")


def fill(disk: Path, room: int = 0) -> None:
    """Fill *disk* but for *room* bytes, until its file ``filling`` is removed."""
    filling = disk / "filling"
    with filling.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            file.truncate(max(0, file.tell() - room))
