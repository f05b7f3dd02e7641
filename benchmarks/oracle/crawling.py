"""A crawl that is disturbed, begun again and at last repeated as a whole; and what came of it."""

import os
import re
import shutil
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatch
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

from oracle import crawls, disks, readers
from oracle.scenarios import FEEDS, Scenario
from oracle.site import Key, Server

LONGEST_CRAWL, LONGEST_WAIT = 300, 10
_REFUSED = re.compile(r"ERROR: (\S+) is not whole: half an item")
_TORN = re.compile(r"torn\d+-")
Violations = defaultdict[str, list[str]]
"""What was found, by kind."""


@dataclass
class Crawl:
    """The files of one crawl, and its processes."""

    scenario: Scenario
    server: Server
    folder: Path
    has_disks: bool
    ledger: Path = field(init=False)
    log_read: int = 0
    """How much of the log was looked through for feeds that were refused."""

    def __post_init__(self) -> None:
        self.feeds, self.disk = self.folder / "feeds", self.folder / "ledger"
        self.log, self.notes = self.folder / "log", self.folder / "notes"
        self.job = self.disk / "job" if self.scenario.has_job else None
        self.ledger = (self.job or self.disk) / "dedup.sqlite"

    def settings(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the settings; *whole*: of a crawl without a job, of all pages."""
        feeds = {
            str(self.feeds / file): {**options, "item_filter": "oracle.crawls.Accepted"}
            for file, options in map(FEEDS.__getitem__, self.scenario.feeds)
        }
        settings = {"FEEDS": feeds, "DEDUP_INDEX": str(self.ledger), **self.scenario.settings}
        for name in ("DEDUP_DUPLICATES", "DEDUP_REPORT"):
            if name in settings:
                settings[name] = str(self.folder / settings[name])
        if self.job and not whole:
            settings["JOBDIR"] = str(self.job)
            del settings["DEDUP_INDEX"]
        return settings

    def start(
        self,
        *,
        agent: str = "first",
        whole: bool = False,
        changes: dict[str, Any] | None = None,
        **options: Any,
    ) -> ForkServerProcess:
        """Begin to crawl; *changes* of the settings, *options* of the order."""
        self.move_torn_feeds()
        self.notes.unlink(missing_ok=True)
        settings = {**self.settings(whole=whole), "USER_AGENT": agent, **(changes or {})}
        options = {"log": self.log, **options}
        return crawls.start(
            crawls.Order(
                url=self.server.url, settings=settings, notes=self.notes,
                folder=self.folder, **options,
            )
        )  # fmt: skip

    def end(self, process: ForkServerProcess, seconds: float = LONGEST_CRAWL) -> int | None:
        """Wait for the end of a crawl, and return its exit code; ``None`` if it was too late."""
        end = time.monotonic() + seconds
        while process.is_alive() and time.monotonic() < end:
            given = len(self.server.given)
            process.join(2)
            if process.is_alive() and len(self.server.given) == given and self.has_broken_queue():
                process.kill()
                process.join()
                shutil.rmtree(self.job / "requests.queue")
        if process.is_alive():
            process.kill()
            process.join()
            return None
        return process.exitcode

    def has_broken_queue(self) -> bool:
        """Return whether Scrapy cannot read its queue after a kill, which it tries for ever."""
        log_of_crawl = self.log_text()[self.log_read :]
        return bool(self.job) and "/queuelib/" in "".join(log_of_crawl.splitlines()[-60:])

    def was_refused(self) -> bool:
        """Return whether the last crawl was refused, since a feed may be torn."""
        return bool(_REFUSED.search(self.log_text(), self.log_read))

    def move_torn_feeds(self) -> bool:
        """Move feeds aside that a crawl has refused to append to, as it asks for; return if any.

        What they hold up to their tear is still good, and is read.
        """
        moved = False
        text = self.log_text()
        for name in set(_REFUSED.findall(text, self.log_read)):
            if (path := Path(name)).exists():
                path.rename(path.with_name(f"torn{len(text)}-{path.name}"))
                moved = True
        self.log_read = len(text)
        return moved

    def wait_for_pages(self, process: ForkServerProcess, number: int) -> None:
        """Wait until so many more pages were given, or the crawl has ended."""
        self.server.wait_for(len(self.server.given) + number, process.is_alive, LONGEST_WAIT)

    def paths(self) -> list[Path]:
        """Return the files of the feeds."""
        return sorted(path for path in self.feeds.rglob("*") if path.is_file())

    def paths_of(self, feed: str) -> list[Path]:
        """Return the files of a feed, also those that were moved aside."""
        pattern = FEEDS[feed][0].replace("%(batch_id)03d", "*")
        return [path for path in self.paths() if fnmatch(_TORN.sub("", path.name), pattern)]

    def stored(self) -> dict[str, Counter[Key]]:
        """Return how often each item is in each feed."""
        return {
            name: readers.stored_in(self.paths_of(name), self.scenario.contents)
            for name in self.scenario.feeds
        }

    def named_items(self) -> set[Key]:
        """Return the items that are stored, as the ledger says."""
        contents = self.scenario.contents
        items: set[Key] = set()
        for path in readers.named_by(self.ledger):
            items |= contents.items_of.get(path, {(path, "unknown")})
        return {key for key in items if not contents.is_refused(key)}

    def check_ledger(self, found: Violations, when: str) -> None:
        """Add the pages that the ledger names, and a feed lacks; of parts, if it lacks the unit."""
        named = self.named_items()
        for feed, stored in self.stored().items():
            units = {unit for _, unit in stored}
            parts = {key for key in named if "#" in key[0] and key[1] in units}
            if missing := sorted(named - set(stored) - parts):
                found["in the ledger, not in the feed"].append(
                    f"{when}: {feed} lacks {len(missing)} of {len(named)}: {missing[:4]}"
                )

    def check_contents(self, found: Violations, when: str) -> None:
        """Add the contents that a feed lacks."""
        units = self.scenario.contents.units
        for feed, stored in self.stored().items():
            if lost := sorted(units - {unit for _, unit in stored}):
                found["content lost"].append(
                    f"{when}: {feed} lacks {len(lost)} of {len(units)} contents: {lost[:6]}"
                )

    def finish(self, found: Violations) -> dict[str, int]:
        """Crawl all without a disturbance, add what is wrong then, and return counts."""
        if self.job:
            if self.end(self.start()) is None:
                found["hangs"].append("the resumed job")
            self.check_ledger(found, "the resumed job")
        named, before = self.named_items(), self.stored()
        already = len(self.server.given)
        code = self.end(self.start(whole=True))
        while self.move_torn_feeds():
            code = self.end(self.start(whole=True))
        if code != 0:
            found["the last crawl fails"].append(f"exit code {code}; {self.last_words()}")
        self.check_ledger(found, "the last crawl")
        self.check_contents(found, "the last crawl")
        after = self.stored()
        counts = {
            "contents": len(self.scenario.contents.units),
            "items": sum(stored.total() for stored in after.values()),
            "named": len(self.named_items()),
        }
        for feed, stored in after.items():
            if again := sorted(key for key in named if stored[key] > before[feed][key] > 0):
                found["stored again though known"].append(f"{feed}: {len(again)}: {again[:4]}")
        if "DEDUP_DUPLICATES" in self.scenario.settings:
            given = {path for _, path in self.server.given[already:]}
            self.check_duplicates(found, after, given)
        return counts

    def check_duplicates(
        self, found: Violations, stored: dict[str, Counter[Key]], given: set[str]
    ) -> None:
        """Add the items that were given at the end, and are neither in a feed nor in the file."""
        contents = self.scenario.contents
        path = self.folder / "duplicates"
        rows = readers.json_lines(path.read_bytes() if path.exists() else b"")
        dropped = {readers.key_of(row["item"]): row["item"] for row in rows}
        expected = {
            key for key in contents.texts
            if urldefrag(key[0])[0] in given - contents.troubles.keys()
        }  # fmt: skip
        if missing := sorted(expected - set().union(*stored.values()) - set(dropped)):
            found["dropped, not in DEDUP_DUPLICATES"].append(f"{len(missing)}: {missing[:4]}")
        empty = sorted(str(key) for key, row in dropped.items() if not row.get("body"))
        if "DEDUP_FIELDS" in self.scenario.settings and empty:
            found["fields are empty in DEDUP_DUPLICATES"].append(
                f"{len(empty)} of {len(dropped)}: {empty[:4]}"
            )

    def last_words(self, lines: int = 3) -> str:
        """Return the last lines of the log."""
        return " | ".join(self.log_text().splitlines()[-lines:])[-600:]

    def log_text(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""


@contextmanager
def prepared(scenario: Scenario, server: Server, folder: Path) -> Iterator[Crawl]:
    """Yield a crawl with folders of its own, on disks of their own where that can be."""
    (folder / "temporary").mkdir()
    with disks.disk(folder / "feeds") as has_one, disks.disk(folder / "ledger") as has_another:
        yield Crawl(scenario, server, folder, has_one and has_another)


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += list(map(int, task.read_text().split()))
    return found


def send(process: ForkServerProcess, number: int) -> bool:
    return process.is_alive() and send_to(process.pid or 0, number)


def send_to(pid: int, number: int) -> bool:
    """Send a signal, and return whether the process was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def nap(rng: Any, seconds: float) -> None:
    time.sleep(rng.uniform(0, seconds))
