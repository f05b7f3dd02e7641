"""Whole crawls: what is stored, dropped and counted."""

import asyncio
import gc
import json
import logging
import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from cases import each
from crawls import (
    ADDON,
    crawl,
    crawl_paths,
    crawl_site,
    html_report_in,
    path_of,
    report_in,
    spider_over,
)
from garbage import collect
from item_kinds import KINDS
from scrapy import Request
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler
from texts import article, edited, page
from web import Answer, served

from dedup.scrapy_plugin.settings import DedupSettings

ORIGINAL, COPY, OTHER = page(article(1)), page(edited(article(1))), page(article(2))
SITE = {"/original": ORIGINAL, "/copy": COPY, "/other": OTHER}
PAIR = ("/original", "/copy")


def test_the_items_of_copies_are_dropped_and_say_of_what():
    framed = page(article(1).upper(), "/x", footer="Another footer")
    result = crawl_site({**SITE, "/framed": framed})
    assert result.stored == ["/original", "/other"]
    assert result.originals == {"/copy": "/original", "/framed": "/original"}
    near, exact = (error for _, error in result.dropped)
    assert near.verdict.distance == 2
    assert str(near) == f"near-duplicate of <{result.items[0]['url']}> (simhash, distance 2)"
    assert result.stats["item_dropped_reasons_count/NearDuplicate"] == 1
    assert result.stats["item_dropped_reasons_count/ExactDuplicate"] == 1
    assert exact.verdict.distance == 0
    assert result.dedup_stats == {
        "pages": 4,
        "new": 2,
        "near_duplicates": 1,
        "exact_duplicates": 1,
        "distance/2": 1,
        "items/dropped": 2,
    }
    assert "log_count/ERROR" not in result.stats


@pytest.mark.parametrize(("level", "named"), [("INFO", 20), ("DEBUG", 23)])
def test_twenty_drops_are_named_and_the_others_are_counted(level: str, named: int):
    site = {f"/{number}": ORIGINAL for number in range(24)}
    result = crawl_site(site, DEDUP_LOG_LEVEL=level)
    assert len(result.dropped) == 23
    wanted = logging.getLevelNamesMapping()[level]
    messages = [record.getMessage() for record in result.log if record.levelno >= wanted]
    assert len([one for one in messages if one.startswith("Dropped <")]) == named
    others = [one for one in messages if one.startswith("Dropped 3 more: ")]
    assert len(others) == (named < 23)


def test_the_garbage_collector_leaves_out_what_was_imported_while_a_crawl_runs():
    frozen, left = [], []

    def parse(self: Any, response: Any) -> Iterator[Any]:
        frozen.append(gc.get_freeze_count())
        left.append(garbage())
        yield {"url": response.url}

    class InCycle:
        def __init__(self) -> None:
            self.itself = self

    gc.unfreeze()
    garbage = weakref.ref(InCycle())  # as of an earlier crawl
    crawl_site(SITE, "/original", parse=parse)
    assert frozen[0] > 10_000
    assert left[0] is None
    assert gc.get_freeze_count() == 0


def test_a_body_seen_byte_for_byte_is_not_read_again():
    """Nor one that could not be read."""
    read = []

    def extractor(html: str) -> str:
        read.append(html)
        if html == OTHER:
            raise LookupError("no text")
        return html

    site = {"/a": ORIGINAL, "/b": ORIGINAL, "/c": OTHER, "/d": OTHER}
    result = crawl_site(site, DEDUP_EXTRACTOR=extractor)
    assert result.stored == ["/a", "/c", "/d"]
    assert read[1:] == [ORIGINAL, OTHER]  # after the sample page
    assert result.stats["dedup/bodies_repeated"] == 1
    assert result.stats["dedup/unread/error"] == 2


@dataclass
class ManyFieldsItem:
    url: str
    title: str | None = None
    dedup: dict[str, Any] = field(default_factory=dict)


