"""Responses that are gone, and what is to be done about them."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar
from weakref import finalize

from scrapy.http import Response
from scrapy.utils.asyncio import AsyncioLoopingCall, create_looping_call
from twisted.internet.task import LoopingCall

from dedup.logs import get_logger
from dedup.scrapy_plugin.awaiting import wait_for_call

logger = get_logger(__name__)

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 1.0


class GoneResponses:
    """Does what is to be done once a response is gone; not in the midst of something else.

    Python tells that a response is gone whenever it likes: while an index is searched or changed,
    and in any thread. So it is only noted then.
    """

    def __init__(self) -> None:
        self._to_do: deque[Callable[[], object]] = deque()
        self._waiting = 0
        self._settling: AsyncioLoopingCall | LoopingCall | None = None
        self._has_failed = False

    def when_gone(self, response: Response, call: Callable[[T], object], argument: T) -> None:
        """Have *call* called with *argument*, by `settle`, once *response* is gone."""
        noting = finalize(response, self._to_do.append, lambda: call(argument))
        noting.atexit = False

    def settle(self) -> None:
        """Do what is to be done about all that are gone by now.

        What fails is logged, the first time, and keeps nothing else from being done: neither the
        rest, nor what the caller does for another page.
        """
        while self._to_do:
            try:
                self._to_do.popleft()()
            except Exception:
                if not self._has_failed:
                    self._has_failed = True
                    logger.exception("Dedup failed on a response that is gone; others go on")

    async def wait_for_call(
        self, seconds: float, subscribe: Callable[[Callable[[], None]], object]
    ) -> bool:
        """Wait as `awaiting.wait_for_call` does, and `settle` now and every second."""
        self.settle()
        self._waiting += 1
        if not (self._settling and self._settling.running):
            self._settling = create_looping_call(self.settle)
            self._settling.start(_SECONDS_BETWEEN_LOOKS, now=False)
        try:
            return await wait_for_call(seconds, subscribe)
        finally:
            self._waiting -= 1
            if not self._waiting and self._settling.running:
                self._settling.stop()
