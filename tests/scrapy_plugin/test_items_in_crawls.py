"""Nothing that an item says is dropped while no stored item says it: in real crawls."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import KnownSite, crawl_paths, crawl_site, known_site, path_of
from scrapy import Request
from texts import article, page
from web import Answer, served

COUNT = 8
TEXT = article(1)
NOTICE = page("This page needs a browser that runs scripts, so please switch them on. " * 3)
PICTURE = "<html><body><img src=a.png alt=A></body></html>"


def with_data(html: str, data: str) -> str:
    return html.replace("</body>", f"{data}</body>")


def offers(prices: Callable[[int], int] = lambda n: 10 + n) -> dict[str, str]:
    return {
        f"/offer/{n}": with_data(
            page(TEXT, title="A lamp"),
            f"<span class=price>{prices(n)}</span><span class=stock>{n % 3}</span>",
        )
        for n in range(COUNT)
    }


def parse_offer(self: Any, response: Any) -> Iterator[Any]:
    yield {
        "url": response.url,
        "text": " ".join(response.css("p::text").getall()),
        "price": response.css(".price::text").get(),
        "stock": response.css(".stock::text").get(),
    }


def pages_of_equal_texts() -> dict[str, Any]:
    """Pages with what their items say outside of their main texts, by the first part of paths."""
    rows = [f"<li class=row>Town {n}: {n * 7} people" for n in range(10)]
    site: dict[str, Any] = offers()
    # The second list has another order, and one row more.
    site["/list/a"] = with_data(page(article(4)), f"<ul>{''.join(rows)}</ul>")
    more = f"<ul>{''.join(reversed(rows))}<li class=row>More</ul>"
    site["/list/b"] = with_data(page(article(4)), more)
    for n in range(COUNT):
        data = json.dumps({"name": f"Lamp {n}", "text": article(n)})
        script = f'<script id="__NEXT_DATA__" type="application/json">{data}</script>'
        site[f"/app/{n}"] = with_data(NOTICE, script)
        # The title is that of the shop, the headline that of the product.
        desk = page(article(3), title="Desk").replace("<h1>Desk", f"<h1>Desk {n}")
        site[f"/product/{n}"] = desk
        site[f"/seen/{n}"] = page(article(5))
        answer = json.dumps({"score": n}).encode()
        site[f"/api/seen/{n}"] = Answer(answer, content_type="application/json")
    return site


async def parse_any(self: Any, response: Any) -> Any:
    """Yield the items of any of these pages."""
    match path_of(response.url).split("/")[1]:
        case "offer":
            for item in parse_offer(self, response):
                yield item
        case "app":
            yield json.loads(response.css("#__NEXT_DATA__::text").get())
        case "product":
            headline = response.css("h1::text").get()
            yield {"url": response.url, "name": headline, "brand": "Wend"}
        case "list":
            for row in response.css(".row::text").getall():
                yield {"row": row}
        case "seen":
            api = Request(response.urljoin(f"/api{path_of(response.url)}"))
            download = self.crawler.engine.download_async(api)
            answer, _ = await asyncio.gather(download, asyncio.sleep(0))
            yield {"url": response.url, **answer.json()}


TELLING_APART = {"price", "name", "row", "score"}


def values_in(items: list[Any]) -> set[str]:
    return {str(item[field]) for item in items for field in TELLING_APART & item.keys()}


@pytest.fixture
def ledger(tmp_path: Path) -> dict[str, Any]:
    return {"DEDUP_INDEX": str(tmp_path / "pages.sqlite")}


def test_whatever_an_item_says_is_stored_and_its_copies_are_not(ledger: Any):
    yielded: list[Any] = []

    async def parse(self: Any, response: Any) -> Any:
        async for item in parse_any(self, response):
            yielded.append(item)
            yield item

    site = pages_of_equal_texts()
    starts = [path for path in site if not path.startswith("/api")]
    options = {"parse": parse, "CONCURRENT_REQUESTS": 8, **ledger}
    with served(site) as url:
        items = crawl_paths(url, *starts, **options).items
        said = values_in(yielded)
        assert len(said) == 4 * COUNT + 11
        assert values_in(items) == said
        assert crawl_paths(url, *starts, **options).items == []
    mirrored = [path for path in starts if not path.startswith("/seen")]
    assert crawl_site(site, *mirrored, **options).items == []  # another port


def test_a_changed_price_is_news_though_another_page_of_the_same_text_has_it(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "price": response.css(".price::text").get()}

    prices = []
    with known_site(offers(), tmp_path) as site:
        for price in (10, 11, 10, 10):  # that of the next page
            site.pages["/offer/0"] = offers(lambda n, price=price: price)["/offer/0"]
            prices.append([item["price"] for item in site.crawl(parse=parse).items])
    assert prices == [[str(10 + n) for n in range(COUNT)], ["11"], ["10"], []]


def test_a_page_that_changes_within_a_crawl_is_stored_again():
    class Live(dict[str, Any]):
        visits = 0

        def get(self, path: str, default: Any = None) -> Any:
            self.visits += 1
            return page(f"{article(1, 300)} The score is {self.visits % 2}.")

    with served(Live()) as url:
        result = crawl_paths(url, *["/live"] * 4, parse=parse_offer)
    assert sorted(item["text"][-2] for item in result.items) == ["0", "1"]
    assert result.dedup_stats["repeated"] == 2


@pytest.mark.parametrize(
    "options", [{}, {"DEDUP_FIELDS": {"text": "text"}}, {"DEDUP_ITEM_FIELD": "text"}]
)
@pytest.mark.parametrize("method", ["simhash", "verified"])
def test_near_texts_whose_numbers_differ_are_stored_but_not_if_only_versions_do(
    options: dict[str, Any], method: str
):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        text = "" if "DEDUP_FIELDS" in options else " ".join(response.css("p::text").getall())
        yield {"url": response.url, **({"text": text} if text else {})}

    text = article(2, 300)
    site = {f"/flat/{rent}": page(f"{text} The rent is {rent} EUR.") for rent in (700, 810, 925)}
    brew = article(3, 300)
    site |= {f"/brew/{n}": page(f"{brew} The version is v1.{n}.") for n in (7, 8, 9)}
    site["/flat/copy"] = page(f"{text} The rent was 810 EUR.")
    result = crawl_site(site, parse=parse, DEDUP_METHOD=method, **options)
    stored = [path_of(item["url"]) for item in result.items]
    assert sorted(path.split("/")[1] for path in stored) == ["brew", "flat", "flat", "flat"]
    assert {"/flat/700", "/flat/925"} < set(stored)
    assert result.stats["dedup/objections/other_item"] == 2


@pytest.mark.parametrize(
    "options", [{"DEDUP_FIELDS": {"text": "text"}}, {"DEDUP_ITEM_FIELD": "text"}]
)
@pytest.mark.parametrize("ignored", ["text", "*"])
def test_the_numbers_of_a_text_do_not_count_in_a_field_that_does_not(
    options: dict[str, Any], ignored: str
):
    text = article(2, 300)
    site = {f"/flat/{rent}": page(f"{text} The rent is {rent} EUR.") for rent in (700, 810)}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        text = " ".join(response.css("p::text").getall())
        yield {"url": response.url, **({"text": text} if "DEDUP_ITEM_FIELD" in options else {})}

    result = crawl_site(site, parse=parse, DEDUP_IGNORE_FIELDS=[ignored], **options)
    assert len(result.items) == 1


def test_what_a_page_says_no_more_is_news_where_it_is_a_value_and_none_where_it_is_an_item(
    tmp_path: Path,
):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield from map(dict, self.items)

    with known_site({"/": page(TEXT), "/list": page(article(2))}, tmp_path) as site:

        def stored(path: str, *items: dict[str, Any]) -> list[Any]:
            return site.crawl(path, parse=parse, items=items).items

        whole, less = {"price": 5, "discount": 2}, {"price": 5}
        assert stored("/", whole) == [whole]
        assert stored("/", less) == [less]
        assert stored("/", less) == []
        a, b, c = ({"row": row} for row in "abc")
        assert stored("/list", a, b, c) == [a, b, c]
        assert stored("/list", a, c) == []
        assert stored("/list", a, b, c) == [b]  # it says it again
        assert stored("/list", a, b, c) == []


def test_an_item_that_cannot_be_read_is_kept_and_the_log_names_its_field_once():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "handle": object()}

    result = crawl_site({"/a": page(TEXT), "/b": page(TEXT), "/c": page(TEXT)}, parse=parse)
    assert len(result.items) == 3
    assert result.dedup_stats["skipped/unreadable_item"] == 3
    [message] = result.messages()
    assert "'handle'" in message


@pytest.mark.parametrize("options", ["", "?share=1"])
def test_a_page_without_main_text_may_say_fewer_items_and_new_ones(tmp_path: Path, options: str):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield from ({"url": response.url, "name": name} for name in self.names)

    def stored(site: KnownSite, names: str) -> list[tuple[str, str]]:
        index = f"sqlite:///{site.ledger}{options}"
        crawled = site.crawl(parse=parse, names=names, DEDUP_INDEX=index)
        assert "errors" not in crawled.dedup_stats
        assert "checkpoints/failed" not in crawled.dedup_stats
        return sorted((path_of(item["url"]), item["name"]) for item in crawled.items)

    with known_site({"/": PICTURE, "/other": page(article(2))}, tmp_path) as site:
        assert stored(site, "ab") == [("/", "a"), ("/", "b"), ("/other", "a"), ("/other", "b")]
        assert stored(site, "a") == []
        assert stored(site, "ac") == [("/", "c"), ("/other", "c")]
        assert stored(site, "ac") == []
