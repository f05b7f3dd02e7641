"""Callbacks that come to no end, whichever other spider middleware handles that."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from crawls import crawl_site
from scrapy.downloadermiddlewares.retry import get_retry_request
from texts import article, page
from web import Answer

SITE = {"/a": page(article(1)), "/b": page(article(1), footer="A copy")}
PARTS = [{"part": 1}, {"part": 2}]


class Handling:
    """Handles all exceptions, as one that tells a service of them and goes on."""

    def process_spider_exception(self, response: Any, exception: Exception) -> Any:
        return []


class Retrying:
    """Asks once more for a page whose callback has failed."""

    @classmethod
    def from_crawler(cls, crawler: Any) -> "Retrying":
        middleware = cls()
        middleware.crawler = crawler
        return middleware

    def process_spider_exception(self, response: Any, exception: Exception) -> Any:
        return [get_retry_request(response.request, spider=self.crawler.spider)]


def generator(self: Any, response: Any) -> Iterator[Any]:
    yield PARTS[0]
    if next(self.failures):
        raise RuntimeError("a service was away")
    yield PARTS[1]


async def coroutine(self: Any, response: Any) -> Any:
    if next(self.failures):
        raise RuntimeError("a service was away")
    return PARTS


@pytest.mark.parametrize(("parse", "half"), [(generator, PARTS[:1]), (coroutine, [])])
def test_a_page_that_another_middleware_retries_does_not_repeat_its_first_half(parse, half):
    options = {"failures": iter([True, False]), "SPIDER_MIDDLEWARES": {Retrying: 543}}
    result = crawl_site(SITE, "/a", parse=parse, **options)
    assert result.items == half + PARTS
    assert result.dropped == []


class Truncating:
    """Takes one output of each page, and reads no more."""

    async def process_spider_output(self, response: Any, result: Any) -> AsyncIterator[Any]:
        async for output in result:
            yield output
            return


def test_copies_of_pages_whose_output_nobody_reads_to_its_end_are_stored_and_the_log_says_why():
    options = {"failures": iter([False] * 2), "SPIDER_MIDDLEWARES": {Truncating: 543}}
    result = crawl_site(SITE, "/a", "/b", parse=generator, **options)
    assert result.items == 2 * PARTS[:1]
    assert result.dropped == []
    told = [record for record in result.log if "does not read all" in record.getMessage()]
    assert len(told) == 1


@pytest.mark.parametrize("handling", [{}, {Handling: 10}])
def test_pages_that_never_come_to_a_callback_disturb_nothing(handling: Any):
    site = {"/gone": Answer(b"<p>Gone.", 404), **SITE}
    result = crawl_site(site, "/gone", "/a", "/gone?again", "/b", SPIDER_MIDDLEWARES=handling)
    assert (result.stored, result.originals) == (["/a"], {"/b": "/a"})
    assert result.dedup_stats["pages"] == 2
    assert "log_count/ERROR" not in result.stats
