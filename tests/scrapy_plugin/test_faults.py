"""What goes wrong in dedup never costs an item, and never floods the log."""

import logging
from dataclasses import dataclass, field
from typing import Any

import attrs
import numpy as np
import pytest
from crawls import crawl, spider_over
from texts import article, page
from web import served

from dedup.methods import SimHash


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "cause"),
    [("CRASH", "crash"), ("EXIT", "crash"), ("HANG", "timeout"), ("RAISE", "error")],
)
def test_a_page_that_ruins_its_worker_is_kept_and_the_crawl_goes_on(word: str, cause: str):
    site = {
        "/a": page(article(1)),
        "/bad": page(f"{word} {article(2)}"),
        "/b": page(article(1)),
        "/c": page(article(3)),
    }
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site)),
            DEDUP_WORKERS=1,
            DEDUP_EXTRACTOR="extractors.fragile",
            limits={"PAGE_TIMEOUT": 2},
        )
    assert [item["url"].removeprefix(url) for item in result.items] == ["/a", "/bad", "/c"]
    assert result.dedup_stats == {
        "pages": 4,
        "new": 2,
        "exact_duplicates": 1,
        "bodies_repeated": 1,
        "skipped/extraction_failed": 1,
        f"unread/{cause}": 1,
        "items/dropped": 1,
    }
    [message] = result.messages()
    assert message.startswith(f"A page cannot be read ({cause}): <{url}/bad>")


@pytest.mark.slow
def test_a_body_that_could_not_be_read_is_not_tried_again():
    site = {"/a": page(f"HANG {article(1)}"), "/b": page(f"HANG {article(1)}")}
    with served(site) as url:
        result = crawl(
            spider_over(f"{url}/a", f"{url}/b"),
            DEDUP_WORKERS=1,
            DEDUP_EXTRACTOR="extractors.fragile",
            limits={"PAGE_TIMEOUT": 1},
        )
    assert len(result.items) == 2
    assert result.stats["dedup/unread/timeout"] == 2
    assert result.stats["elapsed_time_seconds"] < 6


class NewlyBroken(SimHash):
    """Fails where the fingerprint is looked up, in the crawler's own process."""

    def from_bytes(self, data: bytes) -> int:
        raise RuntimeError("a fault of the method")


@pytest.mark.slow
def test_any_failure_of_dedup_keeps_the_item_and_is_logged_once():
    site = {f"/{number}": page(article(number)) for number in range(5)}
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_METHOD=NewlyBroken)
    assert len(result.items) == 5
    assert result.dedup_stats == {"pages": 5, "skipped/error": 5, "errors": 5}
    assert len(result.messages(logging.ERROR)) == 1


def test_a_worker_that_cannot_start_keeps_every_item_and_says_why(monkeypatch: Any):
    monkeypatch.setattr("sys.executable", "/no/such/python")
    site = {f"/{number}": page(article(number)) for number in range(5)}
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_WORKERS=1)
    assert len(result.items) == 5
    assert result.stats["dedup/unread/start"] == 5
    [message] = result.messages()
    assert "/no/such/python" in message


def test_a_failure_while_a_verdict_is_carried_out_keeps_the_item(monkeypatch: Any):
    def broken(*_: Any) -> Any:
        raise RuntimeError("a fault of dedup")

    monkeypatch.setattr("dedup.scrapy_plugin.pipeline.set_field", broken)
    site = {f"/{number}": page(article(number)) for number in range(4)}
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_ACTION="mark")
    assert len(result.items) == 4
    assert result.stats["dedup/errors"] == 4
    assert len(result.messages(logging.ERROR)) == 1


class Hostile:
    """An item whose every attribute raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


@dataclass(slots=True)
class NeverSet:
    url: str
    body: str = field(init=False)


@attrs.define
class Picky:
    url: str
    dedup: Any = attrs.field(default=None)
    body: Any = attrs.field(default=None)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("dedup", "body") and value is not None:
            raise RuntimeError("not with me")
        object.__setattr__(self, name, value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"DEDUP_FIELDS": {"text": "body"}},
        {"DEDUP_ACTION": "mark"},
        {"DEDUP_ITEM_FIELD": "body"},
        {},
    ],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda url: NeverSet(url),
        lambda url: Picky(url),
        lambda url: {"url": url, "body": np.array([1, 2])},
        lambda url: {"url": np.array([1, 2]), "body": None},
        lambda url: Hostile(),
        lambda url: "a string",
    ],
)
def test_no_item_is_lost_however_hostile(make: Any, settings: dict[str, Any]):
    def parse(self: Any, response: Any) -> Any:
        yield make(response.url)

    site = {f"/{number}": page(article(number)) for number in range(3)}
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse)
        result = crawl(spider, keep_log=False, **settings)  # some items cannot even be logged
    assert result.stats["item_scraped_count"] == 3
    assert "log_count/ERROR" not in result.stats
