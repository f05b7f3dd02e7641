"""Whole crawls: what is stored, dropped and counted."""

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import attrs
import pydantic
import pytest
import scrapy
from crawls import ADDON, crawl, spider_over
from garbage import collect
from scrapy import Request
from scrapy.settings import Settings
from texts import article, edited, page
from web import Answer, served

from dedup.scrapy_plugin.settings import DedupSettings

ORIGINAL, COPY, OTHER = page(article(1)), page(edited(article(1))), page(article(2))
SITE = {"/original": ORIGINAL, "/copy": COPY, "/other": OTHER}


def names(items: list[Any]) -> list[str]:
    return [item["url"].rpartition("/")[2] for item in items]


def test_the_item_of_a_near_duplicate_is_dropped_and_says_of_what():
    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", f"{url}/copy", f"{url}/other"))
    assert names(result.items) == ["original", "other"]
    [(item, exception)] = result.dropped
    assert names([item]) == ["copy"]
    verdict = exception.verdict
    assert verdict.distance == 2
    message = f"near-duplicate of <{url}/original> (simhash, distance 2)"
    assert str(exception) == message
    assert result.stats["item_dropped_reasons_count/NearDuplicate"] == 1
    assert result.dedup_stats == {
        "pages": 3,
        "new": 2,
        "near_duplicates": 1,
        "distance/2": 1,
        "items/dropped": 1,
    }
    assert "log_count/ERROR" not in result.stats


def test_an_equal_main_text_in_another_frame_is_an_exact_duplicate():
    site = {"/a": ORIGINAL, "/b": page(article(1).upper(), "/x", footer="Another footer")}
    with served(site) as url:
        result = crawl(spider_over(f"{url}/a", f"{url}/b"))
    assert names(result.items) == ["a"]
    assert result.stats["item_dropped_reasons_count/ExactDuplicate"] == 1


@pytest.mark.parametrize(("level", "named"), [("INFO", 20), ("DEBUG", 23)])
def test_twenty_drops_are_named_and_the_others_are_counted(level: str, named: int):
    site = {f"/{number}": ORIGINAL for number in range(24)}
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_LOG_LEVEL=level)
    assert len(result.dropped) == 23
    wanted = logging.getLevelNamesMapping()[level]
    messages = [record.getMessage() for record in result.log if record.levelno >= wanted]
    assert len([one for one in messages if one.startswith("Dropped <")]) == named
    others = [one for one in messages if one.startswith("Dropped 3 more, ")]
    assert len(others) == (named < 23)


def test_a_body_seen_byte_for_byte_is_not_read_again():
    read = []

    def extractor(html: str) -> str:
        read.append(html)
        return html

    site = {"/a": ORIGINAL, "/b": ORIGINAL, "/c": OTHER}
    with served(site) as url:
        result = crawl(spider_over(f"{url}/a", f"{url}/b", f"{url}/c"), DEDUP_EXTRACTOR=extractor)
    assert names(result.items) == ["a", "c"]
    assert len(read) == 2
    assert result.stats["dedup/bodies_repeated"] == 1


@dataclass(slots=True)
class SlotsItem:
    url: str


@attrs.frozen
class FrozenItem:
    url: str


class PydanticItem(pydantic.BaseModel, frozen=True):
    url: str


class ScrapyItem(scrapy.Item):
    url = scrapy.Field()


@dataclass
class ManyFieldsItem:
    url: str
    title: str | None = None
    dedup: dict[str, Any] = field(default_factory=dict)


ITEM_KINDS = [dict, SlotsItem, FrozenItem, PydanticItem, ScrapyItem, ManyFieldsItem]


def crawl_items_of_every_kind(**settings: Any) -> tuple[str, Any]:
    """A page and its copy for each kind of items: the URL of the site, and the crawl."""
    site = {}
    for number in range(len(ITEM_KINDS)):
        site[f"/{number}"] = page(article(number))
        site[f"/{number}/copy"] = page(edited(article(number)))

    def parse(self: Any, response: Any) -> Iterator[Any]:
        kind = ITEM_KINDS[int(response.url.split("/")[3])]
        yield kind(url=response.url)

    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse)
        return url, crawl(spider, DEDUP_MAX_DISTANCE=12, **settings)


