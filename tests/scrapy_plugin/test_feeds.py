"""Crawls and their feeds: what counts as stored is in one of them, and can be read."""

import asyncio
import bz2
import csv
import gzip
import json
import logging
import os
import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cases import sampled
from crawls import Crawl, crawl_site, fill, path_of, remembered, start_process, urls_in
from garbage import collect
from itemadapter import ItemAdapter
from scrapy.extensions.feedexport import FeedExporter, ItemFilter
from texts import article, page
from web import served

# Scrapy leaves its session open if a crawl is closed at its start.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <function ClientSession:pytest.PytestUnraisableExceptionWarning"
)


@pytest.fixture(scope="module", autouse=True)
def collected() -> Iterator[None]:
    """No session is left for the tests of other files to complain of."""
    yield
    collect()


PLUGINS = "scrapy.extensions.postprocessing"
SITE = {
    "/print/a": page(article(1)),
    "/a": page(article(1), footer="The same text, at another address"),
    "/b": page(article(2)),
}
MANY = {f"/{number}": page(article(number)) for number in range(10)}


@pytest.fixture
def feed(tmp_path: Path) -> Path:
    return tmp_path / "feed"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "pages.sqlite"


def run(site: Any, ledger: Any = "", feed: Any = None, **options: Any) -> Crawl:
    """Crawl all of *site*; those of *options* in ``FEED_OPTIONS`` are of the one *feed*."""
    how = options.pop("FEED_OPTIONS", {})
    if feed:
        options["FEEDS"] = {str(feed): {"format": "jsonlines", **how}}
    return crawl_site(site, DEDUP_INDEX=ledger, **options)


def gzipped(form: str = "jsonlines", **options: Any) -> dict[str, Any]:
    return {"format": form, "postprocessing": [f"{PLUGINS}.GzipPlugin"], **options}


class NoPrints(ItemFilter):
    """Takes no item of a page that is made for printing."""

    def accepts(self, item: Any) -> bool:
        return "/print/" not in ItemAdapter(item)["url"]


class Nothing(ItemFilter):
    def accepts(self, item: Any) -> bool:
        return False


class Once(ItemFilter):
    """Takes each URL only once, as some projects do it."""

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        self.seen: set[str] = set()

    def accepts(self, item: Any) -> bool:
        is_new = item["url"] not in self.seen
        self.seen.add(item["url"])
        return is_new


@dataclass
class Printed:
    url: str


@dataclass
class Article:
    url: str


def by_class(self: Any, response: Any) -> Iterator[Any]:
    yield (Printed if "/print/" in response.url else Article)(response.url)


def test_an_item_that_no_feed_takes_bars_no_copy(tmp_path: Path, ledger: Path):
    feeds = {
        str(tmp_path / "filtered"): {"format": "jsonlines", "item_filter": NoPrints},
        str(tmp_path / "by class"): {"format": "jsonlines", "item_classes": [Article]},
    }
    result = run(SITE, ledger, parse=by_class, FEEDS=feeds)
    assert urls_in(tmp_path / "filtered") == urls_in(tmp_path / "by class") == ["/a", "/b"]
    assert remembered(ledger) == ["/a", "/b"]
    assert result.stats["dedup/claims/released"] == 1
    assert not result.messages()


def test_one_feed_that_takes_an_item_is_enough_and_a_filter_is_asked_once(tmp_path: Path):
    feeds = {
        str(tmp_path / "some.jl"): {"format": "jsonlines", "item_filter": NoPrints},
        str(tmp_path / "all.jl"): {"format": "jsonlines", "item_filter": Once},
    }
    run(SITE, FEEDS=feeds)
    assert urls_in(tmp_path / "all.jl") == ["/print/a", "/b"]
    assert urls_in(tmp_path / "some.jl") == ["/b"]


