"""A claim: a content that is being stored, and who waits for what becomes of it."""

from collections.abc import Callable

from dedup.record import Claimed, PageRecord


class Claim:
    """A page that is being stored: its content is reserved until it is committed or released."""

    __slots__ = "__weakref__", "_callbacks", "claimed", "is_open"

    def __init__(self, claimed: Claimed) -> None:
        self.claimed = claimed
        self.is_open = True
        self._callbacks: list[Callable[[], object]] = []

    @property
    def record(self) -> PageRecord:
        return self.claimed.record

    @property
    def number(self) -> int:
        return self.claimed.number

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Have *callback* called when the claim is committed or released; now if it has been."""
        if self.is_open:
            self._callbacks.append(callback)
        else:
            callback()

    def end(self) -> None:
        """Close the claim and call who waits, the first one first."""
        self.is_open = False
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
