"""Items that are made of several pages: each is stored once, by what it says."""

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from json import loads
from typing import Any

import attrs
import pydantic
import pytest
import scrapy
from crawls import crawl, crawl_site, spider_over
from scrapy import Request
from scrapy.http import JsonRequest
from texts import article, page
from web import Answer, served

PRODUCTS = 5
NO_REVIEWS = page("There are no reviews of this product yet. " * 8, title="Reviews")


def shop(products: int, footer: str) -> dict[str, str]:
    """Products with a page of reviews each that says the same."""
    reviews = NO_REVIEWS.replace("Footer", footer)
    return {
        **{f"/product/{n}": page(article(n), title=f"Lamp {n}", footer=footer)
           for n in range(products)},
        **{f"/product/{n}/reviews": reviews for n in range(products)},
    }  # fmt: skip


SHOP = shop(PRODUCTS, "Footer")
MIRROR = shop(5, "A mirror")
"""True copies under the same paths, on another host."""
EVERY_PRODUCT = [f"Lamp {n}" for n in range(PRODUCTS)]
MIRRORED = EVERY_PRODUCT[: len(MIRROR) // 2]


class Product(scrapy.Item):
    url = scrapy.Field()
    name = scrapy.Field()
    reviews = scrapy.Field()


@dataclasses.dataclass
class Data:
    url: str
    name: str


@attrs.frozen
class Frozen:
    url: str
    name: str


class Model(pydantic.BaseModel):
    url: str
    name: str


def name_of(response: Any) -> str:
    return response.css("title::text").get()


def text_of(response: Any) -> str:
    return " ".join(response.css("p::text").getall())


def run(*sites: dict[str, str], attributes: dict[str, Any], **settings: Any) -> Any:
    """Crawl *sites*, each on a host of its own, from every product."""
    with ExitStack() as servers:
        urls = []
        for site in sites:
            url = servers.enter_context(served(site))
            urls += [url + path for path in site if path.count("/") == 2]
        return crawl(spider_over(*urls, **attributes), **settings)


def names(items: list[Any]) -> list[str]:
    found = (item["name"] if isinstance(item, dict | Product) else item.name for item in items)
    return sorted(name[0] if isinstance(name, list) else name for name in found)


KINDS = (dict, Product, Data, Frozen, Model)


def parse_product(self: Any, response: Any) -> Iterator[Any]:
    """Hand the item of a product, each of another kind, on to the page of its reviews."""
    number = int(response.url.rpartition("/")[2])
    item = KINDS[number % len(KINDS)](url=response.url, name=name_of(response))
    yield asking(response, self.parse_reviews, cb_kwargs={"item": item})


def parse_reviews(self: Any, response: Any, item: Any) -> Iterator[Any]:
    yield item


HANDING_ON = {"parse": parse_product, "parse_reviews": parse_reviews}


def asking(response: Any, callback: Any, **arguments: Any) -> Request:
    return Request(f"{response.url}/reviews", callback, **arguments)


async def by_waiting(self: Any, response: Any) -> Any:
    reviews = await self.crawler.engine.download_async(Request(f"{response.url}/reviews"))
    yield {"url": response.url, "name": name_of(response), "reviews": text_of(reviews)}


@pytest.mark.slow
@pytest.mark.parametrize("way", [HANDING_ON, {"parse": by_waiting}])
def test_each_product_and_its_mirror_is_stored_once_however_it_is_handed_on(way: Any):
    result = run(SHOP, MIRROR, attributes=way)
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED
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
