"""The text of a link that a CrawlSpider hands on counts where the callback reads it."""

import copy
import json
import operator
import pickle
from collections import ChainMap
from collections.abc import AsyncIterator, Callable, Iterator
from types import MappingProxyType
from typing import Any

import pytest
from crawls import crawl
from scrapy import Request
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from texts import article, page
from web import served

from dedup.scrapy_plugin.link_texts import LINK_TEXT, WatchedMeta


def meta() -> WatchedMeta:
    return WatchedMeta({"rule": 0, LINK_TEXT: "Lamps"})


def of_match(read: Any) -> str | None:
    match read:
        case {"link_text": text}:
            return text
    return None


@pytest.mark.parametrize(
    "read",
    [
        lambda meta: meta["link_text"],
        lambda meta: meta.get("link_text"),
        lambda meta: meta.get("link_text", ""),
        lambda meta: meta.pop("link_text"),
        lambda meta: meta.setdefault("link_text", ""),
        lambda meta: meta.popitem(),
        lambda meta: meta.copy(),
        lambda meta: list(meta),
        lambda meta: list(meta.keys()),
        lambda meta: list(meta.values()),
        lambda meta: list(meta.items()),
        lambda meta: list(reversed(meta)),
        lambda meta: sorted(meta),
        lambda meta: dict(meta),
        lambda meta: dict(**meta),
        lambda meta: {**meta},
        lambda meta: meta | {},
        lambda meta: {} | meta,
        lambda meta: {}.update(meta),
        lambda meta: repr(meta),
        lambda meta: str(meta),
        lambda meta: f"{meta}",
        lambda meta: "{link_text}".format(**meta),
        lambda meta: "{link_text}".format_map(meta),
        lambda meta: "%(link_text)s" % meta,  # noqa: UP031 - it is one of the ways
        lambda meta: meta == {"link_text": "Lamps"},
        lambda meta: meta != {"link_text": "Lamps"},
        of_match,
        copy.copy,
        copy.deepcopy,
        json.dumps,
        pickle.dumps,
        operator.itemgetter("link_text"),
        lambda meta: ChainMap(meta)["link_text"],
        lambda meta: MappingProxyType(meta)["link_text"],
        lambda meta: Request("http://a/", meta=meta),
    ],
)
def test_whoever_reads_the_text_of_the_link_is_noted(read: Callable[[Any], Any]):
    watched = meta()
    assert not watched.is_read
    read(watched)
    assert watched.is_read


@pytest.mark.parametrize(
    "use",
    [
        lambda meta: meta["rule"],
        lambda meta: meta.get("depth", 0),
        lambda meta: meta.setdefault("depth", 0),
        lambda meta: meta.pop("depth", 0),
        lambda meta: meta.update(depth=2, link_text="Others"),
        lambda meta: meta.__setitem__("link_text", "Others"),
        lambda meta: meta.__delitem__("link_text"),
        lambda meta: ("link_text" in meta, len(meta), bool(meta)),
        lambda meta: isinstance(meta, dict),
    ],
)
def test_other_uses_are_not_noted(use: Callable[[Any], Any]):
    watched = meta()
    use(watched)
    assert not watched.is_read


def test_it_is_a_dict_in_all_else():
    watched, plain = meta(), {"rule": 0, LINK_TEXT: "Lamps"}
    assert json.loads(json.dumps(watched)) == dict(watched) == {**watched} == plain
    assert watched | {"a": 1} == plain | {"a": 1}
    assert copy.deepcopy(watched) == pickle.loads(pickle.dumps(watched)) == plain
    with pytest.raises(KeyError):
        watched["depth"]


LINKS = {"/a": "Lamps", "/b": "Lamps for less", "/c": "Other lamps"}


def items_of(callback: Any, kind: type[CrawlSpider] = CrawlSpider, **rule: Any) -> Any:
    """What a CrawlSpider stores of three pages with one text and title, under the links' texts."""
    site = dict.fromkeys(LINKS, page(article(1), title="Our lamps for less"))
    site["/"] = "".join(f'<a href="{path}">{text}</a>' for path, text in LINKS.items())

    class Follow(kind):
        name = "test"
        parse_page = callback

    with served(site) as url:
        Follow.start_urls = (f"{url}/",)
        Follow.rules = (Rule(LinkExtractor(), callback="parse_page", **rule),)
        result = crawl(Follow)
    assert "log_count/ERROR" not in result.stats
    return result.items


def item_of(response: Any, **values: Any) -> Any:
    return {"title": response.css("title::text").get(), **values}


def not_reading(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, depth=response.meta["depth"])


async def not_reading_asynchronously(self: Any, response: Any) -> AsyncIterator[Any]:
    yield item_of(response)


def returning(self: Any, response: Any) -> Any:
    return [item_of(response)]


@pytest.mark.parametrize("callback", [not_reading, not_reading_asynchronously, returning])
def test_it_does_not_count_though_the_item_has_it_if_nobody_reads_it(callback: Any):
    assert len(items_of(callback)) == 1


def reading(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=response.meta["link_text"])


async def reading_asynchronously(self: Any, response: Any) -> AsyncIterator[Any]:
    yield item_of(response, group=response.meta.get("link_text"))


def reading_by_the_request(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=response.request.meta["link_text"])


def reading_a_copy(self: Any, response: Any) -> Iterator[Any]:
    meta = {**response.request.copy().meta}
    yield item_of(response, group=meta["link_text"].upper())


def storing_the_meta(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, meta=response.meta)


def storing_the_request(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, request=response.request)


def reading_within(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=next(text for text in [response.meta["link_text"]]))


@pytest.mark.parametrize(
    "callback",
    [
        reading,
        reading_asynchronously,
        reading_by_the_request,
        reading_a_copy,
        storing_the_meta,
        storing_the_request,
        reading_within,
    ],
)
def test_it_counts_where_the_callback_reads_it_and_the_item_has_it(callback: Any):
    assert len(items_of(callback)) == len(LINKS)


def reading_between_two_items(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response)
    yield item_of(response, group=response.meta["link_text"])


def test_an_item_that_was_made_before_is_not_told_apart_by_it():
    items = items_of(reading_between_two_items)
    assert sorted(item["group"] for item in items if "group" in item) == sorted(LINKS.values())
    assert len([item for item in items if "group" not in item]) == 1


def noting_it(request: Any, response: Any) -> Any:
    GROUPS[request.url] = request.meta["link_text"]
    return request


GROUPS: dict[str, str] = {}


def knowing_it(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=GROUPS[response.url])


def noting_the_links(links: Any) -> Any:
    GROUPS.update((link.url, link.text) for link in links)
    return links


@pytest.mark.parametrize(
    "rule", [{"process_request": noting_it}, {"process_links": noting_the_links}]
)
def test_it_counts_where_the_rule_may_have_read_it_and_the_item_has_it(rule: Any):
    assert len(items_of(knowing_it, **rule)) == len(LINKS)


class NotingSpider(CrawlSpider):
    def _build_request(self, rule_index: int, link: Any) -> Request:
        GROUPS[link.url] = link.text
        return super()._build_request(rule_index, link)


def test_it_counts_where_the_spider_makes_requests_in_its_own_way_and_the_item_has_it():
    assert len(items_of(knowing_it, kind=NotingSpider)) == len(LINKS)
