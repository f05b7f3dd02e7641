"""URLs that are known to be copies are not fetched, in real crawls, and nothing is lost.

What is skipped as a copy of another page is fetched where that page does not come.
"""

import json
from collections.abc import Container, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from cases import each
from crawls import Crawl
from saved_sites import Site, contents, crawl_shop, listing, parse_shop, run
from scrapy import Request, Spider
from texts import article, page

from dedup.scrapy_plugin.saved_requests import url_rules
from dedup.scrapy_plugin.saved_requests.put_off import PutOffRequests
from dedup.scrapy_plugin.saved_requests.url_rules import _may_change
from dedup.url_advice.urls import Part, Url

pytestmark = pytest.mark.slow  # together
SIZE = 24


@pytest.fixture(autouse=True)
def few_comparisons(monkeypatch):
    """Rules are found on small sites, too."""
    monkeypatch.setattr(url_rules, "ENOUGH", 5)


IN_ORDER = {"DEPTH_PRIORITY": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


def products(*links: str, forms: Sequence[str] = ("sid=s{}x",), size: int = SIZE) -> Site:
    """A site of products, each also under a URL of each of *forms*, and *links* after them.

    All URLs of a product lead on to the next one.
    """
    queries = ("", *(f"?{form}" for form in forms))
    start = listing(*(f"/{n}{query.format(n)}" for n in range(size) for query in queries), *links)

    def answer(path: str) -> str | None:
        parts = urlsplit(path)
        if parts.path == "/":
            return start
        if not parts.path[1:].isdigit():
            return None
        number = int(parts.path[1:])
        onward = f"/{(number + 1) % size}?ref=next"
        return page(article(number), onward, title=f"Product {number}")

    return Site(answer)


PRODUCTS = sorted(f"Product {number}" for number in range(SIZE))


def test_urls_that_are_known_to_be_copies_are_not_fetched_and_nothing_is_lost(tmp_path):
    """The ledger remembers rules."""
    site = products(forms=("sid=s{}x", "utm_source=mail", "print=yes", "c=red_one"))
    settings = {"DEDUP_SKIP_URLS": True, "CONCURRENT_REQUESTS": 4, **IN_ORDER}
    with site.served() as url:
        result = crawl_shop(url, tmp_path, **settings)
        assert contents(result) == PRODUCTS
        saved = result.stats["dedup/saved_requests/url_rule"]
        assert saved > 20
        first = len(site.fetched())
        assert first == 1 + 6 * SIZE - saved
        assert crawl_shop(url, tmp_path, **settings).items == []
        assert len(site.fetched()) < first - 10


def test_fewer_comparisons_are_no_rule(tmp_path):
    with products(size=4).served() as url:
        result = crawl_shop(url, tmp_path, DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert "dedup/saved_requests/url_rule" not in result.stats


def test_a_part_of_urls_without_which_links_would_not_be_found_is_no_rule(tmp_path):
    site = products()
    answer = site.answer

    def with_more(path: str) -> str | None:
        number, _, session = path[1:].partition("?sid=")
        if path.startswith("/more"):
            return page(article(500 + int(path[5:])), title=path)
        if session:
            return page(article(int(number)), f"/more{number}", title=f"Product {number}")
        return answer(path)

    site.answer = with_more
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert contents(result) == sorted([*PRODUCTS, *(f"/more{number}" for number in range(SIZE))])
    assert "parameter sid has" not in result.table


@each(
    ("query", "expected"),
    [
        *((query, False) for query in ("page=2", "product_id=77", "productId=abc")),
        *((query, False) for query in ("lang=english", "v=7", "x=zh-Hans", "v=en&v=zzz")),
        *((query, True) for query in ("sid=7", "PHPSESSID=a", "utm_source=mail")),
        *((query, True) for query in ("view=print", "theme=dark")),
    ],
)
def test_there_is_no_rule_over_page_numbers_ids_and_languages(query: str, expected: bool):
    """But over sessions, tracking, print views and the like."""
    name = query.partition("=")[0]
    url = Url.parse(f"http://a.example/list?{query}")
    assert url
    assert _may_change(Part("parameter", url.host, name), url) is expected


@pytest.fixture
def without_tests(monkeypatch):
    """Nothing is found out by a sample while the crawl runs."""
    monkeypatch.setattr(url_rules, "is_a_test", lambda *_: False)


def all_of(site: Site, tmp_path: Path, **settings: Any) -> Crawl:
    """Crawl *site*; nothing may be lost."""
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, **IN_ORDER, **settings)
    assert contents(result) == PRODUCTS
    assert "dedup/saved_requests/url_rule" in result.stats  # 0, if all were sent after all
    return result


@pytest.mark.parametrize(
    ("target", "instead", "concurrency"),
    [
        ("/1", None, 1),  # it was asked for
        ("/12", None, 1),  # to itself
        ("/?start", None, 16),  # a list
        (None, None, 1),  # missing
        (None, "<p>Are you a robot?</p>", 1),
    ],
)
def test_a_copy_is_fetched_where_the_page_itself_is_a_redirect_or_does_not_come(
    tmp_path, without_tests, target, instead, concurrency
):
    site = products()
    answer = site.answer
    if target:
        site.redirects["/12"] = target
    else:
        site.answer = lambda path: instead if path == "/12" else answer(path)
    result = all_of(
        site, tmp_path, CONCURRENT_REQUESTS=concurrency, CONCURRENT_REQUESTS_PER_DOMAIN=concurrency
    )
    assert "/12?sid=s12x" in site.fetched()
    # What was skipped, and at the end sent to test the rule.
    assert result.stats["dedup/saved_requests/tests/url-rule"] > 0


def test_what_a_callback_awaits_is_sent(tmp_path, without_tests):
    async def parse(self, response):
        for output in parse_shop(self, response):
            if isinstance(output, dict) and response.url.endswith("/19"):
                request = response.request.replace(url=response.urljoin("/18?sid=other"))
                output["other"] = (await self.crawler.engine.download_async(request)).status
            yield output

    result = run(products(), tmp_path, parse=parse, DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert [item["other"] for item in result.items if "other" in item] == [200]


def coloured_products(*links: str, coloured: Container[int] = range(10, SIZE)) -> Site:
    """A site of products, of which some have another one at a URL that seems to be a copy."""
    site = products(*links, forms=["c=red_{}x"])
    answer = site.answer

    def with_colours(path: str) -> str | None:
        number, _, query = path[1:].partition("?c=")
        if query and int(number) in coloured:
            return page(article(1000 + int(number)), title=f"Product {number} {query}")
        return answer(path)

    site.answer = with_colours
    return site


@pytest.mark.parametrize("first", [("/0", "/0?c=red_0x"), ("/0?c=red_0x", "/0")])
def test_two_new_items_break_a_rule_whichever_page_comes_first(tmp_path, without_tests, first):
    site = coloured_products(coloured=[0])
    answer, start = site.answer, listing(*first, "/all")
    site.answer = lambda path: start if path == "/" else answer("/" if path == "/all" else path)
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert contents(result) == sorted([*PRODUCTS, "Product 0 red_0x"])
    assert {f"/{number}?c=red_{number}x" for number in range(SIZE)} <= {*site.fetched()}


@pytest.mark.parametrize("when", ["at once", "at the end"])
def test_where_a_rule_breaks_what_was_skipped_by_it_is_fetched(tmp_path, request, when):
    """Also where no sample broke it while the crawl ran."""
    if when == "at the end":
        request.getfixturevalue("without_tests")
    result = run(coloured_products(), tmp_path, DEDUP_SKIP_URLS=True, DEDUP_INDEX="", **IN_ORDER)
    assert result.stats["dedup/saved_requests/contradictions/url-rule"] == 1
    assert any("'c' of URLs on" in message for message in result.messages())
    assert len(contents(result)) == SIZE + 14


def test_what_was_skipped_before_an_interruption_is_fetched_at_the_end(tmp_path, without_tests):
    """Nobody knows any more what of it had come."""
    job = tmp_path / "job"
    settings = {
        "JOBDIR": str(job), "DEDUP_SKIP_URLS": True, "DEDUP_INDEX": "", **IN_ORDER,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "FEEDS": {str(tmp_path / "pages.jl"): {"format": "jsonlines"}},
    }  # fmt: skip
    with coloured_products("/24", "/25").served() as url:
        crawl_shop(url, tmp_path, **settings, CLOSESPIDER_ITEMCOUNT=25)
        assert job.joinpath("dedup.put-off.sqlite").exists()
        result = crawl_shop(url, tmp_path, **settings)
    assert result.stats.get("dedup/saved_requests/url_rule", 0) >= 0
    lines = (tmp_path / "pages.jl").read_text().splitlines()
    assert len({json.loads(line)["title"] for line in lines}) == SIZE + 2 + 14
    assert not job.joinpath("dedup.put-off.sqlite").exists()


def test_a_damaged_file_of_what_was_skipped_loses_no_page(tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    job.joinpath("dedup.put-off.sqlite").write_bytes(b"no database" * 1000)
    queue = "scrapy.squeues.PickleFifoDiskQueue"
    result = all_of(products(), tmp_path, JOBDIR=str(job), SCHEDULER_DISK_QUEUE=queue)
    [warning] = result.messages()
    assert "is damaged" in warning


def test_what_waits_for_a_request_that_is_sent_and_comes_to_nothing_is_sent_too():
    sent: list[str] = []
    spider = Spider("test")
    engine = SimpleNamespace(spider=spider, crawl=lambda request: sent.append(request.url))
    crawler: Any = SimpleNamespace(engine=engine, spider=spider)
    requests = PutOffRequests(crawler, None, lambda *_: None)
    url = "http://example.com/p"
    requests.add(Request(f"{url}?q=2"), b"q", "url_rule", b"second", b"first")
    requests.add(Request(f"{url}?a=1&q=2"), b"a", "url_rule", b"third", b"second")

    def has_come(reason: bytes, page: bytes) -> bool:
        return page == b"first"

    assert requests.send_waiting(has_come) == []
    requests.send(b"q")
    requests.send_waiting(has_come)
    assert sent == [f"{url}?q=2", f"{url}?a=1&q=2"]
    requests.close(has_finished=True)
