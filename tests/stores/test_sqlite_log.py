"""The ledger that processes share: its file, its locks, and crawls alone before and after."""

import asyncio
import json
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import ledgers
import pytest
import test_log
from ledgers import record
from log_servers import down, refused
from open_logs import Logs
from test_log import IDENTITY, SHORT, counting, snapshot_of

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import Committed, PageRecord, pack_items
from dedup.stores import LedgerInUseError, SqliteStore, sqlite_tables
from dedup.stores.base import DuplicateNote
from dedup.stores.edit import add_crawl, reindex, restoring
from dedup.stores.entries import Entry
from dedup.stores.log import LEASE, Found
from dedup.stores.reader import LedgerReader
from dedup.stores.shared import SharedStore
from dedup.stores.sqlite_log import SqliteLog


class Shared(Logs):
    """A ledger in a folder, and the logs of it; all are closed at the end of the test."""

    def __init__(self, folder):
        super().__init__(SqliteLog)
        self.path = folder / "pages.sqlite"

    def log(self, lease=LEASE):
        return self(self.path, lease=lease)

    async def join(self, lease=LEASE, **how):
        return await self.joined(self.path, kind=Process, join=how, lease=lease)

    def query(self, sql, *arguments):
        return ledgers.query(self.path, sql, *arguments)


class Process(test_log.Process):
    """What takes part in a log, and follows what it is told."""

    async def exchange(self, claims=(), **more):
        answer = await super().exchange(claims, **more)
        if answer.entries:
            self.followed += [e for e in answer.entries if e.position > self.seen]
            self.seen = answer.entries[-1].position
        return answer

    async def leave(self, *how, **more):
        await super().leave(*how, **more)
        await self.log.close()


@pytest.fixture
def shared(tmp_path):
    return Shared(tmp_path)


def crawl_alone(path, *pages, **options):
    """Have a crawl alone store *pages*: records, or claims; return their numbers."""
    with ledgers.crawling(path, IDENTITY, **options) as store:
        return [ledgers.add(store, page) for page in pages]


def records(stored):
    """The records of pages that are stored, whose items say nothing."""
    assert {page.item for page, _ in stored.values()} == {(b"",)}
    return {number: page._replace(item=b"") for number, (page, _) in stored.items()}


# Crawls alone, and others who use the file alone.


async def test_a_crawl_alone_is_refused_until_those_who_share_the_file_have_left_or_died(shared):
    leaving, dying = await shared.join(), await shared.join()
    await leaving.store(record(7))
    for end in (leaving.leave, dying.log.close):
        with pytest.raises(LedgerInUseError, match="is in use by another crawl; wait for its end"):
            SqliteStore(shared.path, IDENTITY)
        await end()
    crawl_alone(shared.path, record(8))
    with LedgerReader(shared.path) as reader:
        assert [page.record for page in reader.pages()] == [record(7), record(8)]


async def test_who_would_share_is_refused_while_a_crawl_alone_has_the_file(shared, monkeypatch):
    monkeypatch.setattr("dedup.stores.ledger_file._SECONDS_TO_WAIT", 0.1)
    log = shared.log()
    with closing(ledgers.joined(shared.path, IDENTITY)):
        for step in (log.open(), log.join(bytes(8), "test", None, IDENTITY, reset=False)):
            with pytest.raises(LedgerInUseError, match="is in use by another crawl"):
                await step
    assert await log.open() == Found(IDENTITY, False)


async def test_a_file_that_is_shared_can_be_converted_into_another_but_not_replaced_or_changed(
    shared, tmp_path
):
    process, other = await shared.join(), tmp_path / "other.sqlite"
    await process.store(record(1))
    await process.claim(record(2))
    reindex(shared.path, other)
    with pytest.raises(LedgerInUseError):
        reindex(other, shared.path)
    with pytest.raises(LedgerInUseError), restoring(shared.path, "test"):
        pass
    identity = {**IDENTITY, "extractor": None, "item_field": None}
    with closing(ledgers.joined(other, identity)) as store:
        assert ledgers.numbers(store) == [1]
        assert ledgers.add(store, record(3)) == 2
    await process.leave()
    reindex(other, shared.path)


