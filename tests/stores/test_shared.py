"""Processes over one log: their claims, a history that changes, outages, and what is earlier."""

import asyncio

import memory_log
import pytest
from ledgers import page
from memory_log import Server, begun, stored_by_another, until_it_waits

from dedup.earlier import Earlier
from dedup.evidence import Objection
from dedup.report.kept_pages import KeptPages
from dedup.rule import Kind
from dedup.stores import HistoryChangedError, LedgerError, StoreDownError

NEAR, NEARER, FAR, OTHER = 0b0001, 0b0011, 0xFFFF << 40, 0xFFFF << 20


async def crawled(server, *pages):
    """Have an earlier crawl store *pages*: contents and keys."""
    crawl = await begun(server)
    for content, key in pages:
        await crawl.keep(content, key)
    await crawl.store.leave("finished", None)


@pytest.fixture
def server():
    return Server()


# Claims.


A_VALUE, ANOTHER = b"a value!", b"another!"


async def kept_without_an_item(server, *items):
    """Have a page stored with *items* but for one with `A_VALUE`, which a pipeline dropped."""
    process = await begun(server)
    claim = (await process.reserve(NEAR, "a", A_VALUE)).claim
    for item in items:
        assert (await process.reserve(NEAR, "a", item, [claim])).claim is claim
    claim.items.remove(A_VALUE)
    process.detector.follower.commit(claim)
    await process.publish()
    return process


@pytest.mark.parametrize(
    ("stored", "copies", "other"),
    [
        (A_VALUE + ANOTHER, [A_VALUE, ANOTHER, A_VALUE + ANOTHER], b"unheard!"),
        (ANOTHER, [ANOTHER], A_VALUE),  # which was not stored
    ],
)
async def test_an_item_is_a_copy_only_of_what_is_stored_however_many_items_there_are(
    server, stored, copies, other
):
    there = await begun(server)
    for process in (await kept_without_an_item(server, stored), there, await begun(server)):
        await process.follow()
        for item in copies:
            assert (await process.reserve(NEARER, "b", item)).verdict.original == "a"
        kept = await process.reserve(NEARER, "c", other)
        assert (kept.verdict.kind, kept.verdict.objection) == (Kind.NEW, Objection.ITEM)
        process.detector.follower.release(kept.claim)
        await process.publish()


# A history that changes, and outages.


async def test_what_is_stored_and_not_published_yet_is_claimed_again_when_a_log_has_lost_it(server):
    one = await begun(server)
    one.detector.follower.commit((await one.reserve(NEAR, "a")).claim)
    server.shrink(0)
    with pytest.raises(HistoryChangedError):
        await one.publish()
    assert [claim.is_stored for claim in one.detector.follower.late_claims] == [True]
    for _ in range(2):
        await one.publish()
    later = await begun(server)
    assert (await later.reserve(NEARER, "b")).verdict.original == "a"


async def test_a_page_that_is_claimed_while_the_history_changes_is_judged_by_the_new_one(server):
    one = await begun(server)
    await one.keep(NEAR, "a")
    await one.keep(OTHER, "b")
    server.shrink(0)
    await stored_by_another(server, FAR, "c")
    one.gate.clear()
    beat = asyncio.create_task(one.follow())
    await until_it_waits(beat)
    reserving = asyncio.create_task(one.reserve(FAR + 1, "d"))
    await until_it_waits(reserving)
    one.gate.set()
    await beat
    assert (await reserving).verdict.original == "c"


async def test_a_page_that_is_met_while_the_history_is_read_anew_is_judged_by_all_of_it(server):
    await crawled(server, (NEAR, "a"))
    one = await begun(server)
    await one.keep(OTHER, "b")
    server.shrink(2)
    await stored_by_another(server, FAR, "c")
    reading = await one.read_anew()
    reserving = [
        asyncio.create_task(one.reserve(NEARER, "a")),
        asyncio.create_task(one.reserve(FAR + 1, "d")),
    ]
    for task in reserving:
        await until_it_waits(task)
    one.gate.set()
    with pytest.raises(HistoryChangedError):
        await reading
    changed, copy = await asyncio.gather(*reserving)
    assert changed.verdict.kind is Kind.CHANGED
    assert copy.verdict.original == "c"