def test_items_of_every_kind_are_dropped():
    _, result = crawl_items_of_every_kind()
    assert [type(item) for item in result.items] == ITEM_KINDS
    assert [type(item) for item, _ in result.dropped] == ITEM_KINDS
    assert not result.messages()


def test_marking_keeps_items_of_every_kind_and_marks_those_that_can_hold_it():
    url, result = crawl_items_of_every_kind(DEDUP_ACTION="mark")
    assert [type(item) for item in result.items[1::2]] == ITEM_KINDS
    copies = dict(zip(ITEM_KINDS, result.items[1::2], strict=True))
    marks = {dict: copies[dict]["dedup"], ManyFieldsItem: copies[ManyFieldsItem].dedup}
    for kind, mark in marks.items():
        assert 0 < mark.pop("distance") <= 12
        assert mark == {
            "verdict": "near-duplicate",
            "original": f"{url}/{ITEM_KINDS.index(kind)}",
            "method": "simhash",
            "objection": None,
            "preferred": None,
        }
    assert result.stats["dedup/items/marked"] == 2 * 2
    assert result.stats["dedup/items/unmarked"] == 2 * (len(ITEM_KINDS) - 2)
    assert len(result.messages()) == 1


def test_every_item_of_a_page_shares_its_verdict():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for number in range(30):
            yield {"url": response.url, "number": number}

    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", f"{url}/copy", parse=parse))
    assert (len(result.items), len(result.dropped)) == (30, 30)
    assert result.stats["dedup/pages"] == 2


def test_a_page_without_items_is_not_judged():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        if not response.url.endswith("original"):
            yield {"url": response.url}

    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", f"{url}/copy", parse=parse))
    assert names(result.items) == ["copy"]
    assert result.dedup_stats == {"pages": 1, "new": 1}


def follow_links(self: Any, response: Any) -> Iterator[Any]:
    yield {"url": response.url}
    for link in response.css("a::attr(href)").getall():
        yield response.follow(link)


LINKED = {
    "/original": page(article(1), "/copy"),
    "/copy": page(article(1), "/other"),
    "/other": page(article(2)),
}


def test_links_of_duplicates_are_followed():
    with served(LINKED) as url:
        result = crawl(spider_over(f"{url}/original", parse=follow_links))
    assert names(result.items) == ["original", "other"]


def test_holding_back_links_judges_pages_without_items_too():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

    site = {"/a": page(article(1), "/b"), "/b": page(article(2))}
    with served(site) as url, served(site) as mirror:
        spider = spider_over(f"{url}/a", f"{mirror}/a", parse=parse)
        result = crawl(spider, DEDUP_FOLLOW_DUPLICATES=False)
    assert result.dedup_stats == {"links_held_back": 1, "bodies_repeated": 1}


def test_a_request_can_switch_its_page_off():
    async def start(self: Any) -> Any:
        yield Request(self.start_urls[0])
        yield Request(self.start_urls[1], meta={"dedup": False})

    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", f"{url}/copy", start=start))
    assert names(result.items) == ["original", "copy"]
    assert result.dedup_stats == {"pages": 2, "new": 1, "skipped/switched_off": 1}


def test_the_whole_layer_can_be_switched_off():
    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", f"{url}/copy"), DEDUP_ENABLED="0")
    assert len(result.items) == 2
    assert result.dedup_stats == {}
    assert not result.messages()


def test_a_spider_overrides_settings():
    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original", f"{url}/copy", custom_settings={"DEDUP_MAX_DISTANCE": 0})
        )
    assert len(result.items) == 2


@pytest.mark.parametrize(
    ("settings", "stored"),
    [({}, 2), ({"DEDUP_MIN_TOKENS": 0}, 3), ({"DEDUP_MIN_TOKENS": 1}, 2)],
)
def test_short_pages_are_only_exact_duplicates(settings: dict[str, Any], stored: int):
    site = {
        "/a": page("Thank you for your order number one."),
        "/b": page("Thank you for your order number two."),
        "/c": page("Thank you for your order number one.", footer="another"),
    }
    with served(site) as url:
        result = crawl(spider_over(f"{url}/a", f"{url}/b", f"{url}/c"), **settings)
    assert len(result.items) == stored


