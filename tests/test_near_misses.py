"""Near misses: the nearest stored pages that are just no match."""

import pytest
from memory_log import MemoryLog, Server, publish

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import PageRecord
from dedup.stores import News, StoreDownError, finished
from dedup.stores.shared import SharedStore

HERE, MATCH, MISS, FARTHER, FAR = 0, 0x7, 0xFF << 20, 0x1FF << 40, 0x1FFFF << 10
"""Fingerprints; the others are at the distances 3, 8, 9 and 17 from the first one."""


def page(content, key="", scope=""):
    digest = content.to_bytes(16, "little")
    return PageRecord(key, scope, 100, digest, SimHash().to_bytes(content))


def test_a_near_miss_is_the_nearest_page_of_the_scope_that_is_beyond_the_threshold():
    detector = Detector(SimHash())
    for content, key in ((FARTHER, "farther"), (MISS, "miss"), (MATCH, "match")):
        detector.judge(page(content, key))
    detector.judge(page(FAR, "far", "another scope"))
    finished(detector.reserve(page(0xF, "open", "another scope")))
    assert detector.method.near_miss_distance == 16
    assert list(detector.near_misses([page(HERE), page(MISS)], "")) == [
        ("miss", 8, None),
        ("match", 11, None),
    ]
    assert list(detector.near_misses([page(HERE)], "another scope")) == [None]
    assert list(detector.near_misses([page(HERE)], "nothing there")) == [None]


async def test_near_misses_in_a_shared_store_have_other_words_until_their_keys_are_fetched():
    server = Server()
    first = Detector(SimHash(), store=SharedStore(MemoryLog(server), {}))
    first.commit((await first.reserve(page(MISS, "miss"))).claim)
    await publish(first, first.store)
    later = Detector(SimHash(), store=SharedStore(MemoryLog(server), {}))
    await later.load()
    server.is_down = True
    records = [page(HERE), page(FARTHER)]
    with pytest.raises(StoreDownError):
        await later.fetch_near_misses(records, "")
    assert list(later.near_misses(records, "")) == [
        ("page 1 of memory of the tests", 8, None), None,
    ]  # fmt: skip
    server.is_down = False
    await later.follower.exchange(News())  # which finds out
    await later.fetch_near_misses(records, "")
    assert list(later.near_misses(records, "")) == [("miss", 8, None), None]
