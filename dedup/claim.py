"""A claim: a content that is being stored, and who waits for what becomes of it."""

from collections.abc import Callable

from dedup.record import Claimed, Committed


class Claim:
    """A page that is being stored: its content is reserved until it is committed or released.

    Its number is below 0 while the log of the store does not have it.
    """

    __slots__ = (
        "_callbacks", "is_open", "is_stored", "items", "number", "put_off_for", "record",
        "replaces",
    )  # fmt: skip

    def __init__(self, claimed: Claimed) -> None:
        self.record, self.number = claimed
        self.items = [claimed.record.item]
        """What the items of the page say: those known so far, in the end those that are stored."""
        self.replaces: tuple[int, ...] = ()
        """The numbers of stored pages whose place it takes."""
        self.is_open = True
        self.put_off_for: str | None = None
        """Why nobody is to wait for it, since it ends too late."""
        self.is_stored = False
        self._callbacks: list[Callable[[], object]] = []

    @property
    def claimed(self) -> Claimed:
        """The event that the page is about to be stored."""
        return Claimed(self.record, self.number)

    @property
    def committed(self) -> Committed:
        """The event that the page is stored."""
        items = None if self.items == [self.record.item] else tuple(self.items)
        return Committed(self.number, items, self.replaces)

    def add_item(self, item: bytes) -> None:
        """Have the page be stored with this item, too."""
        if item not in self.items:
            self.items.append(item)

    def end_with(self, event: Committed) -> None:
        """Take over what *event*, of another process, says of the items that are stored."""
        if event.items is not None:
            self.items = list(event.items)
        self.replaces = event.replaces

    @property
    def is_awaited(self) -> bool:
        """Whether somebody wants to know when it ends."""
        return bool(self._callbacks)

    def when_ended(self, callback: Callable[[], object]) -> None:
        """Have *callback* called when the claim is committed, released or put off.

        Now if it has been.
        """
        if self.is_open and not self.put_off_for:
            self._callbacks.append(callback)
        else:
            callback()

    def end(self, *, is_stored: bool = False) -> None:
        """Close the claim; call who waits, the first one first. *is_stored*: its page is."""
        self.is_open, self.is_stored = False, is_stored
        self._call()

    def put_off(self, reason: str) -> None:
        """Leave the claim open, and let nobody wait for it any longer, for *reason*."""
        self.put_off_for = reason
        self._call()

    def _call(self) -> None:
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
