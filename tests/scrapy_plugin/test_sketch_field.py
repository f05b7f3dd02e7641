"""DEDUP_SKETCH_FIELD in whole crawls: the records that items have, and what is made of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crawls import KnownSite, known_site, path_of
from scrapy import Request
from texts import ENGLISH, article, edited, page
from web import Answer

from dedup.methods import METHODS
from dedup.record_field import FieldReader
from dedup.stores.reader import LedgerReader

FIELD = "dedup_record"
SITE = {
    "/a": page(article(1)),
    "/copy": page(article(1)),
    "/near": page(edited(article(1))),
    "/other": page(article(2)),
    "/short": page("A few words only."),
    "/empty": "<html><body></body></html>",
    "/english": page(ENGLISH),
    "/data": Answer(b"%PDF-1.4 no text" * 16, content_type="application/pdf"),
}


def crawled(site: KnownSite, *paths: str, **settings: Any) -> list[dict[str, Any]]:
    """Crawl *site* with records in its items; return these, as they are in a new feed."""
    feed = site.ledger.with_name("items.jsonl")
    feed.unlink(missing_ok=True)
    feeds = {str(feed): {"format": "jsonlines"}}
    result = site.crawl(*paths, DEDUP_SKETCH_FIELD=FIELD, FEEDS=feeds, **settings)
    assert "log_count/ERROR" not in result.stats
    return [json.loads(line) for line in feed.read_text().splitlines()]


def test_items_that_are_stored_have_the_record_of_their_page(tmp_path: Path):
    with known_site(SITE, tmp_path) as site:
        stored = {path_of(item["url"]): item[FIELD] for item in crawled(site)}
    assert list(stored) == ["/a", "/other", "/short", "/empty", "/english", "/data"]
    [found] = FieldReader(METHODS["simhash"]()).read([stored["/a"]])
    assert not isinstance(found, ValueError)
    with LedgerReader(site.ledger) as reader:
        assert found.record in [page.record for page in reader.pages()]
    assert found.made_with[2:] == ("trafilatura", None, "crawl")
    assert stored["/data"]["binary"]
    assert stored["/empty"]["digest"] is None


def test_marked_and_kept_items_have_it_too_and_pages_that_were_not_read_have_none(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield Request(f"{response.url}?exempt", self.last, meta={"dedup": False})

    def last(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}

    spider = {"parse": parse, "last": last, "HTTPERROR_ALLOW_ALL": True}
    with known_site({**SITE, "/a?exempt": page(article(5))}, tmp_path) as site:
        marked = crawled(site, "/a", "/copy", DEDUP_ACTION="mark", **spider)
        kept = crawled(site, "/a", "/copy", DEDUP_REVISITS="keep", **spider)
    have_it = {path_of(item["url"]): FIELD in item for item in marked}
    assert have_it == {"/a": True, "/copy": True, "/a?exempt": False, "/copy?exempt": False}
    assert {path_of(item["url"]) for item in kept if FIELD in item} == {"/a"}


def test_an_item_that_is_yielded_again_with_another_page_has_the_record_of_that(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"url": response.url}
        yield item
        yield Request(response.urljoin("/other"), self.last, cb_kwargs={"item": item})

    def last(self: Any, response: Any, item: Any) -> Iterator[Any]:
        yield {**item, "other": response.url}

    with known_site(SITE, tmp_path) as site:
        items = crawled(site, "/a", parse=parse, last=last)
    keys = [item[FIELD]["key"] for item in items]
    assert keys == [f"{site.url}/a", f"{site.url}/other"]
