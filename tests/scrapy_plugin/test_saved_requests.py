"""Revisits that are not made, or cost a header, in real crawls: what is fetched and stored."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cases import each
from crawls import Crawl, query
from saved_sites import Site, crawl_shop, listing, of, parse_shop
from scrapy import Request
from scrapy.exceptions import DropItem
from scrapy.http import Response

from dedup.scrapy_plugin.saved_requests.leaves import _header, _modified

pytestmark = pytest.mark.slow  # together


PRODUCTS = [f"/{number}" for number in range(1, 9)]


class Twice:
    """A site of products that is served on one port, for several crawls with one ledger."""

    def __init__(self, folder: Path) -> None:
        self.pages = {"/": listing(*PRODUCTS), **{path: of(int(path[1:])) for path in PRODUCTS}}
        self.site = Site(lambda path: self.pages.get(path))
        self.folder = folder
        self.ledger = folder / "pages.sqlite"
        self.url = ""

    def crawl(self, **options: Any) -> Crawl:
        return crawl_shop(self.url, self.folder, **options)

    def fetched_by(self, **options: Any) -> list[str]:
        """Crawl it, and return the paths of what was sent whole."""
        self.site.asked.clear()
        assert not self.crawl(**options).messages(40)
        return self.site.fetched()


@pytest.fixture
def twice(tmp_path: Path) -> Iterator[Twice]:
    together = Twice(tmp_path)
    with together.site.served() as together.url:
        yield together


ALL = ["/", *PRODUCTS]
SKIP = {"DEDUP_REVISITS": "skip"}
ASK = {"DEDUP_REVISITS": "ask"}
SLOW = {"DOWNLOAD_DELAY": 0.1, "limits": {"CHECKPOINT_INTERVAL": 0.05}}


def test_stored_leaves_are_not_fetched_again_and_all_else_is(twice):
    twice.pages["/8"] = of(8, "/1")  # leads on
    assert len(twice.crawl(**SKIP).items) == 8
    assert twice.site.fetched() == ALL
    twice.pages |= {"/": listing(*PRODUCTS, "/new"), "/new": of(20)}
    second = twice.crawl(**SKIP)
    assert twice.site.fetched() == ["/", "/8", "/new"]
    assert [item["title"] for item in second.items] == ["Product 20"]
    assert second.stats["dedup/saved_requests/leaf"] == 8  # and the link of /8
    assert twice.fetched_by() == [*ALL, "/new"]


def test_a_request_for_what_this_crawl_has_visited_is_not_one_that_was_saved(twice):
    twice.pages["/1"] = of(1, "/7")  # which is visited before it
    assert "dedup/saved_requests/leaf" not in twice.crawl(**SKIP, **SLOW).stats


def test_a_leaf_is_fetched_again_where_that_is_asked_for(twice):
    twice.crawl(**SKIP)
    assert twice.fetched_by(meta={"dedup": {"again": True}}, **SKIP) == ALL
    assert twice.fetched_by(meta={"handed": "on"}, **SKIP) == ALL
    urls = [twice.url + path for path in PRODUCTS]
    assert twice.fetched_by(start_urls=urls, **SKIP) == PRODUCTS
    assert twice.fetched_by(name="other", **SKIP) == ALL  # what one spider met, spares no other
    query(twice.ledger, "UPDATE leaves SET visited = visited - 8 * 86400")
    assert twice.fetched_by(DEDUP_REVISITS={"skip": "9d"}) == ["/"]
    assert twice.fetched_by(DEDUP_REVISITS={"skip": "7d"}) == ALL
    query(twice.ledger, "UPDATE leaves SET visited = visited + 8 * 86400")  # the clock was wrong
    assert twice.fetched_by(DEDUP_REVISITS={"skip": "7d"}) == ALL
    assert twice.fetched_by(dedup_reset=True, **SKIP) == ALL


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
        yield from parse_shop(self, response)
        if response.url.endswith("/3"):
            raise RuntimeError("the template has changed")

    twice.crawl(parse=parse, ITEM_PIPELINES={Fails: 300}, **SKIP)
    assert twice.fetched_by(**SKIP) == ["/", "/1", "/2", "/3"]
    assert twice.fetched_by(**SKIP) == ["/"]


def test_a_page_that_leads_on_since_it_was_met_in_this_crawl_is_no_leaf(twice):
    """The ledger is written between its visits."""
    times = []

    def parse(self, response):
        yield from parse_shop(self, response)
        if response.url.endswith("/1"):
            times.append(1)
            if len(times) == 2:
                yield response.follow("/late")

    async def start(self):
        for number in (1, 2, 3, 1):
            yield Request(f"{twice.url}/{number}", dont_filter=True)

    twice.pages["/late"] = of(30)
    twice.crawl(parse=parse, start=start, **SKIP, **SLOW)
    assert "/1" in twice.fetched_by(**SKIP)


def test_a_redirected_list_is_no_leaf_though_its_links_take_over_its_meta(twice):
    def parse(self, response):
        for output in parse_shop(self, response):
            if isinstance(output, Request) and response.url.endswith("/list/"):
                output = output.replace(meta=response.meta)
            yield output

    twice.site.redirects["/list"] = "/list/"
    twice.pages |= {"/": listing("/list"), "/list/": listing(*PRODUCTS[:4])}
    for number in (4, 8):
        twice.pages["/list/"] = listing(*PRODUCTS[:number])
        fetched = twice.fetched_by(parse=parse, **SKIP)
        assert fetched == ["/", *PRODUCTS[number - 4 : number], "/list/"]


def test_what_a_callback_awaits_is_sent_whole(twice):
    async def parse(self, response):
        for output in parse_shop(self, response):
            if isinstance(output, dict) and not response.url.endswith("/8"):
                request = response.request.replace(url=response.urljoin("/8"))
                page = await self.crawler.engine.download_async(request)
                output["awaited"] = page.css("h1::text").get() if page.body else "nothing"
            yield output

    for price in (5, 6):
        twice.pages |= {f"/{number}": of(number, price=price) for number in range(1, 8)}
        found = twice.crawl(parse=parse, **ASK).items
        assert [item["awaited"] for item in found if "awaited" in item] == ["Product 8"] * 7


def test_of_what_has_not_changed_no_body_is_sent(twice):
    twice.crawl(**ASK)
    twice.site.fetched()
    twice.pages["/3"] = of(3, price=9)
    second = twice.crawl(**ASK)
    fetched = twice.site.fetched()
    assert [item["price"] for item in second.items] == ["9"]
    tested = second.stats["dedup/saved_requests/tests/not-modified"]
    saved = second.stats["dedup/saved_requests/not_modified"]
    assert {"/", "/3"} < set(fetched)
    assert (len(fetched), saved) == (2 + tested, 7 - tested)
    assert second.stats["dedup/unchanged"] == 7
    assert second.stats["downloader/response_status_count/304"] == 7
    third = twice.crawl(**ASK)
    assert (third.items, third.stats["dedup/unchanged"]) == ([], 8)


def test_nothing_is_asked_by_whoever_may_get_another_page(twice):
    twice.crawl(**ASK)

    async def start(self):
        yield Request(f"{self.start_urls[0]}", method="POST", body=b"password")

    for options in (
        {"start": start},
        {"meta": {"dedup": {"again": True}}},
        {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(twice.folder)},
        {"DEFAULT_REQUEST_HEADERS": {"cookie": "session=1"}},
        {"http_user": "me", "http_pass": "secret", "http_auth_domain": None},
        {"parse": _with_cookies},
    ):
        twice.site.asked.clear()
        twice.crawl(**options, **ASK)
        assert not [path for path, status in twice.site.asked if status == 304]


def _with_cookies(self, response):
    for output in parse_shop(self, response):
        yield output.replace(cookies={"a": "b"}) if isinstance(output, Request) else output


def test_a_server_that_says_so_of_what_has_changed_is_believed_no_more(twice):
    twice.crawl(**ASK)
    for number in range(1, 9):
        twice.pages[f"/{number}"] = of(number, price=9)
    twice.site.lies = True
    second = twice.crawl(CONCURRENT_REQUESTS=8, **ASK)
    assert sorted(item["price"] for item in second.items) == ["9"] * 8
    assert second.stats["dedup/saved_requests/contradictions/not-modified"] == 1
    [warning] = [m for m in second.messages() if "304" in m]
    assert "answers 304 for what has changed" in warning
    assert twice.fetched_by(**ASK) == ALL


def test_a_server_is_not_believed_once_a_leaf_has_become_a_list(twice):
    twice.crawl(**ASK)
    for number in range(1, 9):
        twice.pages |= {
            f"/{number}": listing(f"/{number + 20}"),
            f"/{number + 20}": of(number + 20),
        }
    twice.site.lies = True
    second = twice.crawl(**ASK)
    assert len(second.items) == 8
    assert any("304" in message for message in second.messages())


@each("value", [b"", b"  ", b'"a' + b"a" * 500, b'"\xe9"', b'"a\x01"', b'"a\nb"'])
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
