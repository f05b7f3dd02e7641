"""Items that are made of several pages: a duplicate only if all that they are made of is."""

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from json import loads
from sqlite3 import connect
from time import time
from types import MethodType
from typing import Any

import attrs
import pydantic
import pytest
import scrapy
from crawls import crawl, spider_over
from scrapy import FormRequest, Request
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, JsonRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import CrawlSpider, Rule
from texts import article, edited, page
from web import Answer, served

PRODUCTS = 6
NO_REVIEWS = page("There are no reviews of this product yet. " * 8, title="Reviews")
# Products with a page of reviews each that says the same, and a mirror with true copies of both.
SHOP = {
    **{f"/product/{n}": page(article(n), title=f"Lamp {n}") for n in range(PRODUCTS)},
    **{f"/product/{n}/reviews": NO_REVIEWS for n in range(PRODUCTS)},
    **{f"/mirror/{n}": page(article(n), title=f"Lamp {n}", footer="A mirror") for n in range(2)},
    **{f"/mirror/{n}/reviews": NO_REVIEWS.replace("Footer", "A mirror") for n in range(2)},
}
STARTS = [path for path in SHOP if path.count("/") == 2]
EVERY_PRODUCT = [f"Lamp {n}" for n in range(PRODUCTS)]


class Product(scrapy.Item):
    url = scrapy.Field()
    name = scrapy.Field()
    reviews = scrapy.Field()


@dataclasses.dataclass
class Data:
    url: str
    name: str
    reviews: list | None = None


@attrs.frozen
class Frozen:
    url: str
    name: str
    reviews: list | None = None


class Model(pydantic.BaseModel):
    url: str
    name: str
    reviews: list | None = None


KINDS: dict[str, Callable[..., Any]] = {
    "dict": dict, "item": Product, "dataclass": Data, "attrs": Frozen, "pydantic": Model,
}  # fmt: skip


def name_of(response: Any) -> str:
    return response.css("title::text").get()


class OwnRequest(Request):
    attributes = (*Request.attributes, "item")
    item: Any = None


class Thing:
    name: str


def asking(url: str, callback: Any, **arguments: Any) -> Request:
    return Request(f"{url}/reviews", callback, **arguments)


def by_request(spider: Any, page: Any, item: Any) -> Request:
    request = OwnRequest(f"{page.url}/reviews", spider.parse_reviews)
    request.item = item
    return request


def by_loader(spider: Any, page: Any, _: Any) -> Request:
    loader = ItemLoader(Product(), response=page)
    loader.add_css("name", "title::text")
    return asking(page.url, spider.parse_loader, cb_kwargs={"loader": loader})


def by_loader_of_item(spider: Any, page: Any, _: Any) -> Request:
    loader = ItemLoader(Product(url=page.url), response=page)
    loader.nested_css("head").add_css("name", "title::text")
    return asking(page.url, spider.parse_loader, meta={"loader": loader})


def by_object(spider: Any, page: Any, _: Any) -> Request:
    thing = Thing()
    thing.name = name_of(page)
    return asking(page.url, spider.parse_object, cb_kwargs={"thing": thing})


def parse_with_default(item: Any) -> Callable[..., Any]:
    def parse(self: Any, response: Any, handed_on: Any = item, *, is_last: bool) -> Iterator[Any]:
        yield from self.parse_reviews(response, handed_on)

    return parse


WAYS: dict[str, Callable[[Any, Any, Any], Request]] = {
    "cb_kwargs": lambda spider, page, item: asking(
        page.url, spider.parse_reviews, cb_kwargs={"item": item}
    ),
    "meta": lambda spider, page, item: asking(
        page.url, spider.parse_reviews, meta={"item": item, "depth": 3}
    ),
    "list": lambda spider, page, item: asking(
        page.url, spider.parse_reviews, cb_kwargs={"item": [item]}
    ),
    "lambda": lambda spider, page, item: asking(
        page.url, lambda reviews: spider.parse_reviews(reviews, item)
    ),
    "partial": lambda spider, page, item: asking(
        page.url, partial(spider.parse_reviews, item=item)
    ),
    "method": lambda spider, page, item: asking(
        page.url, MethodType(lambda self, reviews: self.parse_reviews(reviews, item), spider)
    ),
    "default of a method": lambda spider, page, item: asking(
        page.url, partial(MethodType(parse_with_default(item), spider), is_last=True)
    ),
    "request": by_request,
    "loader": by_loader,
    "loader of an item": by_loader_of_item,
    "response": lambda spider, page, _: asking(
        page.url, spider.parse_response, cb_kwargs={"product": page}
    ),
    "object": by_object,
}
"""How a callback hands an item on: spider, page and item -> the request of its reviews."""


