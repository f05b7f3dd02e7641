"""A log in the memory of the tests, whose clock, network and history can be ruled."""

import math
from collections.abc import Awaitable, Callable

from dedup.record import Claimed, Committed, Preferred, Released
from dedup.sqlite_file import LedgerError
from dedup.stores.shared.entries import from_bytes, to_bytes
from dedup.stores.shared.log import (
    LEASE,
    MOST_ENTRIES,
    Answer,
    CrawlRow,
    Entry,
    Found,
    Joined,
    Log,
    StoreDownError,
)


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
        self.kept_texts = {}

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

    def end(self, owner, serial, number, event):
        """Commit or release; whether the claim was open."""
        if self.open.get(number, ())[:2] != (owner, serial):
            return False
        *_, run = self.open.pop(number)
        self.append(owner, serial, run, event)
        return True

    def alive(self):
        return [owner for owner, end in self.leases.items() if end > self.now]


async def at_once() -> None: ...


class MemoryLog(Log):
    """What one process has of a server; *travel* is awaited on the way there and back."""

    def __init__(self, server: Server, travel: Callable[[], Awaitable[None]] = at_once) -> None:
        super().__init__("memory of the tests")
        self._server = server
        self._travel = travel

    async def _there(self) -> Server:
        await self._travel()
        if self._server.is_down:
            raise StoreDownError(f"{self.name} is down")
        return self._server

    async def open(self):
        server = await self._there()
        if server.identity is None:
            return None
        return Found(server.identity, bool(server.alive()))

    async def join(self, member, identity, *, reset):
        server = await self._there()
        rows = [row for row in server.crawls.values() if member.job and row.job == member.job]
        is_resumed = bool(rows) and rows[-1].reason != "finished"
        reset = reset and not server.alive() and not is_resumed
        if reset:
            server.forget()
        if server.identity is None:
            server.identity = dict(identity)
        if server.identity != identity:
            raise LedgerError("another identity")
        if is_resumed:
            run = rows[-1].run
        elif not server.alive():
            run = server.runs = server.runs + 1
        else:
            run = server.runs
        row = CrawlRow(run, member.spider, member.job, server.now, None, None, None)
        server.crawls[member.owner] = row
        server.leases[member.owner] = server.now + LEASE
        return Joined(run, is_resumed, reset)

    async def exchange(self, request):
        server = await self._there()
        owner, run = request.owner, request.run
        if request.turn <= server.turns.get(owner, 0):
            raise LedgerError("too late")
        server.turns[owner] = request.turn
        server.leases[owner] = server.now + LEASE
        lost = []
        for number, serial in request.commits:
            if not server.end(owner, serial, number, Committed(number)):
                lost.append(serial)
        for number, serial in request.releases:
            server.end(owner, serial, number, Released(number))
        for number, key in request.preferred.items():
            server.append(owner, 0, run, Preferred(number, key))
        made = []
        for serial, claimed in request.claims:
            number = server.append(owner, serial, run, claimed)
            server.open[number] = owner, serial, run
            made.append(number)
        for note in request.duplicates:
            server.matches[note.number, note.key] = run, note
        server.seen_again.update(request.seen_again)
        first = max(request.seen, 1)
        last = min(len(server.log), first + MOST_ENTRIES - 1)
        answer = Answer([server.entry(n) for n in range(first, last + 1)], made, lost)
        await self._travel()
        return answer

    async def expire(self, claims):
        server = await self._there()
        ends = []
        for number, owner, serial in claims:
            if server.open.get(number, ())[:2] != (owner, serial):
                continue
            left = server.leases.get(owner, 0) - server.now
            if left > 0:
                ends.append(left)
            else:
                server.end(owner, serial, number, Released(number))
        return min(ends, default=math.inf)

    async def leave(self, owner, reason, report, texts):
        server = await self._there()
        server.leases.pop(owner, None)
        for number, (other, serial, _) in list(server.open.items()):
            if other == owner:
                server.end(owner, serial, number, Released(number))
        row = server.crawls[owner]
        server.crawls[owner] = row._replace(finished=server.now, reason=reason, report=report)
        server.kept_texts.update({url: (title, text) for url, title, text in texts})

    async def close(self): ...

    async def snapshot(self, since=0.0):
        server = await self._there()
        count = len(server.log)
        for start in range(1, count + 1, 10):
            yield [server.entry(n) for n in range(start, min(start + 10, count + 1))]

    async def entries(self, after):
        server = await self._there()
        last = min(len(server.log), after + MOST_ENTRIES)
        return [server.entry(n) for n in range(after + 1, last + 1)]

    async def pages(self, numbers):
        server = await self._there()
        found = {n: server.entry(n).event for n in numbers if 0 < n <= len(server.log)}
        return {n: event.record for n, event in found.items() if isinstance(event, Claimed)}

    async def crawls(self):
        return list((await self._there()).crawls.values())

    async def duplicates(self):
        for run, note in (await self._there()).matches.values():
            yield run, note

    async def seen_again(self):
        return dict((await self._there()).seen_again)

    async def texts(self):
        for url, (title, text) in (await self._there()).kept_texts.items():
            yield url, title, text