def test_marking_keeps_items_of_every_kind_and_marks_those_that_can_hold_it():
    """Test_chains.py drops items of every kind."""
    kinds = [*KINDS, ManyFieldsItem]
    site = {}
    for number in range(len(kinds)):
        site[f"/{number}"] = page(article(number))
        site[f"/{number}/copy"] = page(edited(article(number)))

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield kinds[int(response.url.split("/")[3])](url=response.url)

    result = crawl_site(site, parse=parse, DEDUP_MAX_DISTANCE=12, DEDUP_ACTION="mark")
    assert [type(item) for item in result.items[1::2]] == kinds
    copies = dict(zip(kinds, result.items[1::2], strict=True))
    marks = {dict: copies[dict]["dedup"], ManyFieldsItem: copies[ManyFieldsItem].dedup}
    for kind, mark in marks.items():
        assert 0 < mark.pop("distance") <= 12
        assert mark == {
            "verdict": "near-duplicate",
            "original": f"{result.url}/{kinds.index(kind)}",
            "method": "simhash",
            "objection": None,
            "preferred": None,
        }
    assert result.stats["dedup/items/marked"] == 2 * 2
    assert result.stats["dedup/items/unmarked"] == 2 * (len(kinds) - 2)
    assert len(result.messages()) == 1


def test_a_request_can_ask_for_its_page_to_be_stored_again_or_not_to_be_judged():
    async def start(self: Any) -> Any:
        wishes = {"/a": {}, "/b": {"again": True}, "/c": {"again": False}, "/d": False}
        for path, wish in wishes.items():
            yield Request(self.root + path, meta={"dedup": wish})

    result = crawl_site(dict.fromkeys(("/a", "/b", "/c", "/d"), ORIGINAL), start=start)
    assert result.stored == ["/a", "/b", "/d"]
    assert result.dedup_stats["skipped/switched_off"] == 1


@each("wish", ["no", 0, {"again": 1}, {"key": 7}, {"key": ""}, {"other": 1}])
def test_a_wrong_wish_is_told_of_once_and_the_page_judged(wish: Any):
    async def start(self: Any) -> Any:
        for url in self.start_urls:
            yield Request(url, meta={"dedup": wish})

    result = crawl_site({"/a": ORIGINAL, "/b": ORIGINAL}, start=start)
    assert len(result.dropped) == 1
    [message] = result.messages()
    assert message.startswith('meta["dedup"] must be True, False or {"again": True or False')


def test_a_request_can_name_the_key_of_its_page(tmp_path: Any):
    """URLs with a session are new each time, the article is not."""

    async def start(self: Any) -> Any:
        for number in range(2):
            url = f"{self.root}/{number}?session={self.session}"
            yield Request(url, meta={"dedup": {"key": f"article {number}"}})

    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
                "FEEDS": {str(tmp_path / "items.jl"): {"format": "jsonlines"}}}  # fmt: skip
    site = {f"/{n}?session={s}": page(article(n + 10 * (s * n))) for n in (0, 1) for s in (1, 2)}
    with served(site) as url:
        first, second = (crawl_paths(url, start=start, session=n, **settings) for n in (1, 2))
    assert first.dedup_stats["new"] == 2
    assert (second.dedup_stats["unchanged"], second.dedup_stats["changed"]) == (1, 1)
    assert [str(verdict) for _, verdict in second.dropped] == ["unchanged: <article 0>"]
    assert second.dropped[0][1].verdict.original == "article 0"


def test_what_cannot_be_judged_is_kept_with_a_reason():
    site = {
        "/html": ORIGINAL,
        "/missing": Answer(ORIGINAL.encode(), 404),
        "/nothing": Answer(b""),
        "/no-text": "<html><body></body></html>",
        "/no-text-again": "<html><body></body></html>",  # byte for byte
        "/big": page(article(3, 5000)),
    }
    options = {"handle_httpstatus_list": [404], "DEDUP_FIELDS": {"text": "text"}}
    result = crawl_site(site, limits={"MAX_PAGE_BYTES": 20_000}, **options)
    assert len(result.items) == len(site)
    assert result.dedup_stats == {
        "pages": 6,
        "new": 1,
        "skipped/status": 1,
        "skipped/empty": 3,
        "skipped/too_big": 1,
        "bodies_repeated": 1,
    }


