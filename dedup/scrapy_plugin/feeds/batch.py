"""A batch of a feed: whether it is stored, once that is known."""

from collections.abc import Callable


class Batch:
    """What becomes of the items of a feed that are stored together."""

    def __init__(self) -> None:
        self.is_stored: bool | None = None
        """``None`` until it is closed."""
        self._calls: list[Callable[[], object]] = []

    def when_closed(self, call: Callable[[], object]) -> None:
        """Have *call* called when it is closed, which it must not be yet."""
        self._calls.append(call)

    def close(self, *, is_stored: bool) -> None:
        """Note whether it *is_stored*, and call who waits for that."""
        self.is_stored = is_stored
        calls, self._calls = self._calls, []
        for call in calls:
            call()
