"""Crawls that know what earlier ones stored."""

import asyncio
import datetime
import gzip
import json
import logging
import os
import shutil
import sqlite3
import time
from collections import Counter
from contextlib import closing
from typing import Any

import pytest
from crawls import crawl, spider_over
from scrapy import Request
from scrapy.exceptions import CloseSpider, DropItem
from scrapy.exporters import JsonLinesItemExporter
from scrapy.extensions.feedexport import BlockingFeedStorage, FileFeedStorage
from scrapy.settings import Settings
from texts import article, edited, page
from web import served

from dedup.scrapy_plugin import UnchangedPage
from dedup.scrapy_plugin.settings import DedupSettings
from dedup.stores import LedgerError, SqliteStore

SITE = {
    "/a": page(article(1)),
    "/b": page(edited(article(1))),
    "/other": page(article(2)),
    "/short": page("A few words only."),
}


@pytest.fixture(scope="module")
def server():
    pages = {}
    with served(pages) as url:
        yield pages, url


@pytest.fixture
def site(server):
    """The pages of a server, which a test may change, and its URL."""
    return with_all_pages(server)


def with_all_pages(server):
    pages, _ = server
    pages.clear()
    pages.update(SITE)
    return server


@pytest.fixture(scope="module")
def crawled(server, tmp_path_factory):
    ledger = tmp_path_factory.mktemp("crawled") / "pages.sqlite"
    run(with_all_pages(server), ledger=ledger)
    return ledger


@pytest.fixture
def known(crawled, ledger):
    """Have the ledger be one of a crawl over the whole site."""
    shutil.copy(crawled, ledger)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "pages.sqlite"


def run(site: Any, *paths: str, ledger: Any = "", **options: Any) -> Any:
    """A crawl over *paths*; its stored pages by their paths."""
    _, url = site
    attributes = {
        key: options.pop(key) for key in ("parse", "start", "dedup_reset") if key in options
    }
    spider = spider_over(*(url + path for path in paths or SITE), **attributes)
    result = crawl(spider, DEDUP_INDEX=ledger, **options)
    result.stored = [item["url"].removeprefix(url) for item in result.items]
    return result


