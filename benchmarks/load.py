"""A crawl of many generated pages, two fifths of them copies: counts and memory.

    python benchmarks/load.py [--pages N] [--workers N]

A server makes the pages: three fifths have a text of their own, the others repeat one of these in
another frame. A process of its own crawls them all in random order, with a ledger and a feed.
Then every counter is compared with what is known, and the growth of the crawler's resident memory,
noted every 1,000 pages, is shown. Exit code 1 if a counter is off.
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from crawl import in_own_process, run
from drops import Silent, serve

SEED = 5
WORDS = 260
STEMS = [f"{first}{last}" for first in "brcdfghklm" for last in "ake ill one ust end".split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    texts = contents(arguments.pages)
    with tempfile.TemporaryDirectory() as folder, serve(Numbered, texts=texts) as url:
        figures = in_own_process(crawl, url, texts, arguments.workers, Path(folder))
    print(json.dumps(figures, indent=1))
    return 1 if figures["counters_that_are_off"] else 0


def contents(pages: int) -> list[int]:
    """Return the number of the text of each page."""
    chooser, originals = random.Random(SEED), pages * 3 // 5
    copies = [chooser.randrange(originals) for _ in range(pages - originals)]
    return [*range(originals), *copies]


class Numbered(Silent):
    """Makes the page of a number."""

    def __init__(self, *arguments: Any, texts: list[int]) -> None:
        self.texts = texts
        super().__init__(*arguments)

    def do_GET(self) -> None:  # noqa: N802  # the name that http.server calls
        number = int(self.path[1:])
        content = self.texts[number]
        chooser = random.Random(content)
        text = " ".join(f"{chooser.choice(STEMS)}{chooser.randrange(1000)}" for _ in range(WORDS))
        page = (
            f"<html><head><title>Story {content}</title></head><body><nav>{number}</nav>"
            f"<article><p>{text}.</p></article><footer>Page {number}</footer></body></html>"
        )
        self.send(page.encode())


def crawl(url: str, texts: list[int], workers: int, folder: Path) -> dict[str, Any]:
    pages = len(texts)
    urls = [f"{url}/{number}" for number in random.Random(SEED + 1).sample(range(pages), pages)]
    feed, ledger = folder / "pages.jsonl", folder / "pages.sqlite"
    settings = {
        "DEDUP_INDEX": str(ledger),
        "DEDUP_WORKERS": workers,
        "FEEDS": {str(feed): {"format": "jsonlines"}},
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    }
    crawler, elapsed, _ = run(urls, settings)
    stats, memory = crawler.stats.get_stats(), crawler.spider.memory
    compared = counters(stats, texts, feed, ledger)
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
    stats: dict[str, Any], texts: list[int], feed: Path, ledger: Path
) -> dict[str, tuple[Any, Any]]:
    """Return by name what was counted, and what is right."""
    pages, new = len(texts), len(set(texts))
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


if __name__ == "__main__":
    sys.exit(main())
