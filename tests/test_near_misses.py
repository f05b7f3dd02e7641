"""Near misses in a shared store; what they are is in `report/test_kept_pages.py`."""

import pytest
from memory_log import MemoryLog, Server, publish

from dedup.detector import Detector
from dedup.methods import SimHash
from dedup.record import PageRecord
from dedup.report.kept_pages import KeptPages
from dedup.stores import News, StoreDownError
from dedup.stores.shared import SharedStore


def page(content, key=""):
    digest = content.to_bytes(16, "little")
    return PageRecord(key, "", 100, digest, SimHash().to_bytes(content))


async def test_they_have_other_words_until_their_keys_are_fetched():
    server = Server()
    first = Detector(SimHash(), store=SharedStore(MemoryLog(server), {}))
    first.commit((await first.reserve(page(0xFF << 20, "miss"))).claim)
    await publish(first, first.store)
    later = Detector(SimHash(), store=SharedStore(MemoryLog(server), {}))
    await later.load()
    kept = KeptPages()
    for content in (0, 0x1FF << 40):
        kept.add(page(content, f"{content}"))

    def others():
        return [pair["other"] for pair in kept.near_misses(later, 4)["near_misses"]]

    server.is_down = True
    with pytest.raises(StoreDownError):
        await kept.fetch_near_misses(later)
    assert others() == ["page 1 of memory of the tests"]
    server.is_down = False
    await later.follower.exchange(News())  # which finds out
    await kept.fetch_near_misses(later)
    assert others() == ["miss"]