def test_what_cannot_be_judged_is_kept_with_a_reason():
    site = {
        "/html": ORIGINAL,
        "/missing": Answer(ORIGINAL.encode(), 404),
        "/nothing": Answer(b""),
        "/no-text": "<html><body></body></html>",
        "/big": page(article(3, 5000)),
    }
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site), handle_httpstatus_list=[404], name="test"),
            limits={"MAX_PAGE_BYTES": 20_000},
        )
    assert len(result.items) == len(site)
    assert result.dedup_stats == {
        "pages": 5,
        "new": 1,
        "skipped/status": 1,
        "skipped/empty": 2,
        "skipped/too_big": 1,
    }


@pytest.mark.parametrize(("min_tokens", "is_dropped"), [(20, True), (0, False)])
def test_little_that_is_no_html_is_a_duplicate_unless_short_pages_are_kept(
    min_tokens: int, is_dropped: bool
):
    site = {
        path: Answer(b"x" * length, content_type="application/json")
        for path, length in (("/a", 255), ("/b", 255), ("/c", 256), ("/d", 256))
    }
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_MIN_TOKENS=min_tokens)
    dropped = [item["url"].removeprefix(url) for item, _ in result.dropped]
    assert dropped == (["/b", "/d"] if is_dropped else ["/d"])
    assert result.dedup_stats.get("skipped/too_short", 0) == (0 if is_dropped else 2)


@pytest.mark.parametrize("min_tokens", [20, 0])
def test_what_is_no_html_is_a_duplicate_if_it_is_equal_byte_for_byte(min_tokens: int):
    rest = b"\n" * 300
    text = article(1)
    site = {
        "/a.json": Answer(b'{"a": 1}' + rest, content_type="application/json"),
        "/b.json": Answer(b'{"a": 1}' + rest, content_type="application/json"),
        "/c.json": Answer(b'{"a":  1}' + rest, content_type="application/json"),
        "/a.pdf": Answer(b"%PDF-1.4 one" + rest, content_type="application/pdf"),
        "/b.pdf": Answer(b"%PDF-1.4 one" + rest, content_type="application/x-pdf"),
        "/a.txt": Answer(text.encode(), content_type="text/plain"),
        "/b.txt": Answer(f"{text}.".encode(), content_type="text/plain"),
        "/html": page(text),
    }
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_MIN_TOKENS=min_tokens)
    assert sorted(item["url"].removeprefix(url) for item, _ in result.dropped) == [
        "/b.json", "/b.pdf",
    ]  # fmt: skip
    assert {str(verdict) for _, verdict in result.dropped} == {
        f"exact duplicate of <{url}/a.json> (simhash, distance 0)",
        f"exact duplicate of <{url}/a.pdf> (simhash, distance 0)",
    }
    assert result.dedup_stats == {
        "pages": 8, "new": 6, "exact_duplicates": 2, "items/dropped": 2,
    }  # fmt: skip


def test_a_page_that_is_met_twice_is_dropped_and_no_copy_of_itself():
    async def start(self: Any) -> Any:
        for url in self.start_urls:
            yield scrapy.Request(url, dont_filter=True)

    bodies = iter([ORIGINAL, ORIGINAL, page(edited(article(1)))])

    class Site(dict):
        def get(self, path: str, default: Any = None) -> Any:
            return next(bodies)

    with served(Site()) as url:
        result = crawl(spider_over(*[f"{url}/a"] * 3, start=start))
    assert result.dedup_stats == {"pages": 3, "new": 1, "repeated": 2, "items/dropped": 2,
                                  "bodies_repeated": 1}  # fmt: skip
    assert {type(verdict).__name__ for _, verdict in result.dropped} == {"RepeatedPage"}
    [table] = [message for message in result.messages(20) if "Dedup report" in message]
    assert "group" not in table
    assert "2 (66.7%), under the same URL" in table