def query(path: Any, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute(sql).fetchall()


def urls(site: Any, path: Any) -> list[str]:
    """The pages of the ledger that count."""
    rows = query(path, "SELECT url FROM pages WHERE ended IS NULL ORDER BY id")
    return [row[0].removeprefix(site[1]) for row in rows]


def counts(result: Any) -> dict[str, int]:
    return {
        key: result.stats.get(f"dedup/{key}", 0)
        for key in ("new", "exact_duplicates", "near_duplicates", "unchanged", "changed", "errors")
    }


def test_a_second_crawl_stores_nothing_that_is_unchanged(site, ledger):
    assert run(site, ledger=ledger).stored == ["/a", "/other", "/short"]
    second = run(site, ledger=ledger)
    assert second.stored == []
    assert counts(second) == {
        "new": 0, "exact_duplicates": 0, "near_duplicates": 1, "unchanged": 3, "changed": 0,
        "errors": 0,
    }  # fmt: skip
    assert [type(reason) for _, reason in second.dropped].count(UnchangedPage) == 3
    assert second.stats["item_dropped_reasons_count/UnchangedPage"] == 3
    assert urls(site, ledger) == ["/a", "/other", "/short"]


@pytest.mark.usefixtures("known")
def test_a_changed_page_passes_and_takes_the_place_of_its_earlier_self(site, ledger, tmp_path):
    pages, url = site
    pages["/a"] = page(article(3))
    second = run(site, "/a", "/b", ledger=ledger, DEDUP_REPORT=tmp_path / "reports")
    # Nothing is like /b any more, which was a copy of /a.
    assert second.stored == ["/a", "/b"]
    assert counts(second) | {"errors": 0} == {
        "new": 1, "exact_duplicates": 0, "near_duplicates": 0, "unchanged": 0, "changed": 1,
        "errors": 0,
    }  # fmt: skip
    assert urls(site, ledger) == ["/other", "/short", "/a", "/b"]
    [path] = (tmp_path / "reports").glob("*.json")
    report = json.loads(path.read_text())
    [changed] = report["revisits"]["changed"]
    assert changed["url"] == f"{url}/a"
    assert changed["distance"] > 3
    assert (report["pages"]["changed"], report["ledger"]["crawl"]) == (1, 2)
    [table] = [m for m in second.messages(logging.INFO) if m.startswith("Dedup report:")]
    assert "1 (50.0%), stored again" in table
    third = run(site, "/a", "/b", ledger=ledger)
    assert (third.stored, counts(third)["unchanged"]) == ([], 2)


def test_the_report_shows_texts_of_earlier_crawls(site, ledger, tmp_path):
    run(site, "/a", ledger=ledger)
    second = run(site, "/a", "/b", ledger=ledger, DEDUP_REPORT=tmp_path)
    assert counts(second)["near_duplicates"] == 1
    [path] = tmp_path.glob("*Z.html")
    assert '"+ otherwise"' in path.read_text()


def test_a_small_edit_is_a_change_and_no_duplicate_of_the_page_itself(site, ledger):
    run(site, "/a", ledger=ledger)
    site[0]["/a"] = page(edited(article(1)))
    second = run(site, "/a", ledger=ledger)
    assert (second.stored, counts(second)["changed"]) == (["/a"], 1)


def test_a_page_that_became_a_copy_of_another_one_is_dropped(site, ledger):
    run(site, "/a", "/other", ledger=ledger)
    site[0]["/other"] = SITE["/b"]
    second = run(site, "/other", ledger=ledger)
    assert (second.stored, counts(second)["near_duplicates"]) == ([], 1)
    assert urls(site, ledger) == ["/a", "/other"]


def test_a_change_that_is_not_stored_replaces_nothing(site, ledger):
    run(site, "/a", ledger=ledger)
    site[0]["/a"] = page(article(3))
    failed = run(site, "/a", ledger=ledger, ITEM_PIPELINES={Failing: 300})
    assert failed.stored == []
    assert run(site, "/a", ledger=ledger).stored == ["/a"]


class Failing:
    def process_item(self, item: Any) -> Any:
        raise OSError("disk full")


class Picky:
    def process_item(self, item: Any) -> Any:
        raise DropItem("not wanted")


@pytest.mark.parametrize("pipeline", [Failing, Picky])
def test_what_was_not_stored_is_not_remembered(site, ledger, pipeline):
    run(site, "/a", ledger=ledger, ITEM_PIPELINES={pipeline: 300})
    assert urls(site, ledger) == []
    assert run(site, "/b", ledger=ledger).stored == ["/b"]


@pytest.mark.usefixtures("known")
def test_unchanged_pages_can_be_kept(site, ledger):
    second = run(site, ledger=ledger, DEDUP_REVISITS="keep")
    assert second.stored == ["/a", "/other", "/short"]
    assert counts(second)["unchanged"] == 3
    assert len(urls(site, ledger)) == 3


@pytest.mark.usefixtures("known")
def test_unchanged_pages_are_marked(site, ledger):
    second = run(site, ledger=ledger, DEDUP_ACTION="mark")
    assert [item["dedup"]["verdict"] for item in second.items] == [
        "unchanged", "near-duplicate", "unchanged", "unchanged",
    ]  # fmt: skip


def test_items_of_one_page_are_told_apart_by_their_texts(site, ledger):
    texts = [article(1), article(2), article(3)]

    def parse(self: Any, response: Any) -> Any:
        for number, text in enumerate(texts):
            yield {"body": text, "number": number}

    first = run_items(site, ledger, parse)
    assert first == [0, 1, 2]
    texts[0] += " Again."
    texts[2] = article(4)
    assert run_items(site, ledger, parse) == [0, 2]
    assert run_items(site, ledger, parse) == []
    # The edited text took the place of what it was; of the new one nobody knows whose.
    assert len(urls(site, ledger)) == 4


def run_items(site: Any, ledger: Any, parse: Any) -> list[int]:
    spider = spider_over(f"{site[1]}/a", parse=parse)
    result = crawl(spider, DEDUP_INDEX=ledger, DEDUP_ITEM_FIELD="body")
    return sorted(item["number"] for item in result.items)


@pytest.mark.usefixtures("known")
def test_a_reset_stores_everything_again(site, ledger):
    spider = spider_over(*(site[1] + path for path in SITE), dedup_reset="1")
    result = crawl(spider, DEDUP_INDEX=ledger)
    assert len(result.items) == 3
    assert query(ledger, "SELECT count(*) FROM crawls") == [(1,)]


@pytest.mark.slow
@pytest.mark.usefixtures("known")
def test_the_spider_argument_is_true_or_false(site, ledger):
    spider = spider_over(*(site[1] + path for path in SITE))
    spider.dedup_reset = "0"
    assert crawl(spider, DEDUP_INDEX=ledger).items == []
    spider.dedup_reset = "perhaps"
    with pytest.raises(ValueError, match="spider argument dedup_reset must be True or False"):
        crawl(spider, DEDUP_INDEX=ledger)


@pytest.mark.usefixtures("known")
def test_entries_expire(site, ledger):
    with closing(sqlite3.connect(ledger)) as file, file:
        file.execute("UPDATE pages SET stored = stored - 86400 * 3 WHERE url LIKE '%/other'")
    assert run(site, ledger=ledger, DEDUP_REVISITS={"drop": "2.5d"}).stored == ["/other"]


def test_other_settings_are_refused_before_anything_is_changed(site, ledger, tmp_path):
    feed = tmp_path / "pages.jsonl"
    feeds = {str(feed): {"format": "jsonlines", "overwrite": True}}
    run(site, ledger=ledger, FEEDS=feeds)
    before = feed.read_text()
    for other in (
        {"DEDUP_METHOD": "minhash"},
        {"DEDUP_SCOPE": "host"},
        {"DEDUP_ITEM_FIELD": "text"},
        {"DEDUP_EXTRACTOR": "resiliparse"},
    ):
        with pytest.raises(LedgerError, match="made with other settings"):
            run(site, ledger=ledger, FEEDS=feeds, **other)
    assert feed.read_text() == before
    assert run(site, ledger=ledger, DEDUP_MAX_DISTANCE=5).stored == []


@pytest.mark.usefixtures("known")
def test_wrong_sketches_are_damage_too(site, ledger):
    with closing(sqlite3.connect(ledger)) as file, file:
        file.execute("UPDATE pages SET sketch = x'0102' WHERE url LIKE '%/other'")
    for _ in range(2):  # and the file is not locked by the crawl that was refused
        with pytest.raises(LedgerError, match=r"pages.sqlite is damaged \(not all of"):
            run(site, ledger=ledger)


def test_without_a_path_nothing_is_written(site, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(site)
    assert list(tmp_path.iterdir()) == []


def test_a_job_that_was_interrupted_does_not_store_its_pages_again(site, tmp_path):
    """Its pages are no revisits, even if they are crawled again."""
    options = {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_ITEMCOUNT": 1}

    async def start(self: Any) -> Any:
        for url in self.start_urls:
            yield Request(url, dont_filter=True)

    def forget_requests() -> None:
        for name in ("requests.seen",):
            (tmp_path / "job" / name).unlink(missing_ok=True)

    first = run(site, "/a", start=start, **options)
    assert first.stored == ["/a"]
    forget_requests()
    again = run(site, "/a", "/other", start=start, DEDUP_REVISITS="keep", **options)
    assert again.stored == ["/other"]
    assert again.dedup_stats["repeated"] == 1
    assert query(tmp_path / "job" / "dedup.sqlite", "SELECT count(*) FROM crawls") == [(1,)]


class Slow:
    """Takes its time for one item after the other, so that checkpoints come in between."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def process_item(self, item: Any) -> Any:
        async with self.lock:
            await asyncio.sleep(0.06)
        return item


class Watching:
    """Notes for each item what the ledger and the feed hold when it is stored."""

    ledger: Any = None
    feed: Any = None
    seen: list[tuple[int, int]]

    def process_item(self, item: Any) -> Any:
        text = self.feed.read_bytes() if self.feed.exists() else b""
        remembered = query(self.ledger, "SELECT count(*) FROM pages")[0][0]
        self.seen.append((remembered, text.count(b"http://")))
        return item


def watching(ledger: Any, feed: Any) -> type[Watching]:
    return type("Watching", (Watching,), {"ledger": ledger, "feed": feed, "seen": []})


MANY = {f"/{number}": page(article(number)) for number in range(12)}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonlines", "json", "csv", "xml", "marshal", "pickle"])
def test_the_ledger_is_written_after_the_feed(site, ledger, tmp_path, form):
    site[0].update(MANY)
    feed = tmp_path / "feed"
    watcher = watching(ledger, feed)
    run(
        site, *MANY, ledger=ledger, FEEDS={str(feed): {"format": form}},
        limits={"CHECKPOINT_INTERVAL": 0.05}, ITEM_PIPELINES={Slow: 300, watcher: 400},
    )  # fmt: skip
    assert watcher.seen[-1][0] > 3  # remembered before the end
    assert all(remembered <= written for remembered, written in watcher.seen)
    assert len(urls(site, ledger)) == 12


class Uploaded(BlockingFeedStorage):
    """A feed that leaves the machine when it is complete."""

    fails = False

    def __init__(self, uri: str, *, feed_options: Any = None) -> None:
        self.path = uri.removeprefix("upload://")

    def _store_in_thread(self, file: Any) -> None:
        with file, open(self.path, "wb") as target:
            if self.fails:
                raise OSError("no route to host")
            file.seek(0)
            target.write(file.read())


class Failed(Uploaded):
    fails = True


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
    "upload": ({"FEED_STORAGES": {"": Uploaded, "file": Uploaded}}, {}),
    "derived storage": (
        {"FEED_STORAGES": {"": PutInPlaceAtItsEnd, "file": PutInPlaceAtItsEnd}},
        {},
    ),
    "derived exporter": ({"FEED_EXPORTERS": {"jsonlines": Sorting}}, {}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HELD_BACK)
def test_feeds_that_cannot_be_flushed_put_the_ledger_off_to_the_end(site, ledger, tmp_path, kind):
    site[0].update(MANY)
    feed = tmp_path / "feed"
    settings, options = HELD_BACK[kind]
    watcher = watching(ledger, feed)
    result = run(
        site, *MANY, ledger=ledger, FEEDS={str(feed): {"format": "jsonlines", **options}},
        limits={"CHECKPOINT_INTERVAL": 0.05}, ITEM_PIPELINES={Slow: 300, watcher: 400}, **settings,
    )  # fmt: skip
    assert {remembered for remembered, _ in watcher.seen} == {0}
    assert any("cannot be flushed" in message for message in result.messages())
    assert len(urls(site, ledger)) == 12
    content = gzip.decompress(feed.read_bytes()) if kind == "gzip" else feed.read_bytes()
    assert content.count(b"http://") == 12


def test_a_feed_that_cannot_be_stored_leaves_nothing_in_the_ledger(site, ledger, tmp_path):
    options = {
        "FEEDS": {f"upload://{tmp_path / 'feed'}": {"format": "jsonlines"}},
        "FEED_STORAGES": {"upload": Failed},
    }
    result = run(site, ledger=ledger, limits={"CHECKPOINT_INTERVAL": 0.05}, **options)
    assert urls(site, ledger) == []
    assert any("3 pages are not in the ledger" in message for message in result.messages())
    assert run(site, ledger=ledger).stored == ["/a", "/other", "/short"]


@pytest.mark.slow
def test_a_ledger_that_is_taken_away_costs_no_item(site, ledger):
    site[0].update(MANY)

    def parse(self: Any, response: Any) -> Any:
        if response.url.endswith("/3"):
            ledger.rename(ledger.with_name("away"))
        yield {"url": response.url}

    result = run(
        site, *MANY, ledger=ledger, parse=parse, limits={"CHECKPOINT_INTERVAL": 0.05},
        ITEM_PIPELINES={Slow: 300},
    )  # fmt: skip
    assert len(result.stored) == 12
    assert any("moved or removed" in message for message in result.messages())
    assert any("pages are not in the ledger" in message for message in result.messages())


@pytest.mark.slow
def test_dropped_items_go_to_a_file_of_their_own(site, ledger, tmp_path):
    path = tmp_path / "new" / "dropped.jsonl"
    run(site, ledger=ledger, DEDUP_DUPLICATES=path)
    run(site, "/a", ledger=ledger, DEDUP_DUPLICATES=path)
    # What is unchanged is in the feed of another crawl.
    [near] = map(json.loads, path.read_text().splitlines())
    assert near["item"] == {"url": f"{site[1]}/b"}
    assert (near["url"], near["original"]) == (f"{site[1]}/b", f"{site[1]}/a")
    assert (near["verdict"], near["method"]) == ("near-duplicate", "simhash")
    assert 0 < near["distance"] <= 3
    assert time.time() - time.mktime(time.strptime(near["dropped"][:10], "%Y-%m-%d")) < 200_000


def test_any_item_can_be_written_there(site, tmp_path):
    path = tmp_path / "dropped.jsonl"

    def parse(self: Any, response: Any) -> Any:
        yield {
            "url": response.url,
            "bytes": b"\xff",
            "object": Counter,
            "set": {1},
            "half": "\ud800",
        }

    # Without this, an item that holds what cannot be compared is kept.
    run(site, "/a", "/b", parse=parse, DEDUP_DUPLICATES=path, DEDUP_IGNORE_FIELDS="*")
    [line] = map(json.loads, path.read_text().splitlines())
    assert line["item"]["bytes"] == "\\xff"
    assert "Counter" in line["item"]["object"]


def test_an_item_that_cannot_be_written_there_is_kept(site, tmp_path):
    def parse(self: Any, response: Any) -> Any:
        (tmp_path / "folder").write_text("a file is in the way")
        yield {"url": response.url}

    path = tmp_path / "folder" / "dropped.jsonl"
    result = run(site, "/a", "/b", parse=parse, DEDUP_DUPLICATES=path)
    assert result.stored == ["/a", "/b"]
    assert result.stats["dedup/errors"] == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_an_exporter_that_fails_takes_nothing_from_other_feeds(site, ledger, tmp_path, overwrite):
    """Marshal cannot write a date; the items are large enough not to be buffered."""

    def parse(self: Any, response: Any) -> Any:
        number = int(response.url.rpartition("/")[2])
        when = datetime.date.today() if number in (3, 4, 8) else None
        yield {"url": response.url, "text": "x" * 20_000, "when": when}

    site[0].update(MANY)
    first, second = tmp_path / "a.jl", tmp_path / "b.marshal"
    feeds = {
        str(first): {"format": "jsonlines", "overwrite": overwrite},
        str(second): {"format": "marshal", "overwrite": overwrite},
    }
    run(site, *MANY, ledger=ledger, parse=parse, FEEDS=feeds)
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    assert len(lines) == 12
    assert set(urls(site, ledger)) == set(MANY) - {"/3", "/4", "/8"}


def test_a_feed_of_which_only_the_end_may_be_written_is_written(site, tmp_path):
    """As one that may be appended to only: its last line cannot be looked at."""
    feed = tmp_path / "feed.jsonl"
    feed.write_text('{"url": "http://whole"}\n{"url": "http://to')
    feed.chmod(0o200)
    run(site, "/a", FEEDS={str(feed): {"format": "jsonlines"}})
    feed.chmod(0o600)
    assert f'"{site[1]}/a"' in feed.read_text()


@pytest.mark.parametrize("form", ["jsonlines", "csv"])
def test_torn_lines_are_ended(site, tmp_path, form):
    feed = tmp_path / "feed"
    feed.write_text("half of a li")
    run(site, "/a", FEEDS={str(feed): {"format": form}})
    assert feed.read_text().startswith("half of a li\n")


def test_stats_that_count_nothing_are_not_taken_for_success(site, ledger, tmp_path):
    options = {
        "FEEDS": {f"upload://{tmp_path / 'feed'}": {"format": "jsonlines"}},
        "FEED_STORAGES": {"upload": Failed},
        "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector",
    }
    run(site, ledger=ledger, **options)
    assert urls(site, ledger) == []


def test_a_page_that_becomes_what_it_was_is_a_change_again(site, ledger):
    run(site, "/a", ledger=ledger)
    site[0]["/a"] = page(article(3))
    run(site, "/a", ledger=ledger)
    site[0]["/a"] = SITE["/a"]
    third = run(site, "/a", ledger=ledger)
    assert (third.stored, counts(third)["changed"]) == (["/a"], 1)
    assert third.stats["dedup/index/pages"] == 1


def test_behind_an_earlier_self_the_next_near_page_is_found(site, ledger):
    """/b is stored while /a is far; then /a comes near to both itself and /b."""
    site[0]["/a"] = page(article(1) + " The end.")
    run(site, "/a", ledger=ledger, DEDUP_MAX_DISTANCE=0)
    run(site, "/b", ledger=ledger, DEDUP_MAX_DISTANCE=0)
    site[0]["/a"] = SITE["/a"]
    third = run(site, "/a", ledger=ledger)
    assert (third.stored, counts(third)["near_duplicates"]) == ([], 1)


def test_pages_met_again_unchanged_are_noted(site, ledger):
    run(site, "/a", ledger=ledger)
    run(site, "/a", ledger=ledger)
    [(stored, seen)] = query(ledger, "SELECT stored, seen FROM pages")
    assert seen > stored


@pytest.mark.slow
def test_several_stored_versions_of_a_url_are_all_replaced(site, ledger):
    """As of a page that differs with each request."""
    number = iter(range(100))

    async def start(self: Any) -> Any:
        for _ in range(3):
            yield Request(self.start_urls[0], dont_filter=True)

    class Changing(dict):
        def get(self, path: str, default: Any = None) -> Any:
            return page(article(next(number)))

    with served(Changing()) as url:
        for _ in range(3):
            spider = spider_over(f"{url}/home", start=start)
            crawl(spider, DEDUP_INDEX=ledger)
    assert query(ledger, "SELECT count(*) FROM pages WHERE ended IS NULL") == [(3,)]


def test_items_of_a_page_that_gets_one_more_settle(site, ledger):
    texts = [article(1)]

    def parse(self: Any, response: Any) -> Any:
        for number, text in enumerate(texts):
            yield {"body": text, "number": number}

    assert run_items(site, ledger, parse) == [0]
    texts.insert(0, article(2))
    assert run_items(site, ledger, parse) == [0]
    assert run_items(site, ledger, parse) == []


def test_the_view_of_duplicates_has_each_pair_once_while_it_is_one(site, ledger):
    for _ in range(3):
        run(site, ledger=ledger)
    assert len(query(ledger, "SELECT * FROM duplicates")) == 1
    site[0]["/a"] = page(article(3))
    run(site, ledger=ledger)
    assert query(ledger, "SELECT * FROM duplicates") == []


@pytest.mark.usefixtures("known")
def test_a_crawl_without_items_changes_nothing(site, ledger):
    run(site, ledger=ledger, dedup_reset=True, parse=lambda self, response: None)
    assert query(ledger, "SELECT count(*) FROM crawls") == [(1,)]
    assert len(urls(site, ledger)) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "broken",
    [
        "dedup.workers.InlinePool.close",
        "dedup.stores.SqliteStore.take_news",
    ],
)
def test_whatever_fails_at_the_end_the_file_is_given_back(
    site, ledger, tmp_path, monkeypatch, broken
):
    def failing(*_: Any) -> Any:
        raise RuntimeError("a fault of dedup")

    with monkeypatch.context() as patched:
        patched.setattr(broken, failing)
        first = run(site, ledger=ledger, DEDUP_DUPLICATES=tmp_path / "dropped")
    assert len(first.stored) == 3
    second = run(site, ledger=ledger)
    assert len(second.stored) == (3 if "take" in broken else 0)


def test_a_reason_that_is_no_text_can_be_noted(site, ledger):
    def parse(self: Any, response: Any) -> Any:
        yield {"url": response.url}
        raise CloseSpider("\ud800")

    run(site, "/a", ledger=ledger, parse=parse)
    assert query(ledger, "SELECT reason FROM crawls") == [("\\ud800",)]


def test_a_job_whose_folder_is_gone_is_another_one(site, ledger, tmp_path):
    options = {"JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_ITEMCOUNT": 1}
    run(site, "/a", ledger=ledger, **options)
    shutil.rmtree(tmp_path / "job")
    site[0]["/a"] = SITE["/b"]
    again = run(site, "/a", ledger=ledger, **options)
    assert (again.stored, counts(again)["changed"]) == (["/a"], 1)


@pytest.mark.slow
def test_a_job_that_was_moved_goes_on(site, tmp_path):
    run(site, "/a", JOBDIR=str(tmp_path / "job"), CLOSESPIDER_ITEMCOUNT=1)
    (tmp_path / "job").rename(tmp_path / "moved")
    ledger = tmp_path / "moved" / "dedup.sqlite"
    run(site, "/other", JOBDIR=str(tmp_path / "moved"))
    [(crawls, reason)] = query(ledger, "SELECT count(*), max(reason) FROM crawls")
    assert (crawls, reason) == (1, "finished")


@pytest.mark.slow
def test_two_names_of_a_ledger_are_one(site, ledger, tmp_path):
    link = tmp_path / "link.sqlite"
    link.symlink_to(ledger)
    with pytest.raises(LedgerError, match="is a broken link"):
        run(site, ledger=link)
    run(site, ledger=ledger)
    identity = DedupSettings.from_settings(Settings()).identity
    with closing(SqliteStore(ledger, identity)), pytest.raises(LedgerError, match="in use"):
        run(site, ledger=link)


@pytest.mark.slow
def test_a_shorter_least_length_holds_for_stored_pages_too(site, ledger):
    site[0]["/b"] = page("A few words only, indeed.")
    run(site, "/short", ledger=ledger)
    loose = {"DEDUP_MAX_DISTANCE": 40, "DEDUP_EVIDENCE": False}  # they differ in length and title
    second = run(site, "/b", ledger=ledger, DEDUP_MIN_TOKENS=1, **loose)
    assert counts(second)["near_duplicates"] == 1
    third = run(site, "/b", ledger=ledger, **loose)
    assert counts(third)["new"] == 1


@pytest.mark.slow
@pytest.mark.usefixtures("known")
def test_reading_a_large_ledger_is_told(site, ledger, monkeypatch):
    monkeypatch.setattr("dedup.scrapy_plugin.open_store._SECONDS_OF_A_LINE", -1)
    second = run(site, ledger=ledger)
    assert f"Reading {ledger}: 3 of 3 pages" in second.messages(logging.INFO)


def test_a_ledger_is_left_alone_where_dedup_is_switched_off(site, ledger):
    run(site, ledger=ledger, DEDUP_ENABLED=False, DEDUP_FIELDS={"text": "text"})
    assert not ledger.exists()