async def test_what_a_fleet_leaves_is_there_for_a_crawl_alone_and_the_other_way_round(shared):
    crawl_alone(shared.path, record(1), record(2))
    process, other = await shared.join(), await shared.join()
    note = DuplicateNote("http://b/", 2, "near-duplicate", 1.0, 5.0)
    [third] = await process.store(record(3, "http://a/1"), replaces=(1,))
    await other.exchange(duplicates=[note], seen_again={2: 6.0})
    await other.leave("finished", {"a": 1}, [("http://a/2", None, "text")])
    await process.claim(record(4))
    await process.leave()
    await other.log.close()
    with ledgers.crawling(shared.path, IDENTITY) as store:
        assert ledgers.numbers(store) == [2, third]
        assert [n for n, *_ in ledgers.earlier(store, "http://a/1")] == [third]
        assert ledgers.add(store, record(5), [2]) == third + 1
    last = await shared.join()
    stored, claims = counting(await snapshot_of(last.log))
    assert records(stored) == {third: record(3, "http://a/1"), third + 1: record(5)}
    assert claims == {}
    with LedgerReader(shared.path) as reader:
        assert [(crawl.id, crawl.reason) for crawl in reader.crawls()] == [
            (1, "finished"), (2, "finished"), (3, "finished"), (4, "finished"), (5, None)
        ]  # fmt: skip
        pages = {page.number: (page.crawl, page.is_change) for page in reader.pages(ended=True)}
        assert pages == {1: (1, 0), 2: (1, 0), third: (2, 1), third + 1: (4, 1)}
        assert [(m.duplicate, m.crawl, m.found) for m in reader.matches()] == [("http://b/", 3, 5)]
        assert reader.text("http://a/2") == (None, "text")
    assert [run for (run,) in shared.query("SELECT run FROM crawls")] == [1, 2, 2, 3, 4]


async def test_a_job_goes_on_alone_or_shared(shared):
    with ledgers.crawling(shared.path, IDENTITY, "shutdown", job="job") as store:
        ledgers.add(store, record(1))
    process = await shared.join(job="job")
    await process.store(record(2))
    await process.leave("shutdown")
    another = await shared.join(job="another")
    assert another.run > process.run
    await another.leave()
    with ledgers.crawling(shared.path, IDENTITY, job="job") as store:
        assert store.is_resumed
        assert ledgers.numbers(store) == [1, 2]
        for url in ("http://a/1", "http://a/2"):
            assert ledgers.earlier(store, url) == []
    with closing(ledgers.joined(shared.path, IDENTITY, job="job")) as store:
        assert len(ledgers.earlier(store, "http://a/1")) == 1


async def test_what_others_had_stored_before_a_job_is_earlier_when_that_goes_on_alone(shared):
    other = await shared.join()
    await other.store(*map(record, range(1, 6)))
    process = await shared.join(job="job")
    await process.store(record(6))
    for each in (process, other):
        await each.leave("shutdown")
    shared.query("DELETE FROM pages WHERE id > 2")  # ids of events are ids of pages again
    for number in (7, 8):
        with ledgers.crawling(shared.path, IDENTITY, "shutdown", job="job") as store:
            assert len(ledgers.earlier(store, "http://a/1")) == 1
            assert ledgers.earlier(store, "http://a/7") == []
            ledgers.add(store, record(number))


# Followers.


async def test_the_pages_of_a_crawl_alone_are_followed_by_their_last_one(shared):
    crawl_alone(shared.path, *map(record, range(1, 4)))
    first, second = shared.log(), await shared.join()
    await first.open()
    entries = await snapshot_of(first)
    stored, claims = counting(entries)
    assert (records(stored), claims) == ({n: record(n) for n in (1, 2, 3)}, {})
    await second.claim(record(4))
    process = Process(first)
    process.seen = entries[-1].position
    await process.join()
    answer = await process.exchange([record(5)])
    assert answer.made == [5]
    assert entries[-1] == Entry(3, bytes(8), 0, 1, entries[-1].at, Committed(3))
    assert answer.entries[0] == entries[-1]
    assert [entry.event.record for entry in answer.entries[1:]] == [record(4), record(5)]


