"""The middlewares: pages are judged before their items go on, and links are held back.

One sees whether callbacks come to their ends; that of the downloader has pages read where items are
sure to come.
"""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request
from scrapy.http import Response

from dedup.scrapy_plugin.plugin import Extension
from dedup.scrapy_plugin.response_state import ResponseState

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class _Middleware:
    def __init__(self, plugin: Extension) -> None:
        self._plugin = plugin

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> Self:
        return cls(Extension.of(crawler, cls.__name__))


class SpiderMiddleware(_Middleware):
    """Gets a verdict on the page of every response with items, and notes it for the pipeline.

    It must be the outermost spider middleware: it remembers the identity of each item, so nothing
    may replace an item between here and the pipeline.
    """

    def process_spider_input(self, response: Response) -> None:
        self._plugin.states.of(response)  # which begins now

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        self._plugin.canonicals.request_ends(response.request)

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        plugin, state = self._plugin, self._plugin.states.of(response)
        state.open_outputs += 1  # there may be several of one response
        failed = True
        try:
            async for output in result:
                if output is None:
                    continue
                if isinstance(output, Request):
                    state.leads_on = True  # also one of another middleware
                    if await self._is_held_back(output, response, state):
                        continue
                else:
                    judgement = None
                    if not plugin.settings.item_field:
                        judgement = await plugin.judge.of_page(output, response, state)
                    plugin.canonicals.request_ends(response.request)
                    plugin.states.item_leaves(output, state, judgement)
                yield output
            failed = False
        finally:
            if state.unread_outputs and not failed and not state.callback_has_failed:
                plugin.notices.tell_once(
                    "A spider middleware does not read all that a callback yields, here of <%s>: "
                    "such pages are stored and not remembered, so their copies are stored, too",
                    response.url,
                )
            plugin.judge.output_ends(state)
            state.output_ends(failed=failed)
            if plugin.links:
                plugin.links.output_ends(state)
            if response.request:
                plugin.pages.output_ends(response.request, response, state)
            plugin.canonicals.request_ends(response.request)

    async def _is_held_back(
        self, request: Request, response: Response, state: ResponseState
    ) -> bool:
        plugin = self._plugin
        try:
            if plugin.saver and plugin.saver.hold_back(request, state):
                return True
            if plugin.links and await plugin.links.hold_back(request, response, state):
                plugin.summary.count("links_held_back")
                return True
        except Exception:
            plugin.notices.count_error("the links of <%s>", response.url)
        return False


class InnerSpiderMiddleware(_Middleware):
    """Sees whether a callback comes to its end.

    It must be the innermost spider middleware: if another one handles an exception of a callback,
    those outside of that see half of the output end like a whole one.
    """

    def process_spider_exception(self, response: Response, exception: Exception) -> None:
        self._plugin.states.of(response).callback_has_failed = True

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        state = self._plugin.states.of(response)
        state.unread_outputs += 1
        async for output in result:
            state.leads_on |= isinstance(output, Request)
            yield output
        # Not if another middleware has raised an exception meanwhile, whoever handles that.
        state.unread_outputs -= 1


class DownloaderMiddleware(_Middleware):
    """Has pages read that will be needed, and requests not sent that need not be."""

    def process_request(self, request: Request) -> None:
        if saver := self._plugin.saver:
            saver.request_leaves(request)

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._plugin.canonicals.request_ends(request)

    async def process_response(self, request: Request, response: Response) -> Request | Response:
        answer: Request | Response = response
        if saver := self._plugin.saver:
            answer = saver.response_arrives(request, response)
        if isinstance(answer, Response):
            await self._plugin.pages.response_arrives(request, answer)
        return answer
