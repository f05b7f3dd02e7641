"""Responses that are gone, and what is to be done about them."""

from collections import deque
from collections.abc import Callable
from typing import TypeVar
from weakref import finalize

from scrapy.http import Response
from scrapy.utils.asyncio import create_looping_call

from dedup.scrapy_plugin.awaiting import wait_for_call

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS = 1.0


class GoneResponses:
    """Does what is to be done once a response is gone; not in the midst of something else.

    Python tells that a response is gone whenever it likes: while an index is searched or changed,
    and in any thread. So it is only noted then.
    """

    def __init__(self) -> None:
        self._to_do: deque[Callable[[], object]] = deque()

    def when_gone(self, response: Response, call: Callable[[T], object], argument: T) -> None:
        """Have *call* called with *argument*, by `settle`, once *response* is gone."""
        noting = finalize(response, self._to_do.append, lambda: call(argument))
        noting.atexit = False

    def settle(self) -> None:
        """Do what is to be done about all that are gone by now."""
        while self._to_do:
            self._to_do.popleft()()

    async def wait_for_call(
        self, seconds: float, subscribe: Callable[[Callable[[], None]], object]
    ) -> bool:
        """Wait as `awaiting.wait_for_call` does, and `settle` now and every second."""
        settling = create_looping_call(self.settle)
        settling.start(_SECONDS_BETWEEN_LOOKS)
        try:
            return await wait_for_call(seconds, subscribe)
        finally:
            if settling.running:
                settling.stop()