def test_a_request_can_ask_for_its_page_to_be_stored_again():
    async def start(self: Any) -> Any:
        for path, wish in (("/a", {}), ("/b", {"again": True}), ("/c", {"again": False})):
            yield scrapy.Request(self.start_urls[0] + path, meta={"dedup": wish})

    site = dict.fromkeys(("/a", "/b", "/c"), ORIGINAL)
    with served(site) as url:
        result = crawl(spider_over(url, start=start))
    assert [item["url"][-1] for item in result.items] == ["a", "b"]


def test_a_request_can_name_the_key_of_its_page(tmp_path: Any):
    """URLs with a session are new each time, the article is not."""

    def start_with(session: int) -> Any:
        async def start(self: Any) -> Any:
            for number in range(2):
                yield scrapy.Request(
                    f"{self.start_urls[0]}/{number}?session={session}",
                    meta={"dedup": {"key": f"article {number}"}},
                )

        return start

    settings = {"DEDUP_INDEX": str(tmp_path / "pages.sqlite"),
                "FEEDS": {str(tmp_path / "items.jl"): {"format": "jsonlines"}}}  # fmt: skip
    site = {f"/{n}?session={s}": page(article(n + 10 * (s * n))) for n in (0, 1) for s in (1, 2)}
    with served(site) as url:
        first = crawl(spider_over(url, start=start_with(1)), **settings)
        second = crawl(spider_over(url, start=start_with(2)), **settings)
    assert first.dedup_stats["new"] == 2
    assert (second.dedup_stats["unchanged"], second.dedup_stats["changed"]) == (1, 1)
    assert [str(verdict) for _, verdict in second.dropped] == ["unchanged: <article 0>"]
    assert second.dropped[0][1].verdict.original == "article 0"


@pytest.mark.parametrize("wish", ["no", 0, {"again": 1}, {"key": 7}, {"key": ""}, {"other": 1}])
def test_a_wrong_wish_is_told_of_once_and_the_page_judged(wish: Any):
    async def start(self: Any) -> Any:
        for url in self.start_urls:
            yield scrapy.Request(url, meta={"dedup": wish})

    site = dict.fromkeys(("/a", "/b"), ORIGINAL)
    with served(site) as url:
        result = crawl(spider_over(f"{url}/a", f"{url}/b", start=start))
    assert len(result.dropped) == 1
    [message] = result.messages()
    assert message.startswith('meta["dedup"] must be True, False or {"again": True or False')


@pytest.mark.parametrize(
    ("settings", "names"),
    [({}, ["/same 1", "/same 2", "/near 1", "/near 2"]), ({"DEDUP_ACTION": "mark"}, [])],
)
def test_all_items_of_a_page_have_their_fields_where_they_are_put_aside_or_marked(
    tmp_path: Any, settings: Any, names: list[str]
):
    """The items of a body that is not read again, too, and those that share a verdict."""

    def parse(self: Any, response: Any) -> Iterator[Any]:
        for number in (1, 2):
            yield {"url": response.url, "number": number, "text": None, "title": ""}

    path = tmp_path / "dropped.jsonl"
    site = {"/a": ORIGINAL, "/same": ORIGINAL, "/near": page(edited(article(1)))}
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site), parse=parse, site=url),
            DEDUP_DUPLICATES=str(path),
            DEDUP_FIELDS={"text": "text", "title": "title", "language": "language"},
            **settings,
        )
    lines = path.read_text().splitlines() if path.exists() else []
    dropped = [json.loads(line)["item"] for line in lines]
    paths = [f"{item['url'].removeprefix(url)} {item['number']}" for item in dropped]
    assert paths == names
    items = [*result.items, *dropped]
    assert len(items) == 6
    for item in items:
        assert (item["title"], item["language"]) == ("A page", "en")
        assert item["text"].endswith(article(1)[-20:])
        assert ("otherwise" in item["text"]) == item["url"].endswith("/near")


