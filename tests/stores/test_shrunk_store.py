"""The store of one process of a fleet: what it knows of a history that shrinks."""

import asyncio

import pytest
from memory_log import MemoryLog, Server

from dedup.record import Claimed, Committed, PageRecord
from dedup.stores import HistoryChangedError, News
from dedup.stores.shared import SharedStore


def page(key):
    return PageRecord(key, "", 100, bytes(16), bytes(8))


class Process:
    """A store over a log in memory; what it does ends at once."""

    def __init__(self, server):
        self.store = SharedStore(MemoryLog(server), {})
        asyncio.run(self._begin())

    async def _begin(self):
        await self.store.open()
        await self.load()
        await self.store.join("test")

    async def load(self):
        number = 0
        while piece := await self.store.since(number):
            number = piece.last

    def keep(self, key):
        """Have a page stored and published; return its number."""
        [claimed] = asyncio.run(self.store.exchange([Claimed(page(key))], News()))[-1:]
        self.store.commit(claimed, Committed(claimed.number))
        self.publish()
        return claimed.number

    def publish(self):
        is_published = False
        try:
            asyncio.run(self.store.exchange([], self.store.take_news()))
            is_published = True
        finally:
            self.store.end_exchange(published=is_published)

    def key(self, number):
        return asyncio.run(self.store.pages([number]))[number].key


@pytest.fixture
def server():
    return Server()


def test_a_page_that_the_log_does_not_have_is_named_by_its_number(server):
    process = Process(server)
    assert process.key(7) == "page 7 of memory of the tests"
    first = process.keep("first")
    other = Process(server)
    assert other.key(first) == "first"


def test_what_was_known_of_numbers_is_forgotten_with_a_history_that_shrinks(server):
    process, other = Process(server), Process(server)
    backup = server.backup()
    old = other.keep("old")
    assert process.key(old) == "old"
    process.publish()
    server.restore(backup)
    assert Process(server).keep("new") == old
    with pytest.raises(HistoryChangedError):
        process.publish()
    process.store.note_preferred(old, "better")
    process.store.note_duplicate("copy", old, "exact-duplicate", 0)
    process.store.note_seen(old)
    process.store.take_unpublished()
    asyncio.run(process.load())
    process.publish()
    assert process.key(old) == "new"
    assert asyncio.run(process.store.preferred(old)) is None
    assert server.matches == server.seen_again == {}
    assert (len(server.log), server.entry(1).event.record.key) == (2, "new")