def test_a_page_of_which_a_feed_takes_one_item_is_stored(feed: Path):
    def parse(self: Any, response: Any) -> Any:
        yield Printed(response.url)
        yield Article(response.url)

    run(SITE, feed=feed, parse=parse, FEED_OPTIONS={"item_classes": [Article]})
    assert urls_in(feed) == ["/print/a", "/b"]


def test_a_filter_that_raises_fails_the_item_and_leaves_it_in_the_feeds_before(tmp_path: Path):
    class Raises(ItemFilter):
        def accepts(self, item: Any) -> bool:
            if "/print/" in item["url"]:
                raise ValueError("no such item")
            return True

    first, second = tmp_path / "first", tmp_path / "second"
    feeds = {
        str(first): {"format": "csv"},
        str(second): {"format": "jsonlines", "item_filter": Raises},
    }
    run(SITE, FEEDS=feeds)
    assert read_csv(first) == ["/print/a", "/a", "/b"]
    assert urls_in(second) == ["/a", "/b"]


def read_csv(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [path_of(row[0]) for row in csv.reader(file) if row[0].startswith("http")]


def read_json(path: Path) -> list[str]:
    return [path_of(item["url"]) for item in json.loads(path.read_text())]


def read_pickle(path: Path) -> list[str]:
    found = []
    with path.open("rb") as file, suppress(EOFError, pickle.UnpicklingError):
        while file.tell() < path.stat().st_size:
            found.append(path_of(pickle.load(file)["url"]))
    return found


def readable_lines(path: Path) -> list[str]:
    found = []
    for line in path.read_text().splitlines():
        with suppress(ValueError):
            found.append(path_of(json.loads(line)["url"]))
    return found


READERS = {"jsonlines": readable_lines, "csv": read_csv, "pickle": read_pickle}


class Unwilling:
    """A value that cannot be written."""

    def __str__(self) -> str:
        raise ValueError("unwilling")

    __reduce__ = __str__


@pytest.mark.slow
@pytest.mark.parametrize(("form", "is_torn"), [("csv", False), ("xml", True)])
def test_an_item_that_cannot_be_written_ends_the_crawl_only_if_half_of_it_was(
    feed: Path, ledger: Path, form: str, is_torn: bool
):
    def parse(self: Any, response: Any) -> Any:
        bad = response.url.endswith("/5")
        yield {"url": response.url, "long": "x" * 20_000, "last": Unwilling() if bad else "fine"}

    options = {"parse": parse, "FEED_OPTIONS": {"format": form}}
    result = run(MANY, ledger, feed, **options)
    expected = [path for path in MANY if path < "/5" or (path > "/5" and not is_torn)]
    assert remembered(ledger) == expected
    assert is_torn or READERS[form](feed) == expected
    reason = "dedup_torn_feed" if is_torn else "finished"
    assert result.stats["finish_reason"] == reason
    assert run(MANY, ledger, feed, **options).stats["finish_reason"] == reason
    without_ledger = run(MANY, "", feed.with_name("other"), **options)
    assert without_ledger.stats["finish_reason"] == reason


@pytest.mark.slow
@pytest.mark.parametrize("form", ["jsonlines", "csv", "pickle"])
def test_half_a_line_on_a_full_disk_is_ended_and_half_of_another_item_ends_the_crawl(
    small_disk: Path, ledger: Path, form: str
):
    """There is room for half of the item of one page, and for those after it."""

    def parse(self: Any, response: Any) -> Any:
        number = int(response.url.rpartition("/")[2])
        if number == 4:
            fill(small_disk, room=8192)
        if number == 5:
            (small_disk / "filling").unlink()
        yield {"url": response.url, "text": f'"quoted" {"x" * 29_000}, \n {"y" * 1_000}'}

    feed, paths, has_lines = small_disk / "feed", list(MANY), form != "pickle"
    result = run(MANY, ledger, feed, parse=parse, FEED_OPTIONS={"format": form})
    assert remembered(ledger) == paths[:4] + (paths[5:] if has_lines else [])
    assert set(remembered(ledger)) <= set(READERS[form](feed))
    assert (result.stats["finish_reason"] == "finished") is has_lines
    assert feed.with_name("feed.open").exists() is not has_lines


def test_a_compressed_feed_that_met_a_full_disk_is_not_remembered(small_disk: Path, ledger: Path):
    def parse(self: Any, response: Any) -> Any:
        number = int(response.url.rpartition("/")[2])
        if number == 4:
            fill(small_disk)
        if number == 8:
            (small_disk / "filling").unlink()
        yield {"url": response.url, "text": os.urandom(60_000).hex() if number < 8 else ""}

    run(MANY, ledger, small_disk / "feed.gz", parse=parse, FEED_OPTIONS=gzipped())
    assert remembered(ledger) == []


@pytest.mark.parametrize("form", ["json", "pickle"])
def test_an_item_that_cannot_be_written_does_not_spoil_compressed_feeds_of_whole_items(
    feed: Path, ledger: Path, form: str
):
    """JSON is written when it is complete, a pickle while it is made."""

    def parse(self: Any, response: Any) -> Any:
        bad = response.url.endswith("/b")
        yield {"url": response.url, "text": (i for i in ()) if bad else "text"}

    run(SITE | {"/c": MANY["/3"]}, ledger, feed, parse=parse, FEED_OPTIONS=gzipped(form))
    assert remembered(ledger) == ({"json": ["/print/a", "/c"], "pickle": []}[form])


def test_compressing_twice_is_not_remembered_since_scrapy_does_not_end_it(feed: Path, ledger: Path):
    chain = [f"{PLUGINS}.{name}Plugin" for name in ("Gzip", "LZMA")]
    run(SITE, ledger, feed, FEED_OPTIONS={"postprocessing": chain})
    assert remembered(ledger) == []


def test_a_feed_is_marked_while_it_is_open(tmp_path: Path):
    seen = []

    async def parse(self: Any, response: Any) -> Any:
        async with asyncio.timeout(30):
            while response.url.endswith("/b") and not self.crawler.stats.get_value(
                "dedup/claims/committed"
            ):
                await asyncio.sleep(0.01)
        seen.append(sorted(path.name for path in tmp_path.glob("*.open")))
        yield {"url": response.url}

    feeds = {str(tmp_path / form): {"format": form} for form in ("json", "csv", "jsonlines")}
    feeds[str(tmp_path / "gz")] = gzipped()
    for encoding in ("gbk", "utf-16"):  # one byte ends a line, or two
        feeds[str(tmp_path / encoding)] = {"format": "jsonlines", "encoding": encoding}
    run({path: SITE[path] for path in ("/a", "/b")}, parse=parse, FEEDS=feeds)
    assert seen == [[], ["csv.open", "gz.open", "json.open", "utf-16.open"]]
    assert not list(tmp_path.glob("*.open"))


class OwnExporter:
    def __init__(self, file: Any, **options: Any) -> None:
        self.file = file

    def start_exporting(self) -> None: ...

    def export_item(self, item: Any) -> None:
        self.file.write(f"<<{item['url']}>>".encode())

    def finish_exporting(self) -> None: ...


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"format": "json"}, gzipped(), {"format": "own"}])
def test_nothing_is_appended_to_what_a_killed_crawl_left_in_a_format_that_cannot_be_mended(
    feed: Path, ledger: Path, options: dict[str, Any]
):
    mark = feed.with_name("feed.open")
    settings = {"FEED_OPTIONS": options, "FEED_EXPORTERS": {"own": OwnExporter}}
    run({"/a": SITE["/a"]}, ledger, feed, **settings)
    assert remembered(ledger) == ["/a"]
    assert not mark.exists()
    before = feed.read_bytes()
    mark.touch()  # as a kill leaves it
    for _ in range(2):
        result = run(SITE, ledger, feed, **settings)
        [message] = result.messages(logging.ERROR)
        assert message.startswith(f"{feed} is not whole")
        assert message.endswith(f"remove {mark}")
        assert result.stats["finish_reason"] == "dedup_torn_feed"
        assert "downloader/request_count" not in result.stats
        assert feed.read_bytes() == before
        assert remembered(ledger) == ["/a"]
    # The ways out that the message names.
    feed.rename(feed.with_name("away"))
    assert len(run({"/b": SITE["/b"]}, ledger, feed, **settings).items) == 1
    assert remembered(ledger) == ["/a", "/b"]
    assert not mark.exists()


