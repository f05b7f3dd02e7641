"""DEDUP_SCOPE in whole crawls: items, languages and functions say which pages are compared."""

import asyncio
from typing import Any

import pytest
import scrapy
from crawls import Crawl, crawl, crawl_site, known_site, path_of, spider_over
from texts import CHINESE, article, edited, page
from web import served

TEXT = article(1)
LAMP = page(TEXT)
MISSING = object()


def product(item):
    return item["sku"]


def hidden(url):
    raise RuntimeError("no scope today")


def parse_products(self: Any, response: Any) -> Any:
    """Yield an item of each of the numbers that ``skus`` of the spider has for a page."""
    values = self.skus.get(path_of(response.url), MISSING)
    for value in values if isinstance(values, tuple) else [values]:
        yield {"url": response.url} | ({} if value is MISSING else {"sku": value})


def run(skus: dict[str, Any], pages: Any = None, **options: Any) -> Crawl:
    """Crawl *pages*, by default of one text, with an item of each of *skus*."""
    pages = pages or dict.fromkeys(skus, LAMP)
    return crawl_site(pages, **{"parse": parse_products, "skus": skus, **options})


def numbers(result: Crawl) -> list[tuple[str, Any]]:
    """The paths and numbers of the items that were stored."""
    return [(path_of(item["url"]), item["sku"]) for item in result.items]


def test_products_of_one_text_are_kept_by_their_number():
    pages = {"/a": LAMP, "/b": LAMP, "/near": page(edited(TEXT)), "/a?again": LAMP}
    skus = {"/a": "A-1", "/b": "A-2", "/near": "A-3", "/a?again": "A-1"}
    result = run(skus, pages, DEDUP_SCOPE="field:sku")
    assert numbers(result) == [("/a", "A-1"), ("/b", "A-2"), ("/near", "A-3")]
    assert result.dedup_stats["exact_duplicates"] == 1
    assert run(skus, pages).stored == result.stored  # what an item says is never lost
    assert run(skus, pages, DEDUP_IGNORE_FIELDS="*").stored == ["/a"]


def test_an_item_without_a_value_is_kept_and_counted_and_has_its_text():
    values = [MISSING, None, "", "  ", [], [None, ""], {}]
    skus = {f"/{n}{name}": value for n, value in enumerate(values) for name in "ab"}
    result = run(skus, DEDUP_SCOPE="field:sku", DEDUP_FIELDS={"text": "text"})
    assert result.stored == list(skus)
    assert all(TEXT[:80] in item["text"] for item in result.items)
    assert result.dedup_stats["skipped/no_scope"] == len(skus)
    [told] = result.messages()
    assert "without a value for DEDUP_SCOPE = 'field:sku' are not compared" in told


def test_each_item_of_a_page_is_compared_with_those_of_its_own_number():
    result = run({"/list": (1, 2, 2), "/copy": (2, 3)}, DEDUP_SCOPE="field:sku")
    # Items of one page with one number share its verdict, as all items of a page do else.
    assert numbers(result) == [("/list", 1), ("/list", 2), ("/list", 2), ("/copy", 3)]
    assert result.stats["dedup/pages"] == 2


def test_a_page_counts_once_by_its_first_item_whatever_is_dropped_with_the_others():
    result = run({"/a": 1, "/b": (2, 1)}, DEDUP_SCOPE="field:sku")
    assert numbers(result) == [("/a", 1), ("/b", 2)]
    figures = {name: result.stats.get(f"dedup/{name}") for name in ("pages", "new", "lost/pages")}
    assert figures == {"pages": 2, "new": 2, "lost/pages": 0}
    assert "exact_duplicates" not in result.dedup_stats
    assert result.dedup_stats["items/dropped"] == 1
    assert result.stats["item_dropped_reasons_count/ExactDuplicate"] == 1


def in_language(text: str, language: str | None) -> str:
    attribute = f' lang="{language}"' if language else ""
    return page(text).replace(' lang="en"', attribute)


def test_pages_of_two_languages_are_not_compared():
    """A script tells the language of a page that does not; a body has it that was seen before."""
    pages = {
        "/en": in_language(TEXT, "en"),
        "/again": in_language(TEXT, "en"),
        "/en-us": in_language(TEXT, "en-US"),
        "/de": in_language(TEXT, "de_AT"),
        "/none": in_language(TEXT, None),
        "/none2": in_language(TEXT, None).replace("Footer", "Another"),
        "/zh": in_language(CHINESE, "zh-CN"),
        "/zh-none": in_language(CHINESE, None).replace("Footer", "Another"),
    }
    result = crawl_site(pages, DEDUP_SCOPE="language")
    assert result.stored == ["/en", "/de", "/none", "/zh"]
    assert result.stats["dedup/bodies_repeated"] == 1

    def parse(self: Any, response: Any) -> Any:
        for number in range(2):
            yield {"url": f"{response.url}#{number}", "body": CHINESE}

    result = run({"/": 1}, parse=parse, DEDUP_SCOPE="language", DEDUP_ITEM_FIELD="body")
    assert len(result.items) == 1


def test_pages_that_hold_what_the_other_waits_for_go_on_at_once():
    skus = {"/a": (1, 2), "/b": (2, 1), "/c": (3, 2, 1)}
    met, have_all = set(), asyncio.Event()

    async def parse(self: Any, response: Any) -> Any:
        for item in parse_products(self, response):
            yield item
            met.add(response.url)
            if len(met) == len(skus):
                have_all.set()
            await have_all.wait()

    result = run(skus, parse=parse, DEDUP_SCOPE="field:sku")
    stored = set(numbers(result))
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
    options = {"DEDUP_SCOPE": "field:sku", "parse": parse_products, "skus": {"/a": (1, 2)}}
    with known_site({"/a": LAMP}, tmp_path) as site:
        first = site.crawl(ITEM_PIPELINES={CopySecond: -(10**6), DropFirst: 900}, **options)
        assert numbers(first) == [("/a", 2)]
        assert first.stats["dedup/claims/released"] == 2
        assert numbers(site.crawl(**options)) == [("/a", 1), ("/a", 2)]


def test_links_are_held_back_within_a_language():
    def parse(self: Any, response: Any) -> Any:
        if "link" not in response.url:
            yield response.follow("/link", self.parse)

    pages = {
        "/en": in_language(TEXT, "en"),
        "/de": in_language(TEXT, "de"),
        "/link": page(article(5)),
    }
    with served(pages) as a, served(pages) as b, served(pages) as c:
        spider = spider_over(f"{a}/en", f"{b}/de", f"{c}/en", parse=parse)
        result = crawl(spider, DEDUP_SCOPE="language", DEDUP_FOLLOW_DUPLICATES=False)
    assert [url for url in result.fetched if "link" in url] == [f"{a}/link", f"{b}/link"]
    assert result.stats["dedup/links_held_back"] == 1


@pytest.mark.slow
def test_what_fails_in_a_function_costs_no_item():
    result = run({"/a": 1, "/b": MISSING}, DEDUP_SCOPE=product)
    assert result.stored == ["/a", "/b"]
    assert (result.stats["dedup/errors"], result.stats["dedup/skipped/no_scope"]) == (1, 1)
    result = run({"/a": 1, "/b": 1}, DEDUP_SCOPE=hidden)
    assert result.stored == ["/a", "/b"]
    assert result.stats["dedup/errors"] == 2
