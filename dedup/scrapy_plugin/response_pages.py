"""The pages of responses and of items' fields, read once, with what that took."""

from collections.abc import Callable
from time import perf_counter

from scrapy.http import HtmlResponse, Response

from dedup.page import Page, page_of_bytes
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.response_state import ResponseStates


class ResponsePages:
    """Reads the page of each response once, and counts how long that took."""

    def __init__(
        self,
        bodies: BodyReader,
        states: ResponseStates,
        *,
        count: Callable[[str, float], object],
        record_time: Callable[[str, float], object],
    ) -> None:
        """Create it; *count* adds to a counter, *record_time* takes a stage and its seconds."""
        self._bodies = bodies
        self._states = states
        self._count = count
        self._record_time = record_time

    async def read(self, response: Response) -> Page:
        """Return the page of *response*; raises ReadError."""
        state = self._states.of(response)
        if state.page is None:
            if isinstance(response, HtmlResponse):
                start = perf_counter()
                page, is_repeated = await self._bodies.read(response)
                if is_repeated:
                    self._count("bodies_repeated", 1)
                    self._count("seconds_saved", sum(page.seconds.values()))
                else:
                    self._count_seconds(page, perf_counter() - start)
            else:
                page = page_of_bytes(response.body)
            state.page = page
        return state.page

    async def text_of(self, response: Response) -> str:
        """Return the main text of *response*, "" for what is no HTML; raises ReadError."""
        page = await self.read(response)
        if not isinstance(response, HtmlResponse):
            return ""
        return await self._bodies.text_of(response, page)

    async def read_again(self, response: HtmlResponse) -> Page:
        """Return the page of *response* with its text, which was not kept; raises ReadError."""
        state = self._states.of(response)
        if state.page is None or state.page.text is None:
            self._count("bodies_read_again", 1)
            state.page = await self._bodies.read_again(response)
        return state.page

    async def read_field(self, value: str) -> Page:
        """Return the page of an item's field; raises ReadError."""
        start = perf_counter()
        page = await self._bodies.read_field(value)
        self._count_seconds(page, perf_counter() - start)
        return page

    def _count_seconds(self, page: Page, waited: float) -> None:
        for stage, seconds in page.seconds.items():
            self._record_time(stage, seconds)
        self._record_time("waiting", waited - sum(page.seconds.values()))