async def test_a_snapshot_ends_with_the_last_page_also_if_that_does_not_count(shared):
    crawl_alone(shared.path, record(1), record(2))
    shared.query("UPDATE pages SET ended = 1 WHERE id = 2")
    log = shared.log()
    await log.open()
    entries = await snapshot_of(log)
    assert records(counting(entries)[0]) == {1: record(1)}
    assert (entries[-1].position, entries[-1].event) == (2, Committed(2))
    process = Process(log)
    process.seen = 2
    await process.join()
    assert (await process.exchange()).entries == entries[-1:]


async def test_nothing_is_told_to_who_has_missed_what_was_before(shared):
    crawl_alone(shared.path, record(1), record(2))
    process = await shared.join()
    await process.claim(record(3))
    for seen in (0, 1):
        process.seen = seen
        assert (await process.exchange()).entries == []
        assert await process.log.entries(seen) == []
    assert [entry.position for entry in await process.log.entries(2)] == [3]


@pytest.fixture
def few_events_stay(monkeypatch):
    monkeypatch.setattr(sqlite_tables, "KEPT_EVENTS", 5)
    monkeypatch.setattr(sqlite_tables, "EVENTS_BETWEEN_PRUNES", 3)


@pytest.mark.usefixtures("few_events_stay")
async def test_events_that_all_know_are_removed_and_nothing_is_missed(shared):
    crawl_alone(shared.path, record(0), record(1))
    processes, items = [await shared.join() for _ in range(3)], [None, (b"",), (b"a value!", b"")]
    before, stored = await snapshot_of(processes[0].log), [1, 2]
    for process in processes:
        process.seen = 2
    for number in range(2, 80):
        process = processes[number % 3]
        [(page, serial)] = await process.claim(record(number))
        if number % 5 == 0:
            await process.exchange(releases=[(page, serial)])
        elif number % 7:
            replaced = (stored.pop(0),) if number % 4 == 0 else ()
            event = Committed(page, items[number % 3], replaced)
            assert (await process.exchange(commits=[(serial, event)])).lost == []
            stored.append(page)
    found = counting(await snapshot_of(shared.log()))
    for process in processes:
        await process.exchange()
        assert counting([*before, *process.followed]) == found
    assert (list(found[0]), len(found[1])) == (stored, 9)
    [(events, least)] = shared.query("SELECT count(*), min(id) FROM events")
    assert events < 50 < least
    # Who comes later follows from there.
    later = await shared.join()
    entries = await snapshot_of(later.log)
    later.seen = entries[-1].position
    assert (await later.exchange()).entries == entries[-1:]


@pytest.mark.usefixtures("few_events_stay")
async def test_the_events_that_a_process_with_a_lease_has_not_seen_stay(shared):
    slow, gone, fast = await shared.join(), await shared.join(SHORT), await shared.join()
    await slow.claim(record(0))
    await gone.exchange()
    for number in range(1, 50):
        await fast.store(record(number))
    answer = await slow.exchange()
    assert [entry.position for entry in answer.entries] == list(range(1, 100))
    await slow.exchange()
    await asyncio.sleep(1.5 * SHORT)
    for number in range(50, 60):
        await fast.store(record(number))
    assert (await gone.exchange()).entries == []
    assert shared.query("SELECT min(id) > 80 FROM events") == [(1,)]


async def test_restored_pages_are_told_to_those_who_share_the_file_later(shared):
    process = await shared.join()
    [number] = await process.store(record(1))
    await process.claim(record(2))
    await process.leave()  # a release is the last event
    method = SimHash()
    identity = {**method.identity, "scope": "crawl"}
    shared.query("UPDATE about SET value = json(?) WHERE name = 'identity'", json.dumps(identity))
    with restoring(shared.path, "test") as restoration:
        crawl = add_crawl(restoration._file, "test", 5.0, "restored")
        restoration._file.execute(
            "INSERT INTO pages (crawl, tokens, digest, items, scope, stored, seen, url) "
            "VALUES (?, 1, ?, ?, '', 5, 5, 'http://c/')",
            (crawl, bytes(16), pack_items([b"a value!"])),
        )
    log = shared.log()
    await log.open()
    stored, _ = counting(await snapshot_of(log))
    assert set(stored) == {number, number + 1}
    assert stored[number + 1][0].item == (b"a value!",)


