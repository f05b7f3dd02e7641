"""What goes wrong in dedup never costs an item, and never floods the log."""

from dataclasses import dataclass, field
from typing import Any

import attrs
import numpy as np
import pytest
from crawls import crawl_site, path_of
from texts import article, page


@pytest.mark.slow
def test_pages_that_ruin_their_workers_are_kept_and_the_crawl_goes_on():
    words = ("crash", "exit", "raise", "hang")
    site = {
        "/a": page(article(1)),
        **{f"/{word}": f"{word} {page(article(2))}" for word in words},
        "/again": f"hang {page(article(2))}",
        "/b": page(article(1)),
        "/c": page(article(3)),
    }
    workers = {"DEDUP_WORKERS": 1, "DEDUP_EXTRACTOR": "bad_extractors.extracting_unless_told"}
    result = crawl_site(site, limits={"PAGE_TIMEOUT": 2}, **workers)
    assert result.stored == [path for path in site if path != "/b"]
    assert result.dedup_stats == {
        "pages": 8,
        "new": 2,
        "exact_duplicates": 1,
        "bodies_repeated": 1,
        "skipped/extraction_failed": 5,
        "unread/crash": 2,
        "unread/error": 1,
        "unread/timeout": 2,
        "items/dropped": 1,
    }
    told = [message.partition(">")[0].rpartition("/")[::2] for message in result.messages()]
    causes = {"crash": "crash", "raise": "error", "hang": "timeout"}
    assert [name for _, name in told] == list(causes)
    for (start, name), cause in zip(told, causes.values(), strict=True):
        assert start.startswith(f"A page cannot be read ({cause}): <http://"), name


def test_nobody_waits_for_the_claim_of_an_item_when_what_is_noted_of_it_fails(monkeypatch: Any):
    def fails(*arguments: object) -> None:
        raise RuntimeError("a fault of the store")

    monkeypatch.setattr("dedup.stores.base.Store.note_difference", fails)
    site = {f"/{name}": page(article(1)) for name in ("a", "b1", "b2")}
    result = crawl_site(site, parse=lambda self, response: [{"name": path_of(response.url)[1]}])
    assert len(result.items) == 3
    assert result.dedup_stats["errors"] == 2


def test_a_worker_that_cannot_start_keeps_every_item_and_says_why(monkeypatch: Any):
    monkeypatch.setattr("sys.executable", "/no/such/python")
    site = {f"/{number}": page(article(number)) for number in range(5)}
    result = crawl_site(site, DEDUP_WORKERS=1)
    assert len(result.items) == 5
    assert result.stats["dedup/unread/start"] == 5
    [message] = result.messages()
    assert "/no/such/python" in message


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


HOSTILE = [
    NeverSet,
    Picky,
    lambda url: {"url": url, "body": np.array([1, 2])},
    lambda url: {"url": np.array([1, 2]), "body": None},
    lambda url: Hostile(),
    lambda url: "a string",
]


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
def test_no_item_is_lost_however_hostile(settings: dict[str, Any]):
    def parse(self: Any, response: Any) -> Any:
        yield HOSTILE[int(response.url.rpartition("/")[2]) % len(HOSTILE)](response.url)

    site = {f"/{number}": page(article(number)) for number in range(2 * len(HOSTILE))}
    # Some items cannot even be logged.
    result = crawl_site(site, parse=parse, keep_log=False, keep_items=False, **settings)
    assert result.stats["item_scraped_count"] == len(site)
    assert "log_count/ERROR" not in result.stats