def test_a_feed_of_a_killed_crawl_may_be_overwritten(feed: Path, ledger: Path):
    mark = feed.with_name("feed.open")
    feed.write_text('[{"url"')
    mark.touch()
    run(SITE, ledger, feed, FEED_OPTIONS={"format": "json", "overwrite": True})
    assert read_json(feed) == remembered(ledger) == ["/print/a", "/b"]
    assert not mark.exists()


@pytest.mark.parametrize("filter_", [Nothing, ItemFilter])
def test_a_mark_stays_as_long_as_what_a_killed_crawl_left(feed: Path, filter_: Any):
    """Without a ledger, nothing is refused."""
    mark = feed.with_name("feed.open")
    feed.write_text('[{"url"')
    mark.touch()
    run(
        SITE,
        "",
        feed,
        FEED_OPTIONS={"format": "json", "item_filter": filter_, "store_empty": False},
    )
    assert mark.exists()


def test_a_feed_that_cannot_be_marked_is_written_and_that_is_told(feed: Path, ledger: Path):
    feed.with_name("feed.open").symlink_to(feed.with_name("nowhere") / "feed")
    result = run(SITE, ledger, feed, FEED_OPTIONS={"format": "json"})
    assert read_json(feed) == remembered(ledger) == ["/print/a", "/b"]
    [message] = result.messages()
    assert message.startswith("If this crawl is killed, the next one will not know")


