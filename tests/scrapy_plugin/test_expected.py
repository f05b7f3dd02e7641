"""Items on their way: found by identity, and never kept for longer than their response."""

import gc
from typing import Any

import pytest
import scrapy
from crawls import crawl, spider_over
from scrapy.http import Response
from texts import article, page
from web import served

from dedup.scrapy_plugin import Extension
from dedup.scrapy_plugin.expected import ExpectedItems


def test_an_item_is_found_once_by_its_identity():
    expected: ExpectedItems[str] = ExpectedItems()
    response, item = Response("http://a/"), {"a": 1}
    expected.expect(item, response, "page")
    assert [expected.take({"a": 1}), expected.take(item), expected.take(item)] == [
        None,
        "page",
        None,
    ]
    assert len(expected) == 0


def test_an_object_that_several_pages_yield_is_met_in_their_order():
    expected: ExpectedItems[int] = ExpectedItems()
    responses, item = [Response(f"http://a/{n}") for n in range(3)], "shared"
    for number, response in enumerate(responses):
        expected.expect(item, response, number)
    assert [expected.take(item) for _ in range(4)] == [0, 1, 2, None]


def test_what_is_never_met_goes_with_its_response():
    expected: ExpectedItems[int] = ExpectedItems()
    kept, gone = Response("http://a/1"), Response("http://a/2")
    shared = {"shared": True}
    expected.expect(shared, gone, 1)
    expected.expect(shared, kept, 2)
    expected.expect({"alone": True}, gone, 1)
    del gone
    gc.collect()
    assert len(expected) == 1
    assert expected.take(shared) == 2


class DropAll:
    def process_item(self, item: Any) -> Any:
        raise scrapy.exceptions.DropItem("all")


class Replace:
    def process_item(self, item: Any) -> Any:
        return dict(item)


class Swallow:
    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for _ in result:
            if False:
                yield


OURS = "dedup.scrapy_plugin.ItemPipeline"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ITEM_PIPELINES": {OURS: None}},
        {"ITEM_PIPELINES": {DropAll: -1}},
        {"ITEM_PIPELINES": {Replace: -1}},
        {"ITEM_PIPELINES": {DropAll: 500}},
        {"SPIDER_MIDDLEWARES": {Swallow: 1}},
        {"DEDUP_ITEM_FIELD": "url"},
    ],
)
def test_nothing_is_left_of_a_crawl_whatever_other_components_do(settings: dict[str, Any]):
    left = []

    def closed(self: Any, reason: str) -> None:
        gc.collect()
        extension = self.crawler.get_extension(Extension)
        left.extend([len(extension._expected), len(extension._judge)])

    site = {f"/{number}": page(article(number)) for number in range(8)}
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), closed=closed)
        crawl(spider, keep_log=False, **settings)
    # The response of the last page may still be in the hands of Scrapy.
    assert max(left) <= 1


def test_one_object_for_all_pages_is_dropped_and_kept_as_its_pages_are():
    shared = {"the": "item"}

    def parse(self: Any, response: Any) -> Any:
        yield shared

    site = {f"/{number}": page(article(number % 4)) for number in range(12)}
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site), parse=parse),
            CONCURRENT_REQUESTS=6,
            DEDUP_WORKERS=1,
        )
    assert (len(result.items), len(result.dropped)) == (4, 8)