def by_single_values(spider: Any, page: Any, _: Any) -> Request:
    values = {"url": page.url, "name": name_of(page)}
    return asking(page.url, spider.parse_values, cb_kwargs=values)


def handing_on(
    ask: Callable[[Any, Any, Any], Request] = WAYS["cb_kwargs"], kind: Callable[..., Any] = dict
) -> dict[str, Any]:
    """Callbacks of a spider that hands a product on to the page of its reviews."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield ask(self, response, kind(url=response.url, name=name_of(response)))

    def parse_reviews(self: Any, response: Any, item: Any = None) -> Iterator[Any]:
        item = item or response.meta.get("item") or response.request.item
        for one in item if isinstance(item, list) else [item]:
            if kind is Frozen:
                one = attrs.evolve(one, reviews=[])
            elif kind in (Data, Model):
                one.reviews = []
            else:
                one["reviews"] = []
            yield one

    def parse_values(self: Any, response: Any, url: str, name: str) -> Iterator[Any]:
        yield {"url": url, "name": f"{name} (lamps)", "reviews": []}

    def parse_loader(self: Any, response: Any, loader: Any = None) -> Iterator[Any]:
        loader = loader or response.meta["loader"]
        loader.add_value("reviews", "none")
        yield loader.load_item()

    def parse_response(self: Any, response: Any, product: Any) -> Iterator[Any]:
        yield {"name": name_of(product), "reviews": []}

    def parse_object(self: Any, response: Any, thing: Any) -> Iterator[Any]:
        yield {"name": thing.name, "reviews": []}

    return {
        function.__name__: function
        for function in (
            parse, parse_reviews, parse_values, parse_loader, parse_response, parse_object,
        )
    }  # fmt: skip


def run(site: Any, starts: list[str], attributes: dict[str, Any], **settings: Any) -> Any:
    with served(site) as url:
        return crawl(spider_over(*(url + path for path in starts), **attributes), **settings)


def names(items: list[Any]) -> list[str]:
    found = (item["name"] if isinstance(item, dict | Product) else item.name for item in items)
    return sorted(name[0] if isinstance(name, list) else name for name in found)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_each_product_is_stored_once_however_it_is_handed_on(way: str):
    result = run(SHOP, STARTS, handing_on(WAYS[way]))
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == ["Lamp 0", "Lamp 1"]
    assert result.messages() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["cb_kwargs", "meta"])
def test_items_of_every_kind_are_handed_on(kind: str, way: str):
    result = run(SHOP, STARTS, handing_on(WAYS[way], KINDS[kind]))
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2


def test_single_values_are_compared_where_they_are_a_part_of_the_item():
    result = run(SHOP, STARTS, handing_on(by_single_values))
    assert names(result.items) == [f"{name} (lamps)" for name in EVERY_PRODUCT]
    assert len(result.dropped) == 2


def test_values_that_the_item_does_not_have_are_not_compared():
    """Pages of one content stay duplicates however the spider counts its way."""

    async def start(self: Any) -> Any:
        for number, url in enumerate(self.start_urls):
            meta = {"clicks": number, "link_text": f"link {number}", "position": f"p{number}"}
            yield Request(url, meta=meta, cb_kwargs={"place": number * 10 + 5})

    def parse(self: Any, response: Any, place: int) -> Iterator[Any]:
        text = " ".join(response.css("p::text").getall())
        yield {"url": response.url, "title": name_of(response).upper(), "text": text,
               "id": sha256(response.url.encode()).hexdigest(), "at": int(time()),
               "iso": datetime.now(UTC)}  # fmt: skip

    site = {"/a": page(article(1)), "/b": page(edited(article(1)))}
    result = run(site, list(site), {"start": start, "parse": parse})
    assert len(result.dropped) == 1


def test_products_of_one_list_are_told_apart_by_what_their_rows_say():
    """The list is one page, and all pages of reviews are equal."""
    rows = "".join(f'<li><a href="/product/{n}/reviews">Lamp {n}</a></li>' for n in range(4))
    lists = {"/list": f"<ul>{rows}</ul>", "/copy": f"<ul>{rows}</ul><footer>A copy</footer>"}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        for link in response.css("a"):
            item = {"name": link.css("::text").get()}
            request = response.follow(link, self.parse_reviews, dont_filter=True)
            yield request.replace(cb_kwargs={"item": item})

    attributes = {**handing_on(), "parse": parse}
    result = run({**SHOP, **lists}, ["/list", "/copy"], attributes)
    assert names(result.items) == [f"Lamp {n}" for n in range(4)]
    assert len(result.dropped) == 4


def test_an_item_with_nothing_but_the_url_of_its_page_is_compared_by_what_that_says():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": response.url}
        yield Request(f"{response.url}/reviews", self.parse_reviews, cb_kwargs={"item": item})

    result = run(SHOP, STARTS, {**handing_on(), "parse": parse})
    assert len(result.items) == PRODUCTS
    assert len(result.dropped) == 2


TEXT = article(1, 45)


def sold(title: str, shelf: str = "", table: str = "") -> str:
    """The page of a product: all such have one main text, of less than 50 words."""
    return (
        f"<!doctype html><html><head><title>{title}</title></head><body><article><p>{TEXT}</p>"
        f"{table}</article><footer>{shelf}</footer></body></html>"
    )


def first_paragraph(html: str) -> Any:
    """Read of a page what a poor extractor reads."""
    from trafilatura import load_html

    from dedup.evidence import evidence_of
    from dedup.extraction import Extraction

    tree = load_html(html)
    text, title = tree.findtext(".//p"), tree.findtext(".//title")
    return Extraction(text, title=title, evidence=evidence_of(tree, text, title))


def by_its_url(self: Any, response: Any) -> Iterator[Any]:
    yield asking(response.url, self.parse_item, cb_kwargs={"item": {"product": response.url}})


def by_the_page(self: Any, response: Any) -> Iterator[Any]:
    yield asking(response.url, self.parse_item, cb_kwargs={"product": response})


def by_a_selector(self: Any, response: Any) -> Iterator[Any]:
    yield asking(response.url, self.parse_item, meta={"product": response.selector})


async def by_waiting(self: Any, response: Any) -> Any:
    """Begins on the page of reviews, and asks for that of the product."""
    product = await self.crawler.engine.download_async(Request(f"{response.url}/product"))
    for item in self.parse_item(response, product=product):
        yield item


ASKED = [by_its_url, by_the_page, by_a_selector, by_waiting]


def asked(
    ask: Any,
    products: dict[str, str],
    shown: Callable[[Any], Any] = lambda product: {},
    **settings: Any,
) -> tuple[list[str], list[str]]:
    """Return the names of *products* whose items were stored, and dropped.

    An item has the URLs of both pages, and what is *shown* by that of the product.
    """

    def parse_item(self: Any, response: Any, item: Any = None, product: Any = None) -> Any:
        product = product or response.meta.get("product")
        yield {**(item or shown(product)), "url": response.url}

    is_last = ask is by_waiting
    last = {f"/{name}" + "/reviews" * (not is_last): NO_REVIEWS for name in products}
    site = {f"/{name}" + "/product" * is_last: body for name, body in products.items()} | last
    attributes = {"parse": ask, "parse_item": parse_item}
    result = run(site, [f"/{name}" for name in products], attributes, **settings)
    assert result.messages() == []
    items = result.items, [item for item, _ in result.dropped]
    return tuple([item["url"].split("/")[3] for item in some] for some in items)


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKED)
def test_first_pages_that_differ_in_their_titles_are_two(ask: Any):
    products = {"lamp": sold("Lamp"), "chair": sold("Chair"), "mirror": sold("Lamp")}
    assert asked(ask, products) == (["lamp", "chair"], ["mirror"])


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKED)
def test_first_pages_of_which_little_is_extracted_are_one_if_all_that_they_show_is_equal(ask: Any):
    tables = {"lamp": "bright " * 99, "chair": "wooden " * 99, "mirror": "bright " * 99}
    products = {name: sold("Sale", table=f"<div>{table}</div>") for name, table in tables.items()}
    assert asked(ask, products, DEDUP_EXTRACTOR=first_paragraph) == (["lamp", "chair"], ["mirror"])


@pytest.mark.slow
@pytest.mark.parametrize("ask", ASKED[1:])
def test_what_an_item_takes_from_another_page_counts_wherever_it_stands_there(ask: Any):
    shelves = {"lamp": "17", "chair": "18", "mirror": "17"}
    products = {name: sold("Sale", shelf) for name, shelf in shelves.items()}

    def shelf(product: Any) -> Any:
        return {"shelf": product.css("footer::text").get()}

    assert asked(ask, products, shelf) == (["lamp", "chair"], ["mirror"])


@pytest.mark.slow
def test_the_url_of_a_page_that_is_handed_on_counts_by_what_that_says():
    products = {"lamp": sold("Lamp"), "chair": sold("Chair"), "mirror": sold("Lamp")}

    def url(product: Any) -> Any:
        return {"product": product.url}

    assert asked(by_the_page, products, url) == (["lamp", "chair"], ["mirror"])


def test_the_time_at_which_a_page_was_fetched_makes_no_difference():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        now = datetime.now(UTC)
        item = {"name": name_of(response), "fetched": now, "iso": now.isoformat(),
                "local": datetime.now().isoformat(" ")}  # fmt: skip
        yield Request(f"{response.url}/reviews", self.parse_reviews, cb_kwargs={"item": item})

    result = run(SHOP, STARTS, {**handing_on(), "parse": parse})
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2


def test_a_chain_of_three_pages_is_compared_whole():
    """Product, then an empty page of reviews, then an empty one of questions."""
    questions = page("Nobody has asked anything about this yet. " * 8, title="Questions")
    site = {**SHOP, **{f"{path}/questions": questions for path in STARTS}}

    def parse_reviews(self: Any, response: Any, item: Any) -> Iterator[Any]:
        url = response.url.replace("/reviews", "/questions")
        yield Request(url, self.parse_questions, meta=response.meta, cb_kwargs={"item": item})

    def parse_questions(self: Any, response: Any, item: Any) -> Iterator[Any]:
        yield {**item, "questions": 0}

    attributes = {
        **handing_on(),
        "parse_reviews": parse_reviews,
        "parse_questions": parse_questions,
    }
    result = run(site, STARTS, attributes)
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2


def test_rows_that_a_spider_starts_with_are_a_part_of_its_items():
    """Two companies of one web site are two companies; a row that is there twice is one."""

    async def start(self: Any) -> Any:
        for name, path in (("Ost", "/a"), ("West", "/b"), ("Ost", "/c")):
            url = self.start_urls[0].replace("/a", path)
            yield Request(url, cb_kwargs={"row": {"name": name, "site": url}})

    def parse(self: Any, response: Any, row: Any) -> Iterator[Any]:
        yield {**row, "title": name_of(response)}

    site = {path: page(article(1)) for path in ("/a", "/b", "/c")}
    result = run(site, ["/a"], {"start": start, "parse": parse})
    assert names(result.items) == ["Ost", "West"]
    assert names([item for item, _ in result.dropped]) == ["Ost"]


def awaiting(how: str) -> dict[str, Any]:
    """A callback that downloads the page of reviews by itself."""

    async def fetch(self: Any, url: str) -> Any:
        return await self.crawler.engine.download_async(Request(url))

    async def generator(self: Any, response: Any) -> Any:
        item = {"name": name_of(response)}
        url = f"{response.url}/reviews"
        if how == "task":
            [reviews] = await asyncio.gather(self.fetch(url))
        elif how == "helper":
            reviews = await self.fetch(url)
        else:
            reviews = await self.crawler.engine.download_async(Request(url))
        yield {**item, "reviews": reviews.css("h2::text").get()}

    async def coroutine(self: Any, response: Any) -> Any:
        return [item async for item in generator(self, response)]

    return {"parse": coroutine if how == "coroutine" else generator, "fetch": fetch}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["generator", "coroutine", "helper", "task"])
def test_pages_that_a_callback_waits_for_are_a_part_of_its_items(how: str):
    """The products are copies of one another, their reviews are not."""
    site = {f"/product/{n}": page(edited(article(1), f"w{n}")) for n in range(4)}
    site |= {f"/product/{n}/reviews": page(article(n // 2 + 7)) for n in range(4)}
    result = run(site, [f"/product/{n}" for n in range(4)], awaiting(how))
    assert len(result.items) == 2
    assert len(result.dropped) == 2


def test_a_page_that_was_handed_on_is_not_taken_for_the_one_that_asks():
    """A helper that is given the page of the product alone downloads for that of its reviews."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        url = f"{response.url}/reviews"
        yield Request(url, self.parse_reviews, cb_kwargs={"product": response})

    async def details(self: Any, product: Any) -> Any:
        return await self.crawler.engine.download_async(Request(f"{product.url}/details"))

    async def parse_reviews(self: Any, response: Any, product: Any) -> Any:
        found = await self.details(product)
        yield {"name": name_of(found)}

    site = {f"/product/{n}": page(article(1)) for n in range(4)}
    site |= {f"/product/{n}/reviews": NO_REVIEWS for n in range(4)}
    site |= {
        f"/product/{n}/details": page(article(n // 2 + 7), title=f"{n // 2}") for n in range(4)
    }
    attributes = {"parse": parse, "details": details, "parse_reviews": parse_reviews}
    result = run(site, [f"/product/{n}" for n in range(4)], attributes)
    assert names(result.items) == ["0", "1"]


def test_what_others_download_is_no_part_of_an_item():
    """robots.txt, and what pipelines fetch: each time another text."""
    count = iter(range(1000))

    class Texts(dict):
        def get(self, path: str, default: Any = None) -> Any:
            if path in ("/robots.txt", "/stamp"):
                return Answer(f"# {next(count)}".encode(), content_type="text/plain")
            return super().get(path, default)

    class Fetching:
        @classmethod
        def from_crawler(cls, crawler: Any) -> "Fetching":
            pipeline = cls()
            pipeline.crawler = crawler
            return pipeline

        async def process_item(self, item: Any) -> Any:
            url = item["url"].rpartition("/")[0] + "/stamp"
            await self.crawler.engine.download_async(Request(url))
            return item

    async def parse(self: Any, response: Any) -> Any:
        for number in range(2):
            await asyncio.sleep(0)
            yield {"url": response.url, "number": number}

    site = Texts({f"/{n}": page(edited(article(1), f"w{n}")) for n in range(4)})
    result = run(
        site, list(site), {"parse": parse}, ROBOTSTXT_OBEY=True, ITEM_PIPELINES={Fetching: 300}
    )
    assert (len(result.items), len(result.dropped)) == (2, 6)


class InlineRequests:
    """How scrapy-inline-requests works: a generator that goes on in the callback of its request."""

    def __init__(self, generator: Any) -> None:
        self.generator = generator

    def go_on(self, response: Any, generator: Any = None) -> Iterator[Any]:
        while True:
            try:
                output = (generator or self.generator).send(response)
            except StopIteration:
                return
            if isinstance(output, Request):
                yield output.replace(callback=partial(self.go_on, generator=self.generator))
                return
            yield output
            response = None


def test_a_generator_that_goes_on_with_the_next_page_hands_its_variables_on():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        return InlineRequests(self.pages(response)).go_on(None)

    def pages(self: Any, response: Any) -> Iterator[Any]:
        reviews = yield Request(f"{response.url}/reviews")
        yield {"name": name_of(response), "reviews": reviews.css("h2::text").get()}

    result = run(SHOP, STARTS, {"parse": parse, "pages": pages})
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2


def test_an_item_of_an_errback_is_compared_with_what_it_was_handed():
    """The page of reviews answers 503, which the errback takes for "none"."""
    site = {path: body for path, body in SHOP.items() if not path.endswith("/reviews")}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response)}
        yield Request(f"{response.url}/reviews", errback=self.failed, cb_kwargs={"item": item})

    def failed(self: Any, failure: Any) -> Iterator[Any]:
        yield {**failure.request.cb_kwargs["item"], "reviews": None}

    result = run(site, STARTS, {"parse": parse, "failed": failed})
    assert sorted(set(names(result.items))) == EVERY_PRODUCT


