"""Fleets of real processes that are killed and stopped, and what they have stored.

Pages of many families, near each other, come to the processes at about the same time. What they
stored, each in a file of its own, is judged afterwards: whether two near pages were stored, whether
a page was called a duplicate of what is not stored, and whether anybody waited too long.
"""

import asyncio
import multiprocessing
import os
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from heapq import heappop, heappush
from itertools import chain, combinations, count
from math import inf
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

import crawling_process
import pytest
from crawling_process import Order, Page, Plan, Weather, log_of, mark, read_notes
from log_servers import LogServer
from postgres_server import PostgresLogServer
from redis_server import RedisLogServer
from sqlite_server import SqliteServer

from dedup.record import Claimed, Committed

_CONTEXT = multiprocessing.get_context("forkserver")
_NEAR = 3
_STEP = 0.01
_SLACK = 2.0
_serials = count()


def start_forking() -> None:
    """Have processes be forked from one that has imported all they need: some start each second."""
    _CONTEXT.set_forkserver_preload(["conformance"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, sys.path)))
        # It has imported all when its first child runs.
        first = _CONTEXT.Process(target=int)
        first.start()
        first.join()


COUNTED = (
    "rounds", "pages", "stored", "duplicates", "kills", "stops", "crashes", "shrinks",
    "claims lost", "waits over",
)  # fmt: skip


@dataclass
class Result:
    """What came of rounds: what was done to them, what must not be, and what cannot be helped."""

    counts: Counter[str] = field(default_factory=Counter)
    """Of `COUNTED`."""
    excused: Counter[str] = field(default_factory=Counter)
    """Pairs of near pages that were both stored, by why."""
    violations: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Result") -> "Result":
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))
        return self

    def violate(self, kind: str, *what: object) -> None:
        self.violations[kind] += 1
        if self.violations[kind] <= 3:
            self.examples.append(f"{kind}: {' '.join(map(str, what))}")


class StoredPage(NamedTuple):
    """A page that was stored: by whom, when, and the reason for which it was not compared.

    *gap*: for how long it was not certain then, or when its claim was lost before that, that the
    lease was renewed. *published*: when that was acknowledged, infinite if never.
    """

    page: Page
    process: str
    start: int
    at: float
    reason: str
    gap: float
    published: float

    def is_late(self, lease: float) -> bool:
        """Whether the lease may have been over before the page was published."""
        return self.gap + (self.published - self.at if self.published < inf else 0) > lease


def families(plan: Plan, chooser: random.Random) -> list[list[Page]]:
    """Return the pages of each process: members of families, some at once, some later."""
    pages: list[list[Page]] = [[] for _ in range(plan.processes)]
    for family in range(plan.families):
        base, begun = chooser.getrandbits(64), chooser.random() * plan.seconds
        shape = chooser.choice(["star", "star", "equal", "chain"])
        bits = chooser.sample(range(64), 20)
        for member in range(chooser.randrange(2, 9)):
            content = base
            if shape == "star":
                content ^= 1 << bits[member]
            elif shape == "chain":  # near the next, and not the one after that
                for bit in bits[: 2 * member]:
                    content ^= 1 << bit
            is_at_once = member < 2 or chooser.random() < 0.6
            at = begun + chooser.random() * 0.3 if is_at_once else chooser.random() * plan.seconds
            process = chooser.randrange(plan.processes)
            key, fails = f"http://{process}/{family}/{member}", chooser.random() < 0.05
            seconds = chooser.expovariate(1 / 0.2)
            pages[process].append(Page(key, family, content, at, seconds, fails))
    return pages


_LIGHT = Weather(0.005, 0.003, 0.003)
PLANS = {
    "lost and late messages": Plan(weather=Weather(0.03, 0.02, 0.003)),
    "kills and stops": Plan(kills=8, stops=2.5, weather=_LIGHT),
    "and a server that is killed": Plan(kills=8, stops=2.5, crashes=0.3, weather=_LIGHT),
    "and a history that shrinks": Plan(kills=5, stops=1.0, shrinks=0.3, weather=_LIGHT),
}
"""What the long form plays, by turns."""
SERVERS: dict[str, Callable[[Path], LogServer]] = {
    "sqlite": SqliteServer,
    "redis": RedisLogServer,
    "postgresql": PostgresLogServer,
}