@pytest.mark.parametrize(("level", "shown"), [("INFO", logging.INFO), ("WARNING", logging.WARNING)])
def test_a_drop_is_logged_once_a_page_without_its_items(tmp_path: Any, level: str, shown: int):
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for number in (1, 2):
            yield {"number": number, "secret": "of the item"}

    site = {"/a": ORIGINAL, "/same": ORIGINAL, "/near": page(edited(article(1)))}
    settings = {"DEDUP_LOG_LEVEL": level, "DEDUP_INDEX": tmp_path / "pages.sqlite"}
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse)
        first, second = crawl(spider, **settings), crawl(spider, **settings)
    assert [r.getMessage() for r in first.log if r.levelno == shown and "Dropped" in r.msg] == [
        f"Dropped <{url}/same>: exact duplicate of <{url}/a> (simhash, distance 0)",
        f"Dropped <{url}/near>: near-duplicate of <{url}/a> (simhash, distance 2)",
    ]
    of_items = [r for r in first.log if r.getMessage().startswith("Dropped:")]
    assert [record.levelno for record in of_items] == [logging.DEBUG] * 4
    quiet = [r for r in second.log if r.getMessage() == f"Dropped <{url}/a>: unchanged"]
    assert [record.levelno for record in quiet] == [logging.DEBUG]


def test_empty_pages_are_never_duplicates_even_byte_for_byte():
    site = dict.fromkeys(("/a", "/b", "/c"), "<html><body></body></html>")
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)))
    assert len(result.items) == 3


def test_items_without_a_response_pass_and_are_counted():
    async def start(self: Any) -> Any:
        yield {"url": "none"}
        yield Request(self.start_urls[0])

    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", start=start))
    assert len(result.items) == 2
    assert result.stats["dedup/items/unknown"] == 1
    assert len(result.messages()) == 1


def test_items_of_errbacks_pass_and_are_counted():
    async def start(self: Any) -> Any:
        yield Request(self.start_urls[0], errback=self.failed)

    def failed(self: Any, failure: Any) -> Any:
        return [{"url": failure.request.url}]

    with served({}) as url:
        pass  # its port is closed now
    result = crawl(spider_over(f"{url}/gone", start=start, failed=failed))
    assert len(result.items) == 1
    assert result.stats["dedup/items/unknown"] == 1


def test_fields_of_the_page_are_written_where_the_item_has_none():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "name": "the spider's own", "language": None}

    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original", parse=parse),
            DEDUP_FIELDS={"text": "body", "title": "name", "language": "language"},
        )
    [item] = result.items
    assert " ".join(article(1).split()[:20]) in " ".join(item.pop("body").split())
    assert item == {"url": f"{url}/original", "name": "the spider's own", "language": "en"}


def test_fields_are_written_with_dedup_switched_off():
    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original", f"{url}/copy"),
            DEDUP_FIELDS={"title": "title"},
            DEDUP_ENABLED=False,
        )
    assert [item["title"] for item in result.items] == ["A page", "A page"]


def articles_of(self: Any, response: Any) -> Iterator[Any]:
    for number, text in enumerate(response.css("article").getall()):
        yield {"url": f"{response.url}#{number}", "body": text}


def test_items_are_judged_by_their_own_field():
    texts = [article(1), article(2), edited(article(1), "edited"), article(2)]
    listing = "<html><body>" + "".join(f"<article><p>{text}</p></article>" for text in texts)
    with served({"/list": listing}) as url:
        result = crawl(spider_over(f"{url}/list", parse=articles_of), DEDUP_ITEM_FIELD="body")
    assert names(result.items) == ["list#0", "list#1"]
    assert sorted(str(exception) for _, exception in result.dropped) == sorted(
        [
            f"exact duplicate of <{url}/list#1> (simhash, distance 0)",
            f"near-duplicate of <{url}/list#0> (simhash, distance 1)",
        ]
    )


def test_an_items_field_may_be_text_and_the_item_have_no_response():
    async def start(self: Any) -> Any:
        for number, body in ((1, article(1)), (2, article(2)), (1, [article(1)])):  # of a loader
            yield {"url": f"item:{number}", "body": body}
        yield {"url": "item:none"}
        yield {"url": "item:number", "body": 5}

    result = crawl(spider_over(start=start), DEDUP_ITEM_FIELD="body")
    assert len(result.items) == 4
    assert result.dedup_stats == {
        "pages": 5,
        "new": 2,
        "exact_duplicates": 1,
        "skipped/no_field": 2,
        "items/dropped": 1,
    }


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # aiohttp's client
def test_a_missing_extension_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"EXTENSIONS lacks dedup.scrapy_plugin.Extension"):
        crawl(
            spider_over("http://127.0.0.1:9/"),
            ADDONS={},
            ITEM_PIPELINES={"dedup.scrapy_plugin.ItemPipeline": 0},
        )
    collect()  # Scrapy leaves aiohttp's client open; its warning belongs to this test


