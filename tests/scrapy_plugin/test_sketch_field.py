"""DEDUP_SKETCH_FIELD in whole crawls: the records that items have, and what is made of them."""

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import crawl_paths
from scrapy import Request
from texts import ENGLISH, article, edited, page
from web import Answer, served

from dedup.cli import main
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


class Run:
    """Paths of a site whose crawls write a feed and a ledger."""

    def __init__(self, folder: Path, url: str, *paths: str, **settings: Any) -> None:
        self.url, self.paths = url, paths
        self.feed, self.ledger = folder / "items.jsonl", folder / "pages.sqlite"
        self.settings = {
            "DEDUP_SKETCH_FIELD": FIELD,
            "DEDUP_INDEX": self.ledger,
            "FEEDS": {str(self.feed): {"format": "jsonlines"}},
            **settings,
        }

    def crawl(self, **settings: Any) -> Any:
        result = crawl_paths(self.url, *self.paths, **{**self.settings, **settings})
        assert "log_count/ERROR" not in result.stats
        return result

    @property
    def items(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.feed.read_text().splitlines()]

    def rebuild(self, *arguments: Any) -> int:
        """Lose the ledger, and make it again."""
        self.ledger.unlink()
        command = ["ledger", self.feed, "-o", self.ledger, *arguments]
        return main(list(map(str, command)))

    def known(self) -> list[Any]:
        """What the ledger compares, in an order."""
        with LedgerReader(self.ledger) as reader:
            return sorted(stored.record for stored in reader.pages())

    @property
    def identity(self) -> dict[str, Any]:
        with LedgerReader(self.ledger) as reader:
            return reader.identity


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    with served(SITE) as url:
        yield Run(tmp_path, url, *SITE)


def test_items_that_are_stored_have_the_record_of_their_page(run: Run):
    run.crawl()
    reader = FieldReader(METHODS["simhash"]())
    stored = {item["url"].removeprefix(run.url): item for item in run.items}
    assert list(stored) == ["/a", "/other", "/short", "/empty", "/english", "/data"]
    [found] = reader.read([stored["/a"][FIELD]])
    assert not isinstance(found, ValueError)
    assert found.record in run.known()
    assert found.made_with[2:] == ("trafilatura", None, "crawl")
    assert stored["/data"][FIELD]["binary"]
    assert stored["/empty"][FIELD]["digest"] is None


def test_marked_and_kept_items_have_it_too_and_pages_that_were_not_read_have_none(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}
        yield Request(f"{response.url}?exempt", self.last, meta={"dedup": False})

    def last(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url}

    site = {**SITE, "/a?exempt": page(article(5))}
    with served(site) as url:
        run = Run(tmp_path, url, "/a", "/copy", parse=parse, last=last)
        run.crawl(DEDUP_ACTION="mark", HTTPERROR_ALLOW_ALL=True)
        marked = {item["url"].removeprefix(url): FIELD in item for item in run.items}
        run.feed.unlink()
        run.crawl(DEDUP_REVISITS="keep")
    assert marked == {"/a": True, "/copy": True, "/a?exempt": False, "/copy?exempt": False}
    assert {item["url"].removeprefix(url) for item in run.items if FIELD in item} == {"/a"}


def test_an_item_that_is_yielded_again_with_another_page_has_the_record_of_that(tmp_path: Path):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        item = {"url": response.url}
        yield item
        yield Request(response.urljoin("/other"), self.parse_other, cb_kwargs={"item": item})

    def parse_other(self: Any, response: Any, item: Any) -> Iterator[Any]:
        item["other"] = response.url
        yield item

    with served(SITE) as url:
        run = Run(tmp_path, url, "/a", parse=parse, parse_other=parse_other)
        run.crawl()
    first, second = run.items
    assert [item[FIELD]["key"] for item in (first, second)] == [f"{url}/a", f"{url}/other"]
    said = [len(b64decode(item[FIELD].get("says", ""))) for item in (first, second)]
    assert said == [0, 8]  # the path of the first page, and neither its own nor the first record
    assert first[FIELD]["digest"] != second[FIELD]["digest"]
