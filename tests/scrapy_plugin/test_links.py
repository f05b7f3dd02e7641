"""DEDUP_FOLLOW_DUPLICATES = False: links are held back only if those of a copy were followed."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from crawls import crawl, spider_over
from scrapy import Request
from texts import article, page
from web import served

SITE = {
    "/a": page(article(1), "/a/1", "/a/2"),
    "/b": page(article(1), "/b/1", "/b/2", footer="A copy"),
    "/a/1": page(article(11)),
    "/a/2": page(article(12)),
    "/b/1": page(article(13)),
    "/b/2": page(article(14)),
}


def parse(self: Any, response: Any) -> Iterator[Any]:
    yield {"url": response.url}
    for link in response.css("a"):
        yield response.follow(link, self.parse)


def run(*starts: str, site: Any = SITE, **options: Any) -> tuple[list[str], Any]:
    """The paths that were visited, and the crawl."""
    names = ("parse", "start", "broken", "allowed_domains")
    attributes = {"parse": parse, **{name: options.pop(name) for name in names if name in options}}
    visited: list[str] = []

    def visit(self: Any, response: Any) -> Iterator[Any]:
        visited.append(response.url.partition("/")[2].partition("/")[2].partition("/")[2])
        return attributes["parse"](self, response)

    with served(site) as url:
        spider = spider_over(*(url + path for path in starts), **{**attributes, "parse": visit})
        result = crawl(spider, DEDUP_FOLLOW_DUPLICATES=False, **options)
    return sorted(visited), result


def test_the_links_of_a_copy_are_held_back():
    visited, result = run("/a", "/b")
    assert visited == ["a", "a/1", "a/2", "b"]
    assert result.dedup_stats["links_held_back"] == 2


@pytest.mark.parametrize("moment", ["before", "between", "after"])
def test_the_links_of_a_copy_are_followed_if_the_callback_of_the_first_page_raised(moment: str):
    def breaking(self: Any, response: Any) -> Iterator[Any]:
        is_first = response.url.endswith("/a")
        if is_first and moment == "before":
            raise ValueError(moment)
        for number, output in enumerate(parse(self, response)):
            if is_first and number == 2 and moment == "between":
                raise ValueError(moment)
            yield output
        if is_first:
            raise ValueError(moment)

    visited, result = run("/a", "/b", parse=breaking)
    assert {"b/1", "b/2"} <= set(visited)
    assert "links_held_back" not in result.dedup_stats


def test_the_links_of_a_copy_are_followed_if_those_of_the_first_page_lead_off_site():
    def leading_off(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        for link in response.css("a::attr(href)").getall():
            if link.startswith("/a/"):
                yield Request(f"http://elsewhere.invalid{link}")
            else:
                yield response.follow(link, self.parse)

    visited, _ = run("/a", "/b", parse=leading_off, allowed_domains=["127.0.0.1"])
    assert visited == ["a", "b", "b/1", "b/2"]


def test_links_that_are_known_to_the_scheduler_count_as_followed():
    """Each page of a site links to all others: somebody has asked for them before."""
    site = {**SITE, "/all": page(article(5), "/a/1", "/a/2")}
    visited, _ = run("/all", "/a", "/b", site=site)
    assert visited == ["a", "a/1", "a/2", "all", "b"]


def test_a_copy_waits_for_what_becomes_of_the_links_of_the_first_page():
    async def until_seen(self: Any, name: str) -> None:
        async with asyncio.timeout(30):
            while not any(url.endswith(name) for url in self.seen):
                await asyncio.sleep(0.01)

    async def slow(self: Any, response: Any) -> Any:
        is_first = response.url.endswith("/a")
        for output in parse(self, response):
            yield output
            if is_first:
                await until_seen(self, "/b")
        if is_first:
            raise ValueError("too late")

    async def start(self: Any) -> Any:
        self.seen: list[str] = []
        first, copy = self.start_urls
        yield Request(first)
        await until_seen(self, "/a")
        yield Request(copy)

    def noting(self: Any, response: Any) -> Any:
        self.seen.append(response.url)
        return slow(self, response)

    visited, result = run("/a", "/b", parse=noting, start=start, CONCURRENT_REQUESTS=4)
    assert {"b/1", "b/2"} <= set(visited)
    assert "links_held_back" not in result.dedup_stats


def test_a_request_that_hands_on_an_item_is_no_mere_link():
    """The page of a product is a copy, that of its reviews is not."""

    def handing_on(self: Any, response: Any) -> Iterator[Any]:
        for link in response.css("a"):
            item = {"of": article(1)[:50]}
            yield response.follow(link, self.last, cb_kwargs={"item": item})

    def last(self: Any, response: Any, item: Any) -> Iterator[Any]:
        yield {**item, "url": response.url}

    with served(SITE) as url:
        spider = spider_over(f"{url}/a", f"{url}/b", parse=handing_on, last=last)
        result = crawl(spider, DEDUP_FOLLOW_DUPLICATES=False)
    assert len(result.items) == 4


def test_a_request_that_hands_on_a_value_is_no_mere_link():
    """What the next callback makes of it may be what tells the items apart."""

    def handing_on(self: Any, response: Any) -> Iterator[Any]:
        for link in response.css("a"):
            yield response.follow(link, self.last, cb_kwargs={"cents": len(response.url)})

    def last(self: Any, response: Any, cents: int) -> Iterator[Any]:
        yield {"price": cents / 100, "url": response.url}

    with served(SITE) as url:
        spider = spider_over(f"{url}/a", f"{url}/b", parse=handing_on, last=last)
        result = crawl(spider, DEDUP_FOLLOW_DUPLICATES=False)
    assert len(result.items) == 4
    assert "links_held_back" not in result.dedup_stats


def test_a_request_whose_values_cannot_be_read_is_followed():
    ring: list[Any] = []
    ring.append(ring)

    def ringing(self: Any, response: Any) -> Iterator[Any]:
        for link in response.css("a"):
            yield response.follow(link, self.last, cb_kwargs={"ring": ring})
        yield {"url": response.url}

    def last(self: Any, response: Any, ring: Any) -> Iterator[Any]:
        yield {"url": response.url}

    with served(SITE) as url:
        spider = spider_over(f"{url}/a", parse=ringing, last=last)
        result = crawl(spider, DEDUP_FOLLOW_DUPLICATES=False)
    assert len(result.items) == 3


@pytest.mark.slow
def test_pages_that_wait_for_the_links_and_the_item_of_each_other_go_on_at_once():
    has_item = asyncio.Event()

    async def crossing(self: Any, response: Any) -> Any:
        item, link = {"url": response.url}, response.follow("/a/1", self.parse)
        if response.url.endswith("/a"):
            yield link
            await has_item.wait()
            yield item
        elif response.url.endswith("/b"):
            yield item
            has_item.set()
            yield link

    visited, result = run("/a", "/b", parse=crossing, CONCURRENT_REQUESTS=2, DEDUP_WAIT_TIMEOUT=30)
    assert "a/1" in visited
    assert result.stats["elapsed_time_seconds"] < 15
    assert "log_count/ERROR" not in result.stats


@pytest.mark.slow
def test_a_page_that_waits_for_its_canonical_page_does_not_bar_the_links_of_that():
    names = '<head><link rel="canonical" href="/b">'
    site = {**SITE, "/a": SITE["/a"].replace("<head>", names)}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield from (response.follow(link, self.parse) for link in response.css("a"))
        yield {"url": response.url}

    visited, result = run(
        "/a", "/b", site=site, parse=parse, CONCURRENT_REQUESTS=2, DEDUP_WAIT_TIMEOUT=30,
        DEDUP_PREFER=["canonical"],
    )  # fmt: skip
    assert {"a/1", "a/2"} <= set(visited) or {"b/1", "b/2"} <= set(visited)
    assert result.stats["elapsed_time_seconds"] < 15
    assert len([item for item in result.items if item["url"].endswith(("/a", "/b"))]) == 1