def test_a_chain_that_goes_through_a_job_is_compared_whole(tmp_path: Any):
    """Requests on disk are other objects when they come back."""
    result = run(SHOP, STARTS, handing_on(), JOBDIR=str(tmp_path))
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2
    assert result.stats["scheduler/dequeued/disk"] > 0


@pytest.mark.slow
def test_a_changed_product_is_stored_again_although_its_reviews_have_not_changed(tmp_path: Any):
    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
                "FEEDS": {str(tmp_path / "items.jl"): {"format": "jsonlines"}}}  # fmt: skip
    site = dict(SHOP)
    with served(site) as url:
        spider = spider_over(*(url + path for path in STARTS), **handing_on())
        crawl(spider, **settings)
        site["/product/3"] = page(article(3), title="Lamp 3, cheaper")
        again = crawl(spider, **settings)
    assert names(again.items) == ["Lamp 3, cheaper"]
    assert again.dedup_stats["unchanged"] == PRODUCTS - 1


def test_of_the_items_of_one_page_the_one_that_changed_is_stored_again(tmp_path: Any):
    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
                "FEEDS": {str(tmp_path / "items.jl"): {"format": "jsonlines"}}}  # fmt: skip
    rows = ["a", "b", "c"]

    def parse(self: Any, response: Any) -> Iterator[Any]:
        for row in rows:
            yield response.follow("/", self.last, cb_kwargs={"item": {"name": row}})

    def last(self: Any, response: Any, item: Any) -> Iterator[Any]:
        yield item

    with served({"/list": "<p>A list", "/": NO_REVIEWS}) as url:
        attributes = {"parse": parse, "last": last}
        attributes["custom_settings"] = {"DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter"}
        spider = spider_over(f"{url}/list", **attributes)
        assert names(crawl(spider, **settings).items) == rows
        rows[0] = "changed"
        assert names(crawl(spider, **settings).items) == ["changed"]
        assert names(crawl(spider, **settings).items) == []


