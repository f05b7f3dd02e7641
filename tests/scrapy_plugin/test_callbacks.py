"""One page, several callbacks: each makes items of its own."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

import pytest
from crawls import Crawl, crawl, spider_over
from scrapy import Request
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from scrapy.utils.request import request_from_dict
from texts import article, page
from web import served

from dedup.scrapy_plugin.callbacks import FirstCallbacks, note_first_callback

SITE = {"/a": page(article(1), "/a"), "/b": page(article(1), footer="A copy")}


def parse(self: Any, response: Any) -> Iterator[Any]:
    yield {"kind": "article"}
    yield Request(response.url, self.parse_reviews, dont_filter=True)


def parse_reviews(self: Any, response: Any) -> Iterator[Any]:
    yield {"kind": "reviews"}


def run(*urls: str, **options: Any) -> Crawl:
    return crawl(spider_over(*urls, parse=parse, parse_reviews=parse_reviews), **options)


def kinds(items: list[Any]) -> list[str]:
    return sorted(item["kind"] for item in items)


def test_what_a_second_callback_makes_of_a_page_is_stored():
    with served(SITE) as url:
        result = run(f"{url}/a")
    assert kinds(result.items) == ["article", "reviews"]
    assert result.dropped == []


def test_what_it_makes_of_a_copy_is_a_duplicate():
    with served(SITE) as url:
        result = run(f"{url}/a", f"{url}/b")
    assert kinds(result.items) == ["article", "reviews"]
    assert kinds([item for item, _ in result.dropped]) == ["article", "reviews"]


def test_a_page_that_comes_again_is_repeated_for_each_callback():
    with served(SITE) as url:
        result = run(f"{url}/a", f"{url}/a")
    assert kinds(result.items) == ["article", "reviews"]
    assert {str(reason).partition(":")[0] for _, reason in result.dropped} == {"repeated"}


class FailingOnce:
    """Stores articles, and reviews from the second time on."""

    failures = 1

    def process_item(self, item: Any) -> Any:
        if item["kind"] == "reviews" and FailingOnce.failures:
            FailingOnce.failures -= 1
            raise RuntimeError("the disk is full")
        return item


@pytest.mark.slow
def test_a_later_crawl_knows_what_each_callback_has_made(tmp_path: Any):
    settings = {
        "DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
        "ITEM_PIPELINES": {FailingOnce: 300},
    }
    with served(SITE) as url:
        crawls = [run(f"{url}/a", **settings) for _ in range(4)]
    # The reviews were taken for the article as it is now, so both are stored once more.
    assert [kinds(result.items) for result in crawls] == [
        ["article"], ["reviews"], ["article", "reviews"], [],
    ]  # fmt: skip


def test_another_process_is_told_by_the_request_which_callback_was_the_first():
    """Of a job that goes on, or of workers on one queue."""
    spider = spider_over("data:,", parse=parse, parse_reviews=parse_reviews)()
    first = Request("http://a/", spider.parse)
    second = Request("http://a/", spider.parse_reviews)
    note_first_callback(second, first, is_same_page=True)
    third = request_from_dict(second.to_dict(spider=spider), spider=spider)
    assert FirstCallbacks().other("http://a/", third) == b"parse_reviews"
    note_first_callback(third, second, is_same_page=True)
    assert FirstCallbacks().other("http://a/", third) == b"parse_reviews"
    elsewhere = third.replace(url="http://a/b")
    note_first_callback(elsewhere, third, is_same_page=False)
    assert FirstCallbacks().other("http://a/b", elsewhere) == b""


def test_a_callback_has_one_name_however_the_request_says_it():
    async def start(self: Any) -> AsyncIterator[Any]:
        for callback in (None, self.parse, partial(self.parse)):
            yield Request(self.start_urls[0], callback, dont_filter=True)

    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/a", start=start))
    assert len(result.items) == 1


def test_the_rules_of_a_crawl_spider_are_one_callback_with_its_start():
    class Rules(CrawlSpider):
        name = "rules"
        rules = (Rule(LinkExtractor(), callback="parse_item", follow=True),)

        def parse_start_url(self, response: Any, **kwargs: Any) -> Any:
            return self.parse_item(response)

        def parse_item(self, response: Any) -> Any:
            return [{"url": response.url}]

    with served(SITE) as url:
        Rules.start_urls = [f"{url}/a"]
        result = crawl(Rules)
    assert len(result.items) == 1
    assert result.dedup_stats["repeated"] == 1


def test_the_oldest_pages_are_forgotten_where_there_are_too_many():
    def other(self: Any) -> None:
        """Another callback."""

    first = FirstCallbacks(most=2)
    assert [first.other("1", Request("data:,", one)) for one in (None, other, None)] == [
        b"", other.__qualname__.encode(), b"",
    ]  # fmt: skip
    assert [first.other(key, Request("data:,")) for key in ("2", "3")] == [b"", b""]
    assert first.other("1", Request("data:,", other)) == b""
