"""Feed files cut at every position: what is appended to them after a kill can be read."""

import ast
import csv
import json
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from cases import IS_THOROUGH, each
from scrapy import Spider
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.utils.test import get_crawler

from dedup.scrapy_plugin.feed import has_content, is_mendable, mend

TEXTS = (
    "plain",
    'with "quotes", a comma\nand a line',
    '"',
    "",
    "两个字 and é\r\n🐐",
    "back\\slash\\",
    'ends with "quotes"',
)
ITEMS = [{"url": f"http://a/{n}", "text": text} for n, text in enumerate(TEXTS)]
NEXT = {"url": "http://next", "text": 'one "more"\r\nline'}


class Feed:
    """A feed of Scrapy's own classes, without a crawl."""

    def __init__(self, path: Path, form: str, **options: Any) -> None:
        settings = {
            "FEEDS": {str(path): {"format": form, **options}},
            "FEED_EXPORTERS": {"pprint": "scrapy.exporters.PprintItemExporter"},
        }
        self._crawler = get_crawler(settings_dict=settings)
        self._crawler.spider = Spider("test")

    def slot(self) -> FeedSlot:
        exporter = FeedExporter(self._crawler)
        exporter.open_spider(self._crawler.spider)
        [slot] = exporter.slots
        return slot

    def append(self, *items: Any, mends: bool = False, is_torn: bool = True) -> list[int]:
        """Export *items* as a crawl does that ends by itself; return the size after each."""
        slot = self.slot()
        mends = mends and has_content(slot.storage.path)
        slot.start_exporting()
        if mends:
            mend(slot, is_torn=is_torn)
        ends = []
        for item in items:
            slot.exporter.export_item(item)
            slot.file.flush()
            ends.append(Path(slot.uri).stat().st_size)
        slot.finish_exporting()
        slot.file.close()
        return ends


def rows(path: Path, encoding: str, **arguments: Any) -> list[list[str]]:
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, **arguments))


def cuts(whole: bytes) -> range:
    """Where a file may be torn: anywhere, or at a third of all places if tests are to be quick."""
    return range(len(whole) + 1) if IS_THOROUGH else range(len(whole) % 3, len(whole) + 1, 3)


CSV = {
    "default": {},
    "every field quoted": {"quoting": csv.QUOTE_ALL},
    "texts quoted": {"quoting": csv.QUOTE_NONNUMERIC},
    "semicolons": {"delimiter": ";", "quotechar": "'"},
    "tabs": {"dialect": "excel-tab"},
    "unix": {"dialect": "unix"},
    "escaped": {"doublequote": False, "escapechar": "\\"},
    "never quoted": {"quoting": csv.QUOTE_NONE, "escapechar": "\\"},
    "escaped and doubled": {"escapechar": "\\"},
}


