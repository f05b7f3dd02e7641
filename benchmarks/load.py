"""A crawl of many generated pages, two fifths of them copies: counts and memory.

    python benchmarks/load.py [--pages N]

A server makes the pages: three fifths have a text of their own, the others repeat one of these in
another frame. A process of its own crawls them all in random order, with a ledger and a feed.
Then counts are compared with what is known, and the growth of the crawler's resident memory, noted
every 1,000 pages, is shown. Exit code 1 if a count is off.
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from statistics import linear_regression
from typing import Any

from crawl import in_own_process, run
from drops import Silent, read_lines, serve

SEED = 5
WORDS = 260
STEMS = [f"{first}{last}" for first in "brcdfghklm" for last in "ake ill one ust end".split()]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pages", type=int, default=50_000)
    pages = parser.parse_args().pages
    chooser, originals = random.Random(SEED), pages * 3 // 5
    copies = [chooser.randrange(originals) for _ in range(pages - originals)]
    texts = [*range(originals), *copies]  # the number of the text of each page
    with tempfile.TemporaryDirectory() as folder, serve(Numbered, texts=texts) as url:
        figures = in_own_process(crawl, url, texts, Path(folder))
    print(json.dumps(figures, indent=1))
    return 1 if figures["counts_that_are_off"] else 0


class Numbered(Silent):
    """Makes the page of a number."""

    def __init__(self, *arguments: Any, texts: list[int]) -> None:
        self.texts = texts
        super().__init__(*arguments)

    def do_GET(self) -> None:  # noqa: N802  # the name that http.server calls
        number = int(self.path[1:])
        content = self.texts[number]
        chooser = random.Random(content)
        text = " ".join("".join(chooser.choices(STEMS, k=3)) for _ in range(WORDS))
        page = (
            f"<html><head><title>Story {content}</title></head><body><nav>{number}</nav>"
            f"<article><p>{text}.</p></article><footer>Page {number}</footer></body></html>"
        )
        self.send(page.encode())


def crawl(url: str, texts: list[int], folder: Path) -> dict[str, Any]:
    pages = len(texts)
    urls = [f"{url}/{number}" for number in random.Random(SEED + 1).sample(range(pages), pages)]
    feed, ledger = folder / "pages.jsonl", folder / "pages.sqlite"
    settings = {
        "DEDUP_INDEX": str(ledger),
        "FEEDS": {str(feed): {"format": "jsonlines"}},
        "CONCURRENT_REQUESTS": 32,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
    }
    crawler, elapsed, _ = run(urls, {**settings, "DEDUP_WORKERS": 1})
    stats, memory = crawler.stats.get_stats(), crawler.spider.memory
    stored = sorted(texts[int(item["url"].rpartition("/")[2])] for item in read_lines(feed))
    with closing(sqlite3.connect(ledger)) as file:
        [named] = file.execute("SELECT count(*) FROM pages WHERE ended IS NULL").fetchone()
    new = len(set(texts))
    counts = {
        **{name: (stats.get(name, 0), new) for name in ("dedup/new", "dedup/claims/committed")},
        **{name: (stats.get(name, 0), 0) for name in ("dedup/errors", "dedup/claims/released")},
        "dedup/items/dropped": (stats.get("dedup/items/dropped", 0), pages - new),
        "in the ledger": (named, new),
        "contents in the feed": (stored, list(range(new))),
    }
    # The first third makes room: tables, caches, memory that the allocator keeps.
    steady = memory[len(memory) // 3 :]
    growth = linear_regression(*zip(*steady, strict=True)).slope if len(steady) > 2 else 0.0
    return {
        "pages_per_second": round(pages / elapsed, 1),
        "memory_growth_bytes_a_page": round(growth, 1),
        "counts_that_are_off": {name: both for name, both in counts.items() if both[0] != both[1]},
    }


if __name__ == "__main__":
    sys.exit(main())
