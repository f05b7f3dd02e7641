"""Waits for results of other threads, and for calls, with every kind of event loop."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

T = TypeVar("T")


async def result_of(future: "Future[T]") -> T:
    """Return the result of *future*, or raise its exception.

    Works on the asyncio reactor, on other Twisted reactors and without a reactor.
    """
    if not future.done():
        call_in_loop = _call_in_loop()
        done: Deferred[None] = Deferred()

        def wake() -> None:
            if not done.called:  # a cancelled crawl has called it
                done.callback(None)

        future.add_done_callback(lambda _: call_in_loop(wake))
        await maybe_deferred_to_future(done)
    return future.result()


async def wait_for_call(seconds: float, subscribe: Callable[[Callable[[], None]], object]) -> bool:
    """Give *subscribe* a function, and wait until it is called, or for *seconds*.

    Return whether it was called.
    """
    ended: Deferred[bool] = Deferred()

    def end(was_called: bool) -> None:
        if not ended.called:
            ended.callback(was_called)

    subscribe(lambda: end(True))
    timer = call_later(seconds, end, False)
    try:
        return await maybe_deferred_to_future(ended)
    finally:
        timer.cancel()


def _call_in_loop() -> Callable[[Callable[[], Any]], Any]:
    if is_asyncio_available():
        import asyncio

        return asyncio.get_event_loop().call_soon_threadsafe
    from twisted.internet import reactor

    return reactor.callFromThread  # type: ignore[no-any-return]  # a module replaced at run time
