"""Feed files cut at every position: what is appended to them can be read, or is refused."""

import ast
import bz2
import csv
import gzip
import io
import json
import lzma
import marshal
import pickle
import shutil
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from scrapy import Spider
from scrapy.extensions.feedexport import FeedExporter, FeedSlot
from scrapy.utils.test import get_crawler

from dedup.scrapy_plugin.feeds import torn_files
from dedup.scrapy_plugin.feeds.torn_lines import TornFeedError

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
PLUGINS = "scrapy.extensions.postprocessing"


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

    def append(self, *items: Any) -> list[int]:
        """Export *items* as a crawl does that ends by itself; return the size after each."""
        slot = self.slot()
        slot.start_exporting()
        ends = []
        for item in items:
            slot.exporter.export_item(item)
            slot.file.flush()
            ends.append(Path(slot.uri).stat().st_size)
        slot.finish_exporting()
        file = slot.file
        file.close()
        getattr(file, "file", file).close()
        return ends

    def beginning(self, item: Any) -> bytes:
        file = io.BytesIO()
        slot = self.slot()
        options = slot.feed_options
        exporter = slot.exporters[slot.format](
            file, fields_to_export=options["fields"], encoding=options["encoding"],
            **options["item_export_kwargs"],
        )  # fmt: skip
        exporter.start_exporting()
        exporter.export_item(item)
        content = file.getvalue()
        exporter.finish_exporting()
        return content

    def mend(self, item: Any = NEXT) -> None:
        slot = self.slot()
        if torn_files.is_appended_to(slot):
            torn_files.mend(slot, lambda: self.beginning(item))


def rows(path: Path, encoding: str, **arguments: Any) -> list[list[str]]:
    with path.open(encoding=encoding, newline="") as file:
        return list(csv.reader(file, **arguments))


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
    *(("default", encoding) for encoding in ("utf-16", "utf-8-sig", "gbk", "utf-32")),
    ("escaped", "utf-16"),
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
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        feed.mend()
        feed.append(NEXT)
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
        feed.mend()
        feed.append(NEXT)
        assert path.read_bytes() == whole, cut
    path.write_bytes(b"other,field")  # somebody else's
    feed.mend()
    assert path.read_bytes() == b"other,field\r\n"


@pytest.mark.parametrize(
    "content",
    [
        b"url,text\r\na,b\r\n",
        b'url,text\na,"b\n""c"""\n',
        b'url\n5" disk\nanother\n',  # a quote within a field is none
        b'\xef\xbb\xbf"url",text\r\na,b\r\n',
    ],
)
def test_a_whole_csv_file_of_somebody_else_is_left_alone(tmp_path: Path, content: bytes):
    path = tmp_path / "feed"
    path.write_bytes(content)
    Feed(path, "csv", item_export_kwargs={"lineterminator": content[-2:].lstrip(b"dbr\"").decode()
        or "\n"}).mend()  # fmt: skip
    assert path.read_bytes() == content


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
    Feed(path, "csv").mend()
    assert path.read_bytes() == 'url,text\r\na,"é'.encode()[:-1] + b'"\r\n'


@pytest.mark.skipif(shutil.which("chattr") is None, reason="no attributes of files here")
@pytest.mark.parametrize(("form", "encoding"), [("jsonlines", "utf-16"), ("csv", "utf-8")])
def test_a_file_that_may_be_appended_to_only_is_refused_if_that_does_not_help(
    append_only: Callable[[bytes], Path], form: str, encoding: str
):
    content = "url,te".encode(encoding)  # half a header, or half a character
    path = append_only(content[:-1])
    with pytest.raises(TornFeedError, match="can only be appended to"):
        Feed(path, form, encoding=encoding).mend()
    assert path.read_bytes() == content[:-1]


def test_the_last_record_of_somebody_else_gets_its_line_end_only(tmp_path: Path):
    path = tmp_path / "feed"
    path.write_bytes(b"url,text\r\na,b")
    Feed(path, "csv").mend()
    assert path.read_bytes() == b"url,text\r\na,b\r\n"