FORMS_AND_ENCODINGS = [
    *((form, "utf-8") for form in CSV),
    *(("default", encoding) for encoding in ("utf-8-sig", "gbk", "latin-1")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("form", "encoding"), FORMS_AND_ENCODINGS)
def test_a_csv_file_that_is_torn_anywhere_swallows_nothing(
    tmp_path: Path, form: str, encoding: str
):
    path, arguments = tmp_path / "feed", CSV[form]
    options = arguments | {"errors": "ignore"}  # of characters that an encoding lacks
    feed = Feed(path, "csv", encoding=encoding, item_export_kwargs=options)
    reading = arguments if form == "never quoted" else arguments | {"quoting": csv.QUOTE_MINIMAL}
    feed.append(NEXT)
    appended = rows(path, encoding, **reading)
    path.unlink()
    ends = feed.append(*ITEMS)
    whole, expected = path.read_bytes(), rows(path, encoding, **reading)
    for cut in cuts(whole):
        path.write_bytes(whole[:cut])
        feed.append(NEXT, mends=True)
        found = rows(path, encoding, **reading)
        assert found[-2:] == appended, cut
        if complete := sum(end <= cut for end in ends):
            assert found[: 1 + complete] == expected[: 1 + complete], cut
        assert len(found) <= 1 + complete + 1 + len(appended), cut  # one is torn, at most


def test_a_torn_header_is_written_again(tmp_path: Path):
    path = tmp_path / "feed"
    feed = Feed(path, "csv")
    feed.append(NEXT)
    whole = path.read_bytes()
    for cut in range(len(b"url,text\r\n")):
        path.write_bytes(whole[:cut])
        feed.append(NEXT, mends=True)
        assert path.read_bytes() == whole, cut


WHOLE = [
    b"url,text\r\na,b\r\n",
    b'url,text\r\na,"b\r\n""c"""\r\n',
    b'url\r\n5" disk\r\nanother\r\n',  # a quote within a field is none
    b'\xef\xbb\xbf"url",text\r\na,b\r\n',
]
TORN = [b"other,field", b"url,text\r\na,b", b'url,text\r\na,"b']


@each(
    ("content", "is_torn", "added"),
    [
        *((content, is_torn, b"") for content in WHOLE for is_torn in (False, True)),
        *((content, False, b"\r\n") for content in TORN),
    ],
)
def test_a_whole_csv_file_is_left_alone_and_what_no_crawl_has_torn_gets_a_line_end_only(
    tmp_path: Path, content: bytes, is_torn: bool, added: bytes
):
    path = tmp_path / "feed"
    path.write_bytes(content)
    Feed(path, "csv").append(mends=True, is_torn=is_torn)
    assert path.read_bytes() == content + added


def test_nothing_is_removed_after_a_quote_that_somebody_else_left_open(tmp_path: Path):
    path = tmp_path / "feed"
    content = b'url,text\r\na,"b\r\n' + b"c,d\r\n" * 1000
    path.write_bytes(content)
    Feed(path, "csv").append(NEXT, mends=True)
    assert path.read_bytes().startswith(content)
    assert rows(path, "utf-8")[-1] == list(NEXT.values())


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
    path = append_only('url,text\r\na,"é'.encode()[:-1])
    Feed(path, "csv").append(mends=True)
    assert path.read_bytes() == 'url,text\r\na,"é'.encode()[:-1] + b'torn"\r\n'


@pytest.mark.slow
def test_a_large_csv_file_is_not_read_into_memory(tmp_path: Path):
    path = tmp_path / "feed"
    feed = Feed(path, "csv")
    feed.append({"url": "", "text": 'a "text"\n' * 50})
    header, _, row = path.read_bytes().partition(b"\r\n")
    path.write_bytes(header + b"\r\n" + row * 8_000)
    size = path.stat().st_size
    assert size > 4_000_000
    with path.open("r+b") as file:
        file.truncate(size - 100)
    tracemalloc.start()
    feed.append(mends=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_500_000
    assert path.read_bytes()[size - 100 :] == b'torn"\r\n'


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-8-sig", "gbk"])
def test_a_file_of_json_lines_that_is_torn_anywhere_swallows_nothing(
    tmp_path: Path, encoding: str | None
):
    path = tmp_path / "feed"
    items = [{**item, "text": item["text"].replace("🐐", "羊").replace("é", "e")} for item in ITEMS]
    feed = Feed(path, "jsonlines", encoding=encoding)
    feed.append(*items)
    whole = path.read_bytes()
    for cut in cuts(whole):
        path.write_bytes(whole[:cut])
        feed.append(NEXT, mends=True)
        found = read_json_lines(path.read_text(encoding or "utf-8"))
        assert found[-1] == NEXT, cut
        torn = whole[:cut].decode(encoding or "utf-8", "ignore")
        ended = torn.count("\n")
        assert found[:ended] == items[:ended], cut


def read_json_lines(text: str) -> list[Any]:
    found = []
    for line in text.split("\n"):
        with suppress(ValueError):
            found.append(json.loads(line.removeprefix("\ufeff")))
    return found


@pytest.mark.slow
def test_a_printed_file_that_is_torn_anywhere_swallows_nothing(tmp_path: Path):
    path = tmp_path / "feed"
    feed = Feed(path, "pprint")
    feed.append(*ITEMS)
    whole = path.read_bytes()
    for cut in cuts(whole):
        path.write_bytes(whole[:cut])
        feed.append(NEXT, mends=True)
        _, _, last = path.read_text("utf-8").rpartition("\n{")
        assert ast.literal_eval("{" + last.removeprefix("{")) == NEXT, cut


@each(
    ("form", "encoding", "expected"),
    [
        ("jsonlines", "utf-8", True),
        ("jl", "gbk", True),
        ("pprint", None, True),
        ("csv", "utf-8", True),
        ("json", "utf-8", False),
        ("jsonlines", "utf-16", False),
        ("csv", "utf-32", False),
    ],
)
def test_lines_and_csv_can_be_mended_where_a_line_ends_with_one_byte(
    tmp_path: Path, form: str, encoding: str | None, expected: bool
):
    assert is_mendable(Feed(tmp_path / "feed", form, encoding=encoding).slot()) is expected
