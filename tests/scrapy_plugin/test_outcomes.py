"""A page bars its near-duplicates when it is stored: if that fails, the next one is."""

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from crawls import crawl_site
from scrapy import Request
from scrapy.exceptions import DropItem
from texts import article, edited, page

# Near-duplicates of one another, and something else.
SITE = {
    "/a": page(article(1)),
    "/b": page(edited(article(1))),
    "/c": page(edited(article(1), "differently")),
    "/other": page(article(2)),
}


class Storage:
    """A pipeline that does to an item what the spider says, by the last part of its URL.

    Fail, drop it, or wait: until another item is stored (a name), or until that many pages or
    items have waited (a number).
    """

    @classmethod
    def from_crawler(cls, crawler: Any) -> "Storage":
        storage = cls()
        storage.crawler = crawler
        storage.stored = crawler.spidercls.got
        return storage

    async def process_item(self, item: Any) -> Any:
        name = item["url"].rpartition("/")[2] + item.get("row", "")
        actions = self.crawler.spidercls.actions.get(name, ())
        for action in actions.pop(0) if actions else ():
            if action == "fail":
                raise OSError("disk full")
            if action == "drop":
                raise DropItem("not wanted")
            async with asyncio.timeout(30):
                while not self.is_time(action):
                    await asyncio.sleep(0.01)
        self.stored.append(name)
        return item

    def is_time(self, action: str | int) -> bool:
        if isinstance(action, str):
            return action in self.stored
        return self.crawler.stats.get_value("dedup/claims/waited", 0) >= action


class Replacing(Storage):
    """One that stores a copy of the item, and passes the copy on."""

    async def process_item(self, item: Any) -> Any:
        return dict(await super().process_item(item))


def run(*paths: str, actions: Any = (), storage: Any = Storage, **options: Any) -> Any:
    """What the storage got of a crawl over *paths*, in that order, and the crawl."""
    stored: list[str] = []
    options = {"ITEM_PIPELINES": {storage: 300}, **options}
    result = crawl_site(SITE, *paths, got=stored, actions=dict(actions), **options)
    return stored, result


def with_text(self: Any, response: Any) -> Any:
    yield {"url": response.url, "text": response.text}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("storage", "field"),
    [(Replacing, {}), (Storage, {"DEDUP_ITEM_FIELD": "text"})],
)
class TestOnePageAfterTheOther:
    def test_what_is_stored_bars_its_near_duplicates(self, storage, field):
        stored, result = run("/a", "/b", "/other", storage=storage, parse=with_text, **field)
        assert stored == ["a", "other"]
        assert result.counts("claims/") == {"committed": 2}

    @pytest.mark.parametrize("action", ["fail", "drop"])
    def test_what_is_not_stored_is_stored_by_its_next_near_duplicate(self, storage, field, action):
        options = {"actions": {"a": [[action]]}, "storage": storage, "parse": with_text}
        stored, result = run("/a", "/b", "/c", **options, **field)
        assert stored == ["b"]
        assert result.counts("claims/") == {"committed": 1, "released": 1}

    def test_a_page_that_failed_is_no_duplicate_of_itself(self, storage, field):
        options = {"actions": {"a": [["fail"]]}, "storage": storage, "parse": with_text}
        assert run("/a", "/a", "/a", **options, **field)[0] == ["a"]


def open_pages(*paths: str, **options: Any) -> Any:
    """A crawl whose first page is open for a while when the others arrive."""

    async def start(self: Any) -> Any:
        for number, url in enumerate(self.start_urls):
            yield Request(url, priority=-number)

    return run(*paths, start=start, CONCURRENT_REQUESTS=1, **options)


def test_near_duplicates_of_an_open_page_wait_and_are_dropped_when_it_is_stored():
    stored, result = open_pages("/a", "/b", "/c", "/other", actions={"a": [["other", 2]]})
    assert stored == ["other", "a"]
    assert list(result.originals) == ["/b", "/c"]
    assert result.counts("claims/") == {"committed": 2, "waited": 2}


def test_near_duplicates_of_an_open_page_wait_and_one_takes_over_when_it_fails():
    stored, result = open_pages("/a", "/b", "/c", "/other", actions={"a": [["other", 2, "fail"]]})
    assert stored == ["other", "b"]
    assert list(result.originals) == ["/c"]
    # The last one waited for the second, too.
    assert result.counts("claims/") == {"committed": 2, "released": 1, "waited": 3}


def test_one_that_waits_too_long_is_kept_and_counted():
    stored, result = open_pages("/a", "/b", actions={"a": [["b"]]}, limits={"WAIT_TIMEOUT": 0.3})
    assert stored == ["b", "a"]
    assert result.dedup_stats["skipped/unresolved"] == 1


def several(self: Any, response: Any) -> Any:
    for number in range(3):
        yield {"url": response.url, "row": str(number)}


@pytest.mark.parametrize(
    ("actions", "expected", "of_page"),
    [
        ({}, ["a0", "a1", "a2"], ["a0", "a1", "a2"]),
        ({"a1": [["fail"]]}, ["a0", "a2", "b0", "b1", "b2"], ["a0", "a2", "b0", "b1", "b2"]),
        ({"a1": [["drop"]]}, ["a0", "a2", "b1"], ["a0", "a2"]),
        (
            {"a0": [["drop"]], "a1": [["drop"]], "a2": [["drop"]]},
            ["b0", "b1", "b2"],
            ["b0", "b1", "b2"],
        ),
    ],
)
def test_a_page_is_stored_with_its_stored_items_if_none_failed(actions, expected, of_page):
    """An item that a pipeline dropped on purpose stands for no copy, unless the page decides."""
    stored, _ = run("/a", "/b", actions=deepcopy(actions), parse=several)
    assert stored == expected
    options = {"DEDUP_IGNORE_FIELDS": ["row"]}
    stored, _ = run("/a", "/b", actions=deepcopy(actions), parse=several, **options)
    assert stored == of_page


class Swallowing:
    """A spider middleware nearer to the engine than dedup, where it must not be."""

    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for output in result:
            if not response.url.endswith("/a"):
                yield output


def test_copies_do_not_wait_for_ever_for_an_item_that_another_middleware_swallows():
    stored, result = run(
        "/a", "/b", "/c", SPIDER_MIDDLEWARES={Swallowing: -2000}, limits={"WAIT_TIMEOUT": 0.5},
    )  # fmt: skip
    assert stored == ["b", "c"]
    assert result.counts("claims/") == {"waited": 2, "unresolved": 2}


def test_single_items_are_claimed_each_by_its_own():
    """Of three equal items of one page the first fails, so the second is stored."""

    def parse(self: Any, response: Any) -> Any:
        for number in range(3):
            yield {"url": f"{response.url}{number}", "text": article(1)}

    stored, result = run("/a", parse=parse, actions={"a0": [[2, "fail"]]}, DEDUP_ITEM_FIELD="text")
    assert stored == ["a1"]
    assert result.counts("claims/") == {"committed": 1, "released": 1, "waited": 3}
