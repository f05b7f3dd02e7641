"""Requests that need not be sent, in real crawls: what is fetched, and that nothing is lost."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

import pytest
from cases import each
from crawls import Crawl, crawl
from scrapy import Request, Spider
from scrapy.exceptions import DropItem
from texts import article, page

from dedup.scrapy_plugin.saved_requests import url_rules
from dedup.scrapy_plugin.saved_requests.url_rules import _may_change
from dedup.scrapy_plugin.settings.values import SettingError
from dedup.url_advice.urls import Part, Url

pytestmark = pytest.mark.slow  # together


class Site:
    """A site that answers by a function of the path, with validators, and knows what was asked."""

    def __init__(self, answer: Callable[[str], str | None]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, int]] = []
        self.lies = False
        self.etags = True

    def fetched(self) -> list[str]:
        """The paths that were sent whole since the last call."""
        asked, self.asked = self.asked, []
        return sorted(path for path, status in asked if status == 200)

    @contextmanager
    def served(self) -> Iterator[str]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                body = (site.answer(self.path) or "").encode()
                tag = f'"{md5(body).hexdigest()}"'
                given = self.headers.get("If-None-Match")
                status = 200 if body else 404
                if given and (site.lies or given == tag):
                    status, body = 304, b""
                site.asked.append((self.path, status))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Content-Type", "text/html")
                if site.etags:
                    self.send_header("ETag", tag)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()


class Shop(Spider):
    """Follows all links, and makes an item of each page that is no list."""

    name = "test"
    meta: ClassVar[dict[str, Any]] = {}

    def parse(self, response: Any) -> Any:
        if title := response.css("h1::text").get():
            yield {"url": response.url, "title": title, "price": response.css("i::text").get()}
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, meta=dict(self.meta))


def shop(url: str, **attributes: Any) -> type[Spider]:
    return type("TestSpider", (Shop,), {"start_urls": [f"{url}/"], **attributes})


def of(number: int, *links: str, price: int = 5) -> str:
    """The page of a product."""
    body = f"<h1>Product {number}</h1><i>{price}</i>{listing(*links)}</body>"
    return page(article(number), title=f"Product {number}").replace("</body>", body)


def listing(*links: str) -> str:
    return " ".join(f'<a href="{link}">more</a>' for link in links)


@pytest.fixture
def products() -> dict[str, str]:
    pages = {f"/{number}": of(number) for number in range(1, 9)}
    return {"/": listing(*pages), **pages}


def run(site: Site, tmp_path: Path, spider: dict[str, Any] | None = None, **settings: Any) -> Crawl:
    with site.served() as url:
        settings.setdefault("DEDUP_INDEX", tmp_path / "pages.sqlite")
        result = crawl(shop(url, **(spider or {})), **settings)
    assert not result.messages(40)
    return result


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


# URLs that are known to be copies.


class Schemes:
    """A site of *size* products; each page links to others by URLs with parts that mean nothing.

    *means*: from the product of this number on, `c` chooses the colour.
    """

    def __init__(self, size: int, seed: int = 1, means: int | None = None) -> None:
        self.size, self.means = size, means
        self.random = Random(seed)
        self.links = {number: self._links(number) for number in range(size)}

    def _links(self, number: int) -> list[str]:
        links = []
        for other in (2 * number + 1, 2 * number + 2):
            if other >= self.size:
                continue
            links += [f"/{other}", f"/{other}?sid={self.random.randrange(10**9):x}z"]
            links += [f"/{other}?utm_source=mail", f"/{other}?print=yes", f"/{other}?c=red_one"]
        self.random.shuffle(links)
        return links

    def answer(self, path: str) -> str | None:
        parts = urlsplit(path)
        if not parts.path[1:].isdigit():
            return listing("/0") if parts.path == "/" else None
        number, query = int(parts.path[1:]), dict(parse_qsl(parts.query))
        colour = ""
        if self.means is not None and number >= self.means:
            colour = query.get("c", "")
        text = f"{article(number)} {colour * 3}"
        body = f"<h1>Product {number}{colour}</h1>{listing(*self.links[number])}</body>"
        return page(text, title=f"Product {number}{colour}").replace("</body>", body)


def contents(result: Crawl) -> list[str]:
    return sorted({item["title"] for item in result.items})


@pytest.mark.parametrize("seed", range(2))
def test_urls_that_are_known_to_be_copies_are_not_fetched_and_nothing_is_lost(tmp_path, seed):
    scheme = Schemes(120, seed)
    site = Site(scheme.answer)
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, CONCURRENT_REQUESTS=4)
    fetched = site.fetched()
    assert contents(result) == sorted(f"Product {number}" for number in range(120))
    saved = result.stats["dedup/saved_requests/url_rule"]
    assert saved > 100
    assert len(fetched) == 2 + 119 * 5 - saved


@pytest.mark.parametrize(("seed", "means"), [(0, 70), (1, 100)])
def test_where_a_rule_breaks_what_was_skipped_by_it_is_fetched(tmp_path, seed, means):
    scheme = Schemes(120, seed, means=means)
    settings = {
        "DEDUP_INDEX": "", "DEPTH_PRIORITY": 1,
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }  # fmt: skip
    everything = run(Site(scheme.answer), tmp_path, **settings)
    result = run(Site(scheme.answer), tmp_path, DEDUP_SKIP_URLS=True, **settings)
    assert contents(result) == contents(everything)
    assert result.stats["dedup/saved_requests/contradictions/url-rule"] == 1
    assert any("'c' of URLs on" in message for message in result.messages())


def test_the_ledger_remembers_rules(tmp_path):
    scheme = Schemes(80)
    site = Site(scheme.answer)
    with site.served() as url:
        for _ in range(2):
            site.asked.clear()
            result = crawl(shop(url), DEDUP_SKIP_URLS=True, DEDUP_INDEX=tmp_path / "pages.sqlite")
    assert len(site.fetched()) < 200
    assert result.items == []


@pytest.mark.parametrize("instead", [None, "<p>Are you a robot?</p>"])
def test_a_copy_is_fetched_where_the_page_itself_fails(tmp_path, instead, monkeypatch):
    monkeypatch.setattr(url_rules, "is_a_test", lambda *_: False)  # which would find it, too
    monkeypatch.setattr(url_rules.UrlRules, "spider_idles", lambda _: None)
    scheme = Schemes(120)

    def answer(path: str) -> str | None:
        return instead if path in ("/110", "/115") else scheme.answer(path)

    result = run(
        Site(answer), tmp_path, DEDUP_SKIP_URLS=True, DEDUP_INDEX="", DEPTH_PRIORITY=1,
        SCHEDULER_MEMORY_QUEUE="scrapy.squeues.FifoMemoryQueue",
    )  # fmt: skip
    assert contents(result) == sorted(f"Product {number}" for number in range(120))


@each("query", ["page=2", "product_id=77", "productId=abc", "lang=english", "v=7", "x=zh-Hans"])
def test_there_is_no_rule_over_page_numbers_ids_and_languages(query: str):
    name = query.partition("=")[0]
    url = Url.parse(f"http://a.example/list?{query}")
    assert url
    assert not _may_change(Part("parameter", url.host, name), url)


@each("query", ["sid=7", "PHPSESSID=a", "utm_source=mail", "view=print", "theme=dark"])
def test_there_may_be_one_over_sessions_tracking_print_views_and_the_like(query: str):
    name = query.partition("=")[0]
    url = Url.parse(f"http://a.example/list?{query}")
    assert url
    assert _may_change(Part("parameter", url.host, name), url)


def test_a_url_that_another_callback_has_is_not_taken_for_fetched(tmp_path):
    scheme = Schemes(60)

    def other(self, response):
        yield {"url": response.url, "title": "other " + response.css("h1::text").get()}

    def parse(self, response):
        yield from Shop.parse(self, response)
        if response.css("h1"):
            path = urlsplit(response.url).path
            for query in ("", "?sid=other"):
                yield response.follow(path + query, callback=self.other)

    settings = {"DEDUP_INDEX": "", "DEDUP_IGNORE_FIELDS": ["url"]}
    spider = {"parse": parse, "other": other}
    found = [
        contents(run(Site(scheme.answer), tmp_path, spider, DEDUP_SKIP_URLS=skips, **settings))
        for skips in (False, True)
    ]
    assert found[0] == found[1]


def test_what_was_skipped_before_a_job_was_interrupted_is_fetched_where_the_rule_breaks(tmp_path):
    scheme = Schemes(120, 1, means=70)
    settings = {
        "JOBDIR": str(tmp_path / "job"), "DEDUP_SKIP_URLS": True, "DEPTH_PRIORITY": 1,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "FEEDS": {str(tmp_path / "pages.jl"): {"format": "jsonlines"}},
    }  # fmt: skip
    everything = run(Site(scheme.answer), tmp_path, DEDUP_INDEX="")
    site = Site(scheme.answer)
    with site.served() as url:
        told = []
        for most in (60, 0):
            result = crawl(shop(url), **settings, CLOSESPIDER_ITEMCOUNT=most)
            told.append(result.dedup_stats)
    assert told[0]["saved_requests/url_rule"] > 0
    assert sum(one.get("saved_requests/contradictions/url-rule", 0) for one in told) == 1
    lines = (tmp_path / "pages.jl").read_text().splitlines()
    assert {json.loads(line)["title"] for line in lines} == set(contents(everything))
