"""Responses and items on their way: found by identity, and never kept longer than the response."""

import gc
import weakref
from contextvars import copy_context
from time import process_time
from typing import Any

import pytest
import scrapy
from crawls import crawl, spider_over
from garbage import collect
from scrapy.http import Response
from texts import article, page
from web import served

from dedup.claim import Claim
from dedup.record import Claimed, PageRecord
from dedup.rule import Kind, Verdict
from dedup.scrapy_plugin.response_state import Judgement, ResponseStates

NEW = Verdict(Kind.NEW, "simhash")


class Ended(list):
    """What became of claims, in their order."""

    def __call__(self, claim: Claim, is_stored: bool, batches: Any) -> None:
        claim.end()
        self.append(is_stored)


class Renewed(list):
    """What was said again of stored pages, in the order of the responses that said it."""

    def __call__(self, record: PageRecord, said: Any) -> None:
        self.append((record, said))


def states_with(end_claim: Any) -> ResponseStates:
    return ResponseStates(end_claim, Renewed())


def claim() -> Claim:
    return Claim(Claimed(PageRecord("key")))


def leave(states: ResponseStates, item: Any, response: Any, key: str) -> None:
    states.item_leaves(item, states.of(response), Judgement(NEW, key=key))


def keys(states: ResponseStates, *items: Any) -> list[str | None]:
    judgements = (states.item_arrives(item).judgement for item in items)
    return [judgement and judgement.key for judgement in judgements]


def test_an_item_is_found_once_by_its_identity():
    states, response, item = states_with(Ended()), Response("http://a/"), {"a": 1}
    leave(states, item, response, "page")
    assert keys(states, {"a": 1}, item, item) == [None, "page", None]


def test_what_is_never_met_goes_with_its_response():
    states = states_with(Ended())
    kept, gone = Response("http://a/1"), Response("http://a/2")
    shared, alone = {"shared": True}, Thing()
    leave(states, shared, gone, "gone")
    leave(states, shared, kept, "kept")
    leave(states, alone, gone, "gone")
    left = weakref.ref(alone)
    del gone, alone
    collect()
    assert left() is None
    assert keys(states, shared, shared) == ["kept", None]


class Items:
    """Items of a page with one claim, each on its way in a context of its own."""

    def __init__(self, count: int) -> None:
        self.ended = Ended()
        self.states, self.response = states_with(self.ended), Response("http://a/")
        state, of_page = self.states.of(self.response), claim()
        state.claims.append(of_page)
        judgement = Judgement(NEW, record=of_page.record, claim=of_page)
        state.output_begins()
        self.contexts = [copy_context() for _ in range(count)]
        for number, context in enumerate(self.contexts):
            item = {"number": number}
            self.states.item_leaves(item, state, judgement)
            context.run(self.states.item_arrives, item)

    def end(self, number: int, **how: bool) -> None:
        self.contexts[number].run(self.states.item_ends, self.response, **how)

    def end_output(self, *, failed: bool = False) -> None:
        self.states.of(self.response).output_ends(failed=failed)


@pytest.mark.parametrize("what", ["nothing", "callback", "unjudged"])
def test_what_a_visit_says_again_of_stored_pages_is_told_if_it_has_ended_whole(what: str):
    renewed = Renewed()
    states, response, record = (
        ResponseStates(Ended(), renewed),
        Response("http://a/"),
        claim().record,
    )
    state = states.of(response)
    state.output_begins()
    state.said[record] = {7: [b"said again"]}
    if what == "unjudged":
        state.skipped["error"] = Judgement(NEW)
    assert renewed == []
    state.output_ends(failed=what == "callback")
    assert renewed == ([(record, {7: [b"said again"]})] if what == "nothing" else [])


def test_an_item_that_nobody_recognises_stores_no_claim():
    items = Items(1)
    items.end_output()
    copy_context().run(items.states.item_ends, items.response, stored=True)
    assert items.ended == [False]


