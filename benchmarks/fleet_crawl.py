"""What a shared store costs real crawls: eight of Scrapy at once, with one memory and with eight.

Each crawls its own part of a site on loopback: of synthetic pages, which are all new, or of the
pages of HTML in a folder, evenly chosen. Duplicates are marked, so that all are stored. What counts
is the CPU time of the crawls for a page, and that of the server with it: those of crawls of one
page each are taken off, since it takes seconds to start, and told by themselves. Both ways are
taken by turns.

A part of it is Scrapy's own: it begins CONCURRENT_ITEMS tasks for each page, which all go to sleep
if the items of the page have to wait, as they do for a claim. That is measured without crawls.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from fleet_speed import Server
from projects import Project
from scrapy.utils.asyncio import _parallel_asyncio
from texts import article, page
from web import Answer, served

PROCESSES = 8
_TURNS_OF_TASKS, _PAGES_OF_TASKS = 7, 100


class Cost(NamedTuple):
    """CPU time in seconds, of all crawls and of the server."""

    crawls: float
    server: float


def crawl(arguments: argparse.Namespace, folder: Path) -> int:
    """Measure both ways by turns; prints a line for each turn, and the medians."""
    pages = pages_of(arguments.folder, int(arguments.pages))
    server, ratios = Server(arguments.store, folder), []
    try:
        with served(pages) as site:
            starts = [
                run(
                    server,
                    folder / f"start {index is None}",
                    site,
                    range(PROCESSES),
                    index,
                    arguments.items,
                )
                for index in (None, index_of(server, "start"))
            ]
            alone, together = (start.crawls / PROCESSES for start in starts)
            print(
                f"CPU to start, and to crawl a page: {alone:.2f} s alone, together {together:.2f}"
            )
            for turn in range(arguments.turns):
                costs = []
                ways = [(None, starts[0]), (index_of(server, f"turn{turn}"), starts[1])]
                for index, start in ways[:: -1 if turn % 2 else 1]:
                    name = f"turn {turn} {index is None}"
                    cost = run(
                        server, folder / name, site, range(len(pages)), index, arguments.items
                    )
                    crawls = (cost.crawls - start.crawls) / (len(pages) - PROCESSES)
                    of_server = (cost.server - start.server) / (len(pages) - PROCESSES)
                    costs.append((index is not None, crawls, of_server))
                (_, alone, _), (_, together, of_server) = sorted(costs)
                ratios.append((together + of_server) / alone)
                print(
                    f"{len(pages):,} pages: {1e3 * alone:.2f} ms of CPU a page alone, together "
                    f"{1e3 * together:.2f}, and {1e3 * of_server:.2f} of the server: "
                    f"{ratios[-1]:.3f} times as much",
                    flush=True,
                )
    finally:
        server.logs.stop()
    print(f"median: {statistics.median(ratios):.3f}")
    return 0


def tasks(arguments: argparse.Namespace) -> int:
    """Print what the tasks take that Scrapy begins for each page, which waits, or does not."""

    async def items(waits: bool) -> AsyncIterator[int]:
        if waits:
            await asyncio.sleep(0.002)
        yield 1

    async def nothing(item: int) -> None: ...

    async def measured(count: int, waits: bool) -> float:
        begin = time.process_time()
        for _ in range(_PAGES_OF_TASKS):
            await _parallel_asyncio(items(waits), count, nothing)
        return 1e3 * (time.process_time() - begin) / _PAGES_OF_TASKS

    async def measure() -> None:
        ways = [(count, waits) for count in arguments.items for waits in (False, True)]
        turns = [[await measured(*way) for way in ways] for _ in range(_TURNS_OF_TASKS)]
        for (count, waits), costs in zip(ways, zip(*turns, strict=True), strict=True):
            which = "that waits" if waits else "that does not wait"
            cost = f"{statistics.median(costs):.2f} ms of CPU for a page {which}"
            print(f"CONCURRENT_ITEMS = {count}: {cost}")

    asyncio.run(measure())
    return 0


def pages_of(folder: Path | None, count: int) -> dict[str, Answer | str]:
    """Return *count* pages by their paths: those in *folder*, or synthetic ones."""
    if folder is None:
        return {f"/{number}": page(article(number + 1)) for number in range(count)}
    files = sorted(folder.rglob("*.html"))
    if len(files) < count:
        raise SystemExit(f"{folder} has {len(files):,} pages (*.html), not {count:,}")
    chosen = (files[number * len(files) // count] for number in range(count))
    return {f"/{number}": Answer(path.read_bytes()) for number, path in enumerate(chosen)}


def index_of(server: Server, name: str) -> str:
    """Return what DEDUP_INDEX is for a log of its own."""
    return server.logs.url(name).removeprefix("sqlite://")


def run(
    server: Server, folder: Path, site: str, pages: range, index: str | None, items: int
) -> Cost:
    """Have *pages* crawled by all at once, which share *index* or nothing."""
    names = [f"part{number}" for number in range(PROCESSES)]
    urls = {
        name: [f"{site}/{path}" for path in pages[number::PROCESSES]]
        for number, name in enumerate(names)
    }
    settings: dict[str, Any] = {
        "DEDUP_WORKERS": 0,
        "DEDUP_ACTION": "mark",
        "LOG_LEVEL": "WARNING",
        "CONCURRENT_ITEMS": items,
    }
    if index:
        settings |= {"DEDUP_INDEX": index, "DEDUP_INDEX_IN_USE": "share"}
    folder.mkdir()
    project = Project(folder / "project", urls, **settings)
    before = server.cpu()
    crawls = [
        project.start("crawl", name, "-o", f"{name}.jsonl", stdout=subprocess.DEVNULL)
        for name in names
    ]
    ends = [os.wait4(crawl.pid, 0) for crawl in crawls]
    for process, (_, status, _) in zip(crawls, ends, strict=True):
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, f"{process.args} in {folder}"
    stored = sum(len(path.read_bytes().splitlines()) for path in project.folder.glob("*.jsonl"))
    # Some real pages refer to others at once.
    assert stored > 0.98 * len(pages), f"{stored} of {len(pages)} were stored in {folder}"
    used = sum(usage.ru_utime + usage.ru_stime for _, _, usage in ends)
    return Cost(used, server.cpu() - before)
