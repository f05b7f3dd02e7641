"""Nothing that an item says is dropped while no stored item says it: in real crawls."""

import asyncio
import json
from collections.abc import Callable, Iterator
from hashlib import md5
from time import process_time, time
from typing import Any

import pytest
from crawls import Crawl, crawl, spider_over
from scrapy import Request
from texts import article, edited, page
from web import Answer, served

COUNT = 20
TEXT = article(1)
NOTICE = page("This page needs a browser that runs scripts, so please switch them on. " * 3)


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


def in_a_script() -> dict[str, str]:
    return {
        f"/app/{n}": with_data(
            NOTICE,
            f'<script id="__NEXT_DATA__" type="application/json">'
            f"{json.dumps({'name': f'Lamp {n}', 'text': article(n)})}</script>",
        )
        for n in range(COUNT)
    }


def parse_script(self: Any, response: Any) -> Iterator[Any]:
    yield json.loads(response.css("#__NEXT_DATA__::text").get())


def branches() -> dict[str, str]:
    return {
        f"/branch/{n}": page(TEXT, title="Our branch", footer=f"{n} High Street, 555-{n:04}")
        for n in range(COUNT)
    }


def parse_branch(self: Any, response: Any) -> Iterator[Any]:
    street, phone = response.css("footer::text").get().split(", ")
    yield {"url": response.url, "name": "Our branch", "street": street, "phone": phone}


def products() -> dict[str, str]:
    """The title is that of the shop, the headline that of the product."""
    return {
        f"/product/{n}": page(TEXT, title="A lamp").replace("<h1>A lamp", f"<h1>Lamp {n}")
        for n in range(COUNT)
    }


def parse_product(self: Any, response: Any) -> Iterator[Any]:
    yield {"url": response.url, "name": response.css("h1::text").get(), "brand": "Wend"}


def lists() -> dict[str, str]:
    """Rows in a list that is no main text; the second list has another order, and one row more."""
    rows = [f"<li class=row>Town {n}: {n * 7} people" for n in range(10)]
    return {
        "/list/a": with_data(page(TEXT), f"<ul>{''.join(rows)}</ul>"),
        "/list/b": with_data(page(TEXT), f"<ul>{''.join(reversed(rows))}<li class=row>More</ul>"),
    }


def parse_rows(self: Any, response: Any) -> Iterator[Any]:
    for row in response.css(".row::text").getall():
        yield {"row": row}


def with_an_api() -> dict[str, Any]:
    pages: dict[str, Any] = {f"/seen/{n}": page(TEXT) for n in range(COUNT)}
    for n in range(COUNT):
        answer = json.dumps({"score": n}).encode()
        pages[f"/api/seen/{n}"] = Answer(answer, content_type="application/json")
    return pages


async def parse_with_tasks(self: Any, response: Any) -> Any:
    async def more(url: str) -> Any:
        download = self.crawler.engine.download_async(Request(url))
        return (await download).json()

    path = "/api/" + response.url.split("/", 3)[3]
    first, _ = await asyncio.gather(more(response.urljoin(path)), asyncio.sleep(0))
    yield {"url": response.url, **first}


SITES: dict[str, tuple[Callable[[], dict[str, Any]], Any, str]] = {
    "prices": (offers, parse_offer, "price"),
    "data in a script": (in_a_script, parse_script, "name"),
    "branches": (branches, parse_branch, "phone"),
    "products": (products, parse_product, "name"),
    "rows of lists": (lists, parse_rows, "row"),
    "an API in tasks": (with_an_api, parse_with_tasks, "score"),
}


def said(result: Crawl, field: str) -> set[str]:
    return {json.dumps(item[field], default=str) for item in result.items}


def visit(site: dict[str, Any], parse: Any, **settings: Any) -> Crawl:
    starts = [path for path in site if not path.startswith("/api")]
    with served(site) as url:
        return crawl(spider_over(*(url + path for path in starts), parse=parse), **settings)


@pytest.fixture
def ledger(tmp_path: Any) -> dict[str, Any]:
    return {"DEDUP_INDEX": str(tmp_path / "pages.sqlite")}


@pytest.mark.parametrize("name", SITES)
def test_whatever_an_item_says_is_stored_and_its_copies_are_not(ledger: Any, name: str):
    make, parse, field = SITES[name]
    site = make()
    everything = said(visit(site, parse, DEDUP_ENABLED=False), field)
    ledger["CONCURRENT_REQUESTS"] = 8
    with served(site) as url:
        starts = [url + path for path in site if not path.startswith("/api")]
        spider = spider_over(*starts, parse=parse)
        assert said(crawl(spider, **ledger), field) == everything
        assert crawl(spider, **ledger).items == []
    if name != "an API in tasks":
        assert visit(site, parse, **ledger).items == []  # a mirror: another port


