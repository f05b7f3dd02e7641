"""One process of several over a log: what it makes of a history that changes, and of outages."""

import asyncio
from contextlib import suppress

from memory_log import MemoryLog, Server

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import Claimed, Committed, PageRecord
from dedup.rule import Kind
from dedup.stores import HistoryChangedError, News
from dedup.stores.shared.store import SharedStore

NEAR, NEARER, FAR, OTHER = 0b0001, 0b0011, 0xFFFF << 40, 0xFFFF << 20


def page(content, key):
    digest = content.to_bytes(16, "little")
    return PageRecord(key, "", 100, digest, SimHash().to_bytes(content))


class Process:
    """A process of a fleet, whose messages wait while its gate is closed."""

    def __init__(self, server, name="test"):
        self.gate = asyncio.Event()
        self.gate.set()
        self.travels = 0
        self.counts = []
        self.store = SharedStore(MemoryLog(server, self._travel), {})
        self.detector = Detector(SimHash(3), store=self.store, count=self.counts.append)
        self._name = name

    async def _travel(self):
        self.travels += 1
        await self.gate.wait()

    async def begin(self):
        await self.store.open()
        await self.detector.load()
        await self.store.join(self._name)
        return self

    async def reserve(self, content, key):
        return await self.detector.reserve(page(content, key))

    async def keep(self, content, key):
        """Have a page stored, for all."""
        reservation = await self.reserve(content, key)
        self.detector.commit(reservation.claim)
        await self.publish()
        return reservation

    async def publish(self):
        news, published = self.store.take_news(), False
        try:
            await self.detector.exchange(news)
            published = True
        finally:
            self.store.end_exchange(published=published)

    async def follow(self):
        with suppress(HistoryChangedError):
            await self.detector.exchange(News())


async def until_it_waits(task):
    for _ in range(50):
        await asyncio.sleep(0)
    assert not task.done()


def committed(server):
    """The keys of the pages that count."""
    pages = {}
    for entry in map(server.entry, range(1, len(server.log) + 1)):
        match entry.event:
            case Claimed():
                pages[entry.position] = entry.event
            case Committed(number):
                for old in pages[number].replaces:
                    pages.pop(old, None)
    stored = {e.event.number for e in map(server.entry, range(1, len(server.log) + 1))
              if isinstance(e.event, Committed)}  # fmt: skip
    return sorted(claimed.record.key for number, claimed in pages.items() if number in stored)


def test_a_page_without_text_that_is_met_while_the_store_is_down_is_not_claimed_later():
    async def crawl():
        server = Server()
        one = await Process(server).begin()
        verdict, claim, _ = one.detector.unchecked(PageRecord("empty"))
        assert (verdict.kind, verdict.reason, claim) == (Kind.SKIPPED, "empty", None)
        await one.keep(NEAR, "a")
        assert committed(server) == ["a"]

    asyncio.run(crawl())


def test_a_page_that_was_replaced_behind_an_open_claim_does_not_count():
    async def crawl():
        server = Server()
        old = await Process(server).begin()
        await old.keep(NEAR, "a")
        for number in range(4):  # so that what comes is in another piece of the log
            await old.keep(OTHER << number * 8, f"other {number}")
        await old.store.leave("finished", None)
        one = await Process(server).begin()
        await one.reserve(0b111 << 60, "open")
        await one.keep(FAR, "a")
        later = await Process(server).begin()
        assert len(later.detector) == 5
        assert (await later.reserve(NEARER, "b")).verdict.kind is Kind.NEW

    asyncio.run(crawl())
