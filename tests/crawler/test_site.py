"""The spider's arguments, on a site of the test's own."""

from typing import Any

import pytest
from cases import each
from crawls import Crawl, crawl
from texts import article, page
from web import Answer, served

from crawler.settings import DEDUP_FIELDS
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
    return crawl(SiteSpider, arguments=arguments, DEDUP_FIELDS=DEDUP_FIELDS, **settings)


def paths(result: Crawl, url: str) -> set[str]:
    return {item["url"].removeprefix(url) for item in result.items}


def test_a_site_is_crawled_within_its_host_and_port_and_every_content_stored_once():
    with served(SITE) as url:
        result = crawl_site({"url": url})
    assert paths(result, url) == {"", "/a", "/deep", "/deeper"}
    assert result.stats["item_dropped_count"] == 1


def test_items_are_pages_with_text_title_language_coverage_time_and_on_demand_html():
    with served(SITE) as url:
        result = crawl_site({"url": url, "max_pages": "1", "save_html": "yes"})
    item = dict(result.items[0])
    assert item.pop("fetched").endswith("+00:00")
    assert article(1)[:50] in item.pop("text")
    assert item.pop("canonical") is None
    assert item.pop("html") == SITE["/"]
    assert item == {"url": url, "title": "A page", "language": "en", "coverage": 1.0}


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


def test_the_depth_of_a_sitemaps_pages_is_that_of_a_start():
    index = "<sitemapindex><sitemap><loc>{0}/inner.xml</loc></sitemap></sitemapindex>"
    inner = "<urlset><url><loc>{0}/a</loc></url></urlset>"
    site = dict(SITE)
    with served(site) as url:
        for path, body in (("/outer.xml", index), ("/inner.xml", inner)):
            site[path] = Answer(body.format(url).encode(), content_type="application/xml")
        shallow = crawl_site({"sitemap": f"{url}/outer.xml", "max_depth": "0"})
        deeper = crawl_site({"sitemap": f"{url}/outer.xml", "max_depth": "1"})
    assert paths(shallow, url) == {"/a"}
    assert paths(deeper, url) == {"/a", "/deep"}


def test_a_start_that_is_redirected_to_another_host_is_crawled_there():
    with served(SITE) as there:
        away = Answer(b"", 301, headers={"Location": f"{there}/a"})
        with served({"/": away}) as here:
            result = crawl_site({"url": here})
    assert paths(result, there) == {"/a", "/deep", "/deeper"}


def test_a_page_that_is_redirected_off_the_site_is_not_stored():
    with served(SITE) as there:
        away = Answer(b"", 301, headers={"Location": f"{there}/a"})
        with served({"/": page(article(9), "/away"), "/away": away}) as here:
            result = crawl_site({"url": here})
    assert paths(result, here) == {""}


def test_robots_txt_is_asked_for_at_a_start_outside_the_domains():
    with served(SITE) as url:
        result = crawl_site({"url": f"{url}/b", "domains": "example.com"}, ROBOTSTXT_OBEY=True)
    assert result.items == []
    assert result.stats["robotstxt/forbidden"] == 1


@each(
    ("arguments", "url", "is_followed"),
    [
        *(
            ({"url": "https://docs.example.com/", "domains": "example.com, example.org"}, *row)
            for row in (
                ("https://docs.example.com/a", True),
                ("https://docs.example.com:443/a", True),
                ("https://docs.example.com:8443/a", False),
                ("http://docs.example.com/a", False),
                ("https://www.example.com/a", True),
                ("https://example.org/a", True),
                ("https://badexample.org/a", False),
                ("https://[/a", False),
            )
        ),
        *(
            ({"url": "docs.example.com,http://127.0.0.1:8080/"}, *row)
            for row in (
                ("https://docs.example.com/a", True),
                ("https://www.docs.example.com/a", False),
                ("http://127.0.0.1:8080/a", True),
                ("http://127.0.0.1/admin", False),
            )
        ),
    ],
)
def test_a_crawl_stays_at_the_hosts_and_ports_of_its_urls_or_in_its_domains(
    arguments: dict[str, str], url: str, is_followed: bool
):
    assert SiteSpider(**arguments)._is_of_site(url) is is_followed


@each(
    ("arguments", "message"),
    [
        ({"url": "ftp://example.com/"}, "expected a URL such as https://example.com/"),
        ({"url": "https://"}, "got 'https://'"),
        ({"max_pages": "0"}, "max_pages must be a whole number of at least 1, got '0'"),
        ({"max_depth": "two"}, "max_depth must be a whole number of at least 0, got 'two'"),
        ({"max_depth": "-1"}, "max_depth must be a whole number of at least 0, got '-1'"),
        ({"url": ""}, "url is empty"),
        ({"sitemap": "perhaps"}, "sitemap must be yes or no or URLs, got 'perhaps'"),
        ({"domains": "example.com"}, "domains needs a url or a sitemap"),
        ({"url": "a.b", "domains": "http://a.b/"}, "domains must be names such as example.com"),
        ({"save_html": "perhaps"}, "save_html must be yes or no, got 'perhaps'"),
        ({"sitemap": "yes"}, "sitemap=yes needs a url"),
        (
            {"urls": "https://example.com/"},
            "unknown argument 'urls'; the arguments are url, domains",
        ),
    ],
)
def test_a_wrong_argument_is_refused(arguments: dict[str, str], message: str):
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(") + "|" + message):
        SiteSpider(**arguments)
