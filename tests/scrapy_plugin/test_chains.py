"""Items that are made of several pages: each is stored once, by what it says."""

from collections.abc import Iterator
from json import loads
from typing import Any

import pytest
from crawls import crawl, crawl_site, spider_over
from item_kinds import KINDS
from itemadapter import ItemAdapter
from scrapy import Request
from scrapy.http import JsonRequest
from texts import article, page
from web import Answer, served

NAMES = [f"Lamp {number}" for number in range(len(KINDS))]


def shop(footer: str) -> dict[str, str]:
    """Products, each with a page of reviews that says the same of all."""
    reviews = page("There are no reviews of this product yet. " * 8, title="Reviews", footer=footer)
    products = {
        f"/{number}": page(article(number), title=name, footer=footer)
        for number, name in enumerate(NAMES)
    }
    return products | {f"{path}/reviews": reviews for path in products}


def name_of(response: Any) -> str:
    return response.css("title::text").get()


def parse_product(self: Any, response: Any) -> Iterator[Any]:
    """Hand the item of a product, each of another kind, on to the page of its reviews."""
    kind = KINDS[int(response.url.rpartition("/")[2])]
    item = kind(url=response.url, name=name_of(response))
    yield Request(f"{response.url}/reviews", self.parse_reviews, cb_kwargs={"item": item})


def parse_reviews(self: Any, response: Any, item: Any) -> Iterator[Any]:
    yield item


async def by_waiting(self: Any, response: Any) -> Any:
    reviews = await self.crawler.engine.download_async(Request(f"{response.url}/reviews"))
    text = " ".join(reviews.css("p::text").getall())
    yield {"url": response.url, "name": name_of(response), "reviews": text}


def names(items: list[Any]) -> list[str]:
    return sorted(ItemAdapter(item)["name"] for item in items)


@pytest.mark.slow
@pytest.mark.parametrize("parse", [parse_product, by_waiting])
def test_each_product_and_its_mirror_is_stored_once_however_it_is_handed_on(parse: Any):
    with served(shop("Footer")) as url, served(shop("A true copy on another host")) as mirror:
        urls = [f"{root}/{number}" for root in (url, mirror) for number in range(len(NAMES))]
        result = crawl(spider_over(*urls, parse=parse, parse_reviews=parse_reviews))
    assert names(result.items) == names([item for item, _ in result.dropped]) == NAMES
    assert result.messages() == []


def test_items_of_equal_answers_are_told_apart_by_what_was_asked_for():
    """The third answer comes from a mirror."""

    async def start(self: Any) -> Any:
        for path, sku in (("/a", "L-1"), ("/a#C", "C-2"), ("/mirror", "L-1")):
            yield JsonRequest(f"{self.root}{path}", data={"sku": sku})

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"name": loads(response.request.body)["sku"], **response.json()}

    stock = Answer(b'{"in_stock": true}', content_type="application/json")
    result = crawl_site({"/a": stock, "/mirror": stock}, start=start, parse=parse)
    assert names(result.items) == ["C-2", "L-1"]
    assert names([item for item, _ in result.dropped]) == ["L-1"]
