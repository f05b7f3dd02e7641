"""What a shared store costs real crawls: eight of Scrapy at once, with one memory and with eight.

Each crawls its own part of a site on loopback, of which all pages are new. What counts is the CPU
time of the crawls for a page, and that of the server with it: those of crawls of one page each are
taken off, since it takes seconds to start. Both ways are taken by turns.
"""

import argparse
import os
import statistics
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

from fleet_speed import Server
from projects import Project
from texts import article, page
from web import served

PROCESSES = 8


class Cost(NamedTuple):
    """CPU time in seconds, of all crawls and of the server."""

    crawls: float
    server: float


def crawl(arguments: argparse.Namespace, folder: Path) -> int:
    """Measure both ways by turns; prints a line for each turn, and the medians."""
    pages = {f"/{number}": page(article(number + 1)) for number in range(int(arguments.pages))}
    server, ratios = Server(arguments.store, folder), []
    try:
        with served(pages) as site:
            starts = [
                run(server, folder / f"start {index is None}", site, range(PROCESSES), index)
                for index in (None, index_of(server, "start"))
            ]
            for turn in range(arguments.turns):
                costs = []
                ways = [(None, starts[0]), (index_of(server, f"turn{turn}"), starts[1])]
                for index, start in ways[:: -1 if turn % 2 else 1]:
                    name = f"turn {turn} {index is None}"
                    cost = run(server, folder / name, site, range(len(pages)), index)
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


def index_of(server: Server, name: str) -> str:
    """Return what DEDUP_INDEX is for a log of its own."""
    return server.logs.url(name).removeprefix("sqlite://")


def run(server: Server, folder: Path, site: str, pages: range, index: str | None) -> Cost:
    """Have *pages* crawled by all at once, which share *index* or nothing."""
    names = [f"part{number}" for number in range(PROCESSES)]
    urls = {
        name: [f"{site}/{path}" for path in pages[number::PROCESSES]]
        for number, name in enumerate(names)
    }
    settings: dict[str, Any] = {"DEDUP_WORKERS": 0, "LOG_LEVEL": "WARNING"}
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
    assert stored == len(pages), f"{stored} of {len(pages)} were stored in {folder}"
    used = sum(usage.ru_utime + usage.ru_stime for _, _, usage in ends)
    return Cost(used, server.cpu() - before)
