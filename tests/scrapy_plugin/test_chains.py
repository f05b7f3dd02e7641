"""Items that are made of several pages: each is stored once, by what it says."""

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from json import loads
from time import time
from typing import Any

import attrs
import pydantic
import pytest
import scrapy
from crawls import crawl, spider_over
from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.http import HtmlResponse, JsonRequest
from scrapy.linkextractors import LinkExtractor
from scrapy.loader import ItemLoader
from scrapy.spiders import CrawlSpider, Rule
from texts import article, edited, page
from web import Answer, served

PRODUCTS = 6
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
MIRROR = shop(2, "A mirror")
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


def run(sites: Any, attributes: dict[str, Any], *starts: str, **settings: Any) -> Any:
    """Crawl *sites*, each on a host of its own, from *starts*, by default from every product."""
    with ExitStack() as servers:
        urls = []
        for site in sites:
            url = servers.enter_context(served(site))
            first = starts or [path for path in site if path.count("/") == 2]
            urls += [url + path for path in first]
        return crawl(spider_over(*urls, **attributes), **settings)


def names(items: list[Any]) -> list[str]:
    found = (item["name"] if isinstance(item, dict | Product) else item.name for item in items)
    return sorted(name[0] if isinstance(name, list) else name for name in found)


def handing_on(kind: Callable[..., Any] = dict) -> dict[str, Any]:
    """Callbacks of a spider that hands the item of a product on to the page of its reviews."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = kind(url=response.url, name=name_of(response))
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    def parse_reviews(self: Any, response: Any, item: Any) -> Iterator[Any]:
        yield item

    return {"parse": parse, "parse_reviews": parse_reviews}


def asking(response: Any, callback: Any, **arguments: Any) -> Request:
    return Request(f"{response.url}/reviews", callback, **arguments)


def by_meta(self: Any, response: Any) -> Iterator[Any]:
    item = {"url": response.url, "name": name_of(response)}
    yield asking(response, lambda reviews: [reviews.meta["item"]], meta={"item": item})


def by_closure(self: Any, response: Any) -> Iterator[Any]:
    yield asking(response, lambda _: [{"url": response.url, "name": name_of(response)}])


def by_loader(self: Any, response: Any) -> Iterator[Any]:
    loader = ItemLoader(Product(url=response.url), response=response)
    loader.nested_css("head").add_css("name", "title::text")
    yield asking(response, lambda _, loader: [loader.load_item()], cb_kwargs={"loader": loader})


async def by_waiting(self: Any, response: Any) -> Any:
    reviews = await self.crawler.engine.download_async(Request(f"{response.url}/reviews"))
    yield {"url": response.url, "name": name_of(response), "reviews": text_of(reviews)}


async def by_task(self: Any, response: Any) -> Any:
    async def parse_reviews() -> Any:
        reviews = await self.crawler.engine.download_async(Request(f"{response.url}/reviews"))
        return {"name": name_of(response), "reviews": text_of(reviews)}

    return await asyncio.gather(parse_reviews())


def by_going_on(self: Any, response: Any) -> Iterator[Any]:
    """As scrapy-inline-requests does: a generator that goes on in the callback of its request."""

    def steps() -> Iterator[Any]:
        reviews = yield Request(f"{response.url}/reviews")
        yield {"name": name_of(response), "reviews": text_of(reviews)}

    steps_of_page = steps()
    yield next(steps_of_page).replace(callback=lambda reviews: [steps_of_page.send(reviews)])


KINDS = Product, Data, Frozen, Model
CALLBACKS = by_meta, by_closure, by_loader, by_waiting, by_task, by_going_on
WAYS = {
    "cb_kwargs": handing_on(),
    **{f"{kind.__name__} in cb_kwargs": handing_on(kind) for kind in KINDS},
    **{callback.__name__: {"parse": callback} for callback in CALLBACKS},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_each_product_and_its_mirror_is_stored_once_however_it_is_handed_on(way: str):
    result = run([SHOP, MIRROR], WAYS[way])
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED
    assert result.messages() == []


def test_what_an_item_takes_from_a_page_that_its_callback_asks_for_counts():
    """All products begin on equal pages of reviews, in whose paths they stand."""

    async def parse_reviews(self: Any, response: Any) -> Any:
        url = response.url.removesuffix("/reviews")
        product = await self.crawler.engine.download_async(Request(url))
        yield {"url": response.url, "name": name_of(product)}

    starts = [f"/product/{n}/reviews" for n in range(2)]
    result = run([SHOP, MIRROR], {"parse": parse_reviews}, *starts)
    assert names(result.items) == MIRRORED
    assert names([item for item, _ in result.dropped]) == MIRRORED


def test_a_mirror_under_other_paths_is_stored_once_more_if_its_items_name_their_first_page():
    """One copy too many: nobody knows that the two paths are two names of one product."""
    moved = {path.replace("/product/", "/lamps/"): body for path, body in MIRROR.items()}
    result = run([SHOP, moved], handing_on())
    assert names(result.items) == sorted(EVERY_PRODUCT + MIRRORED)
    result = run([SHOP, moved], WAYS["by_task"])  # which do not name it
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED


def test_items_that_say_nothing_but_their_own_url_are_copies_where_their_pages_are():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield asking(response, self.parse_reviews, cb_kwargs={"product": response})

    def parse_reviews(self: Any, response: Any, product: Any) -> Iterator[Any]:
        yield {"url": response.url}

    result = run([SHOP], {"parse": parse, "parse_reviews": parse_reviews})
    assert (len(result.items), len(result.dropped)) == (1, PRODUCTS - 1)


def test_an_item_of_nothing_but_the_url_of_its_first_page_is_stored_once():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": response.url}
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    result = run([SHOP, MIRROR], {**handing_on(), "parse": parse})
    stored, dropped = (
        [name.partition("/product/")[2] for name in names(items)]
        for items in (result.items, [item for item, _ in result.dropped])
    )
    assert (stored, dropped) == (list("012345"), list("01"))


def test_urls_hashes_and_times_of_its_own_page_do_not_tell_a_copy_apart():
    """Nor what its text and title are, nor what was handed on and is no part of the item."""

    async def start(self: Any) -> Any:
        for number, url in enumerate(self.start_urls):
            yield Request(url, meta={"position": number}, cb_kwargs={"place": number * 10 + 5})

    def parse(self: Any, response: Any, place: int) -> Iterator[Any]:
        yield {"url": response.url, "title": name_of(response).upper(), "text": text_of(response),
               "id": sha256(response.url.encode()).hexdigest(), "at": int(time()),
               "iso": datetime.now(UTC)}  # fmt: skip

    site = {"/a": page(article(1)), "/b": page(edited(article(1)))}
    result = run([site], {"start": start, "parse": parse}, *site)
    assert len(result.dropped) == 1


def test_the_time_at_which_its_first_page_was_fetched_makes_no_difference():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        now = datetime.now(UTC)
        item = {"name": name_of(response), "fetched": now, "iso": now.isoformat(),
                "local": datetime.now().isoformat(" ")}  # fmt: skip
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    result = run([SHOP, MIRROR], {**handing_on(), "parse": parse})
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED


def test_products_of_one_list_are_told_apart_by_what_their_rows_say():
    """The list is one page, and all pages of reviews are equal."""
    rows = "".join(f'<li><a href="/product/{n}/reviews">Lamp {n}</a></li>' for n in range(4))
    lists = {"/list": f"<ul>{rows}</ul>", "/copy": f"<ul>{rows}</ul><footer>A copy</footer>"}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        for link in response.css("a"):
            item = {"name": link.css("::text").get()}
            request = response.follow(link, self.parse_reviews, dont_filter=True)
            yield request.replace(cb_kwargs={"item": item})

    result = run([{**SHOP, **lists}], {**handing_on(), "parse": parse}, "/list", "/copy")
    assert names(result.items) == [f"Lamp {n}" for n in range(4)]
    assert len(result.dropped) == 4


def test_a_chain_of_three_pages_is_stored_once():
    """Product, then an empty page of reviews, then an empty one of questions."""
    questions = page("Nobody has asked anything about this yet. " * 8, title="Questions")

    def parse_reviews(self: Any, response: Any, item: Any) -> Iterator[Any]:
        url = response.url.replace("/reviews", "/questions")
        yield Request(url, self.parse_questions, meta=response.meta, cb_kwargs={"item": item})

    def parse_questions(self: Any, response: Any, item: Any) -> Iterator[Any]:
        yield {**item, "questions": 0}

    sites = [
        {**site, **{path.replace("reviews", "questions"): questions
                    for path in site if path.endswith("reviews")}}
        for site in (SHOP, MIRROR)
    ]  # fmt: skip
    callbacks = {"parse_reviews": parse_reviews, "parse_questions": parse_questions}
    result = run(sites, {**handing_on(), **callbacks})
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED


def test_items_of_an_errback_are_stored_whole():
    """The page of reviews answers 404, which the errback takes for "none"."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"url": response.url, "name": name_of(response)}
        yield Request(f"{response.url}/none", errback=self.failed, cb_kwargs={"item": item})

    def failed(self: Any, failure: Any) -> Iterator[Any]:
        yield {**failure.request.cb_kwargs["item"], "reviews": 0}

    result = run([SHOP, MIRROR], {"parse": parse, "failed": failed})
    assert sorted({*names(result.items)}) == EVERY_PRODUCT


