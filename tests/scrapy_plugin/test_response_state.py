"""Responses and items on their way: what becomes of them, and nothing is kept of them afterwards.

Test_outcomes.py and test_middleware.py say in crawls which claims are committed.
"""

import gc
import weakref
from time import process_time
from typing import Any

import pytest
import scrapy
from crawls import crawl_site
from scrapy.http import Response
from texts import article, page

from dedup.claim import Claim
from dedup.record import Claimed, PageRecord
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.response_state import Judgement, ResponseStates

NEW = Verdict(Kind.NEW, "simhash")


@pytest.mark.parametrize("what", ["nothing", "callback", "unjudged"])
def test_what_a_visit_says_again_of_stored_pages_is_told_if_it_has_ended_whole(what: str):
    renewed: list[Any] = []
    record = PageRecord("key")
    states = ResponseStates(lambda *claim: None, lambda *page: renewed.append(page))
    response = Response("http://a/")
    state = states.of(response)
    state.open_outputs += 1
    state.said[record] = {7: [b"said again"]}
    if what == "unjudged":
        state.skipped["error"] = Judgement(NEW)
    assert renewed == []
    state.output_ends(failed=what == "callback")
    assert renewed == ([(record, {7: [b"said again"]})] if what == "nothing" else [])


def test_an_item_that_never_came_to_our_pipeline_ends_no_claim_of_the_one_before_it():
    """The items of start() may have one context."""
    ended: list[bool] = []
    states = ResponseStates(lambda claim, is_stored, _: ended.append(is_stored), lambda *page: None)
    states.item_arrives({"text": "x"}).claim = Claim(Claimed(PageRecord("key")))
    states.item_ends(None, stored=True)
    states.item_ends(None, stored=False)
    assert ended == [True]


def seconds_to_end(items: int) -> float:
    """The processor time to end a page whose items have a claim each, all but the first stored."""
    ended: list[bool] = []
    states = ResponseStates(lambda claim, is_stored, _: ended.append(is_stored), lambda *page: None)
    response = Response("http://a/")
    state = states.of(response)
    state.claims += [Claim(Claimed(PageRecord("key"))) for _ in range(items)]
    judgements = [Judgement(NEW, record=one.record, claim=one) for one in state.claims]
    state.open_outputs += 1
    gc.disable()  # it would look through all that other tests have left
    try:
        start = process_time()
        for number, judgement in enumerate(judgements):
            state.items_under_way += 1
            state.item_ends(stored=number > 0, failed=False, judgement=judgement)
        state.output_ends(failed=False)
        seconds = process_time() - start
    finally:
        gc.enable()
    assert ended == [False] + [True] * (items - 1)
    return seconds


def test_a_page_ends_in_time_in_proportion_to_its_items():
    few = seconds_to_end(2_000)
    assert seconds_to_end(16_000) < 24 * few


class Thing(scrapy.Item):
    """An item that can be referred to weakly."""

    url = scrapy.Field()
    __hash__ = object.__hash__


class DropAll:
    def process_item(self, item: Any) -> Any:
        raise scrapy.exceptions.DropItem("all", log_level="DEBUG")  # else pytest keeps it


class Replace:
    def process_item(self, item: Any) -> Any:
        return dict(item)


class Swallow:
    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for _ in result:
            if False:
                yield


OURS = "dedup.scrapy_plugin.ItemPipeline"


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"ITEM_PIPELINES": {OURS: None}},
        {"ITEM_PIPELINES": {Replace: -1}},
        {"ITEM_PIPELINES": {DropAll: 500}},
        {"SPIDER_MIDDLEWARES": {Swallow: -2000}},
        {"DEDUP_ITEM_FIELD": "url"},
    ],
)
def test_nothing_is_left_of_a_crawl_whatever_other_components_do(settings: dict[str, Any]):
    items: weakref.WeakSet[Thing] = weakref.WeakSet()
    left = []

    def parse(self: Any, response: Any) -> Any:
        item = Thing(url=response.url)
        items.add(item)
        yield item

    def closed(self: Any, reason: str) -> None:
        gc.collect()
        gc.collect()  # what the responses had, which are gone now
        left.append(len(items))

    site = {f"/{number}": page(article(number)) for number in range(8)}
    crawl_site(site, parse=parse, closed=closed, keep_log=False, keep_items=False, **settings)
    # The last item may still be in the hands of Scrapy.
    assert max(left) <= 1


@pytest.mark.slow
def test_one_object_for_all_pages_is_dropped_and_kept_as_its_pages_are():
    shared = {"the": "item"}

    def parse(self: Any, response: Any) -> Any:
        yield shared

    site = {f"/{number}": page(article(number % 4)) for number in range(12)}
    result = crawl_site(site, parse=parse, CONCURRENT_REQUESTS=6, DEDUP_WORKERS=1)
    assert (len(result.items), len(result.dropped)) == (4, 8)
