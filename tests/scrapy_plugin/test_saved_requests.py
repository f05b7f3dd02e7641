"""Revisits that are not made, or cost a header, in real crawls: what is fetched and stored."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from crawls import Crawl, crawl
from saved_sites import Shop, Site, listing, of, shop
from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.http import Response

from dedup.scrapy_plugin.saved_requests.leaves import _header, _modified
from dedup.scrapy_plugin.setting_values import SettingError

pytestmark = pytest.mark.slow  # together


@pytest.fixture
def products() -> dict[str, str]:
    pages = {f"/{number}": of(number) for number in range(1, 9)}
    return {"/": listing(*pages), **pages}


class Twice:
    """A site that is served on one port, for several crawls with one ledger."""

    def __init__(self, pages: dict[str, str], folder: Path) -> None:
        self.pages = pages
        self.site = Site(lambda path: self.pages.get(path))
        self.folder = folder
        self.url = ""

    def crawl(self, spider: dict[str, Any] | None = None, **settings: Any) -> Crawl:
        settings = {"DEDUP_INDEX": self.folder / "pages.sqlite", **settings}
        result = crawl(shop(self.url, **(spider or {})), **settings)
        assert not result.messages(40)
        return result


@pytest.fixture
def twice(products: dict[str, str], tmp_path: Path) -> Iterator[Twice]:
    together = Twice(products, tmp_path)
    with together.site.served() as together.url:
        yield together


PRODUCTS = [f"/{number}" for number in range(1, 9)]


def test_stored_leaves_are_not_fetched_again_and_all_else_is(twice):
    twice.pages["/8"] = of(8, "/1")  # leads on
    assert len(twice.crawl(DEDUP_REVISITS="skip").items) == 8
    assert twice.site.fetched() == ["/", *PRODUCTS]
    twice.pages |= {"/": listing(*PRODUCTS, "/new"), "/new": of(20)}
    second = twice.crawl(DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/", "/8", "/new"]
    assert [item["title"] for item in second.items] == ["Product 20"]
    assert second.stats["dedup/saved_requests/leaf"] == 8  # and the link of /8
    twice.crawl()
    assert twice.site.fetched() == ["/", *PRODUCTS, "/new"]


def test_a_leaf_is_fetched_again_where_that_is_asked_for(twice):
    twice.crawl(DEDUP_REVISITS="skip")
    twice.site.fetched()
    twice.crawl({"meta": {"dedup": {"again": True}}}, DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/", *PRODUCTS]
    twice.crawl({"meta": {"handed": "on"}}, DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/", *PRODUCTS]
    twice.crawl({"start_urls": [twice.url + path for path in PRODUCTS]}, DEDUP_REVISITS="skip")
    assert twice.site.fetched() == PRODUCTS
    with closing(sqlite3.connect(twice.folder / "pages.sqlite")) as file, file:
        file.execute("UPDATE leaves SET visited = visited - 8 * 86400")
    twice.crawl(DEDUP_REVISITS={"skip": "9d"})
    assert twice.site.fetched() == ["/"]
    twice.crawl(DEDUP_REVISITS={"skip": "7d"})
    assert twice.site.fetched() == ["/", *PRODUCTS]
    twice.crawl({"dedup_reset": True}, DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/", *PRODUCTS]


class Fails:
    """A pipeline that fails on one product, and drops another one."""

    def process_item(self, item):
        if item["title"] == "Product 1":
            raise RuntimeError("no such table")
        if item["title"] == "Product 2":
            raise DropItem("not wanted")
        return item


def test_a_page_is_no_leaf_whose_items_are_not_stored(twice):
    def parse(self, response):
        yield from Shop.parse(self, response)
        if response.url.endswith("/3"):
            raise RuntimeError("the template has changed")

    options = {"DEDUP_REVISITS": "skip", "ITEM_PIPELINES": {Fails: 300}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Crawl, "messages", lambda self, level: [])
        twice.crawl({"parse": parse}, **options)
    twice.site.fetched()
    twice.crawl(DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/", "/1", "/2", "/3"]
    twice.crawl(DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/"]


def test_a_page_that_leads_on_since_it_was_met_in_this_crawl_is_no_leaf(twice):
    """The ledger is written between its visits."""
    times = []

    def parse(self, response):
        yield from Shop.parse(self, response)
        if response.url.endswith("/1"):
            times.append(1)
            if len(times) == 2:
                yield response.follow("/late")

    async def start(self):
        for number in (1, 2, 3, 1):
            yield Request(f"{twice.url}/{number}", dont_filter=True)

    twice.pages["/late"] = of(30)
    twice.crawl(
        {"parse": parse, "start": start}, DEDUP_REVISITS="skip", DOWNLOAD_DELAY=0.1,
        limits={"CHECKPOINT_INTERVAL": 0.05},
    )  # fmt: skip
    twice.site.fetched()
    twice.crawl(DEDUP_REVISITS="skip")
    assert "/1" in twice.site.fetched()


def test_a_spider_is_not_spared_the_leaves_of_another_one(twice):
    twice.crawl(DEDUP_REVISITS="skip")
    twice.site.fetched()
    twice.crawl({"name": "other"}, DEDUP_REVISITS="skip")
    assert twice.site.fetched() == ["/", *PRODUCTS]


def test_a_redirected_list_is_no_leaf_though_its_links_take_over_its_meta(twice):
    def parse(self, response):
        for output in Shop.parse(self, response):
            if isinstance(output, Request) and response.url.endswith("/list/"):
                output = output.replace(meta=response.meta)
            yield output

    twice.site.redirects["/list"] = "/list/"
    twice.pages |= {"/": listing("/list"), "/list/": listing(*PRODUCTS[:4])}
    for number in (4, 8):
        twice.pages["/list/"] = listing(*PRODUCTS[:number])
        twice.crawl({"parse": parse}, DEDUP_REVISITS="skip")
        assert twice.site.fetched() == ["/", *PRODUCTS[number - 4 : number], "/list/"]


@pytest.mark.parametrize("takes_meta", [False, True])
def test_what_a_callback_awaits_is_sent_whole(twice, takes_meta):
    async def parse(self, response):
        for output in Shop.parse(self, response):
            if isinstance(output, dict) and not response.url.endswith("/8"):
                url = response.urljoin("/8")
                request = response.request.replace(url=url) if takes_meta else Request(url)
                page = await self.crawler.engine.download_async(request)
                output["awaited"] = page.css("h1::text").get() if page.body else "nothing"
            yield output

    for price in (5, 6):
        twice.pages |= {f"/{number}": of(number, price=price) for number in range(1, 8)}
        found = twice.crawl({"parse": parse}, DEDUP_REVISITS="ask").items
        assert [item["awaited"] for item in found if "awaited" in item] == ["Product 8"] * 7


def test_a_leaf_visited_at_a_time_to_come_is_fetched_again(twice):
    twice.crawl(DEDUP_REVISITS="skip")
    with closing(sqlite3.connect(twice.folder / "pages.sqlite")) as file, file:
        file.execute("UPDATE leaves SET visited = visited + 8 * 86400")  # the clock was wrong
    twice.site.fetched()
    twice.crawl(DEDUP_REVISITS={"skip": "7d"})
    assert twice.site.fetched() == ["/", *PRODUCTS]


def test_of_what_has_not_changed_no_body_is_sent(twice):
    twice.crawl(DEDUP_REVISITS="ask")
    twice.site.fetched()
    twice.pages["/3"] = of(3, price=9)
    second = twice.crawl(DEDUP_REVISITS="ask")
    fetched = twice.site.fetched()
    assert [item["price"] for item in second.items] == ["9"]
    tested = second.stats["dedup/saved_requests/tests/not-modified"]
    saved = second.stats["dedup/saved_requests/not_modified"]
    assert {"/", "/3"} < set(fetched)
    assert (len(fetched), saved) == (2 + tested, 7 - tested)
    assert second.stats["dedup/unchanged"] == 7
    assert second.stats["downloader/response_status_count/304"] == 7
    third = twice.crawl(DEDUP_REVISITS="ask")
    assert (third.items, third.stats["dedup/unchanged"]) == ([], 8)


def test_nothing_is_asked_by_whoever_may_get_another_page(twice):
    twice.crawl(DEDUP_REVISITS="ask")

    async def start(self):
        yield Request(f"{self.start_urls[0]}", method="POST", body=b"password")

    for spider in (
        {"start": start},
        {"meta": {"dedup": {"again": True}}},
        {"custom_settings": {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(twice.folder)}},
        {"custom_settings": {"DEFAULT_REQUEST_HEADERS": {"cookie": "session=1"}}},
        {"http_user": "me", "http_pass": "secret", "http_auth_domain": None},
        {"parse": _with_cookies},
    ):
        twice.site.asked.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Shop, "custom_settings", spider.pop("custom_settings", None))
            twice.crawl(spider, DEDUP_REVISITS="ask")
        assert not [path for path, status in twice.site.asked if status == 304]


def _with_cookies(self, response):
    for output in Shop.parse(self, response):
        yield output.replace(cookies={"a": "b"}) if isinstance(output, Request) else output


def test_a_server_that_says_so_of_what_has_changed_is_believed_no_more(twice):
    twice.crawl(DEDUP_REVISITS="ask")
    for number in range(1, 9):
        twice.pages[f"/{number}"] = of(number, price=9)
    twice.site.lies = True
    second = twice.crawl(DEDUP_REVISITS="ask", CONCURRENT_REQUESTS=8)
    assert sorted(item["price"] for item in second.items) == ["9"] * 8
    assert second.stats["dedup/saved_requests/contradictions/not-modified"] == 1
    [warning] = [m for m in second.messages() if "304" in m]
    assert "answers 304 for what has changed" in warning
    twice.site.fetched()
    twice.crawl(DEDUP_REVISITS="ask")
    assert twice.site.fetched() == ["/", *PRODUCTS]


def test_a_server_is_not_believed_once_a_leaf_has_become_a_list(twice):
    twice.crawl(DEDUP_REVISITS="ask")
    for number in range(1, 9):
        twice.pages |= {
            f"/{number}": listing(f"/{number + 20}"),
            f"/{number + 20}": of(number + 20),
        }
    twice.site.lies = True
    second = twice.crawl(DEDUP_REVISITS="ask")
    assert len(second.items) == 8
    assert any("304" in message for message in second.messages())


@pytest.mark.parametrize(
    "value", [b"", b"  ", b'"a' + b"a" * 500, b'"\xe9"', b'"a\x01"', b'"a\nb"']
)
def test_validators_that_a_client_or_a_server_may_refuse_are_not_sent(value):
    assert _header(Response("http://a.example/", headers={"ETag": value}), "ETag") is None


@pytest.mark.parametrize(
    ("modified", "is_sent"),
    [
        ("Wed, 21 Oct 2015 07:26:59 GMT", True),
        ("Wed, 21 Oct 2015 07:27:59 GMT", False),  # it may change in the same second again
        ("Wed, 21 Oct 2099 07:28:00 GMT", False),
        ("yesterday", False),
        ("Wed, 99 Oct 2015 07:28:00 GMT", False),
        ("Wed, 21 Oct 999999 07:28:00 GMT", False),
    ],
)
def test_only_a_page_unchanged_for_a_minute_is_asked_for_by_its_time(modified, is_sent):
    headers = {"Last-Modified": modified, "Date": "Wed, 21 Oct 2015 07:28:00 GMT"}
    answered = _modified(Response("http://a.example/", headers=headers))
    assert answered == (modified if is_sent else None)


def test_without_validators_all_is_fetched(twice):
    twice.site.etags = False
    twice.crawl(DEDUP_REVISITS="ask")
    twice.site.fetched()
    twice.crawl(DEDUP_REVISITS="ask")
    assert twice.site.fetched() == ["/", *PRODUCTS]


@pytest.mark.parametrize("index", ["", "sqlite:///{}/pages.sqlite?share=1"])
@pytest.mark.parametrize("way", ["skip", "ask", {"skip": "7d"}])
def test_a_ledger_of_its_own_is_needed(twice, index, way):
    with pytest.raises(SettingError, match="needs a ledger that no other crawl shares"):
        twice.crawl(DEDUP_REVISITS=way, DEDUP_INDEX=index.format(twice.folder))
