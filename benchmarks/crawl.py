"""What dedup costs a crawl: the same pages with dedup off, inline, and with 1 and 2 workers.

    python benchmarks/crawl.py FOLDER [--rounds N] [--only MODE]

FOLDER holds sites/<name>/www. Every page of both sites is fetched from a server in
a process of its own, PASSES times, each time with another comment added, so that texts repeat and
bodies do not: what grows then, grows with the number of pages alone. Each round runs all modes in
turn, so that a slow moment of the machine hits them alike; the table shows medians over the rounds.
"""

import argparse
import asyncio
import math
import multiprocessing
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from drops import Silent, serve
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, Crawler

from dedup.scrapy_plugin import Extension

MODES: dict[str, dict[str, Any]] = {
    "off": {"DEDUP_ENABLED": False},
    "inline": {"DEDUP_WORKERS": 0},
    "1 worker": {"DEDUP_WORKERS": 1},
    "2 workers": {"DEDUP_WORKERS": 2},
}
SITES = ("eventmesh", "pooch")
LAG_INTERVAL = 0.005
PASSES = 3
EVERY = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=MODES, default=list(MODES))
    arguments = parser.parse_args()
    runs = measure(arguments.folder, arguments.rounds, arguments.only)
    names = list(dict.fromkeys(name for figures in runs.values() for name in figures[0]))
    print(f"{'':38}" + "".join(f"{mode:>12}" for mode in runs))
    for name in names:
        values = ([one.get(name, math.nan) for one in figures] for figures in runs.values())
        print(f"{name:38}" + "".join(f"{statistics.median(value):12.3f}" for value in values))


class Commented(Silent):
    """Adds the query of the URL to the page, as a comment."""

    def do_GET(self) -> None:  # noqa: N802  # the name that http.server calls
        path = Path(self.translate_path(self.path))
        page = path.read_bytes() if path.is_file() else b""  # where another page redirects to
        self.send(page + f"<!-- {self.path.partition('?')[2]} -->".encode())


def measure(folder: Path, rounds: int, modes: list[str]) -> dict[str, list[dict[str, float]]]:
    """Return the figures of each round by mode."""
    runs: dict[str, list[dict[str, float]]] = {mode: [] for mode in modes}
    sites = folder / "sites"
    with serve(Commented, directory=sites) as server:
        urls = [
            f"{server}/{quote(str(path.relative_to(sites)))}?pass={number}"
            for number in range(PASSES)
            for name in SITES
            for path in sorted((sites / name / "www").rglob("*.html"))
        ]
        for number in range(rounds):
            for mode in modes:
                print(f"round {number + 1}: {mode}", file=sys.stderr)
                runs[mode].append(in_own_process(crawl, mode, urls))
    return runs


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


class Pages(Spider):
    """Fetches *urls* without following links; notes the resident memory every 1,000 pages."""

    name = "pages"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.start_urls = urls
        self.seen = 0
        self.memory: list[tuple[int, int]] = []
        self.lags: list[float] = []

    async def start(self) -> Any:
        self.monitor = asyncio.create_task(watch_lag(self.lags))
        for url in self.start_urls:
            yield Request(url, dont_filter=True)

    def closed(self, reason: str) -> None:
        self.monitor.cancel()

    def parse(self, response: Any) -> Any:
        self.seen += 1
        if self.seen % EVERY == 0:
            self.memory.append((self.seen, resident_bytes()))
        yield {"url": response.url}


def run(urls: list[str], settings: dict[str, Any]) -> tuple[Crawler, float, float]:
    """Crawl *urls*; return the crawler, and how many seconds that took, also of CPU time."""
    process = AsyncCrawlerProcess(
        {
            "ADDONS": {"dedup.scrapy_plugin.Addon": 500},
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            **settings,
        }
    )
    crawler = process.create_crawler(Pages)
    cpu, start = time.process_time(), time.perf_counter()
    process.crawl(crawler, urls)
    process.start()
    return crawler, time.perf_counter() - start, time.process_time() - cpu


def crawl(mode: str, urls: list[str]) -> dict[str, float]:
    """Crawl *urls*; return the figures of this process and its workers."""
    crawler, elapsed, cpu = run(urls, MODES[mode])
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    stats, lags = crawler.stats.get_stats(), crawler.spider.lags
    pages = stats["response_received_count"]
    figures = {
        "pages_per_second": pages / elapsed,
        "reactor_cpu_ms_per_page": cpu / pages * 1e3,
        "worker_cpu_ms_per_page": (workers.ru_utime + workers.ru_stime) / pages * 1e3,
        "lag_ms_median": statistics.median(lags) * 1e3,
    }
    if extension := crawler.get_extension(Extension):
        sums = {name: total for name, (_, total) in extension.summary._stages.items()}
        own = sums["tokens"] + sums["sketch"] + sums["index"]
        figures["own_work_share_of_extraction"] = own / sums["extraction"]
    return figures


async def watch_lag(lags: list[float]) -> None:
    """Note how much later than asked for the event loop wakes this up."""
    while True:
        start = time.perf_counter()
        await asyncio.sleep(LAG_INTERVAL)
        lags.append(time.perf_counter() - start - LAG_INTERVAL)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    main()
