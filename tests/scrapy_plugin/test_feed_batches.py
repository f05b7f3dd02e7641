"""Batches that are safe only when they are stored: until then, no page is dropped for theirs."""

import asyncio
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crawls import Crawl, crawl_site, path_of, remembered, uploading_to, urls_in
from test_feeds import PLUGINS
from test_outcomes import SITE, Storage


async def claims_have_ended(spider: Any, count: int) -> None:
    def ended() -> int:
        ends = ("dedup/claims/committed", "dedup/claims/released")
        return sum(spider.crawler.stats.get_value(end, 0) for end in ends)

    async with asyncio.timeout(30):
        while ended() < count:
            await asyncio.sleep(0.01)


def waiting_for(**counts: int) -> Callable[..., Any]:
    """A callback that yields the item of a page when it is known of so many others."""

    async def parse(self: Any, response: Any) -> Any:
        await claims_have_ended(self, counts.get(response.url.rpartition("/")[2], 0))
        yield {"url": response.url, "text": response.text}

    return parse


def run_in_batches(folder: Path, size: int, *paths: str, fails: str = "", **options: Any) -> Crawl:
    batches = {"upload://host/%(batch_id)d.jl": {"format": "jsonlines", "batch_item_count": size}}
    options = {"parse": waiting_for(), "FEEDS": batches, "keep_items": False, **options}
    storages = {"upload": uploading_to(folder, fails)}
    return crawl_site(SITE, *paths, FEED_STORAGES=storages, **options)


def stored_in(folder: Path) -> list[str]:
    return [path for feed in sorted(folder.glob("*.jl")) for path in urls_in(feed)]


def figures(result: Crawl) -> dict[str, int]:
    names = ("claims/", "skipped/", "near", "errors")
    return {key: count for key, count in result.counts("").items() if key.startswith(names)}


by_page_or_item = pytest.mark.parametrize("options", [{}, {"DEDUP_ITEM_FIELD": "text"}])


@by_page_or_item
def test_a_copy_of_what_was_in_a_batch_that_failed_is_stored(tmp_path: Path, options: Any):
    result = run_in_batches(
        tmp_path, 1, "/a", "/b", "/c", fails="1.jl", parse=waiting_for(b=1, c=2), **options
    )
    assert stored_in(tmp_path) == ["/b"]
    assert figures(result) == {"claims/committed": 1, "claims/released": 1, "near_duplicates": 1}


@by_page_or_item
def test_a_copy_of_what_is_in_a_stored_batch_is_dropped(tmp_path: Path, options: Any):
    result = run_in_batches(tmp_path, 1, "/a", "/b", "/other", parse=waiting_for(b=1), **options)
    assert stored_in(tmp_path) == ["/a", "/other"]
    assert figures(result) == {"claims/committed": 2, "near_duplicates": 1}
    assert not result.messages()


@by_page_or_item
def test_copies_of_what_is_in_an_open_batch_are_kept_at_once_and_that_is_told(
    tmp_path: Path, options: Any
):
    result = run_in_batches(tmp_path, 4, "/a", "/b", "/c", "/other", **options)
    assert stored_in(tmp_path) == ["/a", "/b", "/c", "/other"]
    assert figures(result) == {"claims/committed": 2, "skipped/open_batch": 2}
    [message] = result.messages()
    assert message.startswith("Copies of pages in a batch of a feed are kept until")


def test_a_copy_that_waits_for_a_page_does_not_wait_for_its_batch(tmp_path: Path):
    """The first page is on its way until another one waits for it."""
    spider = {"got": [], "actions": {"a": [[1]]}, "ITEM_PIPELINES": {Storage: 300}}
    result = run_in_batches(tmp_path, 5, "/a", "/b", **spider)
    assert stored_in(tmp_path) == ["/a", "/b"]
    assert figures(result) == {"claims/committed": 1, "claims/waited": 1, "skipped/open_batch": 1}


def test_where_passing_the_pipelines_is_enough_no_batch_is_waited_for(tmp_path: Path):
    ledger = f"sqlite:///{tmp_path}/pages.sqlite?commit=passed"
    result = run_in_batches(tmp_path, 4, "/a", "/b", "/other", DEDUP_INDEX=ledger)
    assert stored_in(tmp_path) == ["/a", "/other"]
    assert not result.messages()


@pytest.mark.parametrize("fails", ["", "2.jl"])
def test_the_last_batch_is_stored_before_the_ledger_is_written(tmp_path: Path, fails: str):
    ledger = tmp_path / "pages.sqlite"
    options = {"DEDUP_INDEX": ledger, "limits": {"CHECKPOINT_INTERVAL": 0.01}}
    parse = waiting_for(other=1)
    result = run_in_batches(tmp_path, 1, "/a", "/other", fails=fails, parse=parse, **options)
    assert remembered(ledger) == ([] if fails else ["/a", "/other"])
    assert figures(result) == (
        {"claims/committed": 1, "claims/released": 1} if fails else {"claims/committed": 2}
    )


def test_a_page_with_items_in_two_batches_is_stored_if_both_are(tmp_path: Path):
    async def parse(self: Any, response: Any) -> Any:
        await claims_have_ended(self, int(response.url.endswith("/b")))
        yield {"url": response.url, "part": 1}
        yield {"url": response.url, "part": 2}

    run_in_batches(tmp_path, 1, "/a", "/b", fails="2.jl", parse=parse)
    assert stored_in(tmp_path) == ["/a", "/b", "/b"]


def test_a_copy_of_what_was_in_a_compressed_batch_without_room_is_stored(tmp_path: Path):
    """Compressed ones are written when they are complete."""
    (tmp_path / "1").symlink_to("/dev/full")
    batches = {"batch_item_count": 1, "postprocessing": [f"{PLUGINS}.GzipPlugin"]}
    feeds = {str(tmp_path / "%(batch_id)d"): {"format": "jsonlines", **batches}}
    result = run_in_batches(tmp_path, 1, "/a", "/b", "/c", FEEDS=feeds, parse=waiting_for(b=1, c=2))
    items = [json.loads(gzip.decompress(one.read_bytes())) for one in tmp_path.glob("[23]")]
    assert [path_of(item["url"]) for item in items] == ["/b"]
    assert figures(result) == {"claims/committed": 1, "claims/released": 1, "near_duplicates": 1}
