"""The spider middlewares: one judges pages before their items go on, and holds back links.

The other one sees whether callbacks come to their ends.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.http import Response

from dedup.scrapy_plugin.parts import Parts, PartsOwner

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class SpiderMiddleware:
    """Gets a verdict on the page of every response with items, and notes it for the pipeline.

    It must be the outermost spider middleware: it remembers the identity of each item, so nothing
    may replace an item between here and the pipeline.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "SpiderMiddleware":
        return cls(PartsOwner.parts_for(crawler, cls.__name__))

    def process_spider_input(self, response: Response) -> None:
        self._parts.course.callback_begins(response)

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        self._parts.course.exception_is_unhandled(response)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        course = self._parts.course
        course.output_begins(response)
        failed = True
        try:
            async for output in result:
                if output is None:
                    continue
                if isinstance(output, Request):
                    if not await course.request_leaves(output, response):
                        continue
                else:
                    await course.item_leaves(output, response)
                yield output
            failed = False
        finally:
            course.output_ends(response, failed=failed)


class InnerSpiderMiddleware:
    """Sees whether a callback comes to its end.

    It must be the innermost spider middleware: if another one handles an exception of a callback,
    those outside of that see half of the output end like a whole one.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "InnerSpiderMiddleware":
        return cls(PartsOwner.parts_for(crawler, cls.__name__))

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        self._parts.course.callback_raises(response)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        self._parts.course.callback_output_begins(response)
        async for output in result:
            yield output
        # Not if another middleware has raised an exception meanwhile, whoever handles that.
        self._parts.course.callback_output_ends(response)
