"""DEDUP_SCOPE in whole crawls: items, languages and functions say which pages are compared."""

import asyncio
import dataclasses
import json
from typing import Any

import pytest
import scrapy
from crawls import crawl, spider_over
from texts import CHINESE, article, edited, page
from web import served

from dedup.cli import main
from dedup.scrapy_plugin.settings import SettingError
from dedup.stores import LedgerError
from dedup.stores.reader import LedgerReader

TEXT = article(1)
LAMP = page(TEXT)
MISSING = object()


@dataclasses.dataclass
class Product:
    url: str
    sku: Any = None


def version(url):
    """The first segment of the path, but of pages that have none."""
    first = url.split("/")[3]
    return first if first.startswith("v") else None


def product(item):
    return item["sku"]


def host_and_version(url, language, item):
    return url.split("/")[2], version(url), language, item.get("sku")


def hidden(url):
    raise RuntimeError("no scope today")


def run(pages: dict[str, str], skus: Any = None, *, parse: Any = None, **settings: Any) -> Any:
    """Crawl *pages* in order, with an item of each *skus*; `stored` are paths and skus."""

    def parse_products(self: Any, response: Any) -> Any:
        path = response.url.removeprefix(self.site)
        values = (skus or {}).get(path, MISSING)
        for value in values if isinstance(values, tuple) else [values]:
            yield {"url": response.url} | ({} if value is MISSING else {"sku": value})

    with served(pages) as url:
        spider = spider_over(
            *(url + path for path in pages), site=url, parse=parse or parse_products
        )
        result = crawl(spider, **settings)
    result.stored = [
        (item["url"].removeprefix(url), *([item["sku"]] if "sku" in item else []))
        for item in result.items
        if isinstance(item, dict)
    ]
    return result


def test_products_of_one_text_are_kept_by_their_number():
    pages = {"/a": LAMP, "/b": LAMP, "/near": page(edited(TEXT)), "/a?again": LAMP}
    skus = {"/a": "A-1", "/b": "A-2", "/near": "A-3", "/a?again": "A-1"}
    result = run(pages, skus, DEDUP_SCOPE="field:sku")
    assert result.stored == [("/a", "A-1"), ("/b", "A-2"), ("/near", "A-3")]
    assert result.dedup_stats["exact_duplicates"] == 1
    assert run(pages, skus).stored == result.stored  # what an item says is never lost
    assert run(pages, skus, DEDUP_IGNORE_FIELDS="*").stored == [("/a", "A-1")]