def play(plan: Plan, server: LogServer, folder: Path, seed: int) -> Result:
    """Have a fleet crawl over a log of its own, with its files in *folder*, and judge it."""
    folder.mkdir()
    return _Round(plan, server, folder, seed).play()


class _Round:
    """One crawl of a fleet, disturbed as planned."""

    def __init__(self, plan: Plan, server: LogServer, folder: Path, seed: int) -> None:
        self._plan = plan
        self._server = server
        self._url = server.url(f"round{seed}")
        self._folder = folder
        self._chooser = random.Random(seed)
        self._seed = seed
        self._pages = families(plan, self._chooser)
        self._running: dict[int, BaseProcess] = {}
        self._starts = [0] * len(self._pages)
        self._dead: set[int] = set()
        self._stopped: set[int] = set()
        self._killed: set[tuple[str, int]] = set()
        self._restores: list[tuple[float, float]] = []
        self._agenda: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._result = Result(Counter(rounds=1, pages=sum(map(len, self._pages))))

    def play(self) -> Result:
        """Crawl, disturb, and judge what is stored."""
        start_forking()
        try:
            self._crawl()
        finally:
            for process in self._running.values():
                process.kill()
                process.join()
        if not self._result.violations:
            keys = asyncio.run(self._compare_log())
            files = self._files()
            _Judge(self._plan, self._result, files, keys, self._killed, self._restores).judge()
        return self._result

    def _crawl(self) -> None:
        """Have the processes crawl, disturbed as planned, until all are done."""
        plan, self._begun = self._plan, time.time() + 0.3
        for number in range(plan.processes):
            self._start(number)
        for disturb, rate in {
            self._kill: plan.kills,
            self._stop: plan.stops,
            self._crash: plan.crashes if self._server.can_crash else 0.0,
            self._shrink: plan.shrinks if self._server.can_shrink else 0.0,
        }.items():
            if rate:
                self._later(self._chooser.expovariate(rate), self._disturb, disturb, rate)
        while self._running or self._dead:
            if time.time() > self._begun + plan.limit:
                self._result.violate("hangs", [self._name(n) for n in self._running])
                break
            self._look_for_ends()
            while self._agenda and self._agenda[0][0] < time.time():
                *_, step, arguments = heappop(self._agenda)
                step(*arguments)
            time.sleep(_STEP)

    def _later(self, seconds: float, step: Callable[..., None], *arguments: Any) -> None:
        """Have a *step* be done in so many seconds, which are not counted before the crawl."""
        at = max(self._begun, time.time()) + seconds
        heappush(self._agenda, (at, next(_serials), step, arguments))

    def _file(self, number: int) -> Path:
        return self._folder / self._name(number)

    def _name(self, number: int) -> str:
        return f"process {number}"

    def _files(self) -> dict[str, tuple[dict[str, Page], list[list]]]:
        """The pages of each process by key, and its notes."""
        return {
            self._name(number): ({page.key: page for page in pages}, read_notes(self._file(number)))
            for number, pages in enumerate(self._pages)
        }

    def _start(self, number: int) -> None:
        keeps = number < self._plan.keeping
        order = Order(self._name(number), self._starts[number], self._url, self._file(number),
                      self._pages[number], self._begun, self._seed, keeps, self._plan)  # fmt: skip
        process = _CONTEXT.Process(target=crawling_process.run, args=[order], daemon=True)
        process.start()
        self._running[number] = process
        self._starts[number] += 1
        self._dead.discard(number)

    def _look_for_ends(self) -> None:
        for number, process in list(self._running.items()):
            if process.exitcode is None:
                continue
            process.join()
            del self._running[number]
            if process.exitcode > 0:
                self._result.violate("crashes", self._name(number), process.exitcode)

    def _disturb(self, disturb: Callable[[], None], rate: float) -> None:
        """Disturb so many times a second, while there are pages to crawl."""
        if time.time() < self._begun + 2 * self._plan.seconds:
            disturb()
            self._later(self._chooser.expovariate(rate), self._disturb, disturb, rate)

    def _any_running(self) -> int | None:
        """Any process that runs; mostly one that already crawls."""
        able = [number for number in self._running if number not in self._stopped]
        if self._chooser.random() < 0.9:
            able = [
                number
                for number in able
                if mark(self._file(number), self._starts[number] - 1).exists()
            ]
        return self._chooser.choice(able) if able else None

    def _kill(self) -> None:
        number = self._any_running()
        if number is None:
            return
        process = self._running.pop(number)
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            self._result.counts["kills"] += 1
            self._killed.add((self._name(number), self._starts[number] - 1))
            self._dead.add(number)
            self._later(self._chooser.random() * 0.4, self._start, number)

    def _stop(self) -> None:
        number = self._any_running()
        if number is not None:
            os.kill(self._running[number].pid or 0, signal.SIGSTOP)
            self._result.counts["stops"] += 1
            self._stopped.add(number)
            seconds = self._plan.lease * (1.2 + 1.5 * self._chooser.random())
            self._later(seconds, self._continue, number)

    def _continue(self, number: int) -> None:
        if number in self._stopped and number in self._running:
            os.kill(self._running[number].pid or 0, signal.SIGCONT)
        self._stopped.discard(number)

    def _crash(self) -> None:
        self._server.crash(self._chooser.random())
        self._result.counts["crashes"] += 1

    def _shrink(self) -> None:
        if not self._restores or self._restores[-1][1] < inf:
            self._restores.append((time.time(), inf))
            self._server.backup()
            self._later(0.2 + self._chooser.random(), self._restore)

    def _restore(self) -> None:
        # A stopped one may have the lock of a file, without which that cannot be put back.
        for number in list(self._stopped):
            self._continue(number)
        self._server.restore()
        self._restores[-1] = self._restores[-1][0], time.time()
        self._result.counts["shrinks"] += 1

    async def _compare_log(self) -> dict[int, str]:
        """Judge whether the log has what was acknowledged, and nothing that is not stored.

        Returns the keys of claimed pages by their numbers, of those that the log still tells.
        """
        claims, committed, last = {}, set(), 0
        log = log_of(self._url, self._plan.lease)
        await log.open()
        async for piece in log.snapshot():
            for entry in piece:
                last = entry.position
                if isinstance(entry.event, Claimed):
                    claims[entry.position] = entry.event.record.key
                elif isinstance(entry.event, Committed) and entry.event.number in claims:
                    committed.add(claims[entry.event.number])
        # Also those that others have replaced.
        pages = await log.pages(range(1, last + 1))
        claims |= {number: page.key for number, page in pages.items()}
        await log.close()
        stored, published = set(), set()
        for _, notes in self._files().values():
            stored |= {key for _, _, kind, key, *_ in notes if kind == "stored"}
            published |= {key for _, _, kind, key, *_ in notes if kind == "published"}
        for key in committed - stored:
            self._result.violate("committed and not stored", key)
        if not self._restores:
            for key in published - committed:
                self._result.violate("acknowledged and forgotten", key)
        return claims