def test_rows_that_a_spider_starts_with_are_a_part_of_its_items():
    """Two companies of one web site are two companies; a row that is there twice is one."""

    async def start(self: Any) -> Any:
        for name, path in (("Ost", "/a"), ("West", "/b"), ("Ost", "/c")):
            url = self.start_urls[0].replace("/a", path)
            yield Request(url, cb_kwargs={"row": {"name": name, "site": url}})

    def parse(self: Any, response: Any, row: Any) -> Iterator[Any]:
        yield {**row, "title": name_of(response)}

    site = {path: page(article(1)) for path in ("/a", "/b", "/c")}
    result = run([site], {"start": start, "parse": parse}, "/a")
    assert names(result.items) == ["Ost", "West"]
    assert names([item for item, _ in result.dropped]) == ["Ost"]


@pytest.mark.parametrize("way", [by_waiting, by_task, by_going_on])
def test_what_other_pages_say_tells_items_of_near_pages_apart(way: Any):
    """The products are copies of one another, their reviews are not."""
    site = {f"/product/{n}": page(edited(article(1), f"w{n}")) for n in range(4)}
    site |= {f"/product/{n}/reviews": page(article(n // 2 + 7)) for n in range(4)}
    result = run([site], {"parse": way})
    assert sorted(item["reviews"][:20] for item in result.items) == sorted(
        article(n)[:20] for n in (7, 8)
    )
    assert len(result.dropped) == 2


def test_a_chain_that_goes_through_a_job_is_compared_whole(tmp_path: Any):
    """Requests on disk are other objects when they come back."""
    result = run([SHOP, MIRROR], handing_on(), JOBDIR=str(tmp_path))
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED
    assert result.stats["scheduler/dequeued/disk"] > 0


def in_a_ledger(folder: Any) -> dict[str, Any]:
    return {"DEDUP_INDEX": str(folder / "pages.sqlite"),
            "FEEDS": {str(folder / "items.jl"): {"format": "jsonlines"}}}  # fmt: skip


@pytest.mark.slow
def test_a_changed_product_is_stored_again_although_its_reviews_have_not_changed(tmp_path: Any):
    site = dict(SHOP)
    with served(site) as url, served(MIRROR) as mirror:
        starts = [f"{url}/product/{n}" for n in range(PRODUCTS)]
        starts += [f"{mirror}/product/{n}" for n in range(len(MIRRORED))]
        spider = spider_over(*starts, **handing_on())
        crawl(spider, **in_a_ledger(tmp_path))
        site["/product/3"] = page(article(3), title="Lamp 3, cheaper")
        again = crawl(spider, **in_a_ledger(tmp_path))
    assert names(again.items) == ["Lamp 3, cheaper"]
    assert again.dedup_stats["unchanged"] == PRODUCTS - 1


def test_of_the_items_of_one_page_the_one_that_changed_is_stored_again(tmp_path: Any):
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
        assert names(crawl(spider, **in_a_ledger(tmp_path)).items) == rows
        rows[0] = "changed"
        assert names(crawl(spider, **in_a_ledger(tmp_path)).items) == ["changed"]
        assert names(crawl(spider, **in_a_ledger(tmp_path)).items) == []


def test_an_item_with_todays_date_is_stored_again_tomorrow_unless_its_field_is_ignored(
    tmp_path: Any,
):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "seen": day}
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    days = {"2031-05-01": PRODUCTS, "2031-05-02": PRODUCTS}
    with served(SHOP) as url:
        starts = [f"{url}/product/{n}" for n in range(PRODUCTS)]
        spider = spider_over(*starts, **{**handing_on(), "parse": parse})
        for settings in ({}, {"DEDUP_IGNORE_FIELDS": ["seen"]}):
            folder = tmp_path / str(len(settings))
            folder.mkdir()
            for day in days:
                stored = crawl(spider, **in_a_ledger(folder), **settings).items
                days[day] = len(stored)
            assert list(days.values()) == [PRODUCTS, 0 if settings else PRODUCTS]


def test_the_item_that_was_to_be_stored_and_failed_is_stored_with_its_copy():
    class FailOnce:
        failed = False

        def process_item(self, item: Any) -> Any:
            if not self.failed and item["name"] == "Lamp 0":
                self.failed = True
                raise OSError("disk full")
            return item

    result = run([SHOP, MIRROR], handing_on(), ITEM_PIPELINES={FailOnce: 300})
    assert names(result.items) == EVERY_PRODUCT


@pytest.mark.slow
def test_items_of_more_values_than_can_be_asked_for_one_by_one_are_equal_or_stored():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "many": list(range(10_001))}
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    result = run([SHOP, MIRROR], {**handing_on(), "parse": parse})
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED


def test_values_that_cannot_be_compared_keep_their_items_which_is_told_once():
    class Thing:
        pass

    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "thing": Thing()}
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    result = run([SHOP, MIRROR], {**handing_on(), "parse": parse})
    assert names(result.items) == sorted(EVERY_PRODUCT + MIRRORED)
    assert result.dedup_stats["skipped/unreadable_item"] == PRODUCTS + len(MIRRORED)
    [message] = result.messages()
    assert "'thing'" in message
    assert "DEDUP_IGNORE_FIELDS" in message
    ignoring = run([SHOP, MIRROR], {**handing_on(), "parse": parse}, DEDUP_IGNORE_FIELDS=["thing"])
    assert names(ignoring.items) == EVERY_PRODUCT


