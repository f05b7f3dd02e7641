"""A crawl in a process of its own, with the troubles that its pages ask for."""

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zlib import crc32

from itemadapter import ItemAdapter
from scrapy import Field, Item, Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.exceptions import DropItem

from dedup.extraction.own_trafilatura import own_trafilatura
from dedup.scrapy_plugin import limits
from oracle.faults import Fault, Planted

_TEMPORARY = "temporary"
_PRELOADED = (
    "oracle.crawls dedup.scrapy_plugin.middleware scrapy.core.downloader.handlers.http11 "
    "scrapy.core.engine scrapy.pqueues scrapy.squeues aiohttp"
).split()
"""What each crawl needs is imported once: its processes are forked from one that has it."""
own_trafilatura()  # which is slow, too


@dataclass(frozen=True)
class Order:
    """What a process is to crawl, and what happens to it meanwhile."""

    url: str
    settings: dict[str, Any]
    log: Path
    notes: Path
    """Where planted faults tell of themselves."""
    folder: Path
    """Where the process is; in its folder ``temporary`` are temporary files."""
    fault: Fault | None = None


def start(order: Order) -> ForkServerProcess:
    """Return a process that crawls; its exit code is 1 if the crawl could not begin."""
    context = multiprocessing.get_context("forkserver")
    # The process that the others are forked from finds modules by this only.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    # SQLite asks once, when it is imported, and then goes by the folder that a process is in.
    os.environ["SQLITE_TMPDIR"] = _TEMPORARY
    context.set_forkserver_preload(_PRELOADED)
    process = context.Process(target=crawl, args=(order,))
    process.start()
    return process


def crawl(order: Order) -> None:
    log = os.open(order.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.dup2(log, 1)
    os.dup2(log, 2)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(order.folder)
    os.environ["TMPDIR"] = str(order.folder / _TEMPORARY)
    tempfile.tempdir = None
    Planted(order.fault, order.notes).plant()
    limits.PAGE_TIMEOUT, limits.WAIT_TIMEOUT = 2.0, 10.0  # for less waiting
    limits.CHECKPOINT_INTERVAL = order.settings["CHECKPOINT_INTERVAL"]
    process = AsyncCrawlerProcess({"ADDONS": {"dedup.scrapy_plugin.Addon": 500}, **order.settings})
    process.crawl(Everything, url=order.url)
    process.start()
    sys.exit(int(process.bootstrap_failed))


class TroubleError(Exception):
    """Raised where a page asks for it."""


def _exported(trouble: str) -> str:
    if trouble == "export":
        raise TroubleError(trouble)
    return trouble


class Article(Item):
    url, unit, text, body = Field(), Field(), Field(), Field()
    trouble = Field(serializer=_exported)


@dataclass
class Post:
    url: str
    unit: str
    text: str
    trouble: str = field(metadata={"serializer": _exported})
    body: str | None = None


KINDS: tuple[Any, ...] = (Article, Post, dict)
KINDS_THAT_FAIL: tuple[Any, ...] = (Article, Post)


class Everything(Spider):
    """Follows all links, and yields an item of each article; does what the pages ask for."""

    name = "everything"
    url = ""

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.url, dont_filter=True)

    async def parse(self, response: Any, item: Any = None) -> AsyncIterator[Any]:
        trouble = response.css("body::attr(data-trouble)").get()
        following = response.css("a.next::attr(href)").get()
        if item is None:
            items = [_item(response, article, trouble) for article in response.css("article")]
        else:
            adapter = ItemAdapter(item)
            texts = response.css("article p::text").getall()
            adapter["text"] = "\n".join([adapter["text"], *texts])
            adapter["trouble"] = trouble
            items = [item]
        if trouble == "callback-first":
            raise TroubleError(trouble)
        if following:
            async for output in self.follow(response.urljoin(following), items[0]):
                yield output
            return
        links = [
            Request(url)
            for url in map(response.urljoin, response.css("a.link::attr(href)").getall())
        ]
        outputs = [*items, *links]
        for number, output in enumerate(outputs):
            if trouble == "callback-midway" and number > len(outputs) // 2:
                raise TroubleError(trouble)
            yield output
            if trouble == "callback-item" and number + 1 == len(items):
                raise TroubleError(trouble)
        if trouble.startswith("callback"):
            raise TroubleError(trouble)

    async def follow(self, url: str, item: Any) -> AsyncIterator[Any]:
        """Complete *item* on the page at *url*."""
        if self.settings["CHAIN"] == "inline":
            assert self.crawler.engine
            response = await self.crawler.engine.download_async(Request(url))
            async for output in self.parse(response, item):
                yield output
        else:
            yield Request(url, cb_kwargs={"item": item})


def _item(response: Any, article: Any, trouble: str) -> Any:
    unit = article.attrib["data-unit"]
    has_fragments = response.css("body::attr(data-fragments)").get()
    url = f"{response.url}#{unit}" if has_fragments else response.url
    kinds = KINDS_THAT_FAIL if trouble == "export" else KINDS
    kind = kinds[crc32(urlsplit(url).path.encode()) % len(kinds)]
    text = "\n".join(article.css("p::text").getall())
    return kind(url=url, unit=unit, text=text, trouble=trouble)


class Pipeline:
    """Fails, drops and replaces items as their pages ask for."""

    def process_item(self, item: Any) -> Any:
        adapter = ItemAdapter(item)
        trouble = adapter.get("trouble")
        if trouble == "pipeline":
            raise TroubleError(trouble)
        if trouble == "drop":
            raise DropItem(trouble)
        return adapter.asdict() if trouble == "replace" else item


class Accepted:
    """The filter of a feed."""

    def __init__(self, options: dict[str, Any] | None) -> None: ...

    def accepts(self, item: Any) -> bool:
        return ItemAdapter(item).get("trouble") != "refused"