def test_nothing_is_removed_after_a_quote_that_somebody_else_left_open(tmp_path: Path):
    path = tmp_path / "feed"
    content = b'url,text\r\na,"b\r\n' + b"c,d\r\n" * 1000
    path.write_bytes(content)
    Feed(path, "csv").mend()
    assert path.read_bytes() == content + b'"\r\n'


@pytest.mark.slow
def test_a_large_csv_file_is_not_read_into_memory(tmp_path: Path):
    path = tmp_path / "feed"
    feed = Feed(path, "csv")
    feed.append(*({"url": str(n), "text": 'a "text"\n' * 50} for n in range(8_000)))
    size = path.stat().st_size
    assert size > 4_000_000
    with path.open("r+b") as file:
        file.truncate(size - 100)
    tracemalloc.start()
    feed.mend()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3_500_000
    assert path.read_bytes()[size - 100 :] == b'"\r\n'


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-16", "utf-32", "gbk"])
def test_a_file_of_json_lines_that_is_torn_anywhere_swallows_nothing(
    tmp_path: Path, encoding: str | None
):
    path = tmp_path / "feed"
    items = [{**item, "text": item["text"].replace("🐐", "羊").replace("é", "e")} for item in ITEMS]
    feed = Feed(path, "jsonlines", encoding=encoding)
    feed.append(*items)
    whole = path.read_bytes()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        feed.mend()
        feed.append(NEXT)
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
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        feed.mend()
        feed.append(NEXT)
        _, _, last = path.read_text("utf-8").rpartition("\n{")
        assert ast.literal_eval("{" + last.removeprefix("{")) == NEXT, cut


def read_json(content: bytes) -> list[Any]:
    """Documents, one after the other."""
    text, at, found = content.decode(), 0, []
    while at < len(text):
        document, at = json.JSONDecoder().raw_decode(text, at)
        found += document
    return found


def read_xml(content: bytes) -> list[Any]:
    found = []
    for document in content.split(b"<?xml")[1:]:
        for item in ElementTree.fromstring(b"<?xml" + document):
            found.append({field.tag: field.text or "" for field in item})
    return found


def read_with(load: Callable[[Any], Any]) -> Callable[[bytes], list[Any]]:
    def read(content: bytes) -> list[Any]:
        file, found = io.BytesIO(content), []
        while file.tell() < len(content):
            found.append(load(file))
        return found

    return read


def compressed(plugin: str, decompress: Callable[[bytes], bytes]) -> Any:
    def read(content: bytes) -> list[Any]:
        return [json.loads(line) for line in decompress(content).splitlines()]

    return "jsonlines", {"postprocessing": [f"{PLUGINS}.{plugin}"]}, read


REFUSED = {
    "json": ("json", {}, read_json),
    "json, indented": ("json", {"indent": 2}, read_json),
    "json, utf-8": ("json", {"encoding": "utf-8"}, read_json),
    "xml": ("xml", {}, read_xml),
    "xml, indented": ("xml", {"indent": 2, "encoding": "utf-8"}, read_xml),
    "pickle": ("pickle", {}, read_with(pickle.load)),
    "pickle, protocol 0": (
        "pickle", {"item_export_kwargs": {"protocol": 0}}, read_with(pickle.load),
    ),
    "marshal": ("marshal", {}, read_with(marshal.load)),
    "gzip": compressed("GzipPlugin", gzip.decompress),
    "bz2": compressed("Bz2Plugin", bz2.decompress),
    "lzma": compressed("LZMAPlugin", lzma.decompress),
}  # fmt: skip


