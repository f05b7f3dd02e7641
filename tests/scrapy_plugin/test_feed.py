"""Files of lines and of CSV cut at every position: what is appended after a kill can be read."""

import csv
import json
import tracemalloc
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cases import IS_THOROUGH, each
from scrapy import Spider
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.utils.test import get_crawler

from dedup.scrapy_plugin.feed import Feed
from dedup.scrapy_plugin.notices import Notices

TEXTS = ("plain", 'with "quotes", a comma\nand a line', "", "两个字 and é\r\n🐐", "back\\slash\\")
ITEMS = [{"url": f"http://a/{n}", "text": text} for n, text in enumerate(TEXTS)]
NEXT = {"url": "http://next", "text": 'one "more"\r\nline'}


CRAWLERS: dict[str, Any] = {}
"""By their feeds: to make one takes longer than all else that a test does with a file."""


def slot_of(path: Path, form: str = "jsonlines", **options: Any) -> FeedSlot:
    """A slot of Scrapy's own feed exporter, without a crawl."""
    feeds = {str(path): {"format": form, **options}}
    crawler = CRAWLERS.get(str(feeds))
    if crawler is None:
        crawler = CRAWLERS[str(feeds)] = get_crawler(settings_dict={"FEEDS": feeds})
        crawler.spider = Spider("test")
    exporter = FeedExporter(crawler)
    exporter.open_spider(crawler.spider)
    [slot] = exporter.slots
    return slot


def append(path: Path, *items: Any, is_torn: bool = True, **options: Any) -> list[int]:
    """Export *items* as a crawl does that ends by itself; return the size after each."""
    mark, ends = Path(f"{path}.open"), []
    if is_torn:
        mark.touch()
    slot = slot_of(path, **options)
    feed = Feed(slot, (0, 0), Notices(print))
    for item in items:
        feed.open_for_item()
        slot.exporter.export_item(item)
        slot.itemcount += 1
        feed.flush()
        ends.append(path.stat().st_size)
    slot.finish_exporting()
    slot.file.close()
    mark.unlink(missing_ok=True)
    return ends


def cuts(whole: bytes) -> range:
    """Where a file may be torn: anywhere, or at a third of all places if tests are to be quick."""
    return range(len(whole) + 1) if IS_THOROUGH else range(len(whole) % 3, len(whole) + 1, 3)


def read_json_lines(text: str) -> list[Any]:
    found = []
    for line in text.split("\n"):
        with suppress(ValueError):
            found.append(json.loads(line.removeprefix("\ufeff")))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "gbk"])
def test_a_file_of_json_lines_that_is_torn_anywhere_swallows_nothing(
    tmp_path: Path, encoding: str | None
):
    path = tmp_path / "feed"
    items = [{**item, "text": item["text"].replace("🐐", "羊").replace("é", "e")} for item in ITEMS]
    append(path, *items, encoding=encoding)
    whole = path.read_bytes()
    for cut in cuts(whole):
        path.write_bytes(whole[:cut])
        append(path, NEXT, encoding=encoding)
        found = read_json_lines(path.read_text(encoding or "utf-8"))
        assert found[-1] == NEXT, cut
        torn = whole[:cut].decode(encoding or "utf-8", "ignore")
        ended = torn.count("\n")
        assert found[:ended] == items[:ended], cut


CSV = {
    "default": {},
    "every field quoted": {"quoting": csv.QUOTE_ALL},
    "texts quoted": {"quoting": csv.QUOTE_NONNUMERIC},
    "semicolons": {"delimiter": ";", "quotechar": "'"},
    "unix": {"dialect": "unix"},
    "escaped": {"doublequote": False, "escapechar": "\\"},
    "never quoted": {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
}


def rows(path: Path, encoding: str = "utf-8", **arguments: Any) -> list[list[str]]:
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, **arguments))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "encoding"),
    [*((form, "utf-8") for form in CSV), ("default", "utf-8-sig"), ("default", "gbk")],
)
def test_a_csv_file_that_is_torn_anywhere_swallows_nothing(
    tmp_path: Path, form: str, encoding: str
):
    path, arguments = tmp_path / "feed", CSV[form]
    options = {
        "form": "csv",
        "encoding": encoding,
        "item_export_kwargs": arguments | {"errors": "ignore"},  # of what an encoding lacks
    }
    reading = arguments if form == "never quoted" else arguments | {"quoting": csv.QUOTE_MINIMAL}
    append(path, NEXT, **options)
    appended = rows(path, encoding, **reading)
    path.unlink()
    ends = append(path, *ITEMS, **options)
    whole, expected = path.read_bytes(), rows(path, encoding, **reading)
    for cut in cuts(whole):
        path.write_bytes(whole[:cut])
        append(path, NEXT, **options)
        found = rows(path, encoding, **reading)
        assert found[-2:] == appended, cut
        if complete := sum(end <= cut for end in ends):
            assert found[: 1 + complete] == expected[: 1 + complete], cut
        assert len(found) <= 1 + complete + 1 + len(appended), cut  # one is torn, at most


@each(
    ("content", "is_torn"),
    [
        (b"url,text\r\na,b\r\n", True),
        (b'url,text\r\na,"b\r\n""c"""\r\n', True),
        (b'url\r\n5" disk\r\nanother\r\n', True),  # a quote within a field is none
        (b'url,text\r\na,"b\r\n' + b"c,d\r\n" * 1000, True),  # somebody else left it open
        (b"url,text\r\na,b", False),
    ],
)
def test_nothing_is_removed_of_a_csv_file(tmp_path: Path, content: bytes, is_torn: bool):
    path = tmp_path / "feed"
    path.write_bytes(content)
    append(path, NEXT, form="csv", is_torn=is_torn)
    assert path.read_bytes().startswith(content)
    assert not is_torn or rows(path)[-1] == list(NEXT.values())


@pytest.mark.slow
def test_a_large_csv_file_is_not_read_into_memory(tmp_path: Path):
    path = tmp_path / "feed"
    append(path, {"url": "", "text": 'a "text"\n' * 50}, form="csv")
    header, _, row = path.read_bytes().partition(b"\r\n")
    path.write_bytes(header + b"\r\n" + row * 8_000)
    size = path.stat().st_size
    assert size > 4_000_000
    with path.open("r+b") as file:
        file.truncate(size - 100)
    tracemalloc.start()
    append(path, NEXT, form="csv")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_500_000
    assert path.read_bytes()[size - 100 :].startswith(b'torn"\r\n')


def test_a_file_that_may_be_appended_to_only_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.ftruncate", refuse)
    path, torn = tmp_path / "feed", '{"a": "é'.encode()[:-1]
    path.write_bytes(torn)
    append(path, NEXT, encoding="utf-8")
    assert path.read_bytes() == b"%b\n%b\n" % (torn, json.dumps(NEXT).encode())


def test_who_waits_for_a_feed_is_told_though_its_mark_cannot_be_removed(tmp_path: Path):
    feed, told = Feed(slot_of(tmp_path / "feed", "csv"), (0, 0), Notices(print)), []
    feed.when_closed.append(lambda: told.append(feed.is_stored))
    feed.open_for_item()
    feed.slot.finish_exporting()
    feed.slot.file.close()
    mark = tmp_path / "feed.open"
    mark.unlink()
    mark.mkdir()
    with pytest.raises(OSError, match=mark.name):
        feed.end(is_complete=True)
    assert told == [True]
