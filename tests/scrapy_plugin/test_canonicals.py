"""Pages that name another one as their canonical page give way to it, where that is true."""

import pytest
from crawls import crawl, spider_over
from scrapy import Request
from scrapy.exceptions import DropItem
from texts import article, edited, page
from web import Answer, served

TEXT, OTHER = article(1), article(2)
COPY = edited(TEXT)
WAITED, REQUESTED = "dedup/canonicals/waited", "dedup/canonicals/requested"


def naming(url: str, text: str = TEXT, **options) -> str:
    """A page with *text* that names *url* as its canonical page."""
    html = page(text, **options)
    return html.replace("<head>", f'<head><link rel="canonical" href="{url}">')


def links_of(self, response):
    yield {"url": response.url}
    if response.headers.get("Content-Type", b"").startswith(b"text/html"):
        for link in response.css("nav a::attr(href)").getall():
            yield response.follow(link)


def run(site, *paths, spider=None, **settings):
    """A crawl over *paths*, one after the other, with what it stored, dropped and fetched."""
    fetched = []

    class Pages(dict):
        def get(self, path, default=None):
            fetched.append(path)
            return super().get(path, default)

    with served(Pages(site)) as url:
        started = [url + path for path in paths]
        settings = {"DEDUP_PREFER": ["canonical"], "DEDUP_WAIT_TIMEOUT": 20, **settings}
        result = crawl(spider_over(*started, **(spider or {})), **settings)
    result.stored = [item["url"].removeprefix(url) for item in result.items]
    result.left_out = {
        item["url"].removeprefix(url): error.verdict.original.removeprefix(url)
        for item, error in result.dropped
    }
    result.fetched = [path for path in fetched if path != "/robots.txt"]
    assert "dedup/errors" not in result.stats
    assert "log_count/ERROR" not in result.stats
    return result


@pytest.mark.parametrize("text", [TEXT, COPY])
def test_a_page_gives_way_to_its_canonical_page_which_is_asked_for(text):
    result = run({"/print": naming("/tea", text), "/tea": naming("/tea")}, "/print")
    assert result.stored == ["/tea"]
    assert result.left_out == {"/print": "/tea"}
    assert result.stats[WAITED] == result.stats[REQUESTED] == 1


def test_a_link_header_names_it_too():
    pdf = Answer(b"%PDF of tea", content_type="application/pdf")
    copy = Answer(pdf.body, 200, pdf.content_type, {"Link": '</tea.pdf>; rel="canonical"'})
    result = run({"/1": copy, "/tea.pdf": pdf}, "/1")
    assert result.stored == ["/tea.pdf"]


def test_without_the_criterion_nobody_asks():
    site = {"/print": naming("/tea"), "/tea": naming("/tea")}
    result = run(site, "/print", DEDUP_PREFER=["clean-url"])
    assert (result.stored, result.fetched) == (["/print"], ["/print"])


def test_a_page_waits_for_its_canonical_page_that_is_on_its_way():
    site = {"/": page(OTHER, "/print", "/tea"), "/print": naming("/tea"), "/tea": page(TEXT)}
    site |= {"/slow": page(article(3))}

    def parse(self, response):
        yield {"url": response.url}
        if response.url.endswith("/"):
            yield response.follow("/print", priority=2)
            yield response.follow("/slow", priority=1)
            yield response.follow("/tea")

    result = run(site, "/", spider={"parse": parse})
    assert result.stored == ["/", "/slow", "/tea"]
    assert result.fetched == ["/", "/print", "/slow", "/tea"]
    assert REQUESTED not in result.stats


def test_a_canonical_page_that_was_stored_before_is_not_fetched_again():
    site = {"/": page(TEXT, "/print"), "/print": naming("/")}
    result = run(site, "/", spider={"parse": links_of})
    assert (result.stored, result.fetched) == (["/"], ["/", "/print"])


