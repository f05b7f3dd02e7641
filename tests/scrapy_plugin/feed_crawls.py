"""Crawls with feeds, and what is in these and in the ledger afterwards."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from crawls import Crawl, crawl, spider_over
from web import served


def urls_in(feed: Path) -> list[str]:
    """The paths of the pages whose items a reader of JSON lines finds, up to the last line end."""
    lines = feed.read_text().split("\n")[:-1] if feed.exists() else []
    return [path_of(json.loads(line)["url"]) for line in lines]


def path_of(url: str) -> str:
    return "/" + url.partition("//")[2].partition("/")[2]


def remembered(ledger: Path) -> list[str]:
    with closing(sqlite3.connect(ledger)) as file:
        rows = file.execute("SELECT url FROM pages WHERE ended IS NULL ORDER BY id").fetchall()
    return [path_of(url) for (url,) in rows]


def run(site: dict[str, str], ledger: Any = "", **options: Any) -> Crawl:
    attributes = {
        key: options.pop(key) for key in ("parse", "start", "dedup_reset") if key in options
    }
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), **attributes)
        return crawl(spider, DEDUP_INDEX=ledger, **options)


def fill(disk: Path, room: int = 0) -> None:
    """Fill *disk* but for *room* bytes, until its file ``filling`` is removed."""
    filling = disk / "filling"
    with filling.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            file.truncate(max(0, file.tell() - room))