def test_a_method_that_compares_words_one_by_one_loses_nothing_either():
    site = offers()
    assert said(visit(site, parse_offer, DEDUP_METHOD="verified"), "price") == {
        f'"{10 + n}"' for n in range(COUNT)
    }


def test_changed_prices_are_news_and_so_is_a_price_that_comes_again(ledger: Any):
    site = offers()
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse_offer)
        prices = []
        for change in (0, 4, 0, 0):
            site.update(offers(lambda n, change=change: 100 * n + change))
            result = crawl(spider, **ledger)
            prices.append([item["price"] for item in result.items])
            assert result.dedup_stats.get("changed", 0) == (COUNT if 0 < len(prices) - 1 < 3 else 0)
    assert prices[0] == [str(100 * n) for n in range(COUNT)]
    assert prices[1] == [str(100 * n + 4) for n in range(COUNT)]
    assert prices[2] == prices[0]
    assert prices[3] == []


def test_a_changed_price_is_news_though_another_page_of_the_same_text_has_it(ledger: Any):

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "price": response.css(".price::text").get()}

    site = offers()
    prices = []
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse)
        for price in (10, 11, 10, 10):  # that of the next page
            site["/offer/0"] = offers(lambda n, price=price: price)["/offer/0"]
            prices.append([item["price"] for item in crawl(spider, **ledger).items])
    assert prices == [[str(10 + n) for n in range(COUNT)], ["11"], ["10"], []]


def test_pages_whose_mirrors_have_a_name_keep_it():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        has_name = response.url.endswith("q")
        yield {"name": response.css("h1::text").get()} if has_name else {"place": "here"}

    with served(dict.fromkeys(("/p", "/q"), page(TEXT, title="The lamp"))) as url:
        result = crawl(spider_over(f"{url}/p", f"{url}/q", parse=parse))
    assert result.items == [{"place": "here"}, {"name": "The lamp"}]


def test_a_value_that_is_gone_is_news(ledger: Any):
    items = [{"price": 5, "discount": 2}, {"price": 5}, {"price": 5}]
    stored = []
    with served({"/": page(TEXT)}) as url:
        for item in items:

            def parse(self: Any, response: Any, item: Any = item) -> Iterator[Any]:
                yield dict(item)

            stored.append(crawl(spider_over(url, parse=parse), **ledger).items)
    assert stored == [[items[0]], [items[1]], []]


def test_what_a_page_says_no_more_is_stored_when_it_says_it_again(ledger: Any):
    stored = []
    with served({"/": page(TEXT)}) as url:
        for rows in ("abc", "ac", "abc", "abc"):

            def parse(self: Any, response: Any, rows: str = rows) -> Iterator[Any]:
                yield from ({"row": row} for row in rows)

            result = crawl(spider_over(url, parse=parse), **ledger)
            stored.append("".join(item["row"] for item in result.items))
    assert stored == ["abc", "", "b", ""]


def test_copies_of_articles_are_stored_once_whatever_their_spider_notes_of_the_fetch():
    """Session ids, tracking parameters, mirrors and print views, with time, MD5 id and author."""
    titles = [f"The news of day {n}" for n in range(10)]
    site = {}
    for n, title in enumerate(titles):
        html = page(article(n), title=title)
        site[f"/news/{n}"] = site[f"/news/{n}?utm_source=feed"] = html
        site[f"/news/{n}?session=77"] = html.replace("Footer", "Your session: 77")
        printed = html.replace(f"<title>{title}", f"<title>{title} (print version)")
        site[f"/print/{n}"] = printed.replace("<nav>", "<nav>Print")

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {
            "id": md5(response.url.encode(), usedforsecurity=False).hexdigest(),
            "url": response.url,
            "title": response.css("title::text").get(),
            "text": "\n".join(response.css("p::text").getall()),
            "author": "A. Writer",
            "published": "2024-05-01",
            "fetched": time(),
        }

    result = visit(site, parse)
    assert len(result.items) == len(titles)
    with served(site) as one, served(site) as other:
        urls = [root + path for path in site for root in (one, other)]
        assert len(crawl(spider_over(*urls, parse=parse)).items) == len(titles)


def test_an_item_without_its_optional_author_repeats_one_that_has_it():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        has_author = response.url.endswith("/a")
        yield {"url": response.url, "tag": "news", **({"author": "A"} if has_author else {})}

    result = visit({"/a": page(TEXT), "/b": page(TEXT)}, parse)
    assert [item["url"][-2:] for item in result.items] == ["/a"]
    result = visit({"/b": page(TEXT), "/a": page(TEXT)}, parse)
    assert [item["url"][-2:] for item in result.items] == ["/b", "/a"]