async def test_what_is_known_decides_though_a_changed_history_cannot_be_read(server):
    one = await begun(server)
    await one.keep(NEAR, "a")
    await one.keep(FAR, "b")
    server.shrink(2)
    reading = await one.read_anew()
    server.is_down = True
    one.gate.set()
    with pytest.raises(StoreDownError):
        await reading
    assert one.store.is_down
    assert (await one.reserve(FAR + 1, "c")).verdict.kind is Kind.NEAR
    server.is_down = False
    await one.follow()
    assert (await one.reserve(FAR + 1, "c")).verdict.kind is Kind.NEW, "it is forgotten"


async def test_a_number_of_another_history_stands_for_another_page(server):
    one = await begun(server)
    await one.keep(NEAR, "a")
    two = await begun(server)
    assert (await two.reserve(NEAR, "copy")).verdict.original == "a"
    server.shrink(0)
    await stored_by_another(server, FAR, "b")
    await two.follow()
    assert (await two.reserve(FAR + 1, "c")).verdict.original == "b"
    await two.publish()
    assert {note.key for _, note in server.matches.values()} == {"c"}


async def test_a_claim_that_is_made_again_ends_no_page_of_another_history(server):
    await crawled(server, (NEAR, "a"))
    one = await begun(server)
    changed = await one.reserve(NEARER, "a")
    assert changed.claim.replaces == (1,)
    server.shrink(0)
    await stored_by_another(server, FAR, "b")
    await one.follow()
    one.detector.follower.commit(changed.claim)
    await one.publish()
    await one.publish()
    assert server.committed() == ["a", "b"]
    assert (await one.reserve(FAR + 1, "c")).verdict.original == "b"


async def test_a_page_that_was_replaced_behind_an_open_claim_does_not_count(server):
    # So many that what comes is in another piece of the log.
    others = [(OTHER << number * 8, f"other {number}") for number in range(4)]
    await crawled(server, (NEAR, "a"), *others)
    one = await begun(server)
    await one.reserve(0b111 << 60, "open")
    await one.keep(FAR, "a")
    later = await begun(server)
    assert len(later.detector) == 5
    assert (await later.reserve(NEARER, "b")).verdict.kind is Kind.NEW


async def test_nobody_asks_for_a_url_while_the_store_is_down(server):
    """Else each duplicate would wait for it, maybe as long as the store takes to time out."""

    await stored_by_another(server, NEAR, "a")
    one = await begun(server)
    server.is_down = True
    with pytest.raises(StoreDownError):
        await one.detector.follower.exchange()
    before = one.travels
    assert (await one.reserve(NEARER, "b")).verdict.original.startswith("page 1 of ")
    assert one.travels == before


async def test_notes_that_piled_up_in_an_outage_travel_in_parts(server, monkeypatch):
    one = await begun(server)
    sizes, exchange = [], one.store._log.exchange

    async def measured(request):
        sizes.append(max(map(len, request[4:])))
        return await exchange(request)

    monkeypatch.setattr(one.store._log, "exchange", measured)
    original = (await one.keep(NEAR, "a")).claim.number
    server.is_down = True
    for number in range(25_000):
        one.store.note_duplicate(f"copy {number}", original, "near-duplicate", 1)
        one.store.note_seen(number)
    with pytest.raises(StoreDownError):
        await one.publish()
    server.is_down = False
    while one.store.has_news:
        await one.publish()
    assert max(sizes) <= 10_000
    assert len(server.matches) == len(server.seen_again) == 25_000


async def test_a_claim_that_got_lost_before_it_was_followed_is_made_again(server, monkeypatch):
    one, two = await begun(server), await begun(server)
    await one.follow()
    for number in range(3):
        await two.keep(OTHER << number * 8, f"other {number}")
    monkeypatch.setattr(memory_log, "MOST_ENTRIES", 2)
    entries = one.store._log.entries

    async def entries_of_a_backup(after):
        monkeypatch.undo()
        server.shrink(len(server.log) - 1)
        await stored_by_another(server, FAR, "b")
        return await entries(after)

    monkeypatch.setattr(one.store._log, "entries", entries_of_a_backup)
    assert (await one.reserve(FAR + 1, "a")).verdict.original == "b"
    assert one.counts == ["store/history_changes"]


async def test_a_page_is_a_duplicate_though_the_name_of_the_other_cannot_be_read(
    server, monkeypatch
):
    await stored_by_another(server, NEAR, "a")
    one = await begun(server)

    async def damaged(numbers):
        raise LedgerError("it is damaged")

    monkeypatch.setattr(one.store._log, "pages", damaged)
    verdict = (await one.reserve(NEARER, "b")).verdict
    assert verdict.is_duplicate
    assert verdict.original.startswith("page 1 of ")


