"""Kills crawls with SIGKILL at random moments, resumes them, and counts what is lost.

    python benchmarks/crash.py [--kills N] [--contents N] [--seed N] [--json FILE]

A site of some contents, each on two equal pages and one that is nearly so, is crawled with a JOBDIR
and its ledger, and killed a few times; then the job is resumed to its end, and at last everything
is crawled again, without a job and with the same ledger. Rounds alternate between Scrapy's default
disk queues and those in SQLite. After each kill and at the end:

(1) every page that the ledger names is in the feed: violations are counted by page;
(2) at the end, of every content a page is in the feed: violations are counted by content.

Contents that are missing when the job has been resumed to its end, before the full crawl, are
requests that Scrapy's queues have lost.
"""

import argparse
import json
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

COPIES, LINKS = 3, 20
QUEUES = {
    "default": {},
    "sqlite": {
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoSQLiteQueue",
        "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoSQLiteQueue",
    },
}
KILLS_OF_A_JOB = 3
LONGEST_CRAWL = 120


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="in all (default: 20)")
    parser.add_argument("--contents", type=int, default=80, help="of the site (default: 80)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--crawl", metavar="SETTINGS", help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.crawl:
        crawl(arguments.url, json.loads(arguments.crawl))
        return 0
    figures = measure(arguments.kills, arguments.contents, arguments.seed)
    text = json.dumps(figures, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(f"{text}\n")
    violations = sum(figures["queues"][name]["violations"] for name in figures["queues"])
    return 1 if violations else 0


def measure(kills: int, contents: int, seed: int) -> dict[str, Any]:
    """Kill crawls until there were so many kills, and return what came of it."""
    chooser = random.Random(seed)
    by_queue: dict[str, Counter[str]] = {name: Counter() for name in QUEUES}
    done = 0
    while done < kills:
        name = min(by_queue, key=lambda name: by_queue[name]["kills"])
        with tempfile.TemporaryDirectory() as folder, served(contents, chooser.random()) as site:
            job = Job(Path(folder), QUEUES[name], site)
            for _ in range(min(KILLS_OF_A_JOB, kills - done)):
                if not job.run(until=job.crawls_for(chooser.uniform(0, 1.5))):
                    break  # it was done before
                done += 1
                by_queue[name]["kills"] += 1
                by_queue[name]["entries_not_in_the_feed"] += len(job.named_only())
            by_queue[name] += job.end()
    figures = {}
    for name, counted in by_queue.items():
        lost = counted["entries_not_in_the_feed"] + counted["contents_not_stored"]
        names = (
            "kills", "jobs", "contents", "items_stored", "entries_in_ledger",
            "contents_missing_before_the_full_crawl", "entries_not_in_the_feed",
            "contents_not_stored",
        )  # fmt: skip
        figures[name] = {name: counted[name] for name in names} | {"violations": lost}
    return {"kills": done, "seed": seed, "queues": figures}


class Job:
    """A crawl that is killed, resumed and repeated, with its feed and its ledger."""

    def __init__(self, folder: Path, queues: dict[str, str], site: "Site") -> None:
        self._site = site
        self._feed = folder / "pages.jsonl"
        self._job = folder / "job"
        self._ledger = self._job / "dedup.sqlite"
        self._settings = {
            "FEEDS": {str(self._feed): {"format": "jsonlines"}},
            "DEDUP_CHECKPOINT_INTERVAL": 0.2,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
            "RETRY_ENABLED": False,
            "LOG_LEVEL": "ERROR",
            **queues,
        }

    def run(
        self,
        *,
        until: Callable[[], bool] | None = None,
        signals: Sequence[signal.Signals] = (signal.SIGKILL,),
        **settings: Any,
    ) -> bool:
        """Crawl; when *until* says so, send *signals*, if the crawl still runs.

        Return whether it was killed.
        """
        settings = {"JOBDIR": str(self._job), **self._settings, **settings}
        self._site.requested.clear()
        command = [sys.executable, __file__, "--crawl", json.dumps(settings), "--url"]
        # Scrapy's own queues complain loudly when they are resumed after a kill.
        log = self._feed.with_name("log").open("ab")
        process = subprocess.Popen([*command, self._site.url], stderr=log)
        try:
            if until:
                while process.poll() is None and not until():
                    time.sleep(0.01)
                for number in signals:
                    process.send_signal(number)
                    time.sleep(0.1)
            process.wait(LONGEST_CRAWL)
        finally:
            process.kill()
            process.wait()
            log.close()
        if process.returncode not in (0, -signal.SIGKILL):
            raise RuntimeError(f"the crawl has ended with exit code {process.returncode}")
        return process.returncode == -signal.SIGKILL

    def crawls_for(self, seconds: float) -> Callable[[], bool]:
        """Return what says whether so many seconds have passed since the first request."""
        begin = time.monotonic()

        def passed() -> bool:
            if not self._site.requested.is_set():
                nonlocal begin
                begin = time.monotonic()
            return time.monotonic() - begin > seconds

        return passed

    def end(self) -> Counter[str]:
        """Resume the job to its end, crawl all once more, and return the counts."""
        self.run()
        contents = {content_of(url) for url in self.in_feed()}
        counted = Counter(jobs=1, contents=self._site.contents)
        counted["entries_not_in_the_feed"] = len(self.named_only())
        counted["contents_missing_before_the_full_crawl"] = self._site.contents - len(contents)
        self.run(JOBDIR=None, DEDUP_INDEX=str(self._ledger))
        stored = self.in_feed()
        counted["entries_not_in_the_feed"] += len(self.named_only())
        counted["contents_not_stored"] = self._site.contents - len(
            {content_of(url) for url in stored}
        )
        counted["items_stored"] = len(stored)
        counted["entries_in_ledger"] = len(self.in_ledger())
        return counted

    def named_only(self) -> set[str]:
        """Return the pages that the ledger names and that are not in the feed."""
        return self.in_ledger() - set(self.in_feed())

    def in_ledger(self) -> set[str]:
        if not self._ledger.exists():
            return set()
        with closing(sqlite3.connect(self._ledger)) as file:
            return {url for (url,) in file.execute("SELECT url FROM pages WHERE ended IS NULL")}

    def in_feed(self) -> list[str]:
        """Return the URLs of all items that a reader of the feed finds; a torn line is none."""
        if not self._feed.exists():
            return []
        urls = []
        for line in self._feed.read_bytes().splitlines():
            try:
                urls.append(json.loads(line)["url"])
            except ValueError:
                continue
        return urls


def content_of(url: str) -> str:
    return url.rpartition("/")[0].rpartition("/")[2]


def crawl(url: str, settings: dict[str, Any]) -> None:
    from scrapy import Request, Spider
    from scrapy.crawler import AsyncCrawlerProcess

    class Everything(Spider):
        name = "everything"
        start_urls = (url,)

        def parse(self, response: Any) -> Iterator[Any]:
            if "/page/" in response.url:
                yield {"url": response.url, "text": response.css("article::text").getall()}
            for link in response.css("a::attr(href)").getall():
                yield Request(response.urljoin(link))

    process = AsyncCrawlerProcess({"ADDONS": {"dedup.scrapy_plugin.Addon": 500}, **settings})
    process.crawl(Everything)
    process.start()


class Site(ThreadingHTTPServer):
    """The pages, each after a random moment."""

    def __init__(self, contents: int, seed: float) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requested = Event()
        self.url = f"http://127.0.0.1:{self.server_port}/"
        self.contents = contents
        pages = [f"/page/{group}/{copy}" for group in range(contents) for copy in range(COPIES)]
        random.Random(seed).shuffle(pages)
        lists = {
            f"/list/{number}": pages[start : start + LINKS]
            for number, start in enumerate(range(0, len(pages), LINKS))
        }
        self.links = {"/": list(lists), **lists}

    def body(self, path: str) -> bytes:
        if path in self.links:
            links = "".join(f'<li><a href="{link}">{link}</a>' for link in self.links[path])
            return f"<html><body><ul>{links}</ul></body></html>".encode()
        group, copy = map(int, path.split("/")[2:])
        text = nearly(group) if copy == 2 else " ".join(words_of(group))
        return f"<html><body><article><p>{text}.</p></article></body></html>".encode()


def words_of(group: int) -> list[str]:
    chooser = random.Random(group)
    return [f"{chooser.choice(WORDS)}{chooser.randrange(100)}" for _ in range(300)]


@cache
def nearly(group: int) -> str:
    """Return the text of a content with a word replaced, so that it is 2 bits away at most."""
    from dedup.methods import SimHash
    from dedup.text import Document

    method, words = SimHash(), words_of(group)
    original = method.sketch(Document(" ".join(words)))
    for place in range(len(words)):
        text = " ".join([*words[:place], "edited", *words[place + 1 :]])
        if method.distance(original, method.sketch(Document(text))) <= 2:
            return text
    raise ValueError(f"every edit moves content {group} too far")


WORDS = [f"{first}{last}" for first in "brcdfghklm" for last in "ake ill one ust end".split()]


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:  # the name that http.server calls
        if self.path != "/robots.txt":
            self.server.requested.set()
        time.sleep(random.uniform(0, 0.05))
        body = self.server.body(self.path) if self.path != "/robots.txt" else b""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def served(contents: int, seed: float) -> Iterator[Site]:
    site = Site(contents, seed)
    site.handle_error = lambda *_: None  # type: ignore[method-assign]  # clients are killed
    thread = Thread(target=site.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.shutdown()
        thread.join()
        site.server_close()


if __name__ == "__main__":
    sys.exit(main())
