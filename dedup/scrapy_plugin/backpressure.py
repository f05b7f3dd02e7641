"""The downloader middleware: lets in no more pages than the workers can soon read.

And tells of requests that get no response.
"""

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http import Response

from dedup.scrapy_plugin.parts import Parts, PartsOwner

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class DownloaderMiddleware:
    """Delays responses while many pages wait to be read.

    A response that waits here still counts as one of the concurrent requests, so the download slows
    down by itself. If it waited later, Scrapy would start CONCURRENT_ITEMS tasks for it: 180 kB a
    page, however small the page is.
    """

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @classmethod
    def from_crawler(cls, crawler: "Crawler") -> "DownloaderMiddleware":
        return cls(PartsOwner.parts_for(crawler, cls.__name__))

    def process_exception(self, request: Request, exception: Exception) -> None:
        self._parts.course.request_fails(request)

    async def process_response(self, request: Request, response: Response) -> Response:
        await self._parts.backlog.wait_for_room()
        return response
