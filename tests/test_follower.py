"""Processes over one log while messages get lost, time passes and history changes."""

import asyncio
import gc
from contextlib import suppress

import pytest
from ledgers import page
from memory_log import Process, Server, begun, stored_by_another, until_it_waits

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import PageRecord, StoredBatch
from dedup.rule import Kind
from dedup.stores import LedgerError, MemoryStore, StoreDownError, finished
from dedup.stores.log import LEASE

NEAR, NEARER, FAR = 0b0001, 0b0011, 0xFFFF << 40


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.setattr("dedup.stores.shared.monotonic", lambda: server.now)
    return server


async def two_with_a_claim(server):
    """Two processes, a claim of the first one, and the other one's, which waits for its end."""
    one, other = await begun(server), await begun(server)
    own = (await one.reserve(NEAR, "a")).claim
    verdict, claim, _ = await other.reserve(NEARER, "b")
    assert verdict is None
    claim.when_ended(lambda: None)
    return one, own, other, claim


async def expire(process):
    await process.detector.follower.expire()
    await process.follow()


async def test_claims_expire_when_their_owner_had_time_to_renew_its_lease(server):
    """Also after an outage, in which it could not."""
    _, _, other, claim = await two_with_a_claim(server)
    server.is_down = True
    with pytest.raises(StoreDownError):
        await other.publish()
    server.now += LEASE + 1
    server.is_down = False
    await other.follow()
    await expire(other)
    assert claim.is_open
    server.now += LEASE
    await expire(other)
    assert not claim.is_open


@pytest.mark.parametrize("is_told_before", [False, True])
async def test_a_stored_page_whose_claim_has_expired_is_entered_and_counted(server, is_told_before):
    one, own, other, _ = await two_with_a_claim(server)
    server.now += LEASE + 1
    await expire(other)
    if is_told_before:
        await one.follow()
    one.detector.follower.commit(own)
    for _ in range(3):
        await one.publish()
    assert (one.counts, server.committed()) == (["claims/lost"], ["a"])


@pytest.mark.parametrize("is_made", [False, True])
async def test_who_is_cancelled_leaves_no_claim_behind(server, is_made):
    one = await begun(server)
    one.gate.clear()
    task = asyncio.create_task(one.reserve(NEAR, "a"))
    await until_it_waits(task)
    if is_made:
        one.gate.set()
        while not one.store.is_own(1):
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    one.gate.set()
    for _ in range(2):
        await one.publish()
    assert (len(server.log), server.open) == (2, {})


async def test_a_claim_whose_answer_got_lost_is_released_as_one_that_nobody_wants(server):
    one = await begun(server)
    unwanted = (await one.reserve(FAR, "b")).claim
    one.last_travel = one.travels + 2
    task = asyncio.create_task(one.reserve(NEAR, "a"))
    await until_it_waits(task)
    server.is_down = True
    one.detector.follower.release(unwanted)
    one.gate.set()
    with pytest.raises(StoreDownError):
        await task
    with pytest.raises(StoreDownError):
        await one.publish()
    server.is_down = False
    for _ in range(2):
        await one.publish()
    assert (len(server.log), server.open) == (4, {})


async def test_claims_of_before_a_history_changed_are_made_again_once_and_others_forgotten(server):
    one, own, other, claim = await two_with_a_claim(server)
    await one.keep(FAR, "c")
    await other.follow()
    server.shrink(1)
    await stored_by_another(server, FAR, "d")
    await one.follow()
    await one.publish()
    await one.publish()
    assert len(server.open) == 1
    one.detector.follower.commit(own)
    await one.publish()
    assert server.committed() == ["a", "d"]
    await other.follow()
    assert not claim.is_open


class Refusals(Process):
    """A process whose log refuses all requests at times, as servers do."""

    def __init__(self, server, error=LedgerError):
        super().__init__(server)
        finished(self.store.join("test"))
        self.refuses = False
        self.sizes = []
        exchange = self.store._log.exchange

        async def refuse(request):
            self.sizes.append(len(request.claims))
            if self.refuses:
                raise error("it cannot take this")
            return await exchange(request)

        self.store._log.exchange = refuse

    async def keep(self, number):
        record = page(0b111 << 3 * number, f"page {number:02}")
        try:
            claim = (await self.detector.reserve(record)).claim
        except StoreDownError:
            claim = self.detector.unchecked(record).claim
        self.detector.follower.commit(claim)


@pytest.mark.parametrize("error", [LedgerError, OverflowError, StoreDownError])
async def test_a_refused_exchange_is_an_outage_after_which_nothing_is_missing(server, error):
    one = Refusals(server, error)
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
    assert server.committed() == [f"page {number:02}" for number in range(20)]


async def test_pages_that_are_met_after_a_long_outage_come_behind_many_of_those_before(server):
    """Else near copies of these would be stored."""
    one = Refusals(server)
    for number in range(2500):
        one.detector.follower.commit(one.detector.unchecked(page(number, f"page {number}")).claim)
    await one.publish()
    for content in (FAR, FAR << 4):
        await one.reserve(content, "another")
    assert one.sizes == [1000, 1001, 501]


async def test_nobody_claims_while_the_store_is_down_even_if_somebody_tries_to_reach_it(server):
    """Else each page would wait for whoever tries."""
    one = await begun(server)
    server.is_down = True
    with pytest.raises(StoreDownError):
        await one.publish()
    one.gate.clear()
    trying = asyncio.create_task(one.publish())
    await until_it_waits(trying)
    with pytest.raises(StoreDownError):
        await asyncio.wait_for(one.reserve(NEAR, "b"), 10)
    assert not trying.done()
    one.gate.set()
    with pytest.raises(StoreDownError):
        await trying


async def test_an_item_is_not_compared_with_its_page_that_was_kept_unchecked(server):
    one = await begun(server)
    of_page = one.detector.unchecked(page(NEAR, "a")).claim
    one.detector.follower.commit(of_page)
    verdict, claim, _ = await one.reserve(NEAR, "a", own=[of_page])
    assert verdict.kind is Kind.NEW
    assert of_page.number < claim.number


async def test_a_page_that_is_not_compared_or_not_stored_is_not_entered_later(server):
    one = await begun(server)
    verdict, claim, _ = one.detector.unchecked(PageRecord("a", "", 0))
    assert (verdict.kind, verdict.reason, claim) == (Kind.SKIPPED, "empty", None)
    claim = one.detector.unchecked(page(NEAR, "b")).claim
    assert one.detector.follower.late_claims == [claim]
    one.detector.follower.release(claim)
    assert (claim.is_open, one.detector.follower.late_claims) == (False, [])


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
