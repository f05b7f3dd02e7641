"""URLs that are known to be copies are not fetched, in real crawls, and nothing is lost."""

import json
from random import Random
from urllib.parse import parse_qsl, urlsplit

import pytest
from cases import each
from crawls import crawl
from saved_sites import Shop, Site, contents, listing, run, shop
from texts import article, page

from dedup.scrapy_plugin.saved_requests import url_rules
from dedup.scrapy_plugin.saved_requests.url_rules import _may_change
from dedup.url_advice.urls import Part, Url

pytestmark = pytest.mark.slow  # together


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

    @property
    def contents(self) -> list[str]:
        """What a crawl of all its URLs stores: titles."""
        coloured = range(self.size if self.means is None else self.means, self.size)
        plain = [f"Product {number}" for number in range(self.size)]
        return sorted([*plain, *(f"Product {number}red_one" for number in coloured)])


def test_urls_that_are_known_to_be_copies_are_not_fetched_and_nothing_is_lost(tmp_path):
    scheme = Schemes(120)
    site = Site(scheme.answer)
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, CONCURRENT_REQUESTS=4)
    fetched = site.fetched()
    assert contents(result) == scheme.contents
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
    result = run(Site(scheme.answer), tmp_path, DEDUP_SKIP_URLS=True, **settings)
    assert contents(result) == scheme.contents
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
    assert contents(result) == scheme.contents


@each(
    "query",
    ["page=2", "product_id=77", "productId=abc", "lang=english", "v=7", "x=zh-Hans", "v=en&v=zzz"],
)
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
    site = Site(scheme.answer)
    with site.served() as url:
        told = []
        for most in (60, 0):
            result = crawl(shop(url), **settings, CLOSESPIDER_ITEMCOUNT=most)
            told.append(result.dedup_stats)
    assert told[0]["saved_requests/url_rule"] > 0
    assert sum(one.get("saved_requests/contradictions/url-rule", 0) for one in told) == 1
    lines = (tmp_path / "pages.jl").read_text().splitlines()
    assert {json.loads(line)["title"] for line in lines} == set(scheme.contents)