def twice_each(values: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Pages of one text, of which two have each of *values*: their bodies, and their numbers."""
    skus = {f"/{n}{name}": value for n, value in enumerate(values) for name in "ab"}
    return dict.fromkeys(skus, LAMP), skus


def test_an_item_without_a_value_is_kept_and_counted():
    pages, skus = twice_each([MISSING, None, "", "  ", [], [None, ""], {}])
    result = run(pages, skus, DEDUP_SCOPE="field:sku")
    assert [path for path, *_ in result.stored] == list(pages)
    assert result.dedup_stats["skipped/no_scope"] == len(pages)
    [told] = result.messages()
    assert "without a value for DEDUP_SCOPE = 'field:sku' are not compared" in told


def test_a_value_that_cannot_be_a_scope_costs_no_item():
    pages, skus = twice_each([object(), b"bytes", {1, 2}, {1: 2, "a": 3}])
    result = run(pages, skus, DEDUP_SCOPE="field:sku")
    assert [path for path, _ in result.stored] == list(pages)
    assert result.stats["dedup/skipped/unreadable_item"] == 2
    assert result.stats["dedup/errors"] == len(pages) - 2
    assert result.stats["dedup/skipped/no_scope"] == len(pages) - 2


def test_an_item_that_is_not_compared_has_its_text():
    result = run({"/a": LAMP, "/b": LAMP}, DEDUP_SCOPE="field:sku", DEDUP_FIELDS={"text": "text"})
    assert [TEXT[:80] in item["text"] for item in result.items] == [True, True]


@pytest.mark.parametrize("kind", [dict, Product])
def test_a_field_within_another_is_named_by_its_path(kind):
    def parse(self: Any, response: Any) -> Any:
        yield {"url": response.url, "offer": kind(url="", sku=response.url[-1])}

    pages = {"/a1": LAMP, "/b2": LAMP, "/c1": LAMP}
    result = run(pages, parse=parse, DEDUP_SCOPE="field:offer.sku")
    assert [item["url"][-2:] for item in result.items] == ["a1", "b2"]
    result = run({"/a": LAMP, "/b": LAMP}, {"/a": 1, "/b": 2}, DEDUP_SCOPE="field:sku.no")
    assert result.stats["dedup/skipped/no_scope"] == 2


def test_each_item_of_a_page_is_compared_with_those_of_its_own_number():
    pages = {"/list": LAMP, "/copy": LAMP}
    skus = {"/list": (1, 2, 2), "/copy": (2, 3)}
    result = run(pages, skus, DEDUP_SCOPE="field:sku")
    # Items of one page with one number share its verdict, as all items of a page do else.
    assert result.stored == [("/list", 1), ("/list", 2), ("/list", 2), ("/copy", 3)]
    assert result.stats["dedup/pages"] == 2


def test_a_page_counts_once_by_its_first_item_whatever_is_dropped_with_the_others():
    result = run({"/a": LAMP, "/b": LAMP}, {"/a": 1, "/b": (2, 1)}, DEDUP_SCOPE="field:sku")
    assert result.stored == [("/a", 1), ("/b", 2)]
    figures = {name: result.stats.get(f"dedup/{name}") for name in ("pages", "new", "lost/pages")}
    assert figures == {"pages": 2, "new": 2, "lost/pages": 0}
    assert "exact_duplicates" not in result.dedup_stats
    assert result.dedup_stats["items/dropped"] == 1
    assert result.stats["item_dropped_reasons_count/ExactDuplicate"] == 1


@pytest.mark.slow
def test_a_later_crawl_knows_each_item_by_its_number(tmp_path):
    ledger = tmp_path / "pages.sqlite"
    options = {"DEDUP_SCOPE": "field:sku", "DEDUP_INDEX": ledger}
    with served({"/list": LAMP}) as url:
        skus: list[Any] = [1, 2]

        def parse(self: Any, response: Any) -> Any:
            for sku in skus:
                yield {"url": response.url, "sku": sku}

        def stored() -> list[Any]:
            result = crawl(spider_over(f"{url}/list", parse=parse), **options)
            assert "log_count/ERROR" not in result.stats
            return [item["sku"] for item in result.items]

        assert stored() == [1, 2]
        assert stored() == []
        skus[:] = [1, 2, 3]
        assert stored() == [3]
        assert stored() == []
        skus[:] = [4]
        assert stored() == [4]
        skus[:] = [4, 2]
        assert stored() == []


def test_a_product_that_changed_takes_the_place_of_itself_only(tmp_path):
    ledger = tmp_path / "pages.sqlite"
    pages = {"/list": LAMP}
    options = {"DEDUP_SCOPE": "field:sku", "DEDUP_INDEX": ledger}
    with served(pages) as url:

        def parse(self: Any, response: Any) -> Any:
            for sku in (1, 2):
                yield {"url": response.url, "sku": sku}

        crawl(spider_over(f"{url}/list", parse=parse), **options)
        pages["/list"] = page(article(2))
        result = crawl(spider_over(f"{url}/list", parse=parse), **options)
        assert [item["sku"] for item in result.items] == [1, 2]
        with LedgerReader(ledger) as reader:
            scopes = [stored.record.scope for stored in reader.pages()]
        assert scopes == ["item [1]", "item [2]"]


def test_links_need_a_verdict_on_the_page():
    with pytest.raises(SettingError, match="DEDUP_SCOPE = 'field:sku' gives one on each item"):
        run({"/": LAMP}, DEDUP_SCOPE="field:sku", DEDUP_FOLLOW_DUPLICATES=False)


def in_language(text: str, language: str | None) -> str:
    attribute = f' lang="{language}"' if language else ""
    return page(text).replace(' lang="en"', attribute)


def test_pages_of_two_languages_are_not_compared():
    pages = {
        "/en": in_language(TEXT, "en"),
        "/en-us": in_language(TEXT, "en-US"),
        "/de": in_language(TEXT, "de_AT"),
        "/none": in_language(TEXT, None),
        "/none2": in_language(TEXT, None).replace("Footer", "Another"),
    }
    result = run(pages, DEDUP_SCOPE="language")
    assert result.stored == [("/en",), ("/de",), ("/none",)]


def test_a_script_tells_the_language_of_a_page_that_does_not():
    other = in_language(CHINESE, None).replace("Footer", "Another")
    pages = {"/zh": in_language(CHINESE, "zh-CN"), "/none": other}
    assert run(pages, DEDUP_SCOPE="language").stored == [("/zh",)]

    def parse(self: Any, response: Any) -> Any:
        for number in range(2):
            yield {"url": f"{response.url}#{number}", "body": CHINESE}

    result = run({"/": LAMP}, parse=parse, DEDUP_SCOPE="language", DEDUP_ITEM_FIELD="body")
    assert len(result.items) == 1


def test_a_body_that_was_seen_before_has_its_language():
    result = run({"/a": LAMP, "/b": LAMP, "/c": LAMP}, DEDUP_SCOPE="language")
    assert result.stored == [("/a",)]
    assert result.stats["dedup/bodies_repeated"] == 2


def test_pages_that_hold_what_the_other_waits_for_go_on_at_once():
    numbers = {"/a": (1, 2), "/b": (2, 1), "/c": (3, 2, 1)}
    met, have_all = set(), asyncio.Event()

    async def parse(self: Any, response: Any) -> Any:
        path = response.url.removeprefix(self.site)
        for sku in numbers[path]:
            yield {"url": response.url, "sku": sku}
            met.add(path)
            if len(met) == len(numbers):
                have_all.set()
            await have_all.wait()

    result = run(dict.fromkeys(numbers, LAMP), parse=parse, DEDUP_SCOPE="field:sku")
    stored = {tuple(item) for item in result.stored}
    assert {sku for _, sku in stored} == {1, 2, 3}
    assert len(stored) < 7
    assert result.stats["dedup/claims/unresolved"] == 7 - len(result.dropped) - 3
    assert result.stats["elapsed_time_seconds"] < 20  # and not DEDUP_WAIT_TIMEOUT


class CopySecond:
    """An early pipeline, whose copy of an item nobody recognises."""

    def process_item(self, item: Any) -> Any:
        return dict(item) if item["sku"] == 2 else item


class DropFirst:
    """A late pipeline that drops an item on purpose, as for a picture that is not there yet."""

    def process_item(self, item: Any) -> Any:
        if item["sku"] == 1:
            raise scrapy.exceptions.DropItem("not today")
        return item


def test_an_item_that_nobody_recognises_does_not_stand_for_another_of_its_page(tmp_path):
    options = {"DEDUP_SCOPE": "field:sku", "DEDUP_INDEX": tmp_path / "pages.sqlite"}
    pages, skus = {"/a": LAMP}, {"/a": (1, 2)}
    first = run(pages, skus, ITEM_PIPELINES={CopySecond: -(10**6), DropFirst: 900}, **options)
    assert first.stored == [("/a", 2)]
    assert first.stats["dedup/claims/released"] == 2
    assert run(pages, skus, **options).stored == [("/a", 1), ("/a", 2)]


def test_links_are_held_back_within_a_language():
    def parse(self: Any, response: Any) -> Any:
        visited.append(response.url)
        if "link" not in response.url:
            yield response.follow("/link", self.parse)

    visited: list[str] = []
    pages = {
        "/en": in_language(TEXT, "en"),
        "/de": in_language(TEXT, "de"),
        "/link": page(article(5)),
    }
    with served(pages) as a, served(pages) as b, served(pages) as c:
        spider = spider_over(f"{a}/en", f"{b}/de", f"{c}/en", parse=parse)
        result = crawl(spider, DEDUP_SCOPE="language", DEDUP_FOLLOW_DUPLICATES=False)
    assert [url for url in visited if "link" in url] == [f"{a}/link", f"{b}/link"]
    assert result.stats["dedup/links_held_back"] == 1


@pytest.mark.parametrize("scope", [version, f"{__name__}.version"])
def test_a_function_says_what_is_compared(scope):
    pages = {"/v1/a": LAMP, "/v2/a": LAMP, "/v1/b": LAMP, "/x": LAMP, "/y": LAMP}
    result = run(pages, DEDUP_SCOPE=scope)
    # What the function knows no scope of is compared with nothing.
    assert result.stored == [("/v1/a",), ("/v2/a",), ("/x",), ("/y",)]
    assert result.stats["dedup/skipped/no_scope"] == 2


def test_a_function_may_take_all_there_is():
    pages = {"/v1/a": LAMP, "/v2/a": LAMP, "/v1/b": LAMP, "/v1/c": LAMP}
    skus = {"/v1/a": 1, "/v2/a": 1, "/v1/b": 2, "/v1/c": 1}
    result = run(pages, skus, DEDUP_SCOPE=host_and_version)
    assert result.stored == [("/v1/a", 1), ("/v2/a", 1), ("/v1/b", 2)]


@pytest.mark.slow
def test_what_fails_in_a_function_costs_no_item():
    result = run({"/a": LAMP, "/b": LAMP}, {"/a": 1}, DEDUP_SCOPE=product)
    assert result.stored == [("/a", 1), ("/b",)]
    assert (result.stats["dedup/errors"], result.stats["dedup/skipped/no_scope"]) == (1, 1)
    result = run({"/a": LAMP, "/b": LAMP}, DEDUP_SCOPE=hidden)
    assert result.stored == [("/a",), ("/b",)]
    assert result.stats["dedup/errors"] == 2


@pytest.mark.parametrize("given", ["field:sku,language", ["language", "field:sku"]])
def test_all_of_several_have_to_be_equal(given):
    german = in_language(TEXT, "de")
    pages = {"/a": LAMP, "/b": LAMP, "/c": german, "/d": german, "/e": LAMP}
    skus = {"/a": 1, "/b": 2, "/c": 1, "/d": 1}
    result = run(pages, skus, DEDUP_SCOPE=given)
    assert result.stored == [("/a", 1), ("/b", 2), ("/c", 1), ("/e",)]


def test_a_ledger_belongs_to_its_scope(tmp_path, capsys):
    ledger, new = tmp_path / "pages.sqlite", tmp_path / "new.sqlite"
    pages, skus = {"/a": LAMP, "/b": LAMP}, {"/a": 1, "/b": 2}
    run(pages, skus, DEDUP_SCOPE="host,field:sku", DEDUP_INDEX=ledger)
    with pytest.raises(LedgerError, match="scope 'field:sku,host' there, 'field:sku' here"):
        run(pages, skus, DEDUP_SCOPE="field:sku", DEDUP_INDEX=ledger)
    assert main(["ledger", str(ledger), "-o", str(new), "--scope", "field:sku"]) == 2
    assert "the scope 'field:sku' needs more" in capsys.readouterr().err
    assert main(["ledger", str(ledger), "-o", str(new), "--scope", "hots"]) == 2
    assert "did you mean 'host'?" in capsys.readouterr().err
    assert not new.exists()
    for scope in ("host", "crawl,domain", f"{__name__}.version"):
        new.unlink(missing_ok=True)
        assert main(["ledger", str(ledger), "-o", str(new), "--scope", scope]) == 0
        with LedgerReader(new) as reader:
            assert reader.identity["scope"] == scope.removeprefix("crawl,")


def test_records_in_items_have_their_scopes(tmp_path):
    feed, ledger = tmp_path / "items.jsonl", tmp_path / "pages.sqlite"
    pages = {"/list": LAMP, "/copy": LAMP}
    options = {"DEDUP_SCOPE": "field:sku", "DEDUP_SKETCH_FIELD": "dedup_record"}
    with served(pages) as url:
        skus = {"list": (1, 2), "copy": (2, 3)}

        def parse(self: Any, response: Any) -> Any:
            for sku in skus[response.url.rpartition("/")[2]]:
                yield {"sku": sku}

        spider = spider_over(*(url + path for path in pages), parse=parse)
        crawl(spider, **options, DEDUP_ACTION="mark", FEEDS={str(feed): {"format": "jsonlines"}})
        records = [json.loads(line)["dedup_record"] for line in feed.read_text().splitlines()]
        scopes = [record["scope"] for record in records]
        assert scopes == ["item [1]", "item [2]", "item [2]", "item [3]"]
        assert {record["made_with"]["scope"] for record in records} == {"field:sku"}
        unique = tmp_path / "unique.jsonl"
        main(["scan", str(feed), "-o", str(unique), "--record-field", "dedup_record"])
        assert [json.loads(line)["sku"] for line in unique.read_text().splitlines()] == [1, 2, 3]
        assert main(["ledger", str(unique), "-o", str(ledger)]) == 0
        result = crawl(spider, **options, DEDUP_INDEX=ledger)
    assert result.items == []


@pytest.mark.slow
def test_a_later_crawl_knows_the_texts_of_items_by_their_number(tmp_path):
    options = {
        "DEDUP_SCOPE": "field:sku",
        "DEDUP_ITEM_FIELD": "body",
        "DEDUP_INDEX": tmp_path / "pages.sqlite",
    }
    bodies = {1: TEXT, 2: TEXT, 3: article(2)}

    def parse(self: Any, response: Any) -> Any:
        for sku, body in bodies.items():
            yield {"url": "http://shop.example/list", "sku": sku, "body": body}

    def stored() -> list[Any]:
        return [item["sku"] for item in run({"/": LAMP}, parse=parse, **options).items]

    assert stored() == [1, 2, 3]
    assert stored() == []
    bodies[4] = TEXT
    assert stored() == [4]
    bodies[2] = article(5)
    assert stored() == [2]
    assert stored() == []


def test_a_later_crawl_knows_pages_by_their_language(tmp_path):
    options = {"DEDUP_SCOPE": "language", "DEDUP_INDEX": tmp_path / "pages.sqlite"}
    pages = {"/en": LAMP, "/de": in_language(TEXT, "de")}
    with served(pages) as url:

        def stored(*paths: str) -> list[Any]:
            result = crawl(spider_over(*(url + path for path in paths)), **options)
            return [item["url"].removeprefix(url) for item in result.items]

        assert stored("/en", "/de") == ["/en", "/de"]
        pages |= {"/fr": in_language(TEXT, "fr"), "/en-gb": in_language(TEXT, "en-GB")}
        assert stored("/en", "/de", "/fr", "/en-gb") == ["/fr"]