def test_a_component_that_the_user_has_placed_stays_there():
    first = "dedup.scrapy_plugin.ItemPipeline"
    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original", f"{url}/copy"),
            ADDONS=ADDON,
            ITEM_PIPELINES={first: None},
        )
    assert len(result.items) == 2


def test_the_report_is_written_as_json_and_logged(tmp_path: Any):
    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original", f"{url}/copy", f"{url}/other"),
            DEDUP_REPORT=tmp_path / "new" / "folder",
        )
    [path] = (tmp_path / "new" / "folder").glob("*.json")
    assert path.name.startswith(url.removeprefix("http://").replace(":", "_"))
    assert path.with_suffix(".html").is_file()
    copies = path.with_suffix(".copies.jsonl").read_text().splitlines()
    assert [json.loads(line)["url"] for line in copies] == [f"{url}/copy"]
    report = json.loads(path.read_text())
    assert report["spider"] == "test"
    assert report["pages"] | {"per_second": None} == {
        "judged": 3,
        "new": 2,
        "exact_duplicates": 0,
        "near_duplicates": 1,
        "unchanged": 0,
        "changed": 0,
        "repeated": 0,
        "skipped": {},
        "per_second": None,
    }
    [group] = report["largest_groups"]
    assert group["original"] == f"{url}/original"
    assert [copy["url"] for copy in group["first"]] == [f"{url}/copy"]
    assert report["duplicates_by_host"] == {url.removeprefix("http://"): 1}
    assert report["saved"]["bytes"] == len(COPY)
    assert set(report["seconds_per_page"]) == {"extraction", "tokens", "sketch", "waiting", "index"}
    [logged] = [m for m in result.messages(logging.INFO) if m.startswith("Dedup report:")]
    assert re.search(rf"group of 2 +{url}/original", logged)
    assert report["settings"] == dict(DedupSettings.from_settings(Settings()).shown) | {
        "DEDUP_WORKERS": 0,
        "DEDUP_REPORT": str(path.parent),
    }


def test_reports_of_crawls_that_begin_in_one_second_stand_side_by_side(tmp_path: Any):
    with served(SITE) as url:
        for _ in range(3):
            crawl(spider_over(f"{url}/original", name="a/b"), DEDUP_REPORT=tmp_path)
    names = {path.stem for path in tmp_path.glob("*.json")}
    assert len(names) == 3
    assert {path.name for path in tmp_path.glob("[!.]*")} == {
        *(name + suffix for name in names for suffix in (".json", ".html")),
        "index.html",
        "index.jsonl",
    }


def test_the_last_line_of_a_crawl_names_its_report(tmp_path: Any):
    with served(SITE) as url:
        result = crawl(spider_over(f"{url}/original", f"{url}/copy"), DEDUP_REPORT=tmp_path)
    [path] = tmp_path.glob("*Z.html")
    assert result.messages(logging.INFO)[-1].splitlines()[-1] == f"The report: {path}"


def html_report(folder: Any) -> tuple[str, Any]:
    """The source of the one HTML report in *folder*, and the data that its script reads."""
    [path] = folder.glob("*Z.html")
    source = path.read_text("utf-8")
    [data] = re.findall(r'id="data">(.*?)</script>', source, re.DOTALL)
    return source, json.loads(data)


def test_the_html_report_shows_what_a_copy_changed(tmp_path: Any):
    with served(SITE) as url:
        crawl(spider_over(f"{url}/original", f"{url}/copy"), DEDUP_REPORT=tmp_path)
    source, data = html_report(tmp_path)
    [_, group] = source.split('<li class="card group"')
    assert re.findall(r'href="(http.*?)"', group)[:2] == [f"{url}/original", f"{url}/copy"]
    place = re.search(r'data-diff="(\d+)"', group)[1]
    assert "+ otherwise" in data["diffs"][int(place)]
    assert "simhash" in source