def test_a_later_batch_that_is_torn_ends_the_crawl(tmp_path: Path, ledger: Path):
    torn = gzip.compress(b"{}\n")[:-3]
    (tmp_path / "2.gz").write_bytes(torn)
    (tmp_path / "2.gz.open").touch()
    batches = gzipped(batch_item_count=3)
    result = run(MANY, ledger, tmp_path / "%(batch_id)d.gz", FEED_OPTIONS=batches)
    assert result.stats["finish_reason"] == "dedup_torn_feed"
    assert (tmp_path / "2.gz").read_bytes() == torn
    stored = gzip.decompress((tmp_path / "1.gz").read_bytes()).splitlines()
    assert [path_of(json.loads(line)["url"]) for line in stored] == remembered(ledger)
    assert len(stored) == 3


def test_a_dry_run_is_not_remembered(feed: Path, ledger: Path):
    result = run(SITE, ledger, keep_items=False, limits={"CHECKPOINT_INTERVAL": 0.01})
    assert result.stats["item_scraped_count"] == 2  # duplicates are dropped as ever
    assert remembered(ledger) == []
    [message] = result.messages()
    assert message.startswith("Nobody stores the items")
    run(SITE, ledger, feed)
    assert urls_in(feed) == remembered(ledger) == ["/print/a", "/b"]


class Storing:
    """A pipeline that stores what it gets, or seems to."""

    def process_item(self, item: Any) -> Any:
        return item


@pytest.mark.parametrize(
    ("options", "is_stored"),
    [
        ({"ITEM_PIPELINES": {Storing: 300}}, True),
        ({"keep_items": True}, True),  # crawls.crawl is told of them
        ({"CLOSESPIDER_ITEMCOUNT": 100, "CLOSESPIDER_PAGECOUNT_NO_ITEM": 9}, False),
        ({"FEEDS": {"nowhere://feed": {"format": "jsonlines"}}}, False),
    ],
)
def test_pipelines_and_receivers_are_taken_for_some_that_store_but_not_scrapys_own(
    ledger: Path, options: Any, is_stored: bool
):
    result = run(SITE, ledger, **{"keep_items": False, **options})
    assert remembered(ledger) == (["/print/a", "/b"] if is_stored else [])
    assert not (is_stored and result.messages())


