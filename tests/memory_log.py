"""A log in the memory of the tests, whose clock, network and history can be ruled.

And processes that share it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager, contextmanager, suppress
from copy import deepcopy

from ledgers import page
from log_servers import LogServer

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import Claimed, Committed, Released
from dedup.stores import HistoryChangedError, StoreDownError
from dedup.stores.base import Crawl
from dedup.stores.entries import Entry, from_bytes, to_bytes
from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import LEASE, MOST_ENTRIES, Answer, Found, Joined, Log
from dedup.stores.shared import SharedStore


class Server:
    """What all processes share: the entries as bytes, and a clock that stands until it is moved."""

    def __init__(self):
        self.now = 1_000_000.0
        self.is_down = False
        self.forget()

    def forget(self):
        self.identity = None
        self.log = []
        self.open = {}
        self.leases = {}
        self.turns = {}
        self.runs = 0
        self.crawls = {}
        self.matches = {}
        self.seen_again = {}

    def backup(self):
        """Return a copy of all that is there."""
        return deepcopy(vars(self))

    def append(self, owner, serial, run, event):
        self.log.append(to_bytes(Entry(0, owner, serial, run, self.now, event)))
        return len(self.log)

    def shrink(self, length):
        """Be what a backup has: the first *length* entries, and what follows from them."""
        self.log = self.log[:length]
        self.open = {}
        for entry in map(self.entry, range(1, length + 1)):
            if isinstance(entry.event, Claimed):
                self.open[entry.position] = entry.owner, entry.serial, entry.run
            elif isinstance(entry.event, Committed | Released):
                self.open.pop(entry.event.number)

    def entry(self, position):
        return from_bytes(position, self.log[position - 1])

    def entries(self, after):
        last = min(len(self.log), after + MOST_ENTRIES)
        return [self.entry(position) for position in range(after + 1, last + 1)]

    def end(self, owner, serial, number, event):
        """Commit or release; whether the claim was open."""
        if self.open.get(number, ())[:2] != (owner, serial):
            return False
        *_, run = self.open.pop(number)
        self.append(owner, serial, run, event)
        return True

    def committed(self):
        """The keys of the pages that count."""
        claimed, stored = {}, {}
        for entry in map(self.entry, range(1, len(self.log) + 1)):
            if isinstance(entry.event, Claimed):
                claimed[entry.position] = entry.event.record.key
            elif isinstance(entry.event, Committed):
                stored[entry.event.number] = claimed[entry.event.number]
                for number in entry.event.replaces:
                    stored.pop(number, None)
        return sorted(stored.values())

    def alive(self):
        return [owner for owner, end in self.leases.items() if end > self.now]

    def run_of_those_alive(self):
        """The run of who joined last of those who take part; ``None`` if nobody does."""
        alive = self.alive()
        runs = [row.run for owner, row in self.crawls.items() if owner in alive]
        return runs[-1] if runs else None


async def at_once() -> None: ...


class MemoryLog(Log):
    """What one process has of a server; *travel* is awaited on the way there and back."""

    def __init__(
        self,
        server: Server,
        travel: Callable[[], Awaitable[None]] = at_once,
        *,
        lease: float = LEASE,
    ) -> None:
        super().__init__("memory of the tests", lease=lease)
        self._server = server
        self._travel = travel
        self._identity = None

    @asynccontextmanager
    async def _visit(self):
        await self._pass()
        yield self._server
        await self._pass()

    async def _pass(self):
        await self._travel()
        if self._server.is_down:
            raise StoreDownError(f"{self.name} is down")

    async def open(self):
        async with self._visit() as server:
            if server.identity is None:
                return None
            return Found(deepcopy(server.identity), bool(server.alive()))

    async def join(self, owner, spider, job, identity, *, reset):
        async with self._visit() as server:
            rows = [row for row in server.crawls.values() if job and row.job == job]
            is_resumed = bool(rows) and rows[-1].reason != "finished"
            reset = reset and not server.alive() and not is_resumed
            if reset:
                server.forget()
            if server.identity is None:
                server.identity = deepcopy(dict(identity))
            self._identity = identity
            self._check_identity()
            run = rows[-1].run if is_resumed else server.run_of_those_alive()
            position = rows[-1].position if is_resumed else len(server.log)
            if run is None:
                run = server.runs = server.runs + 1
            row = Crawl(run, position, spider, job, server.now)
            server.crawls[owner] = row
            server.leases[owner] = server.now + self.lease
            return Joined(run, is_resumed, reset, position)

    def _check_identity(self):
        if self._server.identity != self._identity is not None:
            raise LedgerError(f"{self.name} was made with other settings")

    async def exchange(self, request):
        async with self._visit() as server:
            self._check_identity()
            owner, run = request.owner, request.run
            if request.turn <= server.turns.get(owner, 0):
                raise LedgerError(f"{self.name}: a request came too late")
            server.turns[owner] = request.turn
            server.leases[owner] = server.now + self.lease
            lost = []
            for serial, event in request.commits:
                if not server.end(owner, serial, event.number, event):
                    lost.append(serial)
            for number, serial in request.releases:
                server.end(owner, serial, number, Released(number))
            made = []
            for serial, claimed in request.claims:
                number = server.append(owner, serial, run, claimed)
                server.open[number] = owner, serial, run
                made.append(number)
            for note in request.duplicates:
                server.matches[note.number, note.key] = run, note
            server.seen_again.update(request.seen_again)
            return Answer(server.entries(max(request.seen, 1) - 1), made, lost)

    async def expire(self, claims):
        async with self._visit() as server:
            for number, owner, serial in claims:
                if server.leases.get(owner, 0) <= server.now:
                    server.end(owner, serial, number, Released(number))

    async def leave(self, owner, reason, report, texts):
        async with self._visit() as server:
            server.leases.pop(owner, None)
            for number, (other, serial, _) in list(server.open.items()):
                if other == owner:
                    server.end(owner, serial, number, Released(number))
            if owner in server.crawls:  # else what it was part of is forgotten
                row = server.crawls[owner]
                left = row._replace(finished=server.now, reason=reason, report=deepcopy(report))
                server.crawls[owner] = left

    async def close(self): ...

    async def snapshot(self):
        async with self._visit() as server:
            entries = [server.entry(position) for position in range(1, len(server.log) + 1)]
        for start in range(0, len(entries), 10):
            yield entries[start : start + 10]

    async def entries(self, after):
        async with self._visit() as server:
            return server.entries(after)

    async def pages(self, numbers):
        async with self._visit() as server:
            found = {n: server.entry(n).event for n in numbers if 0 < n <= len(server.log)}
        return {n: event.record for n, event in found.items() if isinstance(event, Claimed)}

    async def crawls(self):
        async with self._visit() as server:
            return list(server.crawls.values())

    async def duplicates(self):
        async with self._visit() as server:
            matches = list(server.matches.values())
        for match in matches:
            yield match


class MemoryServer(LogServer):
    """All logs in memory."""

    def __init__(self, folder):
        super().__init__(folder)
        self._servers = defaultdict(Server)

    def connect(self, namespace, lease=LEASE):
        return MemoryLog(self._servers[namespace], lease=lease)

    async def pass_time(self, seconds):
        for server in self._servers.values():
            server.now += seconds

    def contents(self, namespace):
        return self._servers[namespace].backup()

    @contextmanager
    def down(self):
        self._set_down(True)
        yield
        self._set_down(False)

    def _set_down(self, is_down):
        for server in self._servers.values():
            server.is_down = is_down


async def publish(detector, store):
    """Have a process of a fleet send its news, as a crawl does."""
    with store.publishing() as news:
        await detector.follower.exchange(news)


class Process:
    """A process of a fleet, whose messages wait while its gate is closed."""

    def __init__(self, server, job=None):
        self.gate = asyncio.Event()
        self.gate.set()
        self.travels, self.last_travel = 0, None
        self.counts = []
        self.store = SharedStore(MemoryLog(server, self._travel), {}, job=job)
        self.detector = Detector(SimHash(3), store=self.store, count=self.counts.append)

    async def _travel(self):
        self.travels += 1
        if self.travels == self.last_travel:
            self.gate.clear()
        await self.gate.wait()

    async def read_anew(self):
        """Notice that the history has changed, and begin to read it: the gate is closed then."""
        self.last_travel = self.travels + 3  # an exchange goes there and back
        reading = asyncio.create_task(self.detector.follower.exchange())
        await until_it_waits(reading)
        return reading

    async def reserve(self, content, key, item=b"", own=()):
        return await self.detector.reserve(page(content, key)._replace(item=item), own=own)

    async def keep(self, content, key):
        """Have a page stored, for all."""
        reservation = await self.reserve(content, key)
        self.detector.follower.commit(reservation.claim)
        await self.publish()
        return reservation

    async def publish(self):
        await publish(self.detector, self.store)

    async def follow(self):
        with suppress(HistoryChangedError):
            await self.detector.follower.exchange()


async def until_it_waits(task):
    for _ in range(50):
        await asyncio.sleep(0)
    assert not task.done()


async def begun(server, job=None):
    process = Process(server, job)
    await process.store.open()
    await process.detector.follower.load()
    await process.store.join("test")
    return process


async def stored_by_another(server, content, key):
    await (await begun(server)).keep(content, key)