def cuts(size: int) -> Iterator[int]:
    """Yield the positions of tears: all of a small file, many of a large one."""
    yield from range(1, size, max(1, size // 1500))


@pytest.mark.slow
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_appended_to_a_file_that_is_not_refused_can_be_read(tmp_path: Path, kind: str):
    """Two crawls append to it; it is cut everywhere; if it is not refused, a third one appends."""
    form, options, read = REFUSED[kind]
    path = tmp_path / "feed"
    feed = Feed(path, form, **options)
    items = [{**item, "text": item["text"].replace("\r", "")} for item in ITEMS]
    feed.append(*items)
    first = path.stat().st_size
    feed.append(*items[:3])
    whole = path.read_bytes()
    assert read(whole) == items + items[:3]
    assert torn_files.check(feed.slot())
    accepted = []
    for cut in cuts(len(whole)):
        path.write_bytes(whole[:cut])
        try:
            assert torn_files.check(feed.slot())
        except TornFeedError:
            continue
        accepted.append(cut)
        feed.append({"url": "http://next", "text": "x"})
        assert read(path.read_bytes())[-1] == {"url": "http://next", "text": "x"}, cut
    assert set(accepted) <= {first - 1, first} if form in ("json", "xml") else True
    if form in ("pickle", "marshal"):
        # These end with every item.
        assert len(accepted) <= len(items) + 3
    else:
        assert set(accepted) <= {first, first - 1, first + 1}


# In protocol 0, nothing tells where a pickle begins.
@pytest.mark.slow
@pytest.mark.parametrize("kind", sorted(set(REFUSED) - {"pickle, protocol 0"}))
def test_what_was_appended_to_a_torn_file_is_refused_too(tmp_path: Path, kind: str):
    form, options, read = REFUSED[kind]
    path = tmp_path / "feed"
    feed = Feed(path, form, **options)
    feed.append(*ITEMS[:4])
    whole = path.read_bytes()
    for cut in range(len(whole) // 2, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:cut])
        if is_refused(feed):
            feed.append(*ITEMS[:4])
            if not is_refused(feed):  # half an item has become one with what follows
                assert kind in ("pickle", "marshal")
                feed.append(NEXT)
                assert read(path.read_bytes())[-1] == NEXT


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plugin", "opens"), [("Gzip", gzip.open), ("Bz2", bz2.open), ("LZMA", lzma.open)]
)
def test_lines_before_a_tear_of_a_later_stream_are_read_one_by_one(
    tmp_path: Path, plugin: str, opens: Any
):
    """As when a crawl that stores nothing is killed at its end."""
    path = tmp_path / "feed"
    feed = Feed(path, "jsonlines", postprocessing=[f"{PLUGINS}.{plugin}Plugin"])
    feed.append(*ITEMS)
    size = path.stat().st_size
    feed.append()
    whole = path.read_bytes()
    for cut in range(size + 1, len(whole)):
        path.write_bytes(whole[:cut])
        found = []
        with suppress(EOFError, gzip.BadGzipFile), opens(path) as lines:
            for line in lines:
                found.append(json.loads(line))
        assert found == ITEMS, cut


def is_refused(feed: Feed) -> bool:
    try:
        torn_files.check(feed.slot())
    except TornFeedError:
        return True
    return False


class Own:
    def __init__(self, file: Any, **options: Any) -> None: ...


class OwnPlugin:
    def __init__(self, file: Any, options: Any) -> None: ...


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("jsonlines", {"postprocessing": [OwnPlugin]}),
        ("jsonlines", {"postprocessing": [f"{PLUGINS}.GzipPlugin", OwnPlugin]}),
        (
            "jsonlines",
            {"postprocessing": [f"{PLUGINS}.LZMAPlugin"], "lzma_format": lzma.FORMAT_RAW},
        ),
        ("xml", {"encoding": "gbk"}),
        ("json", {"encoding": "utf-16"}),
    ],
)
def test_of_other_files_nothing_is_known(tmp_path: Path, form: str, options: Any):
    path = tmp_path / "feed"
    path.write_bytes(b"whatever")
    assert not torn_files.check(Feed(path, form, **options).slot())


def test_files_of_lines_are_known(tmp_path: Path):
    path = tmp_path / "feed"
    path.write_bytes(b"whatever")
    for form in ("jsonlines", "jl", "csv", "pprint"):
        slot = Feed(path, form).slot()
        assert torn_files.is_appended_to(slot)
        assert torn_files.check(slot)
    for options in ({"overwrite": True}, {}):
        if not options:
            path.write_bytes(b"")
        assert not torn_files.is_appended_to(Feed(path, "csv", **options).slot())