async def test_who_gives_up_a_claim_does_not_change_what_befalls_the_others(server):
    one = await begun(server)
    one.gate.clear()
    kept = asyncio.create_task(one.reserve(NEAR, "a"))
    given_up = asyncio.create_task(one.reserve(FAR, "b"))
    other = asyncio.create_task(one.reserve(OTHER, "c"))
    await until_it_waits(kept)
    given_up.cancel()
    await asyncio.wait([given_up])
    server.is_down = True
    one.gate.set()
    for task in (kept, other):
        with pytest.raises(StoreDownError):
            await task


async def test_what_was_stored_under_a_key_is_looked_up_once_for_all_items_of_a_page(server):
    await crawled(server, *((OTHER << number * 8, "page") for number in range(3)))
    two = await begun(server)
    await two.follow()
    earlier = Earlier(two.detector.follower, several_a_key=True)
    pages = await earlier.pages("page", "")
    assert await earlier.pages("page", "") is pages
    assert len(pages.numbers) == 3


async def test_near_misses_have_other_words_until_their_keys_are_fetched(server):
    """What they are is in `report/test_kept_pages.py`."""
    await stored_by_another(server, 0xFF << 20, "miss")
    later, kept = await begun(server), KeptPages()
    for content in (0, 0x1FF << 40):
        kept.add(page(content, f"{content}"))

    known = later.detector.follower.view, later.store

    def others():
        return [pair["other"] for pair in kept.near_misses(*known, 4)["near_misses"]]

    server.is_down = True
    with pytest.raises(StoreDownError):
        await kept.fetch_near_misses(*known)
    assert others() == ["page 1 of memory of the tests"]
    server.is_down = False
    await later.follow()  # which finds out
    await kept.fetch_near_misses(*known)
    assert others() == ["miss"]


# What is earlier.


async def kinds(process, *pages):
    """What *process* says of pages, by their contents and keys; nothing of it is stored."""
    found = []
    for content, key in pages:
        verdict, claim, _ = await process.reserve(content, key)
        found.append(verdict.kind)
        if claim:
            process.detector.follower.release(claim)
    return found


async def test_what_others_of_the_run_had_stored_before_a_process_joined_is_earlier(server):
    always_on = await begun(server)
    await crawled(server, (NEAR, "a"), (FAR, "b"))
    later = await begun(server)
    assert later.store.run == always_on.store.run
    versions = (NEARER, "a"), (FAR, "b")
    assert await kinds(later, *versions) == [Kind.CHANGED, Kind.UNCHANGED]
    assert list(server.seen_again) == []
    await later.publish()
    assert list(server.seen_again) == [3]
    # Who was there is not told anew what it has followed.
    await always_on.follow()
    assert await kinds(always_on, *versions) == [Kind.REPEATED, Kind.REPEATED]


async def test_what_is_being_stored_when_a_process_joins_is_earlier_once_it_is_stored(server):
    """It may have been stored before, for all that the number of the page tells."""
    one = await begun(server)
    claim = (await one.reserve(NEAR, "a")).claim
    two = await begun(server)
    assert (await two.reserve(NEARER, "a")).verdict is None
    one.detector.follower.commit(claim)
    await one.publish()
    await two.follow()
    assert await kinds(two, (NEARER, "a"), (NEAR, "a")) == [Kind.CHANGED, Kind.UNCHANGED]


async def test_what_a_job_has_stored_is_not_earlier_when_it_goes_on(server):
    other = await begun(server)
    await other.keep(NEAR, "before")
    job = await begun(server, "a job")
    await job.keep(FAR, "own")
    await job.store.leave("shutdown", None)
    await other.keep(OTHER, "meanwhile")
    again = await begun(server, "a job")
    assert again.store.run == other.store.run
    pages = (NEARER, "before"), (FAR + 1, "own"), (OTHER + 1, "meanwhile")
    assert await kinds(again, *pages) == [Kind.CHANGED, Kind.REPEATED, Kind.REPEATED]


async def test_what_was_stored_after_joining_is_not_earlier_though_all_is_read_anew(server):
    await begun(server)
    await crawled(server, (NEAR, "a"))
    one, two = await begun(server), await begun(server)
    await one.keep(FAR, "b")
    await one.keep(OTHER, "lost")
    await two.follow()
    server.shrink(4)
    with pytest.raises(HistoryChangedError):
        await two.detector.follower.exchange()
    assert await kinds(two, (NEARER, "a"), (FAR + 1, "b")) == [Kind.CHANGED, Kind.REPEATED]
