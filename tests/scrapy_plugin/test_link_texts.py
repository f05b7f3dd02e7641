"""The text of a link that a CrawlSpider hands on counts where an item has it, whoever read it."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pydantic_core
import pytest
from crawls import crawl
from pydantic import BaseModel
from scrapy import Request
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule
from texts import article, page
from web import served

LINKS = {"/a": "Lamps", "/b": "Lamps for less", "/c": "Table lights"}
READ: dict[str, str] = {}


def items_of(
    callback: Any,
    kind: type[CrawlSpider] = CrawlSpider,
    *,
    extractor: type[LinkExtractor] = LinkExtractor,
    settings: Any = None,
    html: str = page(article(1), title="Our lamps for less"),
    links: Any = None,
    **rule: Any,
) -> Any:
    """What a CrawlSpider stores of three pages with one text and title, under the links' texts."""
    links = links or LINKS
    site = dict.fromkeys(links, html)
    site["/"] = "".join(f'<a href="{path}">{text}</a>' for path, text in links.items())

    class Follow(kind):
        name = "test"
        parse_page = callback

    READ.clear()
    with served(site) as url:
        Follow.start_urls = (f"{url}/",)
        Follow.rules = (Rule(extractor(), callback="parse_page", **rule),)
        result = crawl(Follow, **settings or {})
    assert "log_count/ERROR" not in result.stats
    return result.items


def counts(*callbacks: Any) -> dict[str, int]:
    """How many items a CrawlSpider stores of three such pages for each of *callbacks*.

    The pages of each have a text and a title of their own.
    """
    site = {
        f"/{number}{path}": page(article(number), title=f"Our lamps for less, {number}")
        for number in range(len(callbacks))
        for path in LINKS
    }
    site["/"] = "".join(f'<a href="{path}">{LINKS[path[-2:]]}</a>' for path in site)

    class Follow(CrawlSpider):
        name = "test"

    for callback in callbacks:
        setattr(Follow, callback.__name__, callback)
    with served(site) as url:
        Follow.start_urls = (f"{url}/",)
        Follow.rules = tuple(
            Rule(LinkExtractor(allow=f"/{number}/"), callback=callback.__name__)
            for number, callback in enumerate(callbacks)
        )
        result = crawl(Follow)
    assert "log_count/ERROR" not in result.stats
    titles = [item.get("title") or title_of(item["response"]) for item in result.items]
    stored = Counter(int(title.rpartition(" ")[2]) for title in titles)
    return {callback.__name__: stored[number] for number, callback in enumerate(callbacks)}


def title_of(response: Any) -> Any:
    return response.css("title::text").get()


def item_of(response: Any, **values: Any) -> Any:
    return {"title": title_of(response), **values}


def with_title(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, depth=response.meta["depth"])


async def with_title_asynchronously(self: Any, response: Any) -> AsyncIterator[Any]:
    yield item_of(response)


def returning(self: Any, response: Any) -> Any:
    return [item_of(response)]


def reading_in_vain(self: Any, response: Any) -> Any:
    self.logger.info("%s", response.meta["link_text"])
    yield item_of(response)


def test_it_does_not_count_where_it_stands_in_the_title_of_the_page_alone():
    callbacks = [with_title, with_title_asynchronously, returning, reading_in_vain]
    assert counts(*callbacks) == {callback.__name__: 1 for callback in callbacks}


def reading(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=response.meta["link_text"])


async def reading_asynchronously(self: Any, response: Any) -> AsyncIterator[Any]:
    yield item_of(response, group=response.meta.get("link_text"))


def reading_by_the_request(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=response.request.meta["link_text"])


def reading_a_copy(self: Any, response: Any) -> Iterator[Any]:
    meta = {**response.request.copy().meta}
    yield item_of(response, group=meta["link_text"].upper())


def reading_as_a_part(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=f"Shop: {response.meta['link_text']}")


class Meta(BaseModel):
    link_text: str


def validating_the_meta(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=Meta.model_validate(response.meta).link_text)


def reading_in_other_languages(self: Any, response: Any) -> Iterator[Any]:
    meta = json.loads(pydantic_core.to_json(response.meta, serialize_unknown=True))
    yield item_of(response, group=meta["link_text"])


def storing_the_meta(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, meta=response.meta)


def storing_the_request(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, request=response.request)


def storing_the_response(self: Any, response: Any) -> Iterator[Any]:
    yield {"response": response}


def reading_within(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=next(text for text in [response.meta["link_text"]]))


