"""Which requests come to the scheduler: no signal of Scrapy tells that."""

from collections.abc import Callable

from scrapy import Request
from scrapy.core.scheduler import BaseScheduler


def watch(scheduler: BaseScheduler, tell: Callable[[Request, bool], object]) -> None:
    """Have *tell* called with each request that comes to *scheduler*, and whether it is taken.

    ``request_scheduled`` is sent before others may refuse the request, such as for its host.
    """
    enqueue: Callable[[Request], bool] = scheduler.enqueue_request

    def enqueue_request(request: Request) -> bool:
        is_accepted = enqueue(request)
        tell(request, is_accepted)
        return is_accepted

    scheduler.enqueue_request = enqueue_request  # type: ignore[method-assign]
