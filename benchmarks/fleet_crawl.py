"""What a shared store costs real crawls: eight of Scrapy at once, with one memory and with eight.

Each crawls its own part of a site on loopback: of synthetic pages, which are all new, or of the
pages of HTML in a folder, evenly chosen. Duplicates are marked, so that all are stored. What counts
is the CPU time of the crawls for a page, and that of the server with it: those of crawls of one
page each are taken off, since it takes seconds to start, and told by themselves. Both ways are
taken by turns.

A part of it is Scrapy's own: it begins CONCURRENT_ITEMS tasks for each page, which all go to sleep
if the items of the page have to wait, as they do for a claim. That is measured without crawls. If
workers read the pages, items wait for the text of their page in any crawl.

CPU times depend on what else the machine does. Instructions do not: valgrind counts those of one of
the eight crawls, alone and together, without the kernel's and the server's.
"""

import argparse
import asyncio
import os
import re
import statistics
import subprocess
import sys
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
    settings = {"DEDUP_WORKERS": arguments.workers, "CONCURRENT_ITEMS": arguments.items}
    try:
        with served(pages) as site:
            starts = [
                run(
                    server,
                    folder / f"start {index is None}",
                    site,
                    range(PROCESSES),
                    index,
                    settings,
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
                    cost = run(server, folder / name, site, range(len(pages)), index, settings)
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


def instructions(arguments: argparse.Namespace, folder: Path) -> int:
    """Print how many instructions one of the crawls takes for a page, alone and together.

    Those of a short crawl are taken off, so that the start does not count.
    """
    short, long = arguments.pages
    pages = pages_of(arguments.folder, PROCESSES * long)
    settings = {"DEDUP_WORKERS": arguments.workers, "CONCURRENT_ITEMS": arguments.items}
    server = Server(arguments.store, folder)
    try:
        with served(pages) as site:
            for way in ("alone", "together"):
                counts = [
                    _count(server, folder / f"{way} {count}", site, count, way, settings)
                    for count in (short, long)
                ]
                page = (counts[1] - counts[0]) / (long - short) / 1e6
                print(f"{way}: {page:.2f} million instructions for a page", flush=True)
    finally:
        server.logs.stop()
    return 0


def _count(
    server: Server, folder: Path, site: str, count: int, way: str, settings: dict[str, Any]
) -> int:
    """Return the instructions of one crawl of *count* pages, beside seven others or alone."""
    names = [f"part{number}" for number in range(PROCESSES)]
    urls = {
        name: [f"{site}/{path * PROCESSES + number}" for path in range(count)]
        for number, name in enumerate(names)
    }
    # It is some 40 times slower than the others, which are to go on as long.
    settings = settings | {"DEDUP_ACTION": "mark", "LOG_LEVEL": "WARNING"}
    # A page may take longer there than a worker has for it.
    settings |= {"DEDUP_WORKERS": 0}
    if way == "together":
        settings["DEDUP_INDEX"] = index_of(server, f"{way}{count}")
    folder.mkdir()
    project = Project(folder / "project", urls, **settings)
    log, feed = folder / "cachegrind.log", project.folder / "part0.jsonl"
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no"]
    valgrind += [f"--log-file={log}", f"--cachegrind-out-file={os.devnull}"]
    crawl = [sys.executable, "-m", "scrapy", "crawl", names[0], "-o", feed.name]
    first = subprocess.Popen([*valgrind, *crawl], cwd=project.folder, stdout=subprocess.DEVNULL)
    others = []
    if way == "together":
        while first.poll() is None and not (feed.exists() and feed.stat().st_size):
            time.sleep(0.1)
        slowly = ["-s", "DOWNLOAD_DELAY=1"]
        others = [
            project.start("crawl", name, "-o", f"{name}.jsonl", *slowly, stdout=subprocess.DEVNULL)
            for name in names[1:]
        ]
    for process in (first, *others):
        assert process.wait() == 0, f"{process.args} in {folder}"
    found = re.search(r"I +refs: +([\d,]+)", log.read_text())
    assert found, f"no count in {log}"
    return int(found[1].replace(",", ""))


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
    url = server.logs.url(name)
    path = url.removeprefix("sqlite://")
    return url if path == url else f"sqlite:///{path}?share=1"


def run(
    server: Server,
    folder: Path,
    site: str,
    pages: range,
    index: str | None,
    settings: dict[str, Any],
) -> Cost:
    """Have *pages* crawled by all at once with *settings*, which share *index* or nothing."""
    names = [f"part{number}" for number in range(PROCESSES)]
    urls = {
        name: [f"{site}/{path}" for path in pages[number::PROCESSES]]
        for number, name in enumerate(names)
    }
    settings = settings | {"DEDUP_ACTION": "mark", "LOG_LEVEL": "WARNING"}
    if index:
        settings |= {"DEDUP_INDEX": index}
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