def test_it_counts_where_the_item_has_it():
    callbacks = [
        reading,
        reading_asynchronously,
        reading_by_the_request,
        reading_a_copy,
        reading_as_a_part,
        validating_the_meta,
        reading_in_other_languages,
        storing_the_meta,
        storing_the_request,
        storing_the_response,
        reading_within,
    ]
    assert counts(*callbacks) == {callback.__name__: len(LINKS) for callback in callbacks}


def reading_between_two_items(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response)
    yield item_of(response, group=response.meta["link_text"])


def test_an_item_of_the_same_page_that_does_not_have_it_is_not_told_apart_by_it():
    items = items_of(reading_between_two_items)
    assert sorted(item["group"] for item in items if "group" in item) == sorted(LINKS.values())
    assert len([item for item in items if "group" not in item]) == 1


def note(request: Request) -> Request:
    if "link_text" in request.meta:
        READ[request.url] = request.meta["link_text"]
    return request


def noting_the_links(links: Any) -> Any:
    READ.update((link.url, link.text) for link in links)
    return links


def knowing_it(self: Any, response: Any) -> Iterator[Any]:
    yield item_of(response, group=READ[response.url])


class NotingExtractor(LinkExtractor):
    def extract_links(self, response: Any) -> Any:
        return noting_the_links(super().extract_links(response))


class NotingSpider(CrawlSpider):
    def _build_request(self, rule_index: int, link: Any) -> Request:
        return note(super()._build_request(rule_index, link))


class NotesRequestsOfSpider:
    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for output in result:
            yield note(output) if isinstance(output, Request) else output


class NotesInput:
    def process_spider_input(self, response: Any) -> None:
        note(response.request)


class NotesDownloads:
    def process_request(self, request: Request) -> None:
        note(request)


@pytest.mark.parametrize(
    "options",
    [
        {"process_request": lambda request, response: note(request)},
        {"process_links": noting_the_links},
        {"extractor": NotingExtractor},
        {"kind": NotingSpider},
        {"settings": {"SPIDER_MIDDLEWARES": {NotesRequestsOfSpider: 10}}},
        {"settings": {"SPIDER_MIDDLEWARES": {NotesRequestsOfSpider: 999}}},
        {"settings": {"SPIDER_MIDDLEWARES": {NotesInput: 10}}},
        {"settings": {"SPIDER_MIDDLEWARES": {NotesInput: 999}}},
        {"settings": {"DOWNLOADER_MIDDLEWARES": {NotesDownloads: 5}}},
        {"settings": {"DOWNLOADER_MIDDLEWARES": {NotesDownloads: 999}}},
    ],
)
def test_it_counts_where_other_code_than_the_callback_has_read_it(options: Any):
    assert len(items_of(knowing_it, **options)) == len(LINKS)


class FillsItems:
    async def process_spider_output(self, response: Any, result: Any) -> Any:
        async for output in result:
            if isinstance(output, dict):
                output["group"] = response.meta["link_text"]
            yield output


@pytest.mark.parametrize("order", [0, 1, 10, 999])
def test_it_counts_where_a_spider_middleware_sets_it_in_the_item(order: int):
    settings = {"SPIDER_MIDDLEWARES": {FillsItems: order}}
    assert len(items_of(returning, settings=settings)) == len(LINKS)


def with_names(title: str, *headlines: str, menu: str = "") -> str:
    heads = "".join(f"<h1>{headline}</h1>" for headline in headlines)
    html = page(f"{menu} {article(1)}", title=title)
    return html.replace(f"<h1>{title}</h1>", heads)


def headline_of(self: Any, response: Any) -> Iterator[Any]:
    yield {"headline": response.css("h1::text").get()}


def group_alone(self: Any, response: Any) -> Iterator[Any]:
    yield {"group": response.meta["link_text"]}


def test_it_counts_not_where_it_stands_in_the_headline_of_the_page_alone():
    links = {"/a": "Lamps", "/b": "Our lamps", "/c": "Table lights"}
    html = with_names("Shop", "Our  lamps")
    assert len(items_of(headline_of, html=html, links=links)) == 1


@pytest.mark.parametrize(
    "html",
    [
        with_names("Shop", "News", menu="Lamps. Lamps for less. Table lights."),
        with_names("Shop", "Lamps", "Lamps for less", "Table lights"),
        with_names("Lamps", "Lamps for less"),
        with_names("Lamps for less", "Lamps"),
    ],
)
def test_links_that_a_page_names_are_told_apart_by_their_texts(html: str):
    """As where each page has a menu, or where one link has its title and one its headline."""
    assert len(items_of(group_alone, html=html)) == len(LINKS)
