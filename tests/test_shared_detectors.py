"""Detectors over a store that waits: what must hold whatever happens in between."""

import asyncio

import pytest
from memory_log import MemoryLog, Server

from dedup.detector import Detector, OwnClaims
from dedup.evidence import Objection
from dedup.methods import SimHash
from dedup.record import Committed, PageRecord
from dedup.rule import Kind
from dedup.stores import HistoryChangedError, finished
from dedup.stores.shared import SharedStore

NEAR, NEARER, NEAREST, FAR = 0b0001, 0b0011, 0b0111, 0xFFFF << 40


def page(content, key, tokens=100):
    digest = content.to_bytes(16, "little")
    return PageRecord(key, "", tokens, digest, SimHash().to_bytes(content))


def store_over(server, *travel):
    return SharedStore(MemoryLog(server, *travel), {})


def test_of_two_that_claim_near_pages_at_once_the_second_waits_for_the_first():
    async def crawl():
        arrivals = asyncio.Semaphore(0)
        server = Server()
        detector = Detector(SimHash(), store=store_over(server, arrivals.acquire))
        tasks = [
            asyncio.create_task(detector.reserve(page(content, key)))
            for content, key in ((NEAR, "a"), (NEARER, "b"), (FAR, "c"))
        ]
        for _ in range(6):
            await asyncio.sleep(0)
            arrivals.release()
        return detector, await asyncio.gather(*tasks)

    detector, [first, second, other] = asyncio.run(crawl())
    assert first.verdict.kind is other.verdict.kind is Kind.NEW
    assert (second.verdict, second.claim) == (None, first.claim)
    assert len(detector._view._claims) == 2


def joined(server):
    detector = Detector(SimHash(), store=store_over(server))
    finished(detector.load())
    return detector


async def publish(detector):
    await detector.follower.exchange(detector.store.take_news())
    detector.store.end_exchange(published=True)


def test_who_joins_later_knows_what_is_stored_and_what_is_being_stored():
    async def crawl():
        server = Server()
        first = joined(server)
        for content, key in ((NEAR, "open"), (FAR, "stored")):
            claim = (await first.reserve(page(content, key))).claim
        first.commit(claim)
        await publish(first)
        later = joined(server)
        assert (await later.reserve(page(FAR + 1, "a"))).verdict.original == "stored"
        waiting = await later.reserve(page(NEARER, "b"))
        assert waiting.verdict is None
        assert waiting.claim.record.key == "open"
        return server

    server = asyncio.run(crawl())
    events = [server.entry(n + 1).event for n in range(len(server.log))]
    assert len([event for event in events if isinstance(event, Committed)]) == 1


def test_a_claim_that_gave_way_is_released_for_others_too():
    """Else they would wait for it."""

    async def crawl():
        server = Server()
        first, second, third = joined(server), joined(server), joined(server)
        await first.reserve(page(NEAR, "a"))
        gave_way = await second.reserve(page(NEARER, "b"))
        assert gave_way.claim.record.key == "a"
        assert second.store.has_news
        await publish(second)
        await third.follower.exchange(third.store.take_news())
        assert len(third._view._claims) == 1

    asyncio.run(crawl())


def saying(item, content, key):
    return page(content, key)._replace(item=item)


ONE, OTHER = b"a value!", b"another!"


def test_an_item_is_a_copy_only_of_what_others_have_stored_however_many_items_their_pages_have():
    async def crawl():
        server = Server()
        first, second = joined(server), joined(server)
        claim = (await first.reserve(saying(ONE, NEAR, "a"))).claim
        own = OwnClaims(claim, frozenset([claim.number]))
        more = await first.reserve(saying(ONE + OTHER, NEAR, "a"), own=own)
        assert more.claim is claim
        claim.items.remove(ONE)  # which a pipeline dropped
        first.commit(claim)
        await publish(first)
        for process in (second, await loaded(server)):
            await publish(process)
            for item in (ONE, OTHER, ONE + OTHER):
                assert (await process.reserve(saying(item, NEARER, "b"))).verdict.original == "a"
            kept = await process.reserve(saying(b"unheard!", NEARER, "c"))
            assert (kept.verdict.kind, kept.verdict.objection) == (Kind.NEW, Objection.ITEM)
            process.release(kept.claim)
            await publish(process)

    asyncio.run(crawl())


def test_an_item_that_was_not_stored_bars_no_other_one():
    async def crawl():
        server = Server()
        first, second = joined(server), joined(server)
        claim = (await first.reserve(saying(ONE, NEAR, "a"))).claim
        own = OwnClaims(claim, frozenset([claim.number]))
        await first.reserve(saying(OTHER, NEAR, "a"), own=own)
        claim.items.remove(ONE)
        first.commit(claim)
        await publish(first)
        for process in (first, second, await loaded(server)):
            await publish(process)
            assert (await process.reserve(saying(OTHER, NEARER, "b"))).verdict.is_duplicate
            kept = await process.reserve(saying(ONE, NEARER, "b"))
            assert kept.verdict.kind is Kind.NEW
            process.release(kept.claim)
            await publish(process)

    asyncio.run(crawl())


async def loaded(server):
    """A process that comes later, and reads what is there."""
    store = store_over(server)
    detector = Detector(SimHash(1), store=store)
    await store.open()
    await detector.load()
    await store.join("test")
    return detector


def test_a_page_that_another_process_replaces_does_not_count_any_more():
    async def crawl():
        server = Server()
        old = joined(server)
        old.judge(page(NEAR, "a"))
        await publish(old)
        await old.store.leave("finished", None)
        first, second = joined(server), joined(server)
        await first.store.join("test")
        changed = await first.reserve(page(FAR, "a"))
        assert changed.verdict.kind is Kind.CHANGED
        first.commit(changed.claim)
        await publish(first)
        await second.follower.exchange(second.store.take_news())
        assert len(second) == 1
        assert (await second.reserve(page(NEAR, "b"))).verdict.kind is Kind.NEW
        assert (await second.reserve(page(FAR, "c"))).verdict.original == "a"

    asyncio.run(crawl())


def test_what_is_stored_and_not_published_yet_is_claimed_again_when_a_log_has_lost_it():
    async def crawl():
        server = Server()
        first = joined(server)
        first.commit((await first.reserve(page(NEAR, "a"))).claim)
        server.shrink(0)
        with pytest.raises(HistoryChangedError):
            await publish(first)
        first.store.end_exchange(published=False)
        assert first.follower.late_claims.stored == 1
        for _ in range(2):
            await publish(first)
        later = joined(server)
        assert (await later.reserve(page(NEARER, "b"))).verdict.original == "a"

    asyncio.run(crawl())
