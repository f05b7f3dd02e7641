"""Processes over one log while messages get lost, time passes and history changes."""

import asyncio
import gc
from contextlib import suppress
from random import Random

import pytest
from ledgers import page
from memory_log import MemoryLog, Server, publish

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import Committed, PageRecord, StoredBatch
from dedup.rule import Kind
from dedup.stores import (
    HistoryChangedError,
    LedgerError,
    MemoryStore,
    StoreDownError,
    finished,
)
from dedup.stores import shared as module
from dedup.stores.log import LEASE
from dedup.stores.shared import SharedStore

NEAR, NEARER, NEAREST, FAR = 0b0001, 0b0011, 0b0111, 0xFFFF << 40


def near(one, other):
    return (one ^ other).bit_count() <= 1


def joined(server):
    """A store that takes part."""
    store = SharedStore(MemoryLog(server), {})
    finished(store.join("test"))
    return store


class Process:
    def __init__(self, fleet):
        self.fleet = fleet
        self.counts = {}
        self.store = SharedStore(MemoryLog(fleet.server, self.travel), {})
        self.detector = Detector(SimHash(1), store=self.store, count=self.count)
        self.is_paused = False
        self.publishing = None

    def count(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    async def travel(self):
        await self.fleet.travel(self)

    async def begin(self):
        await self.detector.follower.load()
        await self.store.join("test")

    async def crawl(self, key, content, fails):
        fleet = self.fleet
        while True:
            try:
                verdict, claim, _ = await self.detector.reserve(page(content, key))
            except StoreDownError:
                await fleet.pause()
                continue
            if verdict:
                break
            ended = asyncio.Event()
            claim.when_ended(ended.set)
            await ended.wait()
        if claim:
            try:
                await fleet.pause()
            except asyncio.CancelledError:
                self.detector.follower.release(claim)
                raise
            if not fails:
                fleet.store(key, content)
            (self.detector.follower.release if fails else self.detector.follower.commit)(claim)
        elif verdict.is_duplicate:
            assert any(near(content, other) for other in fleet.stored.values()), "lost"
        fleet.verdicts[key] = verdict.kind

    async def publish(self):
        await publish(self.detector, self.store)
        await self.detector.follower.expire()

    async def beat(self):
        with suppress(StoreDownError, HistoryChangedError):
            await self.publish()


class Fleet:
    """Processes whose messages arrive in any order, some of them never."""

    def __init__(self, chooser, processes, faults):
        self.server = Server()
        self.stored, self.verdicts = {}, {}
        self.pairs = 0
        self.has_begun = False
        self._shrinks = 0
        self._chooser, self._faults = chooser, faults
        self._under_way = []
        self._sleeping = []
        self.processes = [Process(self) for _ in range(processes)]

    async def travel(self, process):
        arrival = asyncio.get_running_loop().create_future()
        self._under_way.append((process, arrival))
        await arrival

    async def pause(self):
        awake = asyncio.get_running_loop().create_future()
        self._sleeping.append(awake)
        await awake

    def store(self, key, content):
        self.pairs += any(near(content, other) for other in self.stored.values())
        self.stored[key] = content

    async def crawl(self, pages):
        for process in self.processes:
            beginning = asyncio.create_task(process.begin())
            while not beginning.done():
                await self._settle()
                self._let_arrive()
            await beginning
        self.has_begun = True
        self._tasks = tasks = [
            asyncio.create_task(
                self.processes[process % len(self.processes)].crawl(
                    f"page {number}", content, fails
                )
            )
            for number, (content, fails, process) in enumerate(pages)
        ]
        for _ in range(800 * len(tasks)):
            await self._settle()
            if all(task.done() for task in tasks):
                break
            self._step()
        assert all(task.done() for task in tasks), "somebody waits for ever"
        for task in tasks:
            with suppress(asyncio.CancelledError):
                task.result()
        await self._end()

    async def _end(self):
        """Have all be told what became of what they stored."""
        self._faults, self.server.is_down = [], False
        for process in self.processes:
            process.is_paused = False
        for _ in range(6):
            for process in self.processes:
                beat = process.publishing or asyncio.create_task(process.beat())
                while not beat.done():
                    await self._settle()
                    self._let_arrive()
                await beat
                process.publishing = None

    def _step(self):
        chooser = self._chooser
        self._sleeping = [awake for awake in self._sleeping if not awake.done()]
        if self._sleeping and chooser.random() < 0.5:
            self._sleeping.pop(chooser.randrange(len(self._sleeping))).set_result(None)
        elif chooser.random() < 0.3:
            self._something_happens()
        else:
            self._let_arrive()

    def _something_happens(self):
        process = self._chooser.choice(self.processes)
        fault = self._chooser.choice(["", "", *self._faults])
        if fault == "pause":
            process.is_paused = not process.is_paused
        elif fault == "time":
            self.server.now += self._chooser.choice([1, LEASE / 2, LEASE + 1])
        elif fault == "shrink" and self.server.log and self._shrinks < 3:
            self._shrinks += 1
            self.server.shrink(self._chooser.randrange(len(self.server.log)))
        elif fault == "cancel":
            self._chooser.choice(self._tasks).cancel()
        elif fault == "down":
            self.server.is_down = not self.server.is_down
        if process.publishing is None or process.publishing.done():
            if process.publishing:
                process.publishing.result()
            process.publishing = asyncio.create_task(process.beat())

    def _let_arrive(self):
        paused = all(process.is_paused for process, _ in self._under_way)
        choices = [
            number for number, (p, _) in enumerate(self._under_way) if paused or not p.is_paused
        ]
        if choices:
            _, arrival = self._under_way.pop(self._chooser.choice(choices))
            if arrival.done():
                return
            if self.has_begun and "loss" in self._faults and self._chooser.random() < 0.1:
                arrival.set_exception(StoreDownError("lost"))
            else:
                arrival.set_result(None)

    async def _settle(self):
        for _ in range(20):
            await asyncio.sleep(0)

    def counts(self, name):
        return sum(process.counts.get(name, 0) for process in self.processes)


def run(seed, monkeypatch, faults, processes=3):
    """Crawl some pages, of which some fail, as chance has it."""
    chooser = Random(seed)
    pages = [
        (chooser.choice([NEAR, NEARER, NEAREST, FAR]), chooser.random() < 0.3, chooser.randrange(3))
        for _ in range(chooser.randrange(2, 11))
    ]
    fleet = Fleet(chooser, processes, faults)
    monkeypatch.setattr(module, "monotonic", lambda: fleet.server.now)
    asyncio.run(fleet.crawl(pages))
    for process in fleet.processes:
        view = process.detector.follower.view
        assert len(view) == len(view._pages._numbers) - len(view._ended)
    assert len(fleet.verdicts) == len(pages) or "cancel" in faults
    failed = {f"page {number}" for number, (_, fails, _) in enumerate(pages) if fails}
    kept = {key for key, kind in fleet.verdicts.items() if kind is Kind.NEW}
    assert fleet.stored.keys() == kept - failed
    return fleet


SEEDS = range(20)
LEASES = range(40)  # of which few end


@pytest.mark.slow
@pytest.mark.parametrize("faults", [[], ["loss"], ["down"], ["loss", "down"]], ids="+".join)
def test_what_gets_lost_on_the_way_has_nobody_store_twice(monkeypatch, faults):
    for seed in SEEDS:
        fleet = run(seed, monkeypatch, faults)
        assert fleet.pairs == 0, seed
        assert fleet.counts("claims/lost") == 0, seed


@pytest.mark.slow
@pytest.mark.parametrize("faults", [["pause", "time"], ["pause", "time", "loss"]], ids="+".join)
def test_a_process_that_loses_its_lease_says_so(monkeypatch, faults):
    lost = 0
    for seed in LEASES:
        fleet = run(seed, monkeypatch, faults)
        assert fleet.pairs == 0 or fleet.counts("claims/lost"), seed
        lost += fleet.counts("claims/lost")
    assert lost, "no lease was lost"


@pytest.mark.slow
@pytest.mark.parametrize("faults", [["cancel"], ["cancel", "loss", "down", "shrink"]], ids="+".join)
def test_who_is_cancelled_leaves_no_claim_behind(monkeypatch, faults):
    cancelled = 0
    for seed in SEEDS:
        fleet = run(seed, monkeypatch, faults)
        assert not fleet.server.open, seed
        views = [process.detector.follower.view for process in fleet.processes]
        assert not any(view.open_claims for view in views), seed
        cancelled += sum(task.cancelled() for task in fleet._tasks)
    assert cancelled


ALL = ["pause", "time", "loss", "down", "shrink"]


@pytest.mark.slow
@pytest.mark.parametrize("faults", [["shrink"], ["shrink", "loss"], ALL], ids="+".join)
def test_a_history_that_shrinks_is_noticed_and_nothing_is_lost(monkeypatch, faults):
    changes = 0
    for seed in SEEDS:
        fleet = run(seed, monkeypatch, faults)
        counted = fleet.counts("store/history_changes") + fleet.counts("claims/lost")
        assert fleet.pairs == 0 or counted, seed
        changes += fleet.counts("store/history_changes")
    assert changes


class Refusals:
    """One process whose log refuses all requests at times, as servers do."""

    def __init__(self, error=LedgerError):
        self.server = Server()
        self.refuses = False
        self.sizes, self.counts = [], []
        self.store = joined(self.server)
        self.detector = Detector(SimHash(1), store=self.store, count=self.counts.append)
        exchange = self.store._log.exchange

        async def refuse(request):
            self.sizes.append(len(request.claims))
            if self.refuses:
                raise error("it cannot take this")
            return await exchange(request)

        self.store._log.exchange = refuse

    async def keep(self, number):
        record = page(1 << number, f"page {number}")
        try:
            claim = (await self.detector.reserve(record)).claim
        except StoreDownError:
            claim = self.detector.unchecked(record).claim
        self.detector.follower.commit(claim)

    async def publish(self):
        await publish(self.detector, self.store)

    def committed(self):
        """The numbers of pages that all know."""
        entries = [self.server.entry(place) for place in range(1, len(self.server.log) + 1)]
        ends = {e.event.number for e in entries if isinstance(e.event, Committed)}
        keys = [e.event.record.key for e in entries if e.position in ends]
        return sorted(int(key.split()[1]) for key in keys)


@pytest.mark.parametrize("error", [LedgerError, OverflowError, StoreDownError])
async def test_a_refused_exchange_is_an_outage_after_which_nothing_is_missing(error):
    one = Refusals(error)
    await one.keep(0)
    one.refuses = True
    for number in range(1, 20):
        await one.keep(number)
    assert one.sizes == [1, 1], "nobody asks while it is down"
    assert one.store.is_down
    for _ in range(5):
        with pytest.raises(StoreDownError, match="it cannot take this"):
            await one.publish()
    one.refuses = False
    while one.store.has_news or one.detector.follower.late_claims:
        await one.publish()
    assert not one.store.is_down
    assert one.committed() == list(range(20))


async def test_pages_that_are_met_after_a_long_outage_come_behind_many_of_those_before():
    """Else near copies of these would be stored."""
    one = Refusals()
    for number in range(2500):
        one.detector.follower.commit(one.detector.unchecked(page(number, f"page {number}")).claim)
    await one.publish()
    for content in (FAR, FAR << 4):
        await one.detector.reserve(page(content, "another"))
    assert one.sizes == [1000, 1001, 501]


async def test_nobody_claims_while_the_store_is_down_even_if_somebody_tries_to_reach_it():
    """Else each page would wait for whoever tries."""
    server, blocked = Server(), asyncio.Event()
    store = joined(server)
    detector = Detector(SimHash(), store=store)
    await detector.reserve(page(FAR, "a"))
    server.is_down = True
    with pytest.raises(StoreDownError):
        await detector.follower.exchange()
    store._log._travel = blocked.wait
    trying = asyncio.ensure_future(detector.follower.exchange())
    await asyncio.sleep(0)
    with pytest.raises(StoreDownError):
        await asyncio.wait_for(detector.reserve(page(NEAR, "b")), 10)
    assert not trying.done()
    blocked.set()
    with pytest.raises(StoreDownError):
        await trying


async def test_an_item_is_not_compared_with_its_page_that_was_kept_unchecked():
    detector = Detector(SimHash(), store=joined(Server()))
    of_page = detector.unchecked(page(NEAR, "a")).claim
    detector.follower.commit(of_page)
    verdict, claim, _ = await detector.reserve(page(NEAR, "a"), own=[of_page])
    assert verdict.kind is Kind.NEW
    assert of_page.number < claim.number


def test_a_page_that_is_not_compared_is_not_entered_later():
    detector = Detector(SimHash(), store=SharedStore(MemoryLog(Server()), {}))
    verdict, claim, _ = detector.unchecked(PageRecord("a", "", 0))
    assert (verdict.kind, verdict.reason, claim) == (Kind.SKIPPED, "empty", None)
    assert not detector.follower.late_claims


@pytest.mark.parametrize("fails", [False, True])
def test_garbage_is_collected_again_once_the_pages_are_read(fails):
    collected = []

    class Pages(MemoryStore):
        async def stored(self):
            collected.append(gc.isenabled())
            yield StoredBatch([])
            if fails:
                raise LedgerError("it is damaged")

    with suppress(LedgerError):
        finished(Detector(SimHash(1), store=Pages()).follower.load())
    assert [*collected, gc.isenabled()] == [False, True]