class TestItIsKept:
    """A page whose canonical page does not have its content, or cannot be had."""

    def test_if_that_is_missing(self):
        result = run({"/print": naming("/tea")}, "/print")
        assert result.stored == ["/print"]

    def test_if_that_fails(self):
        site = {"/print": naming("/tea"), "/tea": Answer(b"", 500)}
        assert run(site, "/print").stored == ["/print"]

    def test_if_that_is_another_content(self):
        site = {"/print": naming("/tea"), "/tea": page(OTHER)}
        assert sorted(run(site, "/print").stored) == ["/print", "/tea"]

    def test_if_that_shows_something_else(self):
        site = {"/red": naming("/blue", COPY, title="Red"), "/blue": page(TEXT, title="Blue")}
        assert sorted(run(site, "/red").stored) == ["/blue", "/red"]

    def test_if_that_redirects(self):
        moved = Answer(b"", 301, headers={"Location": "/print"})
        result = run({"/print": naming("/tea"), "/tea": moved}, "/print")
        assert result.stored == ["/print"]

    def test_if_that_redirects_to_a_page_with_its_content_which_is_dropped(self):
        moved = Answer(b"", 301, headers={"Location": "/new"})
        result = run({"/print": naming("/tea"), "/tea": moved, "/new": page(TEXT)}, "/print")
        assert len(result.stored) == 1

    @pytest.mark.parametrize("url", ["http://elsewhere.example/tea", "https://127.0.0.1:1/tea"])
    def test_if_that_is_on_another_host_or_port(self, url):
        result = run({"/print": naming(url)}, "/print")
        assert (result.stored, result.fetched) == (["/print"], ["/print"])

    def test_if_that_is_forbidden_by_robots(self):
        robots = Answer(b"User-agent: *\nDisallow: /tea", content_type="text/plain")
        site = {"/robots.txt": robots, "/print": naming("/tea"), "/tea": page(TEXT)}
        result = run(site, "/print", ROBOTSTXT_OBEY=True)
        assert (result.stored, result.fetched) == (["/print"], ["/print"])

    def test_if_that_is_offsite(self):
        site = {"/print": naming("/tea"), "/tea": page(TEXT)}

        async def start(self):
            for url in self.start_urls:
                yield Request(url, meta={"allow_offsite": True})

        spider = {"allowed_domains": ["elsewhere.example"], "start": start}
        # The copy of its request has the wish of that.
        assert run(site, "/print", spider=spider).stored == ["/tea"]
        spider["start"] = spider_over().start
        assert run(site, "/print", spider=spider).stored == ["/print"]

    def test_if_that_gives_no_item(self):
        def parse(self, response):
            if not response.url.endswith("/tea"):
                yield {"url": response.url}

        site = {"/print": naming("/tea"), "/tea": page(TEXT)}
        assert run(site, "/print", spider={"parse": parse}).stored == ["/print"]

    def test_if_the_callback_of_that_raises(self):
        def parse(self, response):
            if response.url.endswith("/tea"):
                raise CloseSpiderNot
            yield {"url": response.url}

        class CloseSpiderNot(Exception): ...

        site = {"/print": naming("/tea"), "/tea": page(TEXT)}
        with served(site) as url:
            spider = spider_over(url + "/print", parse=parse)
            result = crawl(spider, DEDUP_PREFER=["canonical"])
        assert [item["url"] for item in result.items] == [url + "/print"]

    def test_if_that_is_not_stored(self):
        class Storage:
            def process_item(self, item):
                if item["url"].endswith("/tea"):
                    raise DropItem("not wanted")
                return item

        site = {"/print": naming("/tea"), "/tea": page(TEXT)}
        with served(site) as url:
            spider = spider_over(url + "/print")
            result = crawl(spider, DEDUP_PREFER=["canonical"], ITEM_PIPELINES={Storage: 300})
        assert [item["url"] for item in result.items] == [url + "/print"]