def test_what_is_no_html_is_a_duplicate_if_it_is_equal_byte_for_byte():
    rest = b"\n" * 300
    text = article(1)
    json_type = "application/json"
    site = {
        "/a.json": Answer(b'{"a": 1}' + rest, content_type=json_type),
        "/b.json": Answer(b'{"a": 1}' + rest, content_type=json_type),
        "/c.json": Answer(b'{"a":  1}' + rest, content_type=json_type),
        "/a.pdf": Answer(b"%PDF-1.4 one" + rest, content_type="application/pdf"),
        "/b.pdf": Answer(b"%PDF-1.4 one" + rest, content_type="application/x-pdf"),
        "/a.txt": Answer(text.encode(), content_type="text/plain"),
        "/b.txt": Answer(f"{text}.".encode(), content_type="text/plain"),
        "/html": page(text),
        **{f"/{n}": Answer(b"x" * 255, content_type=json_type) for n in (1, 2)},
        **{f"/{n}": Answer(b"x" * 256, content_type=json_type) for n in (3, 4)},
    }
    result = crawl_site(site)
    assert result.originals == {"/b.json": "/a.json", "/b.pdf": "/a.pdf", "/2": "/1", "/4": "/3"}
    assert {str(error).partition(" of ")[0] for _, error in result.dropped} == {"exact duplicate"}
    assert {error.verdict.distance for _, error in result.dropped} == {0}
    counts = {"pages": 12, "new": 8, "exact_duplicates": 4, "items/dropped": 4}
    assert result.dedup_stats == counts


def test_a_page_that_is_met_twice_is_dropped_and_no_copy_of_itself():
    bodies = iter([ORIGINAL, ORIGINAL, COPY])

    class Site(dict):
        def get(self, path: str, default: Any = None) -> Any:
            return next(bodies)

    result = crawl_site(Site(), "/a", "/a", "/a")
    assert result.dedup_stats == {"pages": 3, "new": 1, "repeated": 2, "items/dropped": 2,
                                  "bodies_repeated": 1}  # fmt: skip
    assert {type(verdict).__name__ for _, verdict in result.dropped} == {"RepeatedPage"}
    assert "group" not in result.table
    assert "2 (66.7%), under the same URL" in result.table


SAME = {"/a": ORIGINAL, "/same": ORIGINAL, "/near": COPY}


@pytest.mark.parametrize(
    ("settings", "names"),
    [({}, ["/same 1", "/same 2", "/near 1", "/near 2"]), ({"DEDUP_ACTION": "mark"}, [])],
)
def test_all_items_of_a_page_have_their_fields_where_they_are_put_aside_or_marked(
    tmp_path: Any, settings: Any, names: list[str]
):
    """The items of a body that is not read again, too, and those that share a verdict.

    But what the spider has written stays.
    """

    def parse(self: Any, response: Any) -> Iterator[Any]:
        for number, title in ((1, ""), (2, "The spider's own")):
            yield {"url": response.url, "number": number, "text": None, "title": title}

    path = tmp_path / "dropped.jsonl"
    fields = {"text": "text", "title": "title", "language": "language"}
    options = {"DEDUP_DUPLICATES": str(path), "DEDUP_FIELDS": fields, **settings}
    result = crawl_site(SAME, parse=parse, **options)
    lines = path.read_text().splitlines() if path.exists() else []
    dropped = [json.loads(line)["item"] for line in lines]
    assert [f"{path_of(item['url'])} {item['number']}" for item in dropped] == names
    items = [*result.items, *dropped]
    assert len(items) == 6
    for item in items:
        title = "A page" if item["number"] == 1 else "The spider's own"
        assert (item["title"], item["language"]) == (title, "en")
        assert item["text"].endswith(article(1)[-20:])
        assert ("otherwise" in item["text"]) == item["url"].endswith("/near")
    assert result.stats["dedup/bodies_read_again"] == 1


