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
INDEX = "<sitemapindex><sitemap><loc>{0}/sitemap.xml</loc></sitemap></sitemapindex>"


def run(site: Any = SITE, /, settings: Any = (), sitemap_of: str = "", **arguments: str) -> Crawl:
    """Serve *site*, and crawl it with *arguments*, in which ``{0}`` is its URL.

    It has a sitemap of the path *sitemap_of*, if that is given, and another one of that sitemap.
    """
    pages = dict(site)
    with served(pages) as url:
        if sitemap_of:
            urls = f"<urlset><url><loc>{url}{sitemap_of}</loc></url></urlset>"
            pages["/sitemap.xml"] = Answer(urls.encode(), content_type="application/xml")
            pages["/outer.xml"] = Answer(INDEX.format(url).encode(), content_type="application/xml")
        filled = {name: value.format(url) for name, value in arguments.items()}
        return crawl(SiteSpider, arguments=filled, DEDUP_FIELDS=DEDUP_FIELDS, **dict(settings))


def test_a_site_is_crawled_within_its_host_and_port_and_every_content_stored_once():
    result = run(url="{0}")
    assert result.stored == ["/", "/a", "/deep", "/deeper"]
    assert result.stats["item_dropped_count"] == 1


def test_items_are_pages_with_text_title_language_coverage_time_and_on_demand_html():
    result = run(url="{0}", max_pages="1", save_html="yes")
    [item] = map(dict, result.items)
    assert result.stats["finish_reason"] == "max_pages"
    assert result.stats["dedup/claims/committed"] == 1  # a later crawl knows the last page, too
    assert item.pop("fetched").endswith("+00:00")
    assert article(1)[:50] in item.pop("text")
    assert item.pop("canonical") is None
    assert item.pop("html") == SITE["/"]
    assert item.pop("url").startswith("http://127.0.0.1:")
    assert item == {"title": "A page", "language": "en", "coverage": 1.0}


def test_the_number_of_pages_and_the_depth_are_limited():
    result = run(url="{0}", max_pages="2")
    assert result.stats["dedup/pages"] == 2
    assert result.stats["finish_reason"] == "max_pages"
    assert run(url="{0}", max_depth="1").stored == ["/", "/a"]


def test_several_urls_are_separated_by_commas():
    with served(SITE) as two:
        result = run(url=f"{{0}}/deeper, {two}/a")
    assert {"/deeper", "/a", "/deep"} <= set(result.stored)
    assert f"{two}/a" in {item["url"] for item in result.items}


def test_the_sitemap_is_followed_on_demand():
    path = "/only-in-the-sitemap"
    switched = run(sitemap_of=path, url="{0}/a", sitemap="yes")
    assert sorted(switched.stored) == ["/a", "/deep", "/deeper", path]
    assert run(sitemap_of=path, sitemap="{0}/sitemap.xml").stored == [path]


def test_the_depth_of_a_sitemaps_pages_is_that_of_a_start():
    for depth, stored in (("0", ["/a"]), ("1", ["/a", "/deep"])):
        result = run(sitemap_of="/a", sitemap="{0}/outer.xml", max_depth=depth)
        assert result.stored == stored


def test_a_start_that_is_redirected_to_another_host_is_crawled_there_but_no_other_page():
    with served(SITE) as there:
        away = Answer(b"", 301, headers={"Location": f"{there}/a"})
        assert run({"/": away}, url="{0}").stored == ["/a", "/deep", "/deeper"]
        site = {"/": page(article(9), "/away"), "/away": away}
        assert run(site, url="{0}").stored == ["/"]


def test_robots_txt_is_asked_for_at_a_start_outside_the_domains():
    result = run(url="{0}/b", domains="example.com", settings={"ROBOTSTXT_OBEY": True})
    assert result.items == []
    assert result.stats["robotstxt/forbidden"] == 1


@each(
    ("arguments", "followed", "others"),
    [
        (
            {"url": "https://docs.example.com/", "domains": "example.com, example.org"},
            ["docs.example.com/a", "docs.example.com:443/a", "www.example.com/a", "example.org/a"],
            ["docs.example.com:8443/a", "badexample.org/a", "[/a"],
        ),
        ({"url": "docs.example.com"}, ["docs.example.com/a"], ["www.docs.example.com/a"]),
    ],
)
def test_a_crawl_stays_at_the_hosts_and_ports_of_its_urls_or_in_its_domains(
    arguments: dict[str, str], followed: list[str], others: list[str]
):
    spider = SiteSpider(**arguments)
    urls = [*followed, *others]
    assert [url for url in urls if spider._is_of_site(f"https://{url}")] == followed
    assert not spider._is_of_site("http://docs.example.com/a")


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
