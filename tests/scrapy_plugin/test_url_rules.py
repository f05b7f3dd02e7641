"""URLs that are known to be copies are not fetched, in real crawls, and nothing is lost.

What is skipped as a copy of another page is fetched where that page does not come.
"""

import json
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from cases import each
from crawls import Crawl
from saved_sites import Site, contents, crawl_shop, listing, parse_shop, run
from texts import article, page

from dedup.scrapy_plugin.saved_requests import url_rules
from dedup.scrapy_plugin.saved_requests.url_rules import _may_change
from dedup.url_advice.urls import Part, Url

pytestmark = pytest.mark.slow  # together
SIZE = 24


@pytest.fixture(autouse=True)
def few_comparisons(monkeypatch):
    """Rules are found on small sites, too."""
    monkeypatch.setattr(url_rules, "ENOUGH", 5)


IN_ORDER = {"DEPTH_PRIORITY": 1, "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}


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
    """The ledger remembers rules."""
    scheme = Schemes(30)
    site = Site(scheme.answer)
    with site.served() as url:
        result = crawl_shop(url, tmp_path, DEDUP_SKIP_URLS=True, CONCURRENT_REQUESTS=4)
        fetched = site.fetched()
        assert contents(result) == scheme.contents
        saved = result.stats["dedup/saved_requests/url_rule"]
        assert saved > 20
        assert len(fetched) == 2 + 29 * 5 - saved
        assert crawl_shop(url, tmp_path, DEDUP_SKIP_URLS=True).items == []
        assert len(site.fetched()) < 75


def test_where_a_rule_breaks_what_was_skipped_by_it_is_fetched(tmp_path):
    scheme = Schemes(40, 0, means=24)
    settings = {"DEDUP_INDEX": "", "DEDUP_SKIP_URLS": True, **IN_ORDER}
    result = run(Site(scheme.answer), tmp_path, **settings)
    assert contents(result) == scheme.contents
    assert result.stats["dedup/saved_requests/contradictions/url-rule"] == 1
    assert any("'c' of URLs on" in message for message in result.messages())


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


def products(*links: str, query: str = "sid=s{}x", size: int = SIZE) -> Site:
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
    monkeypatch.setattr(url_rules.UrlRules, "_test_rules", lambda _: None)


def all_of(site: Site, tmp_path: Path, **settings: Any) -> Crawl:
    """Crawl *site*; nothing may be lost."""
    result = run(site, tmp_path, DEDUP_SKIP_URLS=True, **IN_ORDER, **settings)
    assert contents(result) == sorted(f"Product {number}" for number in range(SIZE))
    assert result.stats["dedup/saved_requests/url_rule"] > 0
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


def coloured_products(*links: str) -> Site:
    """A site of products, of which some have another one at a URL that seems to be a copy."""
    site = products(*links, query="c=red_{}x")
    answer = site.answer

    def coloured(path: str) -> str | None:
        number, _, query = path[1:].partition("?c=")
        if query and int(number) >= 10:
            return page(article(1000 + int(number)), title=f"Product {number} {query}")
        return answer(path)

    site.answer = coloured
    return site


def test_a_rule_that_no_sample_broke_is_tested_at_the_end(tmp_path, without_tests):
    result = run(coloured_products(), tmp_path, DEDUP_SKIP_URLS=True, DEDUP_INDEX="", **IN_ORDER)
    assert result.stats["dedup/saved_requests/contradictions/url-rule"] == 1
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
