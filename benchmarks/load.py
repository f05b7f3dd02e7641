"""A crawl of many generated pages, two fifths of them copies: counts and memory.

    python benchmarks/load.py [--pages N] [--workers N]

A server in a process of its own makes the pages: three fifths have a text of their own, the others
repeat one of these in another frame. All are crawled in random order, with a ledger and a feed.
Then every counter is compared with what is known, and the growth of the crawler's resident memory,
noted every 1,000 pages, is shown. Exit code 1 if a counter is off.
"""

import argparse
import json
import multiprocessing
import random
import resource
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

SEED = 5
WORDS = 260
EVERY = 1000
STEMS = [f"{first}{last}" for first in "brcdfghklm" for last in "ake ill one ust end".split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    server = context.Process(target=serve, args=(contents(arguments.pages), there), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        figures = crawl(here.recv(), arguments.pages, arguments.workers, Path(folder))
    print(json.dumps(figures, indent=1))
    return 1 if figures["counters_that_are_off"] else 0


def contents(pages: int) -> list[int]:
    """Return the number of the text of each page."""
    chooser, originals = random.Random(SEED), pages * 3 // 5
    copies = [chooser.randrange(originals) for _ in range(pages - originals)]
    return [*range(originals), *copies]


def serve(contents: list[int], there: Connection) -> None:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = int(self.path[1:])
            content = contents[number]
            chooser = random.Random(content)
            text = " ".join(
                f"{chooser.choice(STEMS)}{chooser.randrange(1000)}" for _ in range(WORDS)
            )
            body = (
                f"<html><head><title>Story {content}</title></head><body><nav>{number}</nav>"
                f"<article><p>{text}.</p></article><footer>Page {number}</footer></body></html>"
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    there.send(f"http://127.0.0.1:{server.server_port}")
    server.serve_forever()


def crawl(url: str, pages: int, workers: int, folder: Path) -> dict[str, Any]:
    memory: list[tuple[int, int]] = []
    order = random.Random(SEED + 1).sample(range(pages), pages)

    class Pages(Spider):
        name = "pages"
        seen = 0

        async def start(self) -> Any:
            for number in order:
                yield Request(f"{url}/{number}", dont_filter=True)

        def parse(self, response: Any) -> Any:
            self.seen += 1
            if self.seen % EVERY == 0:
                memory.append((self.seen, resident_bytes()))
            yield {"url": response.url}

    feed, ledger = folder / "pages.jsonl", folder / "pages.sqlite"
    process = AsyncCrawlerProcess(
        {
            "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
            "DEDUP_INDEX": str(ledger),
            "DEDUP_WORKERS": workers,
            "FEEDS": {str(feed): {"format": "jsonlines"}},
            "CONCURRENT_REQUESTS": 32,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
        }
    )
    crawler = process.create_crawler(Pages)
    start = time.perf_counter()
    process.crawl(crawler)
    process.start()
    elapsed = time.perf_counter() - start
    stats = crawler.stats.get_stats()
    compared = counters(stats, pages, feed, ledger)
    # The first third makes room: tables, caches, memory that the allocator keeps.
    steady = np.array(memory[len(memory) // 3 :], float)
    growth = np.polyfit(steady[:, 0], steady[:, 1], 1)[0] if len(steady) > 2 else 0.0
    return {
        "pages": pages,
        "pages_per_second": round(pages / elapsed, 1),
        "memory_growth_bytes_a_page": round(float(growth), 1),
        "index_bytes_a_page": round(stats["dedup/index/bytes"] / pages, 1),
        "ledger_bytes_a_stored_page": round(ledger.stat().st_size / (pages * 3 // 5), 1),
        "counters_that_are_off": {k: both for k, both in compared.items() if both[0] != both[1]},
    }


def counters(
    stats: dict[str, Any], pages: int, feed: Path, ledger: Path
) -> dict[str, tuple[Any, Any]]:
    """Return by name what was counted, and what is right."""
    texts = contents(pages)
    new = pages * 3 // 5
    stored = [json.loads(line)["url"].rpartition("/")[2] for line in feed.open()]
    with closing(sqlite3.connect(ledger)) as file:
        rows = [
            file.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("pages WHERE ended IS NULL", "matches", "crawls")
        ]
    counted = {
        "dedup/pages": pages, "dedup/new": new, "dedup/exact_duplicates": pages - new,
        "dedup/items/dropped": pages - new, "item_dropped_count": pages - new,
        "item_scraped_count": new, "dedup/claims/committed": new, "dedup/claims/released": 0,
        "dedup/errors": 0, "dedup/index/pages": new,
    }  # fmt: skip
    return {
        **{name: (stats.get(name, 0), right) for name, right in counted.items()},
        "in the ledger": (rows, [new, pages - new, 1]),
        "contents in the feed": (sorted(texts[int(number)] for number in stored), list(range(new))),
    }


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
