"""The pages of responses and of items' fields, read once, with what that took."""

from time import perf_counter

from scrapy.http import HtmlResponse, Response

from dedup.page import Page, page_of_bytes
from dedup.report.summary import Summary
from dedup.scrapy_plugin.bodies import BodyReader
from dedup.scrapy_plugin.visits import Visits


class ResponsePages:
    """Reads the page of each response once, and counts how long that took."""

    def __init__(self, bodies: BodyReader, visits: Visits, summary: Summary) -> None:
        self._bodies = bodies
        self._visits = visits
        self._summary = summary

    async def read(self, response: Response) -> Page:
        """Return the page of *response*; raises ReadError."""
        visit = self._visits.of(response)
        if visit.page is None:
            if isinstance(response, HtmlResponse):
                start = perf_counter()
                page, is_repeated = await self._bodies.read(response)
                if is_repeated:
                    self._summary.count("bodies_repeated")
                    self._summary.count("seconds_saved", sum(page.seconds.values()))
                else:
                    self._count_seconds(page, perf_counter() - start)
            else:
                page = page_of_bytes(response.body)
            visit.page = page
        return visit.page

    async def read_again(self, response: HtmlResponse) -> Page:
        """Return the page of *response* with its text, which was not kept; raises ReadError."""
        self._summary.count("bodies_read_again")
        return await self._bodies.read_again(response)

    async def read_field(self, value: str) -> Page:
        """Return the page of an item's field; raises ReadError."""
        start = perf_counter()
        page = await self._bodies.read_field(value)
        self._count_seconds(page, perf_counter() - start)
        return page

    def _count_seconds(self, page: Page, waited: float) -> None:
        for stage, seconds in page.seconds.items():
            self._summary.record_time(stage, seconds)
        self._summary.record_time("waiting", waited - sum(page.seconds.values()))
