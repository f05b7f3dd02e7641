"""Crawls that know what earlier ones stored."""

import asyncio
import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawls import (
    KnownSite,
    html_report_in,
    known_site,
    query,
    remembered,
    report_in,
    uploading_to,
)
from scrapy.exporters import JsonLinesItemExporter
from scrapy.extensions.feedexport import FileFeedStorage
from texts import article, edited, page

from dedup.scrapy_plugin import UnchangedPage
from dedup.stores import LedgerError

SITE = {
    "/a": page(article(1)),
    "/b": page(edited(article(1))),
    "/other": page(article(2)),
    "/short": page("A few words only."),
}
STORED = ["/a", "/other", "/short"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[KnownSite]:
    with known_site(SITE, tmp_path) as site:
        yield site


@pytest.fixture
def known(site: KnownSite) -> None:
    """Have the whole site be known of an earlier crawl."""
    assert site.crawl(keep_log=False).stored == STORED


def counts(result: Any) -> dict[str, int]:
    kinds = ("new", "exact_duplicates", "near_duplicates", "unchanged", "changed", "errors")
    return {kind: result.dedup_stats[kind] for kind in kinds if kind in result.dedup_stats}


@pytest.mark.usefixtures("known")
def test_a_second_crawl_stores_nothing_that_is_unchanged(site):
    second = site.crawl()
    assert second.stored == []
    assert counts(second) == {"near_duplicates": 1, "unchanged": 3}
    assert [type(reason) for _, reason in second.dropped].count(UnchangedPage) == 3
    assert second.stats["item_dropped_reasons_count/UnchangedPage"] == 3
    assert remembered(site.ledger) == STORED
    assert query(site.ledger, "SELECT count(*) FROM pages WHERE seen > stored") == [(3,)]
    assert len(query(site.ledger, "SELECT * FROM duplicates")) == 1


@pytest.mark.usefixtures("known")
def test_a_changed_page_passes_and_takes_the_place_of_its_earlier_self(site, tmp_path):
    site.pages["/a"] = page(article(3))
    second = site.crawl("/a", "/b", DEDUP_REPORT=tmp_path / "reports")
    # Nothing is like /b any more, which was a copy of /a.
    assert second.stored == ["/a", "/b"]
    assert counts(second) == {"new": 1, "changed": 1}
    assert remembered(site.ledger) == ["/other", "/short", "/a", "/b"]
    assert query(site.ledger, "SELECT * FROM duplicates") == []
    report = report_in(tmp_path / "reports")
    [changed] = report["revisits"]["changed"]
    assert changed["url"] == f"{site.url}/a"
    assert changed["distance"] > 3
    assert (report["pages"]["changed"], report["ledger"]["crawl"]) == (1, 2)
    assert "1 (50.0%), stored again" in second.table
    assert counts(site.crawl("/a", "/b")) == {"unchanged": 2}


def test_the_report_shows_texts_of_earlier_crawls(site, tmp_path):
    site.crawl("/a")
    second = site.crawl("/a", "/b", DEDUP_REPORT=tmp_path)
    assert second.dedup_stats["near_duplicates"] == 1
    assert '"+ otherwise"' in html_report_in(tmp_path)


@pytest.mark.usefixtures("known")
def test_unchanged_pages_can_be_marked(site):
    verdicts = [item["dedup"]["verdict"] for item in site.crawl(DEDUP_ACTION="mark").items]
    assert verdicts == ["unchanged", "near-duplicate", "unchanged", "unchanged"]


def test_items_of_one_page_are_told_apart_by_their_texts(site):
    def stored(*texts: str) -> list[int]:
        def parse(self: Any, response: Any) -> Any:
            for number, text in enumerate(texts):
                yield {"body": text, "number": number}

        result = site.crawl("/a", parse=parse, DEDUP_ITEM_FIELD="body")
        return sorted(item["number"] for item in result.items)

    one, other = article(1), article(2)
    assert stored(one, other) == [0, 1]
    assert stored(f"{one} Again.", other) == [0]
    assert stored(other, f"{one} Again.") == []
    assert len(remembered(site.ledger)) == 2  # the edited text took the place of what it was


@pytest.mark.usefixtures("known")
def test_a_reset_that_is_true_stores_everything_again(site):
    assert site.crawl(dedup_reset="0").items == []
    assert len(site.crawl(dedup_reset="1").items) == 3
    assert query(site.ledger, "SELECT count(*) FROM crawls") == [(1,)]
    site.crawl(dedup_reset=True, parse=lambda self, response: None)
    assert remembered(site.ledger) == [], "also in a crawl without items"
    with pytest.raises(ValueError, match="spider argument dedup_reset must be True or False"):
        site.crawl(dedup_reset="perhaps")


@pytest.mark.usefixtures("known")
def test_a_crawl_that_does_not_start_resets_nothing(site, tmp_path):
    feed = tmp_path / "pages.xml"
    feed.write_text("<items><item>")
    feed.with_name("pages.xml.open").touch()  # as a kill leaves it
    result = site.crawl(dedup_reset=True, FEEDS={str(feed): {"format": "xml"}})
    assert result.stats["finish_reason"] == "dedup_torn_feed"
    assert remembered(site.ledger) == STORED
    assert query(site.ledger, "SELECT count(*) FROM crawls") == [(1,)]


def test_other_settings_are_refused_before_anything_is_changed(site, tmp_path):
    feed = tmp_path / "pages.jsonl"
    feeds = {str(feed): {"format": "jsonlines", "overwrite": True}}
    site.crawl(FEEDS=feeds)
    before = feed.read_text()
    for other in (
        {"DEDUP_METHOD": "minhash"},
        {"DEDUP_SCOPE": "host"},
        {"DEDUP_ITEM_FIELD": "text"},
        {"DEDUP_EXTRACTOR": "resiliparse"},
    ):
        with pytest.raises(LedgerError, match="made with other settings"):
            site.crawl(FEEDS=feeds, **other)
    assert feed.read_text() == before
    assert site.crawl(DEDUP_MAX_DISTANCE=5).stored == []


@pytest.mark.usefixtures("known")
def test_wrong_sketches_are_damage_too(site):
    query(site.ledger, "UPDATE pages SET sketch = x'0102' WHERE url LIKE '%/other'")
    for _ in range(2):  # and the file is not locked by the crawl that was refused
        with pytest.raises(LedgerError, match=r"pages.sqlite is damaged \(not all of"):
            site.crawl()


@pytest.mark.slow
def test_a_job_that_was_interrupted_or_moved_goes_on(site, tmp_path):
    """Its pages are no revisits, even if they are crawled again."""
    job, moved = tmp_path / "job", tmp_path / "moved"
    ledger = moved / "dedup.sqlite"

    def crawl_on(folder: Path, *paths: str, **options: Any) -> Any:
        return site.crawl(*paths, JOBDIR=str(folder), DEDUP_INDEX="", **options)

    options = {"CLOSESPIDER_ITEMCOUNT": 1}
    assert crawl_on(job, "/a", **options).stored == ["/a"]
    (job / "requests.seen").unlink(missing_ok=True)
    again = crawl_on(job, "/a", "/other", DEDUP_REVISITS="keep", **options)
    assert again.stored == ["/other"]
    assert again.dedup_stats["repeated"] == 1
    job.rename(moved)
    assert crawl_on(moved, "/short").stored == ["/short"]
    assert query(ledger, "SELECT count(*), max(reason) FROM crawls") == [(1, "finished")]


class Slow:
    """Takes its time for one item after the other, so that checkpoints come in between."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def process_item(self, item: Any) -> Any:
        async with self.lock:
            await asyncio.sleep(0.06)
        return item


def watching(ledger: Path, *feeds: Path) -> Any:
    """A pipeline that notes what ledger and feeds hold when an item is stored, in ``seen``."""

    class Watching:
        seen: list[tuple[int, int]] = []  # noqa: RUF012  # of this class

        def process_item(self, item: Any) -> Any:
            known = query(ledger, "SELECT count(*) FROM pages")[0][0]
            texts = [feed.read_bytes() if feed.exists() else b"" for feed in feeds]
            self.seen.append((known, min(text.count(b"http://") for text in texts)))
            return item

    return Watching


MANY = {f"/{number}": page(article(number)) for number in range(8)}


@pytest.mark.slow
def test_the_ledger_is_written_after_the_feeds(site, tmp_path):
    site.pages.update(MANY)
    forms = ["jsonlines", "json", "csv", "xml", "marshal", "pickle"]
    feeds = {tmp_path / form: {"format": form} for form in forms}
    watcher = watching(site.ledger, *feeds)
    site.crawl(
        *MANY, FEEDS=feeds, limits={"CHECKPOINT_INTERVAL": 0.05},
        ITEM_PIPELINES={Slow: 300, watcher: 400},
    )  # fmt: skip
    assert watcher.seen[-1][0] > 3  # remembered before the end
    assert all(known <= written for known, written in watcher.seen)
    assert remembered(site.ledger) == list(MANY)


class PutInPlaceAtItsEnd(FileFeedStorage):
    """Scrapy's own storage, derived from: the file is there when it is complete."""

    def open(self, spider: Any) -> Any:
        return open(f"{self.path}.part", "ab")

    def store(self, file: Any) -> Any:
        file.close()
        os.replace(file.name, self.path)


class Sorting(JsonLinesItemExporter):
    def __init__(self, file: Any, **options: Any) -> None:
        super().__init__(file, **options)
        self.kept: list[Any] = []

    def export_item(self, item: Any) -> None:
        self.kept.append(item)

    def finish_exporting(self) -> None:
        for item in sorted(self.kept, key=lambda item: item["url"]):
            super().export_item(item)


GZIPPED = {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}
HELD_BACK = {
    "gzip": ({}, GZIPPED),
    "upload": ({}, {}),
    "derived storage": ({"FEED_STORAGES": {"": PutInPlaceAtItsEnd}}, {}),
    "derived exporter": ({"FEED_EXPORTERS": {"jsonlines": Sorting}}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HELD_BACK)
def test_feeds_that_cannot_be_flushed_put_the_ledger_off_to_the_end(site, tmp_path, kind):
    feed = tmp_path / "feed"
    settings, options = HELD_BACK[kind]
    if kind == "upload":
        settings = {"FEED_STORAGES": {"": uploading_to(tmp_path)}}
    watcher = watching(site.ledger, feed)
    result = site.crawl(
        FEEDS={str(feed): {"format": "jsonlines", **options}},
        limits={"CHECKPOINT_INTERVAL": 0.05}, ITEM_PIPELINES={Slow: 300, watcher: 400}, **settings,
    )  # fmt: skip
    assert [known for known, _ in watcher.seen] == [0, 0, 0]
    assert any("cannot be flushed" in message for message in result.messages())
    assert remembered(site.ledger) == STORED
    content = gzip.decompress(feed.read_bytes()) if kind == "gzip" else feed.read_bytes()
    assert content.count(b"http://") == 3


@pytest.mark.parametrize("stats", ["MemoryStatsCollector", "DummyStatsCollector"])
def test_a_feed_that_cannot_be_stored_leaves_nothing_in_the_ledger(site, tmp_path, stats):
    """Stats that count nothing are not taken for success."""
    options = {
        "FEEDS": {f"upload://{tmp_path / 'feed'}": {"format": "jsonlines"}},
        "FEED_STORAGES": {"upload": uploading_to(tmp_path, "feed")},
        "STATS_CLASS": f"scrapy.statscollectors.{stats}",
    }
    result = site.crawl(limits={"CHECKPOINT_INTERVAL": 0.05}, **options)
    assert remembered(site.ledger) == []
    assert any("3 pages are not in the ledger" in message for message in result.messages())
    assert site.crawl().stored == STORED


@pytest.mark.slow
def test_a_ledger_that_is_taken_away_costs_no_item(site):
    def parse(self: Any, response: Any) -> Any:
        if response.url.endswith("/a"):
            site.ledger.rename(site.ledger.with_name("away"))
        yield {"url": response.url}

    limits = {"CHECKPOINT_INTERVAL": 0.05}
    result = site.crawl(parse=parse, limits=limits, ITEM_PIPELINES={Slow: 300})
    assert result.stored == STORED
    assert any("moved or removed" in message for message in result.messages())
    assert any("pages are not in the ledger" in message for message in result.messages())


def test_an_item_that_cannot_be_written_there_is_kept(site, tmp_path):
    def parse(self: Any, response: Any) -> Any:
        (tmp_path / "folder").write_text("a file is in the way")
        yield {"url": response.url}

    result = site.crawl(
        "/a", "/b", parse=parse, DEDUP_DUPLICATES=tmp_path / "folder" / "dropped.jsonl"
    )
    assert result.stored == ["/a", "/b"]
    assert result.stats["dedup/errors"] == 1