def seconds_to_end(items: int) -> float:
    """The processor time to end a page whose items have a claim each, all but the first stored."""
    ended = Ended()
    states, response = states_with(ended), Response("http://a/")
    state = states.of(response)
    state.claims += [claim() for _ in range(items)]
    judgements = [Judgement(NEW, record=one.record, claim=one) for one in state.claims]
    state.output_begins()
    start = process_time()
    for number, judgement in enumerate(judgements):
        state.items_under_way += 1
        state.item_ends(stored=number > 0, failed=False, judgement=judgement)
    state.output_ends(failed=False)
    assert ended == [False] + [True] * (items - 1)
    return process_time() - start


def test_a_page_ends_in_time_in_proportion_to_its_items():
    few = seconds_to_end(2_000)
    assert seconds_to_end(16_000) < 24 * few


@pytest.mark.parametrize("what", ["nothing", "callback", "handled", "unread", "item", "unstored"])
def test_the_claims_of_a_page_are_committed_if_nothing_failed(what: str):
    items = Items(2)
    state = items.states.of(items.response)
    if what == "handled":
        state.callback_has_failed = True
    state.unread_outputs = int(what == "unread")
    items.end(0, stored=what != "unstored")
    items.end(1, stored=False, failed=what == "item")
    items.end_output(failed=what == "callback")
    assert items.ended == [what == "nothing"]


def test_an_item_that_a_pipeline_replaces_ends_its_claim_with_a_response_and_without():
    for response in (Response("http://a/"), None):
        ended = Ended()
        states = states_with(ended)
        item = {"text": "x"}
        if response is not None:
            states.of(response).output_begins()
            leave(states, item, response, "page")
        item_state = states.item_arrives(item)
        item_state.claim = claim()
        states.item_ends(response, stored=True)
        states.item_ends(response, stored=False)  # that of an item that never came to our pipeline
        assert ended == [True]


def test_an_item_ends_the_claim_of_its_own_context_only():
    ended = Ended()
    states = states_with(ended)
    contexts = [copy_context() for _ in range(2)]
    for context in contexts:
        context.run(states.item_arrives, {}).claim = claim()
    contexts[1].run(states.item_ends, None, stored=True)
    assert ended == [True]
    contexts[0].run(states.item_ends, None, stored=False)
    assert ended == [True, False]


class Thing(scrapy.Item):
    """An item that can be referred to weakly."""

    url = scrapy.Field()
    __hash__ = object.__hash__


def test_nothing_is_remembered_of_an_item_that_a_pipeline_replaced():
    states, response, item = states_with(Ended()), Response("http://a/"), Thing()
    states.of(response).output_begins()
    leave(states, item, response, "page")
    left = weakref.ref(item)
    context = copy_context()
    context.run(states.item_arrives, item)
    del item, context
    collect()
    assert left() is None


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
        {"ITEM_PIPELINES": {DropAll: -1}},
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
    with served(site) as url:
        spider = spider_over(*(url + path for path in site), parse=parse, closed=closed)
        crawl(spider, keep_log=False, keep_items=False, **settings)
    # The last item may still be in the hands of Scrapy.
    assert max(left) <= 1


@pytest.mark.slow
def test_one_object_for_all_pages_is_dropped_and_kept_as_its_pages_are():
    shared = {"the": "item"}

    def parse(self: Any, response: Any) -> Any:
        yield shared

    site = {f"/{number}": page(article(number % 4)) for number in range(12)}
    with served(site) as url:
        result = crawl(
            spider_over(*(url + path for path in site), parse=parse),
            CONCURRENT_REQUESTS=6,
            DEDUP_WORKERS=1,
        )
    assert (len(result.items), len(result.dropped)) == (4, 8)


def test_a_page_holds_an_older_claim_while_that_is_open():
    state = states_with(Ended()).of(Response("http://a/"))
    first, own, last = (Claim(Claimed(PageRecord("key"), number=n)) for n in (1, 5, 9))
    assert not state.holds_older(last)
    state.claims.append(own)
    assert [state.holds_older(other) for other in (first, last)] == [False, True]
    own.end(is_stored=True)
    assert not state.holds_older(last)