def test_the_item_that_was_to_be_stored_and_failed_is_stored_with_its_copy():
    class FailOnce:
        failed = False

        def process_item(self, item: Any) -> Any:
            if not self.failed and item["name"] == "Lamp 0":
                self.failed = True
                raise OSError("disk full")
            return item

    result = run(SHOP, STARTS, handing_on(), ITEM_PIPELINES={FailOnce: 300})
    assert names(result.items) == EVERY_PRODUCT


def test_values_that_cannot_be_read_keep_the_item():
    class Broken(dict):
        def __iter__(self) -> Any:
            raise RuntimeError("no")

    def parse(self: Any, response: Any) -> Iterator[Any]:
        thing = Broken(name=name_of(response))
        yield Request(f"{response.url}/reviews", self.parse_it, cb_kwargs={"thing": thing})

    def parse_it(self: Any, response: Any, thing: Any) -> Iterator[Any]:
        yield {"name": thing["name"]}

    result = run(SHOP, STARTS, {"parse": parse, "parse_it": parse_it})
    assert len(result.items) == len(STARTS)


@pytest.mark.slow
def test_more_than_can_be_compared_keeps_the_item():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "many": list(range(10_001))}
        yield Request(f"{response.url}/reviews", self.parse_reviews, cb_kwargs={"item": item})

    result = run(SHOP, STARTS, {**handing_on(), "parse": parse})
    assert len(result.items) == len(STARTS)
    assert result.dedup_stats["skipped/unclear_baggage"] == len(STARTS)


