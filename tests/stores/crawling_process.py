"""A process of a fleet: it judges pages, stores them in a file of its own, and publishes that.

The file says what happened, a line for each event: when, in which start of the process, what, and
the key of the page. It is judged afterwards; what the store believes is not asked.
"""

import asyncio
import json
import random
import time
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ledgers import page
from memory_log import publish
from planted_faults import FAULTS
from sqlite_server import log_at

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import Committed, PageRecord, Released
from dedup.rule import Kind
from dedup.stores import HistoryChangedError, StoreDownError
from dedup.stores.log import Log
from dedup.stores.postgres_log import PostgresLog
from dedup.stores.redis_log import RedisLog
from dedup.stores.shared import SharedStore

IDENTITY = {"method": "simhash"}
_LOGS = {"redis": RedisLog, "postgresql": PostgresLog, "sqlite": log_at}
_REPETITIONS = (Kind.EXACT, Kind.NEAR, Kind.REPEATED, Kind.UNCHANGED)
_AT_ONCE = 8
_STEP = 0.05


class Page(NamedTuple):
    """A page that a process meets *at* so many seconds; storing it takes *seconds*, or *fails*."""

    key: str
    family: int
    content: int
    at: float
    seconds: float
    fails: bool

    @property
    def record(self) -> PageRecord:
        return page(self.content, self.key)


@dataclass(frozen=True)
class Weather:
    """What happens to messages, by chance: the share that is lost or late, delays in seconds."""

    lost: float = 0.0
    late: float = 0.0
    delay: float = 0.0


@dataclass(frozen=True)
class Plan:
    """A round: how many processes crawl how many families for how many seconds.

    *kills*, *stops*, *crashes* (of the server) and *shrinks* (of its history) are how many there
    are in a second. *lease* and *timeout* are in seconds; a stop is longer than a lease. So many
    processes as *keeping* says store what they cannot check, the others wait. *weather* is what
    happens to messages. *fault* is the name of a planted one.
    """

    processes: int = 8
    families: int = 100
    seconds: float = 6.0
    lease: float = 1.5
    timeout: float = 8.0
    kills: float = 0.0
    stops: float = 0.0
    crashes: float = 0.0
    shrinks: float = 0.0
    keeping: int = 1
    weather: Weather = field(default_factory=Weather)
    fault: str | None = None

    @property
    def limit(self) -> float:
        """When all have to be done, in seconds."""
        return 2 * self.seconds + 120

    @property
    def is_calm(self) -> bool:
        """Whether nobody dies or is stopped, so that nobody has to wait for long."""
        return not (self.kills or self.stops or self.crashes or self.shrinks)


@dataclass(frozen=True)
class Order:
    """What a process is told: who it is, where, and what to crawl.

    *begun*: when the round was, in seconds since 1970. *keeps*: a page that cannot be checked is
    kept; else it waits.
    """

    name: str
    start: int
    url: str
    file: Path
    pages: list[Page]
    begun: float
    seed: int
    keeps: bool
    plan: Plan


def log_of(url: str, lease: float) -> Log:
    """Return the log at *url*, by the kind of server that it names."""
    return _LOGS[urlsplit(url).scheme](url, lease=lease)


class Notes:
    """The file of a process; each line is written at once."""

    def __init__(self, order: Order) -> None:
        self._start = order.start
        self._file = order.file.open("ab", buffering=0)
        self._file.write(b"\n")  # a kill may have torn the last line

    def write(self, kind: str, *values: object) -> None:
        line = json.dumps([time.time(), self._start, kind, *values])
        self._file.write(line.encode() + b"\n")


def mark(file: Path, start: int) -> Path:
    """Return the path of what is there once a process, so often started, crawls."""
    return file.with_name(f"{file.name} crawls {start}")


def read_notes(file: Path) -> list[list]:
    """Return the lines of the file of a process, but for those that were torn."""
    notes = []
    for line in file.read_bytes().splitlines() if file.exists() else []:
        try:
            notes.append(json.loads(line))
        except ValueError:
            continue
    return notes


