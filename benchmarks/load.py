"""A crawl of many generated pages, two fifths of them duplicates: counts and memory.

    python benchmarks/load.py [--pages N] [--workers N] [--json FILE]

A server in a process of its own makes the pages: three fifths have a text of their own, a quarter
repeats one of these in another frame, the rest with a word replaced, at most 2 bits away. All are
crawled in random order, with a ledger and a feed. Then every counter is compared with what is
known, and the resident memory of the crawler, noted every 1,000 pages, is compared with what the
index and the other tables say they take. Exit code 1 if a counter is off.
"""

import argparse
import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

SEED = 5
WORDS = 260
NEAREST_COPIES = 2
EVERY = 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.pages)
        return 0
    command = [sys.executable, __file__, "--serve", "--pages", str(arguments.pages)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        tempfile.TemporaryDirectory() as folder,
    ):
        assert server.stdout
        try:
            url = server.stdout.readline().strip()
            figures = crawl(url, arguments.pages, arguments.workers, Path(folder))
        finally:
            server.kill()
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(f"{text}\n")
    return 1 if figures["counters_that_are_off"] else 0


def kinds(pages: int) -> list[tuple[str, int]]:
    """Return kind and content of every page, by number."""
    chooser = random.Random(SEED)
    originals = pages * 3 // 5
    exact = pages // 4
    copies = [("exact", chooser.randrange(originals)) for _ in range(exact)]
    copies += [("near", chooser.randrange(originals)) for _ in range(pages - originals - exact)]
    return [("new", number) for number in range(originals)] + copies


def words_of(content: int) -> list[str]:
    chooser = random.Random(content)
    return [f"{chooser.choice(STEMS)}{chooser.randrange(1000)}" for _ in range(WORDS)]


STEMS = [f"{first}{last}" for first in "brcdfghklm" for last in "ake ill one ust end".split()]


def serve(pages: int) -> None:
    from dedup.methods import SimHash
    from dedup.text import Document

    known, method = kinds(pages), SimHash()

    def near(content: int) -> str:
        """Return the text with one word replaced, so that it is a near-duplicate for sure."""
        original = method.sketch(Document(" ".join(words_of(content))))
        for place in range(WORDS):
            words = words_of(content)
            words[place] = "otherwise"
            sketch = method.sketch(Document(" ".join(words)))
            if method.distance(original, sketch) <= NEAREST_COPIES:
                return " ".join(words)
        raise ValueError(f"every edit moves content {content} too far")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            number = int(self.path[1:])
            kind, content = known[number]
            text = near(content) if kind == "near" else " ".join(words_of(content))
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
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


def crawl(url: str, pages: int, workers: int, folder: Path) -> dict[str, Any]:
    from scrapy import Request, Spider
    from scrapy.crawler import AsyncCrawlerProcess

    memory: list[tuple[int, int]] = []
    order = list(range(pages))
    random.Random(SEED + 1).shuffle(order)

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
    off = {
        name: (got, wanted)
        for name, (got, wanted) in compared(stats, pages, feed, ledger).items()
        if got != wanted
    }
    # The first third makes room: tables, caches, memory that the allocator keeps.
    steady = np.array(memory[len(memory) // 3 :], float)
    growth = np.polyfit(steady[:, 0], steady[:, 1], 1)[0] if len(steady) > 2 else 0.0
    return {
        "pages": pages,
        "workers": workers,
        "seconds": round(elapsed, 1),
        "pages_per_second": round(pages / elapsed, 1),
        "memory_mb_first": round(memory[0][1] / 1e6, 1) if memory else None,
        "memory_mb_last": round(memory[-1][1] / 1e6, 1) if memory else None,
        "memory_growth_bytes_a_page": round(float(growth), 1),
        "index_bytes_a_page": round(stats["dedup/index/bytes"] / pages, 1),
        "ledger_bytes_a_stored_page": round(ledger.stat().st_size / (pages * 3 // 5), 1),
        "checkpoints": stats.get("dedup/checkpoints/written"),
        "waited": stats.get("dedup/claims/waited", 0),
        "counters_that_are_off": off,
    }


def compared(
    stats: dict[str, Any], pages: int, feed: Path, ledger: Path
) -> dict[str, tuple[Any, Any]]:
    """Return by name what was counted, and what is right."""
    wanted = Counter(kind for kind, _ in kinds(pages))
    contents = {int(json.loads(line)["url"].rpartition("/")[2]) for line in feed.open()}
    known = kinds(pages)
    with closing(sqlite3.connect(ledger)) as file:
        rows = [file.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES]
        live = file.execute("SELECT count(*) FROM pages WHERE ended IS NULL").fetchone()[0]
    duplicates = wanted["exact"] + wanted["near"]
    get = stats.get
    near = get("dedup/near_duplicates", 0)
    distances = {key: value for key, value in stats.items() if key.startswith("dedup/distance/")}
    return {
        "pages": (get("dedup/pages"), pages),
        "new": (get("dedup/new"), wanted["new"]),
        "duplicates": (get("dedup/exact_duplicates", 0) + near, duplicates),
        "dropped": (get("dedup/items/dropped"), duplicates),
        "dropped by Scrapy": (get("item_dropped_count"), duplicates),
        "scraped": (get("item_scraped_count"), wanted["new"]),
        "committed": (get("dedup/claims/committed"), wanted["new"]),
        "released": (get("dedup/claims/released", 0), 0),
        "near by distance": (sum(distances.values()), near),
        "errors": (get("dedup/errors", 0), 0),
        "remembered": (get("dedup/index/pages"), wanted["new"]),
        "in the ledger": ((*rows, live), (wanted["new"], duplicates, 1, wanted["new"])),
        "lines of the feed": (sum(1 for _ in feed.open()), wanted["new"]),
        "contents in the feed": (len({known[number][1] for number in contents}), wanted["new"]),
    }


TABLES = ("pages", "matches", "crawls")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