@pytest.mark.parametrize("texts", [0, 1])
def test_no_more_texts_are_kept_than_there_may_be(tmp_path: Any, texts: int):
    with served(SITE) as url:
        spider = spider_over(f"{url}/original", f"{url}/copy")
        crawl(spider, DEDUP_REPORT=tmp_path, limits={"REPORT_TEXTS": texts})
    source, data = html_report(tmp_path)
    assert data["diffs"] == []
    assert "text not kept" in source


def test_a_repeated_body_that_is_kept_is_read_again_once_for_its_fields():
    def parse(self: Any, response: Any) -> Iterator[Any]:
        for number in range(10):
            yield {"url": response.url, "number": number}

    with served({"/a": ORIGINAL, "/b": ORIGINAL, "/c": "<p>", "/d": "<p>"}) as url:
        result = crawl(
            spider_over(*(f"{url}/{name}" for name in "abcd"), parse=parse),
            DEDUP_FIELDS={"text": "text"},
            DEDUP_ACTION="mark",
        )
    assert {item["text"] != "" for item in result.items[:20]} == {True}
    assert {item["text"] for item in result.items[20:]} == {""}
    assert result.stats["dedup/bodies_repeated"] == 2
    assert result.stats["dedup/bodies_read_again"] == 1


def test_equal_bytes_in_another_encoding_are_another_page():
    text = "Grüße, Äpfel, Öfen, Übung. " * 30
    site = {
        "/utf-8": Answer(page(text).encode(), content_type="text/html; charset=utf-8"),
        "/latin-1": Answer(page(text).encode(), content_type="text/html; charset=latin-1"),
    }
    with served(site) as url:
        result = crawl(spider_over(*(url + path for path in site)), DEDUP_MAX_DISTANCE=0)
    assert "dedup/bodies_repeated" not in result.stats
    assert len(result.items) == 2


def test_a_request_can_switch_its_items_off_and_a_field_can_be_too_big():
    async def start(self: Any) -> Any:
        for number, switched in enumerate((True, True, False)):
            yield Request(f"{self.start_urls[0]}?{number}", meta={"dedup": switched})

    def parse(self: Any, response: Any) -> Iterator[Any]:
        yield {"url": response.url, "body": article(1)}
        yield {"url": response.url, "body": "ü" * 6000}

    with served({f"/?{number}": ORIGINAL for number in range(3)}) as url:
        result = crawl(
            spider_over(f"{url}/", start=start, parse=parse),
            DEDUP_ITEM_FIELD="body",
            limits={"MAX_PAGE_BYTES": 10_000},
        )
    assert result.dedup_stats == {
        "pages": 6,
        "new": 1,
        "exact_duplicates": 1,
        "skipped/switched_off": 2,
        "skipped/too_big": 2,
        "items/dropped": 1,
    }


def test_texts_that_mention_markup_are_judged_whole():
    begin = article(1) + " Bold text stands between <b> and </b>; see whether x <y and so on. "

    async def start(self: Any) -> Any:
        for number in (2, 3):
            yield {"url": f"item:{number}", "body": begin + article(number)}
        yield {"url": "item:4", "body": f"Write <html> at the top. {article(4)}"}

    result = crawl(spider_over(start=start), DEDUP_ITEM_FIELD="body")
    assert len(result.items) == 3
    assert result.stats["dedup/new"] == 3


def test_components_that_are_missing_from_a_list_by_hand_are_told_of():
    with served(SITE) as url:
        result = crawl(
            spider_over(f"{url}/original"),
            ADDONS={},
            EXTENSIONS={"dedup.scrapy_plugin.Extension": 500},
        )
    assert result.messages() == [
        "SPIDER_MIDDLEWARES lacks dedup.scrapy_plugin.SpiderMiddleware",
        "SPIDER_MIDDLEWARES lacks dedup.scrapy_plugin.InnerSpiderMiddleware",
        "ITEM_PIPELINES lacks dedup.scrapy_plugin.ItemPipeline",
    ]