class WatchedLog:
    """A log whose messages get lost and come late, and which notes what was acknowledged."""

    def __init__(self, log: Log, notes: Notes, weather: Weather, chooser: random.Random) -> None:
        self._log = log
        self._notes = notes
        self._weather = weather
        self._chooser = chooser
        self._renewed = time.monotonic()
        self._keys: dict[int, str] = {}
        self._committed: set[int] = set()
        self._released: set[int] = set()
        self._late: set[asyncio.Task] = set()
        self._owner = b""

    @property
    def since_renewal(self) -> float:
        """For how long it has not been certain that the lease was renewed, in seconds."""
        return time.monotonic() - self._renewed

    async def _travel(self) -> None:
        if self._weather.delay:
            await asyncio.sleep(self._chooser.expovariate(1 / self._weather.delay))

    async def _call(self, call, *arguments, **more):
        await self._travel()
        luck = self._chooser.random()
        if luck < self._weather.late:
            task = asyncio.create_task(self._call_later(call, *arguments, **more))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
            raise StoreDownError("a message is late")
        answer = await call(*arguments, **more)
        await self._travel()
        if luck < self._weather.late + self._weather.lost:
            raise StoreDownError("an answer was lost")
        return answer

    async def _call_later(self, call, *arguments, **more) -> None:
        await asyncio.sleep(self._chooser.random())
        try:
            await call(*arguments, **more)
        except Exception as error:
            self._notes.write("late", repr(error))

    def __getattr__(self, name: str) -> Any:
        """What the log has; what it does, as if by a network."""
        value = getattr(self._log, name)
        return partial(self._call, value) if iscoroutinefunction(value) else value

    async def join(self, *who, reset):
        begun = time.monotonic()
        joined = await self._call(self._log.join, *who, reset=reset)
        self._renewed = begun
        return joined

    async def exchange(self, request):
        begun = time.monotonic()
        for serial, claimed in request.claims:
            self._keys[serial] = claimed.record.key
        self._released |= {number for number, _ in request.releases}
        answer = await self._call(self._log.exchange, request)
        self._owner = request.owner
        self._notice(answer.entries)
        lost = set(answer.lost)
        for serial, (number, *_) in request.commits:
            if serial not in lost or number in self._committed:
                self._notes.write("published", self._keys[serial], number)
            else:
                self._note_loss(number, serial)
        self._renewed = begun
        return answer

    def _notice(self, entries) -> None:
        """Take note of the own commits that the log has, and of own claims that others released."""
        for entry in entries:
            if entry.owner != self._owner:
                continue
            if isinstance(entry.event, Committed):
                self._committed.add(entry.event.number)
            elif isinstance(entry.event, Released):
                self._note_loss(entry.event.number, entry.serial)

    def _note_loss(self, number: int, serial: int) -> None:
        """Take note of an own claim that others released, once: its commit may be sent again."""
        if number not in self._released:
            self._released.add(number)
            self._notes.write("lost", self._keys[serial], self.since_renewal)

    async def close(self):
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._log.close()

    async def snapshot(self):
        await self._travel()
        async for piece in self._log.snapshot():
            yield piece
            if self._chooser.random() < self._weather.lost:
                raise StoreDownError("an answer was lost")

    async def entries(self, after):
        entries = await self._call(self._log.entries, after)
        self._notice(entries)
        return entries