# The file, and what happens to it.


async def test_a_file_that_was_moved_removed_or_replaced_is_not_written(shared):
    process = await shared.join()
    [claim] = await process.claim(record(1))
    content = shared.path.read_bytes()
    shared.path.rename(f"{shared.path}.away")
    for _ in range(2):
        for step in (process.exchange(commits=[claim]), process.log.pages([1]), process.join()):
            await refused(step, "was moved or removed")
        shared.path.write_bytes(content)
    shared.path.unlink()
    Path(f"{shared.path}.away").rename(shared.path)
    assert (await process.exchange(commits=[claim])).lost == []


async def test_a_full_disk_takes_nothing_and_may_have_room_later(shared):
    process = await shared.join()
    [claim] = await process.claim(record(1))
    pages = shared.query("PRAGMA page_count")[0][0]
    connection = process.log._connection
    connection.execute(f"PRAGMA max_page_count = {pages}")
    large = PageRecord("http://b/", "", 1, bytes(16), bytes(1_000_000))
    for _ in range(2):
        await down(process.exchange([large], commits=[claim]), "full")
    assert shared.query("SELECT count(*) FROM pages") == [(0,)]
    connection.execute("PRAGMA max_page_count = 1000000")
    answer = await process.exchange([large], commits=[claim])
    assert (answer.made, answer.lost) == ([3], [])


async def test_a_file_that_is_locked_for_too_long_is_told_as_a_store_that_is_down(shared):
    process = await shared.join()
    process.log._connection.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(shared.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        await down(process.exchange([record(1)]), f"{shared.path} .*locked")
        other.execute("ROLLBACK")
    assert (await process.exchange([record(1)])).made == [1]


def threads_of_ledgers():
    return {one for one in threading.enumerate() if one.name.startswith("dedup-ledger")}


async def test_what_is_read_when_a_log_is_closed_ends_with_it(shared):
    others = threads_of_ledgers()
    await (await shared.join()).store(record(1), record(2))
    log = shared.log()
    readings = log.snapshot(), log.snapshot()
    for reading in readings:
        await anext(reading)
    await shared.aclose()
    await readings[0].aclose()
    for step in (anext(readings[1]), log.pages([1])):
        await refused(step, "was closed")
    for thread in threads_of_ledgers() - others:
        thread.join(10)
        assert not thread.is_alive()
    with closing(sqlite3.connect(shared.path)) as file:  # nobody has it open any more
        assert file.execute("PRAGMA locking_mode = EXCLUSIVE").fetchone() == ("exclusive",)
        file.execute("DELETE FROM claims")


async def test_a_log_is_closed_though_nobody_waits_for_that(shared):
    others = threads_of_ledgers()
    process = await shared.join()
    [thread] = threads_of_ledgers() - others
    with closing(sqlite3.connect(shared.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        claiming = asyncio.create_task(process.exchange([record(1)]))
        await asyncio.sleep(0)
        ending = asyncio.create_task(process.log.close())
        await asyncio.sleep(0)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending
        assert thread.is_alive()
        other.execute("ROLLBACK")
    await claiming
    thread.join(10)
    assert not thread.is_alive()
    crawl_alone(shared.path, record(1))  # nobody shares the file any more


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE events SET entry = x'00'",
        "UPDATE pages SET digest = x'00'",
        "UPDATE pages SET evidence = x'00'",
        "DROP TABLE events",
    ],
)
async def test_wrong_content_is_an_error(shared, damage):
    crawl_alone(shared.path, record(1))
    process = await shared.join()
    await process.claim(record(2))
    shared.query(damage)
    store = SharedStore(process.log, IDENTITY)
    detector = Detector(SimHash(3), store=store)
    await refused(detector.follower.load(), r"damaged|no such table")


async def test_what_is_no_unicode_is_written_so_that_it_can_be_read(shared):
    process = await shared.join(spider="\ud800")
    await process.store(record(1, "http://a/\udfff"))
    assert shared.query("SELECT spider, url FROM crawls, pages") == [
        ("\\ud800", "http://a/\\udfff")
    ]