def test_items_of_their_own_text_are_judged_by_it_wherever_it_comes_from():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"name": name_of(response), "text": response.css("p::text").getall()}
        yield asking(response, self.parse_reviews, cb_kwargs={"item": item})

    attributes = {**handing_on(), "parse": parse}
    result = run([SHOP, MIRROR], attributes, DEDUP_ITEM_FIELD="text")
    assert names(result.items) == EVERY_PRODUCT
    assert names([item for item, _ in result.dropped]) == MIRRORED


def test_of_several_items_of_a_page_each_is_stored_by_itself():
    """A pipeline refuses one of two: its copy is no duplicate."""

    class Refuse:
        def process_item(self, item: Any) -> Any:
            if item["name"] == "second" and item["url"].endswith("/0"):
                raise DropItem("refused")
            return item

    def parse(self: Any, response: Any) -> Any:
        yield {"name": "first", "url": response.url}
        yield {"name": "second", "url": response.url}

    site = {f"/{n}": page(article(1)) for n in range(3)}
    result = run([site], {"parse": parse}, *site, ITEM_PIPELINES={Refuse: 300})
    stored = [(item["name"], item["url"][-1]) for item in result.items]
    assert stored == [("first", "0"), ("second", "1")]


NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]

# What is handed on of each number, and what a callback makes of that and its page: never the same.
MADE_ANEW: dict[str, tuple[Callable[[int], Any], Callable[[Any, Any], Any]]] = {
    "looked up": (lambda n: n, lambda number, _: NAMES[number]),
    "number": (lambda n: f"1.25{n},00 EUR", lambda price, _: float(price[:5].replace(".", ""))),
    "joined with text": (lambda n: f"<b>{NAMES[n]}", lambda name, page: name[3:] + text_of(page)),
    "flag": (lambda n: n > 2, lambda flag, _: "used" if flag else "fresh"),
    "long text": (lambda n: article(n + 20), lambda text, _: text.upper().replace(".", " -")),
    "iterator": (lambda n: iter([NAMES[n]]), lambda names, _: next(names)),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", MADE_ANEW)
def test_what_a_callback_makes_of_what_it_was_handed_is_compared(case: str):
    """Products of different values, some of which come a second time from a mirror."""
    given, made = MADE_ANEW[case]

    def parse(self: Any, response: Any) -> Iterator[Any]:
        value = given(int(response.url[-1]))
        yield asking(response, partial(self.parse_value, value=value))

    def parse_value(self: Any, response: Any, value: Any) -> Iterator[Any]:
        yield {"url": response.url, "made": made(value, response)}

    result = run([SHOP, MIRROR], {"parse": parse, "parse_value": parse_value})
    reviews = HtmlResponse("http://a/", body=NO_REVIEWS.encode())
    expected = {made(given(n), reviews) for n in range(PRODUCTS)}
    assert sorted(item["made"] for item in result.items) == sorted(expected)
    assert len(result.dropped) == PRODUCTS + len(MIRRORED) - len(expected)
    assert result.messages() == []


def test_a_page_counts_once_however_many_items_it_has():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for row in text_of(response).split()[:20]:
            yield {"row": row}

    texts = [" ".join([*(f"row{text}{n}" for n in range(20)), article(text)]) for text in (1, 2)]
    site = {"/1": page(texts[0]), "/2": page(texts[1]), "/copy": page(texts[0], footer="x")}
    result = run([site], {"parse": parse}, *site)
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
    result = run([{"/a": stock, "/mirror": stock}], {"start": start, "parse": parse}, "")
    assert names(result.items) == ["C-2", "L-1"]
    assert names([item for item, _ in result.dropped]) == ["L-1"]


def test_messages_of_dropped_items_name_a_page(tmp_path: Any):
    settings = {**in_a_ledger(tmp_path), "DEDUP_LOG_LEVEL": "INFO"}
    with served({"/a": page(article(1)), "/b": page(article(1), footer="x")}) as url:
        spider = spider_over(f"{url}/a", f"{url}/b")
        first, second = crawl(spider, **settings), crawl(spider, **settings)
    assert [str(reason) for _, reason in first.dropped] == [
        f"exact duplicate of <{url}/a> (simhash, distance 0)"
    ]
    assert str(second.dropped[0][1]) == f"unchanged: <{url}/a>"


def test_titles_of_copies_of_one_headline_do_not_tell_their_items_apart():
    titles = ["The bridge", "The bridge (print version)", "Print: The bridge"]
    copies = [page(article(1), title=title) for title in titles]
    site = {
        f"/{n}": copy.replace(f"<h1>{titles[n]}</h1>", f"<h1>{titles[0]}</h1>")
        for n, copy in enumerate(copies)
    }
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