def test_items_of_their_own_text_are_judged_by_it_wherever_it_comes_from():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "text": response.css("p::text").getall()}
        yield Request(f"{response.url}/reviews", self.parse_reviews, cb_kwargs={"item": item})

    attributes = {**handing_on(), "parse": parse}
    result = run(SHOP, STARTS, attributes, DEDUP_ITEM_FIELD="text")
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2


def test_of_several_items_of_a_page_each_is_stored_by_itself():
    """A pipeline refuses one of two that are made of other pages: its copy is no duplicate."""

    class Refuse:
        def process_item(self, item: Any) -> Any:
            if item["name"] == "second" and item["url"].endswith("/0"):
                raise DropItem("refused")
            return item

    async def parse(self: Any, response: Any) -> Any:
        yield {"name": "first", "url": response.url}
        await self.crawler.engine.download_async(Request(f"{response.url}/more"))
        yield {"name": "second", "url": response.url}

    site = {f"/{n}": page(article(1)) for n in range(3)}
    site |= {f"/{n}/more": page(article(2)) for n in range(3)}
    settings = {"ITEM_PIPELINES": {Refuse: 300}}
    result = run(site, ["/0", "/1", "/2"], {"parse": parse}, **settings)
    stored = [(item["name"], item["url"][-1]) for item in result.items]
    assert stored == [("first", "0"), ("second", "1")]


NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]


def text_of(response: Any) -> str:
    return " ".join(response.css("p::text").getall())


# What is handed on of each number, and what a callback makes of that and its page: never the same.
MADE_ANEW: dict[str, tuple[Callable[[int], Any], Callable[[Any, Any], Any]]] = {
    "cents": (lambda n: 1250 + n, lambda cents, _: cents / 100),
    "slug": (lambda n: f"The Lamp № {n}", lambda name, _: name.lower().replace(" ", "-")),
    "looked up": (lambda n: n, lambda number, _: NAMES[number]),
    "number": (lambda n: f"1.25{n},00 EUR", lambda price, _: float(price[:5].replace(".", ""))),
    "date": (lambda n: f"{n + 1}. Mai 2020", lambda day, _: f"2020-05-0{day[0]}"),
    "joined": (lambda n: f"lamp_{n}", lambda name, page: f"{name[-1]}. {name_of(page)}"),
    "joined with text": (lambda n: f"<b>{NAMES[n]}", lambda name, page: name[3:] + text_of(page)),
    "flag": (lambda n: n > 2, lambda flag, _: "used" if flag else "fresh"),
    "long text": (lambda n: article(n + 20), lambda text, _: text.upper().replace(".", " -")),
    "path": (lambda n: f"/lamp/{n}/", lambda path, _: path.split("/")[2]),
    "selected on the page": (lambda n: n, lambda n, page: text_of(page).split()[n]),
    "iterator": (lambda n: iter([NAMES[n]]), lambda names, _: next(names)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", MADE_ANEW)
@pytest.mark.parametrize("way", ["cb_kwargs", "lambda"])
def test_what_a_callback_makes_of_a_single_value_is_compared(case: str, way: str):
    """Products of different values, each of which comes a second time from a mirror."""
    given, made = MADE_ANEW[case]

    def parse(self: Any, response: Any) -> Iterator[Any]:
        url, value = f"{response.url}/reviews", given(int(response.url[-1]))
        if way == "cb_kwargs":
            yield Request(url, self.parse_value, cb_kwargs={"value": value})
        else:
            yield Request(url, lambda page: self.parse_value(page, value))

    def parse_value(self: Any, response: Any, value: Any) -> Iterator[Any]:
        yield {"url": response.url, "made": made(value, response)}

    result = run(SHOP, STARTS, {"parse": parse, "parse_value": parse_value})
    reviews = HtmlResponse("http://a/", body=NO_REVIEWS.encode())
    expected = {made(given(n), reviews) for n in range(PRODUCTS)}
    assert sorted(item["made"] for item in result.items) == sorted(expected)
    assert len(result.dropped) == len(STARTS) - len(expected)
    assert result.messages() == []


def test_a_page_counts_once_however_many_items_it_has():
    """Rows of a list whose number is handed on are compared one by one."""

    async def start(self: Any) -> Any:
        for number, url in enumerate(self.start_urls):
            yield Request(url, cb_kwargs={"number": number})

    def parse(self: Any, response: Any, number: int) -> Iterator[Any]:
        for row in text_of(response).split()[:20]:
            yield {"row": row}

    site = {"/1": page(article(1)), "/2": page(article(2)), "/copy": page(article(1), footer="x")}
    result = run(site, list(site), {"start": start, "parse": parse})
    assert (len(result.items), len(result.dropped)) == (40, 20)
    stats = result.dedup_stats
    assert (stats["pages"], stats["new"], stats["exact_duplicates"]) == (3, 2, 1)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["body", "cb_kwargs"])
def test_items_of_equal_answers_are_told_apart_by_what_was_asked_for(way: str):
    """The third answer comes from a mirror."""

    async def start(self: Any) -> Any:
        for path, sku in (("/a", "L-1"), ("/a#C", "C-2"), ("/mirror", "L-1")):
            url = f"{self.start_urls[0]}{path}"
            if way == "body":
                yield JsonRequest(url, data={"sku": sku})
            else:
                yield Request(url, cb_kwargs={"sku": sku}, dont_filter=True)

    def parse(self: Any, response: Any, sku: str = "") -> Iterator[Any]:
        yield {"name": sku or loads(response.request.body)["sku"], **response.json()}

    stock = Answer(b'{"in_stock": true}', content_type="application/json")
    result = run({"/a": stock, "/mirror": stock}, [""], {"start": start, "parse": parse})
    assert names(result.items) == ["C-2", "L-1"]
    assert names([item for item, _ in result.dropped]) == ["L-1"]


def test_a_body_that_led_to_a_page_by_a_redirect_does_not_count():
    """As those of a login: the page was asked for without it."""

    async def start(self: Any) -> Any:
        for path in ("/one", "/two"):
            yield FormRequest(f"{self.start_urls[0]}{path}", formdata={"user": path})

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"name": response.meta["redirect_urls"][0][-3:]}

    site = {f"/{name}": page(article(1)) for name in "ab"}
    for path, target in (("/one", "/a"), ("/two", "/b")):
        site[path] = Answer(b"", 302, headers={"Location": target})
    result = run(site, [""], {"start": start, "parse": parse})
    assert (len(result.items), len(result.dropped)) == (1, 1)


