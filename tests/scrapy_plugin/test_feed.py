"""Files of JSON lines cut at every position: what is appended to them after a kill can be read."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cases import IS_THOROUGH, each
from scrapy import Spider
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.utils.test import get_crawler

from dedup.scrapy_plugin.feed import Feed

TEXTS = ("plain", 'with "quotes", a comma\nand a line', "", "两个字 and é\r\n🐐", "back\\slash\\")
ITEMS = [{"url": f"http://a/{n}", "text": text} for n, text in enumerate(TEXTS)]
NEXT = {"url": "http://next", "text": 'one "more"\r\nline'}


def slot_of(path: Path, form: str = "jsonlines", **options: Any) -> FeedSlot:
    """A slot of Scrapy's own feed exporter, without a crawl."""
    crawler = get_crawler(settings_dict={"FEEDS": {str(path): {"format": form, **options}}})
    crawler.spider = Spider("test")
    exporter = FeedExporter(crawler)
    exporter.open_spider(crawler.spider)
    [slot] = exporter.slots
    return slot


def append(path: Path, *items: Any, **options: Any) -> None:
    """Export *items* as a crawl does that ends by itself."""
    slot = slot_of(path, **options)
    feed = Feed(slot, (0, 0))
    for item in items:
        feed.begin()
        slot.exporter.export_item(item)
        slot.itemcount += 1
    slot.finish_exporting()
    slot.file.close()


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
    # Anywhere, or at a third of all places if tests are to be quick.
    for cut in range(0 if IS_THOROUGH else len(whole) % 3, len(whole) + 1, 1 if IS_THOROUGH else 3):
        path.write_bytes(whole[:cut])
        append(path, NEXT, encoding=encoding)
        found = read_json_lines(path.read_text(encoding or "utf-8"))
        assert found[-1] == NEXT, cut
        torn = whole[:cut].decode(encoding or "utf-8", "ignore")
        ended = torn.count("\n")
        assert found[:ended] == items[:ended], cut


@pytest.fixture
def append_only(tmp_path: Path) -> Iterator[Callable[[bytes], Path]]:
    """Makes a file of some content, to which can be appended only."""
    path = tmp_path / "feed"

    def make(content: bytes) -> Path:
        path.write_bytes(content)
        done = subprocess.run(["chattr", "+a", path], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("no attributes of files here")
        return path

    yield make
    subprocess.run(["chattr", "-a", path], check=True)


@pytest.mark.skipif(shutil.which("chattr") is None, reason="no attributes of files here")
def test_a_file_that_may_be_appended_to_only_is_ended(append_only: Callable[[bytes], Path]):
    torn = '{"a": "é'.encode()[:-1]
    path = append_only(torn)
    append(path, NEXT, encoding="utf-8")
    assert path.read_bytes() == b"%b\n%b\n" % (torn, json.dumps(NEXT).encode())


@each(
    ("form", "options", "has_mark"),
    [
        ("jsonlines", {}, False),
        ("jl", {"encoding": "gbk"}, False),
        ("csv", {}, True),
        ("json", {}, True),
        ("jsonlines", {"encoding": "utf-16"}, True),
        ("jsonlines", {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]}, True),
    ],
)
def test_only_json_lines_whose_lines_end_with_one_byte_can_be_ended_after_a_kill(
    tmp_path: Path, form: str, options: dict[str, Any], has_mark: bool
):
    Feed(slot_of(tmp_path / "feed", form, **options), (0, 0)).mark()
    mark = tmp_path / "feed.open"
    assert mark.exists() is has_mark
    mark.unlink(missing_ok=True)
