"""Crawls and their feeds: what counts as stored is in one of them, and can be read."""

import asyncio
import bz2
import csv
import gzip
import json
import logging
import lzma
import marshal
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest
from cases import mixed, sampled
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


def test_feeds_that_take_nothing_are_told_of(feed: Path, ledger: Path):
    result = run(SITE, ledger, feed, FEED_OPTIONS={"item_filter": Nothing})
    assert len(result.items) == 3
    assert remembered(ledger) == []
    [message] = result.messages()
    assert message.startswith("No feed accepted any item (3 refused)")


def test_a_filter_that_raises_fails_the_item_and_leaves_it_in_the_feeds_before(tmp_path: Path):
    class Raises(ItemFilter):
        def accepts(self, item: Any) -> bool:
            if "/print/" in item["url"]:
                raise ValueError("no such item")
            return True

    first, second = tmp_path / "first", tmp_path / "second"
    feeds = {
        str(first): {"format": "jsonlines"},
        str(second): {"format": "jsonlines", "item_filter": Raises},
    }
    run(SITE, FEEDS=feeds)
    assert urls_in(first) == ["/print/a", "/a", "/b"]
    assert urls_in(second) == ["/a", "/b"]


def read_csv(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return [path_of(row[0]) for row in csv.reader(file) if row[0].startswith("http")]


def read_xml(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return [path_of(item.findtext("url") or "") for item in root]


def read_json(path: Path) -> list[str]:
    return [path_of(item["url"]) for item in json.loads(path.read_text())]


def read_with(load: Callable[[Any], Any]) -> Callable[[Path], list[str]]:
    def read(path: Path) -> list[str]:
        found = []
        with path.open("rb") as file:
            while file.tell() < path.stat().st_size:
                found.append(path_of(load(file)["url"]))
        return found

    return read


READERS = {
    "jsonlines": urls_in,
    "csv": read_csv,
    "json": read_json,
    "xml": read_xml,
    "pickle": read_with(pickle.load),
    "marshal": read_with(marshal.load),
}


class Unwilling:
    """A value that cannot be written."""

    def __str__(self) -> str:
        raise ValueError("unwilling")

    __reduce__ = __str__


@pytest.mark.slow
@pytest.mark.parametrize(("form", "first"), mixed(["xml", "pickle", "csv"], ["/0", "/5"]))
def test_half_of_an_item_that_cannot_be_written_is_taken_out(
    feed: Path, ledger: Path, form: str, first: str
):
    """Else the items after it could not be read."""

    def parse(self: Any, response: Any) -> Any:
        bad = response.url.endswith((first, "/7"))
        yield {"url": response.url, "long": "x" * 20_000, "last": Unwilling() if bad else "fine"}

    run(MANY, ledger, feed, parse=parse, FEED_OPTIONS={"format": form})
    expected = [path for path in MANY if path not in (first, "/7")]
    assert READERS[form](feed) == remembered(ledger) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("form", "full", "overwrite"), mixed(list(READERS), [0, 4], [False, True]))
def test_what_a_full_disk_tore_is_taken_out(
    small_disk: Path, ledger: Path, form: str, full: int, overwrite: bool
):
    """The disk is full from one page on, to the fourth after it; half of an item has room."""

    def parse(self: Any, response: Any) -> Any:
        number = int(response.url.rpartition("/")[2])
        if number == full:
            fill(small_disk, room=8192)
        if number == full + 4:
            (small_disk / "filling").unlink()
        yield {"url": response.url, "text": f'"quoted" {"x" * 12_000}, \n {"y" * 1_000}'}

    feed = small_disk / "feed"
    options = {"format": form, "encoding": "utf-8", "overwrite": overwrite}
    run(MANY, ledger, feed, parse=parse, FEED_OPTIONS=options)
    paths = list(MANY)
    assert READERS[form](feed) == remembered(ledger) == paths[:full] + paths[full + 4 :]


def test_a_file_in_utf_16_begins_with_its_mark_though_the_first_item_had_no_room(small_disk: Path):
    def parse(self: Any, response: Any) -> Any:
        is_first = response.url.endswith("/0")
        if is_first:
            fill(small_disk, room=4096)
        else:
            (small_disk / "filling").unlink(missing_ok=True)
        yield {"url": response.url, "text": "x" * 8_000}

    feed = small_disk / "feed"
    run(MANY, "", feed, parse=parse, FEED_OPTIONS={"format": "csv", "encoding": "utf-16"})
    with feed.open(encoding="utf-16", newline="") as file:
        assert [path_of(row["url"]) for row in csv.DictReader(file)] == list(MANY)[1:]


@pytest.mark.parametrize("form", ["jsonlines", "csv"])
def test_what_somebody_else_adds_to_the_file_is_never_cut(feed: Path, form: str):
    """Another crawl adds its lines; of an item that fails, half is written and stays."""

    class Tearing(Unwilling):
        def __str__(self) -> str:
            add(b"http://else/late\r\n")
            return super().__str__()

    def add(line: bytes) -> None:
        with feed.open("ab") as file:
            file.write(line)

    def parse(self: Any, response: Any) -> Any:
        if response.url.endswith("/3"):
            add(b"http://else/early\r\n")
        bad = response.url.endswith(("/3", "/7"))
        yield {"url": response.url, "last": Tearing() if bad else "fine"}

    # Whoever asks what the item says has its text made, too.
    options = {"FEED_OPTIONS": {"format": form}, "DEDUP_IGNORE_FIELDS": ["last"]}
    run(MANY, "", feed, parse=parse, **options)
    lines = feed.read_text().split("\n")
    assert [line.strip() for line in lines if "else" in line] == [
        "http://else/early",
        *(["http://else/late"] * 2 if form == "csv" else []),
    ]
    assert sum("fine" in line for line in lines) == len(MANY) - 2


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


@pytest.mark.slow
@pytest.mark.parametrize("last", sampled(["LZMA", "Bz2"], "LZMA"))
def test_compressing_twice_is_not_remembered_since_scrapy_does_not_end_it(
    feed: Path, ledger: Path, last: str
):
    opens: Any = {"LZMA": lzma.open, "Bz2": bz2.open}[last]
    chain = [f"{PLUGINS}.GzipPlugin", f"{PLUGINS}.{last}Plugin"]
    result = run(SITE, ledger, feed, FEED_OPTIONS={"postprocessing": chain})
    with suppress(EOFError), opens(feed) as content:
        assert content.read() == b""
    assert remembered(ledger) == []
    assert "log_count/ERROR" not in result.stats


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

    forms = ("json", "csv", "jsonlines", "pprint")
    feeds = {str(tmp_path / form): {"format": form} for form in forms}
    feeds[str(tmp_path / "gz")] = gzipped()
    exporters = {"pprint": "scrapy.exporters.PprintItemExporter"}
    run(
        {path: SITE[path] for path in ("/a", "/b")},
        parse=parse,
        FEEDS=feeds,
        FEED_EXPORTERS=exporters,
    )
    assert seen == [[], ["csv.open", "gz.open", "json.open"]]
    assert not list(tmp_path.glob("*.open"))


class OwnExporter:
    def __init__(self, file: Any, **options: Any) -> None:
        self.file = file

    def start_exporting(self) -> None: ...

    def export_item(self, item: Any) -> None:
        self.file.write(f"<<{item['url']}>>".encode())

    def finish_exporting(self) -> None: ...


UNMENDABLE = {
    "json": {"format": "json"},
    "gzip": gzipped(),
    "own": {"format": "own"},
}
"""Test_feed.py has more of them."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", UNMENDABLE)
def test_nothing_is_appended_to_what_a_killed_crawl_left_in_a_format_that_cannot_be_mended(
    feed: Path, ledger: Path, kind: str
):
    mark = feed.with_name("feed.open")
    settings = {"FEED_OPTIONS": UNMENDABLE[kind], "FEED_EXPORTERS": {"own": OwnExporter}}
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
    """Without a ledger, nothing is refused; a feed without items is not mended."""
    mark = feed.with_name("feed.open")
    for form, torn in (("json", '[{"url"'), ("csv", 'url\n"a')):
        feed.write_text(torn)
        mark.touch()
        options = {"format": form, "store_empty": False, "item_filter": filter_}
        run(SITE, "", feed, FEED_OPTIONS=options)
        assert mark.exists() == (filter_ is Nothing or form == "json")
        assert (feed.read_text() == torn) == (filter_ is Nothing)
        mark.unlink(missing_ok=True)


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


@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_second_document_in_a_file_is_told_of(feed: Path, ledger: Path, form: str):
    options = {"FEED_OPTIONS": {"format": form}}
    assert not run({"/a": SITE["/a"]}, ledger, feed, **options).messages()
    [message] = run({"/b": SITE["/b"]}, ledger, feed, **options).messages()
    assert "as another document" in message
    assert remembered(ledger) == ["/a", "/b"]


@pytest.mark.slow
def test_a_crawl_goes_on_in_a_csv_file_that_was_torn_within_a_field(feed: Path, ledger: Path):
    """Test_feed.py tears it anywhere."""

    def parse(self: Any, response: Any) -> Any:
        yield {"url": response.url, "text": 'A "quoted"\nline, and another\r\n'}

    options = {"parse": parse, "FEED_OPTIONS": {"format": "csv"}}
    run({"/a": SITE["/a"]}, "", feed, **options)
    whole = feed.read_bytes()
    for cut in (len(whole) - 20, len(whole) - 1):
        feed.write_bytes(whole[:cut])
        feed.with_name("feed.open").touch()
        ledger.unlink(missing_ok=True)
        run({"/b": SITE["/b"]}, ledger, feed, **options)
        assert read_csv(feed)[-1] == "/b", cut
        assert remembered(ledger) == ["/b"]


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_feed_that_is_renamed_meanwhile_is_remembered_and_one_that_is_removed_is_not(
    feed: Path, ledger: Path, is_removed: bool
):
    other = feed.with_name("other")

    def parse(self: Any, response: Any) -> Any:
        if response.url.endswith("/5"):
            feed.unlink() if is_removed else feed.rename(other)
        yield {"url": response.url}

    result = run(MANY, ledger, feed, parse=parse, limits={"CHECKPOINT_INTERVAL": 600})
    told = any("was removed while it was written" in message for message in result.messages())
    assert told == is_removed
    assert remembered(ledger) == ([] if is_removed else list(MANY))
    assert is_removed or urls_in(other) == list(MANY)


def test_a_dry_run_is_not_remembered(feed: Path, ledger: Path):
    result = run(SITE, ledger, keep_items=False, limits={"CHECKPOINT_INTERVAL": 0.01})
    assert result.stats["item_scraped_count"] == 2  # duplicates are dropped as ever
    assert remembered(ledger) == []
    [message] = result.messages()
    assert message.startswith("Nobody stores the items")
    run(SITE, ledger, feed)
    assert urls_in(feed) == remembered(ledger) == ["/print/a", "/b"]


class Storing:
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
    """Asks somebody before it exports; an answer may be late, or that the item is not to be had."""

    answers: ClassVar[dict[str, str | None]] = {}
    """After which page an item is exported; ``None``: it is not."""
    exported: ClassVar[set[str]] = set()

    async def item_scraped(self, item: Any, spider: Any) -> None:
        path = path_of(item["url"])
        earlier = self.answers.get(path, path)
        if earlier is None:
            raise ValueError("no such item")
        while earlier not in {path, *self.exported}:
            await asyncio.sleep(0.01)
        super().item_scraped(item, spider)
        self.exported.add(path)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({}, ["/print/a", "/b"]),
        ({"/print/a": "/b"}, ["/b", "/print/a"]),
        ({"/print/a": None}, ["/a", "/b"]),
    ],
)
def test_an_exporter_that_is_asynchronous_is_awaited(
    feed: Path, ledger: Path, answers: dict[str, str | None], expected: list[str]
):
    class Answered(Asking): ...

    Answered.answers, Answered.exported = answers, set()
    extensions = {"scrapy.extensions.feedexport.FeedExporter": None, Answered: 0}
    run(SITE, ledger, feed, EXTENSIONS=extensions)
    assert urls_in(feed) == expected
    assert sorted(remembered(ledger)) == sorted(expected)
