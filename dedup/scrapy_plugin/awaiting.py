"""Waiting, whatever drives the crawl: for the result of another thread, and for room."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
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
        awakened: Deferred[None] = Deferred()

        def awake() -> None:
            if not awakened.called:  # a cancelled crawl has called it
                awakened.callback(None)

        future.add_done_callback(lambda _: call_in_loop(awake))
        await maybe_deferred_to_future(awakened)
    return future.result()


async def called_within(seconds: float, subscribe: Callable[[Callable[[], None]], object]) -> bool:
    """Wait until what *subscribe* was given is called, or for *seconds*; return whether it was."""
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


class Backlog:
    """Counts work under way, and lets others wait while there is much of it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._under_way = 0
        self._waiting: deque[Deferred[None]] = deque()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        """Count one piece of work for the length of the block."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            if self._waiting:
                self._waiting.popleft().callback(None)

    async def room(self) -> None:
        """Wait while as much as the limit is under way."""
        while self._under_way >= self._limit:
            awakened: Deferred[None] = Deferred()
            self._waiting.append(awakened)
            await maybe_deferred_to_future(awakened)


def _call_in_loop() -> Callable[[Callable[[], Any]], Any]:
    if is_asyncio_available():
        import asyncio

        return asyncio.get_event_loop().call_soon_threadsafe
    from twisted.internet import reactor

    return reactor.callFromThread  # type: ignore[no-any-return]  # a module replaced at run time
