"""DEDUP_FOLLOW_DUPLICATES = False: links are held back only if those of a copy were followed."""

from collections.abc import Iterator
from typing import Any

import pytest
from cases import each
from crawls import crawl_paths, follow_links
from scrapy import Request
from test_middleware import Handling
from texts import article, page
from web import served

SITE = {
    "/a": page(article(1), "/1", "/2"),
    "/b": page(article(1), "/1", "/2", footer="A copy"),
    "/1": page(article(11)),
    "/2": page(article(12)),
}


def run(*starts: str, site: Any = SITE, **options: Any) -> tuple[list[str], Any]:
    """The pages that were fetched, and the crawl; ``/b`` is asked for on another host.

    They are named with their hosts: ``a/1``, ``b/1``.
    """
    with served(site) as url, served(site) as mirror:
        urls = [(mirror if path == "/b" else url) + path for path in starts]
        options = {"parse": follow_links, "start_urls": urls, **options}
        result = crawl_paths("", DEDUP_FOLLOW_DUPLICATES=False, **options)
    names = (one.replace(url, "a").replace(mirror, "b") for one in result.fetched)
    return sorted(names), result


def test_the_links_of_a_copy_are_held_back():
    fetched, result = run("/a", "/b")
    assert fetched == ["a/1", "a/2", "a/a", "b/b"]
    assert result.dedup_stats["links_held_back"] == 2


def test_a_list_whose_pages_have_one_text_is_read_to_its_end():
    paths = [f"/list?page={number}" for number in range(1, 7)]
    site = {path: page(article(1), *paths[n : n + 1]) for n, path in enumerate(paths, 1)}
    fetched, result = run(paths[0], site=site)
    assert len(fetched) == 6
    assert "links_held_back" not in result.dedup_stats


def test_a_request_that_asks_for_the_next_page_of_a_list_in_its_body_is_sent():
    sent: list[bytes] = []

    def parse(self: Any, response: Any) -> Iterator[Any]:
        sent.append(response.request.body)
        if len(sent) < 4:
            yield Request(response.url, self.parse, body=b"page=%d" % (len(sent) + 1))

    site = {"/": page(article(1))}
    run("/", site=site, parse=parse)
    assert sent == [b"", b"page=2", b"page=3", b"page=4"]


def test_a_link_to_another_host_is_not_taken_for_one_to_the_own_host():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        if response.url.endswith("/a"):
            yield response.follow("/1", self.parse)
        if response.url.endswith("/b"):
            yield response.follow("/2", self.parse)
            other = self.start_urls[0].replace("/a", "/1")
            yield Request(other, self.parse, dont_filter=True)

    fetched, result = run("/a", "/b", parse=parse)
    assert fetched == ["a/1", "a/1", "a/a", "b/2", "b/b"]
    assert "links_held_back" not in result.dedup_stats


RING: list[Any] = []
RING.append(RING)


@each(
    "options",
    [
        {"cookies": {"lang": "en"}},
        {"meta": {"cookiejar": 1}},
        {"cb_kwargs": {"item": {"of": "the first page"}}},
        {"cb_kwargs": {"cents": 5}},  # what tells the items apart may be made of it
        {"cb_kwargs": {"ring": RING}},
        {"method": "POST"},
        {"callback": "another"},
    ],
)
def test_a_link_that_hands_on_something_or_leads_to_another_callback_is_followed(options: Any):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        for link in response.css("a"):
            callback = self.last if response.url.endswith("/b") else self.parse
            how = {"callback": callback} if "callback" in options else {**options}
            yield response.follow(link, **{"callback": self.last, **how})

    def last(self: Any, response: Any, **_: Any) -> Iterator[Any]:
        yield {"url": response.url, "by": "another callback"}

    _, result = run("/a", "/b", parse=parse, last=last)
    assert result.stats["response_received_count"] == 6
    assert "links_held_back" not in result.dedup_stats


def test_the_links_of_all_pages_are_followed_where_there_are_too_many(monkeypatch: Any):
    monkeypatch.setattr("dedup.scrapy_plugin.links._MOST_LINKS", 0)
    fetched, result = run("/a", "/b")
    assert {"b/1", "b/2"} <= set(fetched)
    assert "links_held_back" not in result.dedup_stats


@pytest.mark.parametrize("handling", [{}, {Handling: 543}])
@pytest.mark.parametrize("moment", ["between", "after"])
def test_the_links_of_a_copy_are_followed_if_the_callback_of_the_first_page_raised(
    moment: str, handling: Any
):
    def breaking(self: Any, response: Any) -> Iterator[Any]:
        is_first = response.url.endswith("/a")
        for number, output in enumerate(follow_links(self, response)):
            if is_first and number == 2 and moment == "between":
                raise ValueError(moment)
            yield output
        if is_first:
            raise ValueError(moment)

    fetched, result = run("/a", "/b", parse=breaking, SPIDER_MIDDLEWARES=handling)
    assert {"b/1", "b/2"} <= set(fetched)
    assert "links_held_back" not in result.dedup_stats