def test_a_feed_that_cannot_be_opened_stores_nothing(tmp_path: Path, ledger: Path):
    (tmp_path / "file").write_text("")
    result = run(SITE, ledger, tmp_path / "file" / "feed.jl")
    assert len(result.items) == 3
    assert remembered(ledger) == []


@pytest.mark.slow
def test_empty_feeds_that_are_stored_do_not_count_as_failed(tmp_path: Path, ledger: Path):
    gz = {"postprocessing": [f"{PLUGINS}.Bz2Plugin"], "format": "jsonlines"}
    feeds = {
        str(tmp_path / "all.bz2"): gz,
        str(tmp_path / "none.bz2"): {**gz, "item_filter": Nothing, "store_empty": True},
        str(tmp_path / "never.bz2"): {**gz, "item_filter": Nothing, "store_empty": False},
    }
    run(SITE, ledger, FEEDS=feeds)
    assert remembered(ledger) == ["/print/a", "/b"]
    assert bz2.decompress((tmp_path / "none.bz2").read_bytes()) == b""


@pytest.mark.slow
@pytest.mark.parametrize("reactor", sampled(["asyncio", "select", "none"], "select"))
def test_a_batch_that_has_no_room_is_not_remembered(tmp_path: Path, ledger: Path, reactor: str):
    """Without asyncio, it is closed before the export ends."""
    (tmp_path / "2").symlink_to("/dev/full")
    feeds = {str(tmp_path / "%(batch_id)d"): {"format": "jsonlines", "batch_item_count": 1}}
    with served(MANY) as url:
        urls = [url + path for path in list(MANY)[:4]]
        process = start_process(reactor, urls, DEDUP_INDEX=str(ledger), FEEDS=feeds)
        _, errors = process.communicate(timeout=60)
    assert "No space left" in errors
    stored = [path for batch in "134" for path in urls_in(tmp_path / batch)]
    assert stored == remembered(ledger) == ["/0", "/2", "/3"]


class Asking(FeedExporter):
    """Exports the first item only after the last one, and has no other of the second page."""

    async def item_scraped(self, item: Any, spider: Any) -> None:
        path = path_of(item["url"])
        if path == "/a":
            raise ValueError("no such item")
        while path == "/print/a" and not self.slots[0].itemcount:
            await asyncio.sleep(0.01)
        super().item_scraped(item, spider)


def test_an_exporter_that_is_asynchronous_is_awaited(feed: Path, ledger: Path):
    """Nor does it count for the second of two near pages what becomes of the first."""
    site = {**SITE, "/a": MANY["/5"]}
    extensions = {"scrapy.extensions.feedexport.FeedExporter": None, Asking: 0}
    run(site, ledger, feed, EXTENSIONS=extensions)
    assert urls_in(feed) == ["/b", "/print/a"]
    assert sorted(remembered(ledger)) == ["/b", "/print/a"]


class OfClasses(FeedExporter):
    """Exports to feeds of certain classes only."""

    def item_scraped(self, item: Any, spider: Any) -> None:
        if all(slot.filter.item_classes for slot in self.slots):
            super().item_scraped(item, spider)


def test_a_filter_has_its_own_attributes(feed: Path):
    extensions = {"scrapy.extensions.feedexport.FeedExporter": None, OfClasses: 0}
    run(SITE, feed=feed, EXTENSIONS=extensions, FEED_OPTIONS={"item_classes": [dict]})
    assert urls_in(feed) == ["/print/a", "/b"]