class Process:
    """What runs in a process: it crawls its pages, and keeps in step with the others."""

    def __init__(self, order: Order) -> None:
        self._order, self._plan = order, order.plan
        self._chooser = random.Random(f"{order.seed} {order.name} {order.start}")
        self._done = _keys_of_pages_that_are_done(read_notes(order.file))
        self._notes = Notes(order)
        self._waiting = 0
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def run(self) -> None:
        await self._take_part()
        keeping = asyncio.create_task(self._keep_in_step())
        pages = [page for page in self._order.pages if page.key not in self._done]
        async with asyncio.TaskGroup() as tasks:
            for page in pages:
                tasks.create_task(self._crawl(page))
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        while self._store.has_news or self._detector.follower.late_claims:
            await self._publish()
        while not await self._leaves():
            await asyncio.sleep(_STEP)
        await self._log.close()
        self._notes.write("done", "")

    async def _take_part(self) -> None:
        while True:
            log = log_of(self._order.url, self._plan.lease)
            self._log = WatchedLog(log, self._notes, self._plan.weather, self._chooser)
            self._store = SharedStore(self._log, IDENTITY)
            self._detector = Detector(SimHash(), store=self._store, count=self._count)
            try:
                await self._store.open()
                await self._detector.follower.load()
                await self._store.join("conformance")
                break
            except StoreDownError as error:
                self._notes.write("down", "", repr(error))
                await self._log.close()
                await asyncio.sleep(_STEP)
        self._notes.write("joined", "")
        mark(self._order.file, self._order.start).touch()

    def _count(self, name: str) -> None:
        self._notes.write("count", name)

    async def _leaves(self) -> bool:
        with suppress(StoreDownError):
            await self._store.leave("finished", None)
            return True
        return False

    async def _crawl(self, page: Page) -> None:
        await asyncio.sleep(self._order.begun + page.at - time.time())
        async with self._at_once:
            verdict, claim = await self._judge(page)
            if verdict.kind in _REPETITIONS:
                self._notes.write("duplicate", page.key, verdict.original)
                return
            await asyncio.sleep(page.seconds)
            if page.fails:
                self._notes.write("failed", page.key)
                if claim:
                    self._detector.follower.release(claim)
                return
            self._notes.write("stored", page.key, verdict.reason or "", self._log.since_renewal)
            if claim:
                self._detector.follower.commit(claim)

    async def _judge(self, page: Page):
        waited = 0.0
        while True:
            try:
                verdict, claim, _ = await self._detector.reserve(page.record)
            except StoreDownError:
                if self._order.keeps:
                    return self._detector.unchecked(page.record)[:2]
                await asyncio.sleep(_STEP)
                continue
            if verdict:
                return verdict, claim
            begun = time.monotonic()
            await self._wait(claim, self._plan.timeout - waited)
            waited += time.monotonic() - begun
            if waited >= self._plan.timeout:
                self._notes.write("waited", page.key, waited)
                return self._detector.skipped("unresolved"), None

    async def _wait(self, claim, seconds: float) -> None:
        ended = asyncio.Event()
        claim.when_ended(ended.set)
        self._waiting += 1
        try:
            await asyncio.wait_for(ended.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1

    async def _keep_in_step(self) -> None:
        next_expiry = 0.0
        while True:
            await asyncio.sleep(_STEP * (0.5 + self._chooser.random()))
            is_due = self._log.since_renewal > self._plan.lease / 4
            has_news = self._store.has_news or self._detector.follower.late_claims
            if has_news or self._waiting or is_due:
                await self._publish()
            if self._waiting and time.monotonic() > next_expiry:
                try:
                    await self._detector.follower.expire()
                except StoreDownError:
                    continue
                next_expiry = time.monotonic() + self._plan.lease / 4

    async def _publish(self) -> None:
        try:
            await publish(self._detector, self._store)
        except (StoreDownError, HistoryChangedError):
            await asyncio.sleep(_STEP)


def _keys_of_pages_that_are_done(notes: list[list]) -> set[str]:
    """What need not be crawled again after a kill: all that was dropped, failed or published."""
    done = {key for _, _, kind, key, *_ in notes if kind in ("duplicate", "failed", "published")}
    unresolved = {
        key for _, _, kind, key, *more in notes if kind == "stored" and "unresolved" in more
    }
    return done | unresolved


def run(order: Order) -> None:
    """Do what *order* says; for `multiprocessing`."""
    if order.plan.fault:
        FAULTS[order.plan.fault]()
    asyncio.run(asyncio.wait_for(Process(order).run(), order.plan.limit))