@dataclass
class _Judge:
    """What the files of the processes say."""

    _plan: Plan
    _result: Result
    _files: dict[str, tuple[dict[str, Page], list[list]]]
    _keys: dict[int, str]
    _killed: set[tuple[str, int]]
    _restores: list[tuple[float, float]]

    def __post_init__(self) -> None:
        found = [_stored_pages(name, *told) for name, told in self._files.items()]
        self._stored = list(chain.from_iterable(found))
        self._by_key: dict[str, list[StoredPage]] = {}
        self._by_family: dict[int, list[StoredPage]] = {}
        for stored in sorted(self._stored, key=lambda stored: stored.at):
            self._by_family.setdefault(stored.page.family, []).append(stored)
            self._by_key.setdefault(stored.page.key, []).append(stored)

    def judge(self) -> None:
        self._result.counts["stored"] += len(self._stored)
        for stored in self._by_family.values():
            for earlier, later in combinations(stored, 2):
                if not _are_near(earlier.page, later.page):
                    continue
                if excuse := self._excuse(earlier, later):
                    self._result.excused[excuse] += 1
                else:
                    self._result.violate("near pages both stored", earlier, later)
        for stored in self._stored:
            is_of_the_dead = (stored.process, stored.start) in self._killed
            is_forgotten = stored.published == inf and not self._restores
            if is_forgotten and stored.reason != "unresolved" and not is_of_the_dead:
                self._result.violate("stored and never published", stored)
        for name, told in self._files.items():
            self._judge_pages(name, *told)

    def _key(self, original: str) -> str:
        """Return the key of an *original* that is told by its number."""
        told = re.match(r"page (\d+) of ", original)
        return self._keys.get(int(told[1]), original) if told else original

    def _excuse(self, earlier: StoredPage, later: StoredPage) -> str | None:
        """Return why two near pages could both be stored; ``None`` if they must not have been."""
        plan = self._plan
        if "unresolved" in (earlier.reason, later.reason):
            return "unresolved"
        if earlier.published == inf and (earlier.process, earlier.start) in self._killed:
            return "killed before it was published"
        # What was claimed before the log had it (again) may be stored a little later.
        for one, other in ((earlier, later), (later, earlier)):
            if other.at < one.published + plan.lease + _SLACK:
                if one.reason:
                    return one.reason
                if one.is_late(plan.lease):
                    return "the lease was over"
        # A claim that the log has forgotten is made again while its page is being stored.
        claimed = min(one.at - one.page.seconds - plan.lease for one in (earlier, later))
        for copied, restored in self._restores:
            if claimed < restored and earlier.published > copied - _SLACK:
                return "history shrank"
        return None

    def _judge_pages(self, name: str, pages: dict[str, Page], notes: list[list]) -> None:
        done, result = set(), self._result
        for at, start, kind, key, *more in notes:
            if kind == "duplicate":
                result.counts["duplicates"] += 1
                done.add(key)
                originals = self._by_key.get(self._key(more[0]), [])
                if self._restores:  # numbers may name other pages for a moment
                    originals = self._by_family.get(pages[key].family, [])
                originals = [original for original in originals if original.at <= at]
                if not originals:
                    result.violate("duplicates of what is not stored", name, start, key, *more)
                elif not any(_are_near(original.page, pages[key]) for original in originals):
                    result.violate("duplicates of what is not near", key, *more)
            elif kind in ("stored", "failed"):
                done.add(key)
            elif kind == "lost":
                result.counts["claims lost"] += 1
                # PostgreSQL writes claims asynchronously: a crash forgets the last ones.
                may_forget = self._restores or self._plan.crashes
                if more[0] < self._plan.lease * 0.95 and not may_forget:
                    result.violate("claims lost within the lease", name, start, key, *more)
            elif kind == "waited":
                result.counts["waits over"] += 1
                if self._plan.is_calm:
                    result.violate("waits for nobody", name, start, key, *more)
                if more[0] > self._plan.timeout + self._longest_stop + _SLACK:
                    result.violate("waits beyond the timeout", name, start, key, *more)
        for key in pages.keys() - done:
            result.violate("pages never judged", name, key)
        failed = {key for _, _, kind, key, *_ in notes if kind == "failed"}
        for page in pages.values():
            near = (
                one for one in self._by_family.get(page.family, ()) if _are_near(one.page, page)
            )
            if page.key not in failed and not any(near):
                result.violate("contents lost", name, page.key)

    @property
    def _longest_stop(self) -> float:
        # While the server is being started again, nobody is told to go on.
        return 2.7 * self._plan.lease + (3.0 if self._plan.crashes or self._plan.shrinks else 0.0)


def _stored_pages(name: str, pages: dict[str, Page], notes: list[list]) -> list[StoredPage]:
    """Return the pages that a process has stored, with what became of them afterwards."""
    found = []
    for place, (at, start, kind, key, *more) in enumerate(notes):
        if kind != "stored":
            continue
        acknowledged = (
            at for at, its_start, its_kind, its_key, *_ in notes[place + 1 :]
            if (its_start, its_kind, its_key) == (start, "published", key)
        )  # fmt: skip
        # Its claim may have been lost in a stop before that, and made again since.
        gaps = (
            told[0] for _, its_start, its_kind, its_key, *told in notes[:place]
            if (its_start, its_kind, its_key) == (start, "lost", key)
        )  # fmt: skip
        reason, gap = more
        gap = max([gap, *gaps])
        published = next(acknowledged, inf)
        found.append(StoredPage(pages[key], name, start, at, reason, gap, published))
    return found


def _are_near(one: Page, other: Page) -> bool:
    return (one.content ^ other.content).bit_count() <= _NEAR
