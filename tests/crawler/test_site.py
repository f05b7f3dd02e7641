"""The spider's arguments, on a site of the test's own."""

import asyncio
from typing import Any

import pytest
from crawls import ADDON, Crawl, logged
from scrapy import signals
from scrapy.crawler import AsyncCrawlerRunner
from texts import article, page
from web import Answer, served

from crawler.spiders.site import SiteSpider

SITE: dict[str, Answer | str] = {
    "/": page(article(1), "/a", "/b", "https://elsewhere.example/"),
    "/a": page(article(2), "/deep"),
    "/b": page(article(1)),
    "/deep": page(article(3), "http://127.0.0.1:9/", "/deeper", "mailto:x@y", "javascript:"),
    "/deeper": page(article(4)),
    "/only-in-the-sitemap": page(article(5)),
    "/robots.txt": Answer(b"User-agent: *\nDisallow: /b\n", content_type="text/plain"),
    "/sitemap.xml": Answer(b"", content_type="application/xml"),
}


def crawl_site(arguments: dict[str, str], **settings: Any) -> Crawl:
    result = Crawl()

    async def run() -> None:
        runner = AsyncCrawlerRunner(
            {
                "TWISTED_REACTOR_ENABLED": False,
                "ADDONS": ADDON,
                "DEDUP_WORKERS": 0,
                "DEDUP_FIELDS": {"text": "text", "title": "title", "language": "language"},
                "LOG_ENABLED": False,
                "TELNETCONSOLE_ENABLED": False,
                "RETRY_ENABLED": False,
                **settings,
            }
        )
        crawler = runner.create_crawler(SiteSpider)

        def scraped(item: Any) -> None:
            result.items.append(dict(item))

        crawler.signals.connect(scraped, signals.item_scraped)
        await runner.crawl(crawler, **arguments)
        result.stats = dict(crawler.stats.get_stats())

    with logged(result.log):
        asyncio.run(run())
    return result


def paths(result: Crawl, url: str) -> set[str]:
    return {item["url"].removeprefix(url) for item in result.items}


def test_a_site_is_crawled_within_its_host_and_port_and_every_content_stored_once():
    with served(SITE) as url:
        result = crawl_site({"url": url})
    assert paths(result, url) == {"", "/a", "/deep", "/deeper"}
    assert result.stats["item_dropped_count"] == 1


def test_robots_txt_is_obeyed_in_the_projects_settings():
    with served(SITE) as url:
        result = crawl_site({"url": url}, ROBOTSTXT_OBEY=True)
    assert result.stats["robotstxt/forbidden"] == 1


def test_items_are_pages_with_text_title_language_and_time():
    with served(SITE) as url:
        result = crawl_site({"url": url, "max_pages": "1"})
    [item] = result.items
    assert item.pop("fetched").endswith("+00:00")
    assert article(1)[:50] in item.pop("text")
    assert item == {"url": url, "title": "A page", "language": "en"}


def test_html_is_saved_on_demand():
    with served(SITE) as url:
        result = crawl_site({"url": url, "max_pages": "1", "save_html": "yes"})
    assert result.items[0]["html"] == SITE["/"]


def test_the_number_of_pages_is_limited():
    with served(SITE) as url:
        result = crawl_site({"url": url, "max_pages": "2"})
    assert result.stats["dedup/pages"] == 2
    assert result.stats["finish_reason"] == "max_pages"


def test_the_depth_is_limited():
    with served(SITE) as url:
        result = crawl_site({"url": url, "max_depth": "1"})
    assert paths(result, url) == {"", "/a"}


def test_several_urls_are_separated_by_commas():
    with served(SITE) as one, served(SITE) as two:
        result = crawl_site({"url": f"{one}/deeper, {two}/a"})
    assert {item["url"] for item in result.items} >= {f"{one}/deeper", f"{two}/a", f"{two}/deep"}


def test_the_sitemap_is_followed_on_demand():
    with served(SITE) as url:
        location = f"<urlset><url><loc>{url}/only-in-the-sitemap</loc></url></urlset>"
        SITE["/sitemap.xml"] = Answer(location.encode(), content_type="application/xml")
        by_switch = crawl_site({"url": f"{url}/a", "sitemap": "yes"})
        by_url = crawl_site({"sitemap": f"{url}/sitemap.xml"})
    assert paths(by_switch, url) == {"/a", "/deep", "/deeper", "/only-in-the-sitemap"}
    assert paths(by_url, url) == {"/only-in-the-sitemap"}


def test_domains_widen_the_crawl():
    spider = SiteSpider(url="https://docs.example.com/", domains="example.com, example.org")
    assert spider.allowed_domains == ["example.com", "example.org"]
    assert SiteSpider(url="docs.example.com").allowed_domains == ["docs.example.com"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"url": "ftp://example.com/"}, "expected a URL such as https://example.com/"),
        ({"url": "https://"}, "got 'https://'"),
        ({"max_pages": "0"}, "max_pages must be a whole number of at least 1, got '0'"),
        ({"max_depth": "two"}, "max_depth must be a whole number of at least 1, got 'two'"),
        ({"save_html": "perhaps"}, "save_html must be yes or no, got 'perhaps'"),
        ({"sitemap": "yes"}, "sitemap=yes needs a url"),
        ({"urls": "https://example.com/"}, "there is no argument 'urls', but url, domains"),
    ],
)
def test_a_wrong_argument_is_refused(arguments: dict[str, str], message: str):
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(") + "|" + message):
        SiteSpider(**arguments)