def test_all_copies_of_rows_are_dropped_though_each_lacks_a_value():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for n in range(500):
            row = {"name": f"Row {n}", "size": n % 7, "colour": n % 5, "even": n % 2}
            if response.url.endswith("/copy"):
                del row[["name", "size", "colour", "even"][n % 4]]
            yield row

    result = visit({"/list": page(TEXT), "/copy": page(edited(TEXT))}, parse)
    # Without its name, a row says what others say.
    assert (len(result.items), len(result.dropped)) == (500, 500)


def test_one_item_of_many_pages_of_one_text_is_found_by_its_values():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        number = int(response.url.rpartition("/")[2])
        item = {"number": number, "kind": "lamp", "even": number % 2}
        if "/copy/" in response.url:
            del item["even"]
        yield item

    site = {f"/{kind}/{n}": page(TEXT) for kind in ("page", "copy") for n in range(150)}
    result = visit(site, parse)
    assert (len(result.items), len(result.dropped)) == (150, 150)


def test_an_item_that_cannot_be_read_is_kept_and_the_log_names_its_field_once():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "handle": object()}

    result = visit({"/a": page(TEXT), "/b": page(TEXT), "/c": page(TEXT)}, parse)
    assert len(result.items) == 3
    assert result.dedup_stats["skipped/unreadable_item"] == 3
    [message] = result.messages()
    assert "'handle'" in message


def test_fields_that_say_nothing_are_left_out():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "offer": {"price": 5, "seen": id(response)}, "views": time()}

    site = {"/a": page(TEXT), "/b": page(TEXT)}
    assert len(visit(site, parse).items) == 2
    assert len(visit(site, parse, DEDUP_IGNORE_FIELDS="offer.seen, views").items) == 1
    assert len(visit(site, parse, DEDUP_IGNORE_FIELDS=["*"]).items) == 1
    assert len(visit(site, parse, DEDUP_IGNORE_FIELDS=["seen"]).items) == 2


def test_a_page_without_main_text_is_unchanged_if_it_shows_and_says_the_same(ledger: Any):
    site = {"/": "<html><body><img src=a.png alt=A></body></html>"}
    price = 5

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "price": price}

    with served(site) as url:
        spider = spider_over(url, parse=parse)
        assert len(crawl(spider, **ledger).items) == 1
        second = crawl(spider, **ledger)
        assert (second.items, second.dedup_stats["unchanged"]) == ([], 1)
        price = 6
        assert len(crawl(spider, **ledger).items) == 1


@pytest.mark.parametrize("options", ["", "?share=1"])
def test_a_page_without_main_text_may_say_fewer_items_and_new_ones(tmp_path: Any, options: str):
    ledger = {"DEDUP_INDEX": f"sqlite:///{tmp_path}/pages.sqlite{options}"}
    names = ["a", "b"]
    site = {"/": "<html><body><img src=a.png alt=A></body></html>", "/other": page(article(2))}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield from ({"url": response.url, "name": name} for name in names)

    def stored() -> list[tuple[str, str]]:
        crawled = crawl(spider_over(f"{url}/", f"{url}/other", parse=parse), **ledger)
        assert "errors" not in crawled.dedup_stats
        assert "checkpoints/failed" not in crawled.dedup_stats
        return sorted((item["url"].removeprefix(url), item["name"]) for item in crawled.items)

    with served(site) as url:
        assert stored() == [("/", "a"), ("/", "b"), ("/other", "a"), ("/other", "b")]
        names = ["a"]
        assert stored() == []
        names = ["a", "c"]
        assert stored() == [("/", "c"), ("/other", "c")]
        assert stored() == []


def test_processes_that_share_a_ledger_store_whatever_items_say(tmp_path: Any):
    ledger = {"DEDUP_INDEX": f"sqlite:///{tmp_path}/pages.sqlite?share=1"}
    site = {**offers(), **branches()}

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield from (parse_branch if "/branch/" in response.url else parse_offer)(self, response)

    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse)
        stored = [len(crawl(spider, CONCURRENT_REQUESTS=8, **ledger).items) for _ in range(3)]
    assert stored == [len(site), 0, 0]


@pytest.mark.slow
def test_a_page_of_thousands_of_rows_takes_time_by_the_number_of_its_rows():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for n in range(self.rows):
            yield {"name": f"Row {n}", "size": n % 7}

    seconds = []
    for rows in (500, 2000):
        with served({"/a": page(TEXT), "/b": page(TEXT)}) as url:
            start = process_time()
            result = crawl(
                spider_over(f"{url}/a", f"{url}/b", parse=parse, rows=rows), keep_log=False
            )
            seconds.append(process_time() - start)
        assert (len(result.items), len(result.dropped)) == (rows, rows)
    assert seconds[1] < 8 * seconds[0]
