"""What is skipped as a copy of another page is fetched where that page does not come."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from crawls import Crawl, crawl
from saved_sites import Shop, Site, contents, listing, run, shop
from scrapy import Request
from texts import article, page

from dedup.scrapy_plugin.saved_requests import url_rules

pytestmark = pytest.mark.slow  # together


IN_ORDER = {"DEPTH_PRIORITY": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


def products(*links: str, query: str = "sid=s{}x", size: int = 60) -> Site:
    """A site of products, each under two URLs, and after these what else the start page links."""
    both = [f"/{n}{other.format(n)}" for n in range(size) for other in ("", f"?{query}")]
    start = listing(*both, *links)

    def answer(path: str) -> str | None:
        parts = urlsplit(path)
        if parts.path == "/":
            return start
        if not parts.path[1:].isdigit():
            return None
        title = f"Product {parts.path[1:]}"
        return page(article(int(parts.path[1:])), title=title)

    return Site(answer)


@pytest.fixture
def without_tests(monkeypatch):
    """Nothing is found out by a sample while the crawl runs."""
    monkeypatch.setattr(url_rules, "is_a_test", lambda *_: False)


@pytest.fixture
def without_any_tests(monkeypatch, without_tests):
    monkeypatch.setattr(url_rules.UrlRules, "spider_idles", lambda _: None)


def all_of(site: Site, tmp_path: Path, **settings: Any) -> Crawl:
    """Crawl *site*; nothing may be lost, and the figures must agree."""
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, **IN_ORDER, **settings)
    assert contents(result) == sorted(f"Product {number}" for number in range(60))
    [spared] = [n for name, n in result.stats.items() if name.endswith("/spared")]
    assert spared == result.stats["dedup/saved_requests/url_rule"]
    return result


@pytest.mark.parametrize(("target", "concurrency"), [("/1", 1), ("/30", 1), ("/?start", 16)])
def test_a_copy_is_fetched_where_the_page_itself_is_a_redirect(
    tmp_path, without_tests, target, concurrency
):
    """To a page that was asked for, to itself, and to a list."""
    site = products()
    site.redirects["/30"] = target
    result = all_of(
        site, tmp_path, CONCURRENT_REQUESTS=concurrency, CONCURRENT_REQUESTS_PER_DOMAIN=concurrency
    )
    assert "/30?sid=s30x" in site.fetched()
    # What was skipped, and at the end sent to test the rule.
    assert result.stats["dedup/saved_requests/tests/url-rule"] > 0


def test_what_a_callback_awaits_is_sent(tmp_path, without_tests):
    async def parse(self, response):
        for output in Shop.parse(self, response):
            if isinstance(output, dict) and response.url.endswith("/55"):
                request = response.request.replace(url=response.urljoin("/54?sid=other"))
                output["other"] = (await self.crawler.engine.download_async(request)).status
            yield output

    result = run(products(), tmp_path, {"parse": parse}, DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert [item["other"] for item in result.items if "other" in item] == [200]


def test_a_part_that_means_nothing_to_products_may_choose_a_list(tmp_path, without_any_tests):
    site = products("/list", "/list?cat=hats", query="cat=shoes", size=58)
    answer = site.answer
    lists = {"/list": listing("/1"), "/list?cat=hats": listing("/58", "/59")}
    site.answer = lambda path: lists.get(path) or answer(path)
    all_of(site, tmp_path)


def test_a_request_that_is_no_get_stands_for_no_other(tmp_path, without_any_tests):
    def parse(self, response):
        for output in Shop.parse(self, response):
            is_post = isinstance(output, Request) and output.url.endswith("/50")
            yield output.replace(method="POST") if is_post else output

    site = products()
    with site.served() as url:
        result = crawl(shop(url, parse=parse), DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert ("/50?sid=s50x", 200) in site.asked
    assert result.stats["dedup/saved_requests/url_rule"] > 0


def test_a_link_that_every_page_has_does_not_keep_a_rule_from_being_found(tmp_path):
    """The scheduler refuses it: that page was asked for with another callback."""

    def parse(self, response):
        yield from Shop.parse(self, response)
        yield response.follow("/1", callback=self.parse)

    result = run(products(), tmp_path, {"parse": parse}, DEDUP_SKIP_URLS=True, **IN_ORDER)
    assert result.stats["dedup/saved_requests/tests/url-rule"] > 0


def test_leaves_that_are_not_fetched_break_no_rule(tmp_path):
    lists = [f"/list{number}{query}" for number in range(5) for query in ("", "?sid=abc")]
    site = products(*lists)
    answer = site.answer
    site.answer = lambda path: listing("/1", "/2") if "list" in path else answer(path)
    with site.served() as url:
        for _ in range(2):
            result = crawl(
                shop(url), DEDUP_SKIP_URLS=True, DEDUP_REVISITS="skip",
                DEDUP_INDEX=tmp_path / "pages.sqlite", **IN_ORDER,
            )  # fmt: skip
            assert not result.messages()
    assert "dedup/saved_requests/contradictions/url-rule" not in result.stats


@pytest.mark.parametrize("is_killed", [False, True])
def test_what_was_skipped_before_an_interruption_is_tested_at_the_end(
    tmp_path, without_tests, is_killed
):
    """Or fetched, if nobody knows what of it had come."""
    site = products("/60", "/61", query="c=red_{}x")
    answer = site.answer

    def coloured(path: str) -> str | None:
        number, _, query = path[1:].partition("?c=")
        if query and int(number) >= 30:
            return page(article(1000 + int(number)), title=f"Product {number} {query}")
        return answer(path)

    site.answer = coloured
    settings = {
        "JOBDIR": str(tmp_path / "job"), "DEDUP_SKIP_URLS": True, **IN_ORDER,
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "FEEDS": {str(tmp_path / "pages.jl"): {"format": "jsonlines"}},
    }  # fmt: skip
    with site.served() as url:
        for most in (61, 0):
            result = crawl(shop(url), **settings, CLOSESPIDER_ITEMCOUNT=most)
            if most and is_killed:
                with closing(sqlite3.connect(tmp_path / "job" / "dedup.put-off.sqlite")) as file:
                    file.execute("PRAGMA user_version = 0")  # as before its end
    broken = result.stats.get("dedup/saved_requests/contradictions/url-rule", 0)
    assert broken == (not is_killed)
    assert result.stats.get("dedup/saved_requests/url_rule", 0) >= 0
    lines = (tmp_path / "pages.jl").read_text().splitlines()
    assert len({json.loads(line)["title"] for line in lines}) == 62 + 30


def test_a_damaged_file_of_what_was_skipped_loses_no_page(tmp_path):
    job = tmp_path / "job"
    job.mkdir()
    job.joinpath("dedup.put-off.sqlite").write_bytes(b"no database" * 1000)
    queue = "scrapy.squeues.PickleFifoDiskQueue"
    result = all_of(products(), tmp_path, JOBDIR=str(job), SCHEDULER_DISK_QUEUE=queue)
    [warning] = result.messages()
    assert "is damaged" in warning
