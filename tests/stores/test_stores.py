"""What every store has to do: one suite; a new store is tested by its line in `STORES`."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest
from ledgers import add, claim, earlier, leave, numbers, pieces, publish, record, url
from memory_log import MemoryLog, Server
from test_log import STRANGE
from test_sqlite_store import IDENTITY

from dedup.record import Claimed, Committed, unpack_items
from dedup.stores import MemoryStore, News, SqliteStore, Store, finished
from dedup.stores.shared import SharedStore

SERVERS: dict[Path, Server] = {}


STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda folder: MemoryStore(),
    "sqlite": lambda folder: SqliteStore(folder / "pages.sqlite", IDENTITY),
    "shared log": lambda folder: SharedStore(
        MemoryLog(SERVERS.setdefault(folder, Server())), IDENTITY
    ),
}
"""How each is opened in a folder."""


class Opened:
    """A store, open for a crawl; it can be closed and opened again."""

    def __init__(self, open_in: Callable[[Path], Store], folder: Path) -> None:
        self._open = partial(open_in, folder)
        self.folder = folder
        self.store = self._open()

    def again(self) -> Store:
        """What the next crawl finds."""
        if self.store.is_shared:
            leave(self.store)
        self.store.close()
        self.store = self._open()
        if self.store.is_shared:
            numbers(self.store)
        finished(self.store.join("test"))
        return self.store


@pytest.fixture(params=STORES.values(), ids=STORES)
def opened(request, tmp_path):
    opened = Opened(request.param, tmp_path)
    yield opened
    opened.store.close()


@pytest.fixture
def store(opened):
    finished(opened.store.join("test"))
    return opened.store


@pytest.fixture
def durable(opened, store):
    if not store.is_durable:
        pytest.skip("its pages are gone with the process")
    return opened


def exchange(store, claims=(), news=None):
    return finished(store.exchange(claims, news))


def test_a_store_takes_part_from_its_joining_on(opened):
    store = opened.store
    if not store.is_shared:
        add(store, record(1))
    assert not store.has_joined
    assert not store.has_news
    finished(store.join("test"))
    assert store.has_joined
    assert store.has_news == (store.is_durable and not store.is_shared)


def test_what_is_not_joined_is_not_changed(opened):
    if not opened.store.is_durable:
        pytest.skip("its pages are gone with the process")
    if not opened.store.is_shared:  # which takes no claims before
        claim(opened.store, record(1))
    assert numbers(opened.again()) == []


def test_numbers_rise_in_the_order_of_the_claims_and_the_last_is_known(store):
    before = store.last
    claims = [Claimed(record(number)) for number in range(20)]
    made = [*exchange(store, claims[:5]), *exchange(store), *exchange(store, claims[5:])]
    assert [claimed._replace(number=-1) for claimed in made] == claims
    numbers = [claimed.number for claimed in made]
    assert numbers == sorted(set(numbers))
    assert before < numbers[0]
    assert store.last == numbers[-1]


def test_claimed_and_stored_pages_can_be_named_released_ones_need_not(store):
    claimed, stored, released = (claim(store, record(number)).number for number in range(3))
    store.commit(Claimed(record(1), stored), Committed(stored))
    store.release(released)
    for _ in range(2):
        assert (url(store, claimed), url(store, stored)) == ("http://a/0", "http://a/1")
        publish(store)
    assert finished(store.pages([])) == {}


def test_any_key_and_scope_is_kept(durable):
    added = {
        add(durable.store, record(1)._replace(key=text, scope=text)): text
        for text in STRANGE.values()
    }
    assert {number: url(durable.store, number) for number in added} == added
    publish(durable.store)
    store = durable.again()
    stored = {page.number: page.record for batch in pieces(store) for page in batch.pages}
    for number, text in added.items():
        assert [found for found, *_ in earlier(store, text)] == [number]
        kept = text, text.encode("utf-8", "backslashreplace").decode()
        assert url(store, number) in kept
        assert stored[number].scope in kept


def test_what_is_stored_is_there_again_with_lower_numbers_than_what_follows(durable):
    pages = [record(number, scope=f"scope {number % 3}", tokens=number) for number in range(25)]
    pages[3] = pages[3]._replace(sketch=None)
    stored = [claim(durable.store, page) for page in pages]
    for claimed in random.Random(1).sample(stored, len(stored)):
        durable.store.commit(claimed, Committed(claimed.number))
    publish(durable.store)
    store = durable.again()
    rows = sorted((n, page) for batch in pieces(store) for n, page, _ in batch.pages)
    assert rows == [(claimed.number, page) for claimed, page in zip(stored, pages, strict=True)]
    assert store.last >= rows[-1][0]
    assert claim(store, record(99)).number > rows[-1][0]


def test_what_the_items_of_a_page_say_is_there_again(durable):
    """Those of its commit, if that tells of others than the one of the claim."""
    page = record(1)._replace(item=b"a value!")
    told = {
        add(durable.store, page): [b"a value!"],
        add(durable.store, record(2)): [b""],
        add(durable.store, record(3), items=(b"", b"a value!another!")): [b"", b"a value!another!"],
        add(durable.store, page, items=(b"another!",)): [b"another!"],
    }
    publish(durable.store)
    store = durable.again()
    found = {n: unpack_items(items) for batch in pieces(store) for n, _, items in batch.pages}
    assert found == told


def test_what_was_replaced_released_or_not_committed_does_not_count(durable):
    old, other = add(durable.store, record(1)), add(durable.store, record(2))
    publish(durable.store)
    store = durable.again()
    new = add(store, record(3, "http://a/1"), [old])
    store.release(claim(store, record(4)).number)
    claim(store, record(5))
    publish(store)
    assert earlier(store, "http://a/1") == []
    store = durable.again()
    assert numbers(store) == [other, new]
    assert [number for number, *_ in earlier(store, "http://a/1")] == [new]


def test_earlier_pages_of_a_key_are_those_of_earlier_crawls(durable):
    stored = [add(durable.store, record(number, "http://a/")) for number in range(3)]
    assert earlier(durable.store, "http://a/") == []
    publish(durable.store)
    assert earlier(durable.store, "http://a/") == []
    found = earlier(durable.again(), "http://a/")
    assert sorted(found) == [
        (number, record(content).digest, bytes(8)) for content, number in enumerate(stored)
    ]
    assert earlier(durable.store, "http://a") == []


def test_news_wait_for_an_exchange_and_are_told_once(durable):
    store = durable.store
    number = add(store, record(1))
    assert (store.has_news, store.unpublished) == (True, 1)
    publish(store)
    assert (store.has_news, store.unpublished) == (False, 0)
    for tell in (
        lambda: store.note_seen(number),
        lambda: store.note_duplicate("http://b/", number, "exact-duplicate", 0),
    ):
        tell()
        assert (store.has_news, store.unpublished) == (True, 0)
        publish(store)
        assert not store.has_news


def test_news_of_an_exchange_that_fails_are_published_with_those_that_came_meanwhile(durable):
    store = durable.store
    numbers_stored = [add(store, record(0))]
    with suppress(OSError), store.publishing():
        numbers_stored.append(add(store, record(1)))
        store.release(claim(store, record(2)).number)
        assert store.unpublished == 2
        raise OSError
    assert store.unpublished == 2
    with store.publishing() as news:
        numbers_stored.append(add(store, record(3)))
        exchange(store, (), news)
    assert store.unpublished == 1
    publish(store)
    assert numbers(durable.again()) == numbers_stored


@pytest.mark.slow
def test_news_are_published_in_another_thread_while_pages_are_claimed(durable):
    if durable.store.is_shared:
        pytest.skip("its coroutines wait in the loop")
    store = durable.store
    stored = [add(store, record(number)) for number in range(2000)]
    begun = threading.Event()

    def publish_news(news):
        begun.set()
        exchange(store, (), news)

    with store.publishing() as news:
        thread = threading.Thread(target=publish_news, args=(news,))
        thread.start()
        begun.wait()
        for number in range(2000, 2400):
            stored.append(add(store, record(number)))
            assert url(store, stored[number - 1500]) == f"http://a/{number - 1500}"
        thread.join()
    publish(store)
    assert numbers(durable.again()) == stored


@pytest.mark.parametrize("report", [None, {}, {"é\ud800": [1, None]}])
def test_a_crawl_can_leave_once_more(opened, store, report):
    for reason in ("shutdown", "finished \ud800"):
        leave(store, reason, report, [("http://a/\ud800", None, "text \ud800"), ("", "title", "")])


def test_what_was_not_published_is_forgotten_by_closing_which_can_be_repeated(opened, store):
    add(store, record(1))
    store.close()
    store.close()
    assert numbers(opened.again()) == []


def test_news_of_any_kind_are_told():
    assert not News()
    assert all(News(**{kind.name: {1: 2}}) for kind in fields(News))
