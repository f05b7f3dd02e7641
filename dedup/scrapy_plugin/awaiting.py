"""Waiting for the result of another thread, whatever drives the crawl."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from scrapy.utils.asyncio import is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

T = TypeVar("T")


async def result_of(future: "Future[T]") -> T:
    """Return the result of *future*, or raise its exception.

    Works on the asyncio reactor, on other Twisted reactors and without a reactor.
    """
    if not future.done():
        call_in_loop = _call_in_loop()
        awakened: Deferred[None] = Deferred()

        def awake() -> None:
            if not awakened.called:  # a cancelled crawl has called it
                awakened.callback(None)

        future.add_done_callback(lambda _: call_in_loop(awake))
        await maybe_deferred_to_future(awakened)
    return future.result()


def _call_in_loop() -> Callable[[Callable[[], Any]], Any]:
    if is_asyncio_available():
        import asyncio

        return asyncio.get_event_loop().call_soon_threadsafe
    from twisted.internet import reactor

    return reactor.callFromThread  # type: ignore[no-any-return]  # a module replaced at run time