def test_a_drop_is_logged_once_a_page_without_its_items(tmp_path: Any):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for number in (1, 2):
            yield {"number": number, "secret": "of the item"}

    settings = {"DEDUP_LOG_LEVEL": "WARNING", "DEDUP_INDEX": tmp_path / "pages.sqlite"}
    with served(SAME) as url:
        first, second = (crawl_paths(url, *SAME, parse=parse, **settings) for _ in range(2))
    told = [r for r in first.log if r.levelno == logging.WARNING and "Dropped" in r.msg]
    assert [record.getMessage() for record in told] == [
        f"Dropped <{url}/same>: exact duplicate of <{url}/a> (simhash, distance 0)",
        f"Dropped <{url}/near>: near-duplicate of <{url}/a> (simhash, distance 2)",
    ]
    assert first.stats["dedup/pages"] == 3
    of_items = [r for r in first.log if r.getMessage().startswith("Dropped:")]
    assert [record.levelno for record in of_items] == [logging.DEBUG] * 4
    quiet = [r for r in second.log if r.getMessage() == f"Dropped <{url}/a>: unchanged"]
    assert [record.levelno for record in quiet] == [logging.DEBUG]


def test_items_without_a_page_pass_and_are_counted():
    """Of start, and of errbacks."""

    async def start(self: Any) -> Any:
        yield {"url": "none"}
        yield Request(self.start_urls[0])
        yield Request("http://127.0.0.1:9/gone", errback=self.failed)

    def failed(self: Any, failure: Any) -> Any:
        return [{"url": failure.request.url}]

    result = crawl_site(SITE, "/original", start=start, failed=failed)
    assert len(result.items) == 3
    assert result.stats["dedup/items/unknown"] == 2
    assert len(result.messages()) == 1


def test_an_items_field_may_be_text_and_the_item_have_no_response():
    """The text is judged whole, though it mentions markup."""
    begin = article(1) + " Bold text stands between <b> and </b>; see whether x <y and so on. "
    bodies = [
        article(1), article(2), [article(1)],  # of a loader
        begin + article(3), begin + article(4), f"Write <html> at the top. {article(5)}", 5,
    ]  # fmt: skip

    async def start(self: Any) -> Any:
        for number, body in enumerate(bodies):
            yield {"url": f"item:{number}", "body": body}
        yield {"url": "item:none"}

    result = crawl(spider_over(start=start), DEDUP_ITEM_FIELD="body")
    assert [item["url"] for item, _ in result.dropped] == ["item:2"]
    assert result.dedup_stats == {
        "pages": 8,
        "new": 5,
        "exact_duplicates": 1,
        "skipped/no_field": 2,
        "items/dropped": 1,
    }


@each("options", [{}, {"DEDUP_MIN_TOKENS": 20}, {"DEDUP_MIN_TOKENS": 60}])
def test_short_texts_of_a_template_are_items_of_their_own(options: Any):
    """Of 40 words, where one matters: nothing else tells such items apart."""
    short = [f"{article(1, 39)} sums", f"{article(1, 39)} roots"]
    long = [f"{article(2, 59)} sums", f"{article(2, 59)} roots"]

    async def start(self: Any) -> Any:
        for number, body in enumerate(short + long):
            yield {"url": f"item:{number}", "body": body}

    result = crawl(
        spider_over(start=start), DEDUP_ITEM_FIELD="body",
        DEDUP_METHOD={"name": "simhash", "max_distance": 16}, **options,
    )  # fmt: skip
    dropped = [item["url"] for item, _ in result.dropped]
    least = options.get("DEDUP_MIN_TOKENS", 50)
    assert dropped == [url for url, words in (("item:1", 40), ("item:3", 60)) if words >= least]