def test_a_connection_that_all_requests_hand_on_makes_no_difference():
    """What the callback looks up with it is compared."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        meta = {"db": connection, "url": response.url}
        yield Request(f"{response.url}/reviews", self.last, meta=meta)

    def last(self: Any, response: Any) -> Iterator[Any]:
        number = response.meta["url"][-1]
        [[name]] = response.meta["db"].execute("select 'Lamp ' || ?", [number])
        yield {"name": name}

    with closing(connect(":memory:")) as connection:
        result = run(SHOP, STARTS, {"parse": parse, "last": last})
    assert names(result.items) == EVERY_PRODUCT
    assert len(result.dropped) == 2


def test_messages_of_dropped_items_name_a_page(tmp_path: Any):
    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite"), "DEDUP_LOG_LEVEL": "INFO",
                "FEEDS": {str(tmp_path / "items.jl"): {"format": "jsonlines"}}}  # fmt: skip
    with served({"/a": page(article(1)), "/b": page(article(1), footer="x")}) as url:
        spider = spider_over(f"{url}/a", f"{url}/b")
        first, second = crawl(spider, **settings), crawl(spider, **settings)
    assert [str(reason) for _, reason in first.dropped] == [
        f"exact duplicate of <{url}/a> (simhash, distance 0)"
    ]
    assert str(second.dropped[0][1]) == f"unchanged: <{url}/a>"


@pytest.mark.slow
def test_items_of_which_nobody_can_tell_are_told_of_once():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "many": list(range(10_001))}
        yield Request(f"{response.url}/reviews", self.parse_reviews, cb_kwargs={"item": item})

    result = run(SHOP, STARTS, {**handing_on(), "parse": parse})
    [message] = result.messages()
    assert "not more than 10,000, or set DEDUP_ITEM_FIELD" in message


def test_a_request_notes_which_pages_and_times_it_hands_on_from_callback_to_callback():
    """It may wait for hours, after which nobody could tell when its page was fetched."""
    noted = []

    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"url": response.url, "at": datetime.now(UTC), "day": "2020-01-01T10:00:00"}
        yield Request(f"{response.url}/reviews", self.second, cb_kwargs={"item": item})

    def second(self: Any, response: Any, item: Any) -> Iterator[Any]:
        noted.append((response.meta, item))
        yield Request(response.url, self.third, meta=response.meta, dont_filter=True)
        yield response.request.replace(callback=self.third, dont_filter=True)

    def third(self: Any, response: Any, item: Any = None) -> None:
        noted.append((response.meta, item))

    run(SHOP, ["/product/1"], {"parse": parse, "second": second, "third": third})
    assert len(noted) == 3
    for meta, item in noted:
        assert meta.get("dedup_times") == (item and [item["at"].timestamp()])
        assert [*meta.get("dedup_pages", ())] == ([item["url"]] if item else [])


def test_the_text_of_a_rules_link_does_not_tell_pages_apart():
    """Copies that were found by links of other texts; the items have their titles."""
    site = {f"/{n}": page(article(1), title=f"Title {n}") for n in range(3)}
    for n in range(3):  # one headline, else they would be pages of their own
        site[f"/{n}"] = site[f"/{n}"].replace(f"<h1>Title {n}</h1>", "<h1>The bridge</h1>")
    site["/"] = "".join(f'<a href="/{n}">Link {n}</a>' for n in range(3))
    with served(site) as url:

        class Follow(CrawlSpider):
            name = "test"
            start_urls = (f"{url}/",)
            rules = (Rule(LinkExtractor(), callback="parse_page"),)

            def parse_page(self, response: Any) -> Iterator[Any]:
                yield {"title": name_of(response)}

        result = crawl(Follow)
    assert (len(result.items), len(result.dropped)) == (1, 2)
