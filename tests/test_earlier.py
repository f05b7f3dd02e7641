"""What earlier crawls stored under a key; whole crawls are in test_ledger_crawls."""

import pytest
from ledgers import records_of
from texts import article, replaced

from dedup.earlier import Earlier, EarlierPages
from dedup.follower import Follower
from dedup.methods import METHODS
from dedup.methods.simhash import SimHash
from dedup.record import Stored
from dedup.rule import Kind, Rule
from dedup.scopes import OF_ITEM
from dedup.stores import MemoryStore, finished

KEY = "http://a/"


class CountingSimHash(SimHash):
    """Counts how often two sketches are compared."""

    comparisons = 0

    def distance(self, one, other):
        CountingSimHash.comparisons += 1
        return super().distance(one, other)


def earlier_pages(texts, method):
    records = [record.under(KEY) for record in records_of(texts, method)]
    pages = [Stored(number, record) for number, record in enumerate(records)]
    follower = Follower(method, Rule(), MemoryStore())
    return EarlierPages(Earlier(follower, several_a_key=True), pages)


def record_of(text, method=None):
    return records_of([text], method or SimHash())[0].under(KEY)


TEXTS = [article(number) for number in range(20)]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "exact"])
def test_of_several_contents_those_that_are_near_are_replaced(name):
    method = METHODS[name]()
    texts = [article(number, 2000) for number in range(6)]
    pages = earlier_pages([*texts, texts[2]], method)
    changed = replaced(texts[2], 3)
    verdict, gone = pages.replaced_by(record_of(changed, method))
    records = [*records_of([*texts, texts[2]], method), record_of(changed, method)]
    sketches = {n: method.from_bytes(r.sketch) for n, r in enumerate(records) if r.sketch}
    own = sketches.pop(len(records) - 1, None)
    near = [n for n, s in sketches.items() if method.distance(s, own) <= method.max_distance]
    assert gone == near
    assert verdict.kind is (Kind.CHANGED if near else Kind.NEW)
    if near:
        assert verdict.distance == min(method.distance(sketches[n], own) for n in near)


def test_of_many_items_of_a_page_only_those_that_may_be_near_are_compared():
    method = CountingSimHash()
    pages = earlier_pages([article(number, 40) for number in range(300)], method)
    CountingSimHash.comparisons = 0
    for number in range(1000, 1100):
        pages.replaced_by(record_of(article(number, 40), method))
    assert CountingSimHash.comparisons < 100


def test_what_was_stored_of_another_item_is_no_version_of_this_one(monkeypatch):
    red, blue, other = (f'{OF_ITEM}["{name}"]' for name in ("red", "blue", "other"))
    scopes = [red, blue, ""]
    records = [
        record_of(text).under(KEY, scope) for text, scope in zip(TEXTS, scopes, strict=False)
    ]

    async def stored(key):
        return [Stored(number, record) for number, record in enumerate(records)]

    store = MemoryStore()
    monkeypatch.setattr(store, "earlier", stored)
    earlier = Earlier(Follower(SimHash(), Rule(), store), several_a_key=False)
    assert finished(earlier.pages(KEY, red)).numbers == {0}
    assert finished(earlier.pages(KEY, other)) is None
    assert finished(earlier.pages(KEY, "host")).numbers == {0, 1, 2}