def test_a_request_can_switch_its_items_off_and_a_field_can_be_too_big():
    async def start(self: Any) -> Any:
        for number, switched in enumerate((True, True, False)):
            yield Request(f"{self.root}/?{number}", meta={"dedup": switched})

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "body": article(1)}
        yield {"url": response.url, "body": "ü" * 6000}

    result = crawl_site(
        {f"/?{number}": ORIGINAL for number in range(3)}, start=start, parse=parse,
        DEDUP_ITEM_FIELD="body", limits={"MAX_PAGE_BYTES": 10_000},
    )  # fmt: skip
    assert result.dedup_stats == {
        "pages": 6,
        "new": 1,
        "exact_duplicates": 1,
        "skipped/switched_off": 2,
        "skipped/too_big": 2,
        "items/dropped": 1,
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # aiohttp's client
def test_a_missing_extension_is_an_error_that_names_it():
    pipeline = {"dedup.scrapy_plugin.ItemPipeline": 0}
    with pytest.raises(ValueError, match=r"EXTENSIONS lacks dedup.scrapy_plugin.Extension"):
        crawl(spider_over("http://127.0.0.1:9/"), ADDONS={}, ITEM_PIPELINES=pipeline)
    collect()  # Scrapy leaves aiohttp's client open; its warning belongs to this test


def test_a_component_that_the_user_has_placed_stays_there():
    pipelines = {"dedup.scrapy_plugin.ItemPipeline": None}
    result = crawl_site(SITE, *PAIR, ADDONS=ADDON, ITEM_PIPELINES=pipelines)
    assert len(result.items) == 2


def test_components_that_are_missing_from_a_list_by_hand_are_told_of():
    extensions = {"dedup.scrapy_plugin.Extension": 500}
    result = crawl_site(SITE, "/original", ADDONS={}, EXTENSIONS=extensions)
    assert result.messages() == [
        "SPIDER_MIDDLEWARES lacks dedup.scrapy_plugin.SpiderMiddleware",
        "SPIDER_MIDDLEWARES lacks dedup.scrapy_plugin.InnerSpiderMiddleware",
        "ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline",
    ]


def test_a_crawler_of_scrapys_test_helper_crawls_and_drops_and_builds_nothing_before(tmp_path: Any):
    """It is built before anybody knows that it will crawl."""
    ledger = tmp_path / "pages.sqlite"
    settings = {"ADDONS": ADDON, "TWISTED_REACTOR_ENABLED": False, "DEDUP_WORKERS": 0,
                "DEDUP_INDEX": str(ledger)}  # fmt: skip
    with served(SITE) as url:
        crawler = get_crawler(spider_over(*(url + path for path in PAIR)), settings)
        assert not ledger.exists()
        asyncio.run(crawler.crawl_async())
    assert crawler.stats.get_value("item_scraped_count") == 1
    assert crawler.stats.get_value("dedup/near_duplicates") == 1


def test_the_report_is_written_as_json_and_html_and_logged(tmp_path: Any):
    folder = tmp_path / "new" / "folder"
    result = crawl_site(SITE, DEDUP_REPORT=folder)
    url = result.url
    [path] = folder.glob("*.json")
    assert path.name.startswith(url.removeprefix("http://").replace(":", "_"))
    copies = path.with_suffix(".copies.jsonl").read_text().splitlines()
    assert [json.loads(line)["url"] for line in copies] == [f"{url}/copy"]
    report = report_in(folder)
    assert (report["spider"], report["pages"]["near_duplicates"]) == ("test", 1)
    [group] = report["largest_groups"]
    assert group["original"] == f"{url}/original"
    stages = {name: stage["sum"] for name, stage in report["seconds_per_page"].items()}
    assert set(stages) == {"extraction", "tokens", "sketch", "waiting", "index"}
    assert stages["extraction"] > 0
    assert stages["waiting"] >= 0  # of pages that are read at once
    assert re.search(rf"group of 2 +{url}/original", result.table)
    assert report["settings"] == dict(DedupSettings.from_settings(Settings()).shown) | {
        "DEDUP_WORKERS": 0,
        "DEDUP_REPORT": str(folder),
    }
    last_line = result.messages(logging.INFO)[-1].splitlines()[-1]
    assert last_line == f"The report: {path.with_suffix('.html')}"
    assert '"+ otherwise"' in html_report_in(folder)
