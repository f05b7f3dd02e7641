"""Items on their way from the spider middleware to the item pipeline."""

from collections import deque
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import finalize

T = TypeVar("T")


@dataclass(slots=True, eq=False)
class _Entry(Generic[T]):
    """An item with what belongs to it. The reference keeps its identity from being reused."""

    item: Any
    page: T
    of_response: "set[_Entry[T]]"


class ExpectedItems(Generic[T]):
    """Remembers what belongs to an item by its identity: nothing can be attached to every kind.

    One object may be yielded several times, also by several pages; it is met in the order of its
    yields. What the pipeline never meets, since another component dropped or replaced it, is
    forgotten when the response of the item is gone.
    """

    def __init__(self) -> None:
        self._by_item: dict[int, deque[_Entry[T]]] = {}
        self._by_response: dict[int, set[_Entry[T]]] = {}

    def expect(self, item: Any, response: Any, page: T) -> None:
        """Remember that *item* of *response* is on its way, and *page* with it."""
        of_response = self._by_response.get(id(response))
        if of_response is None:
            of_response = self._by_response[id(response)] = set()
            finalize(response, self._response_is_gone, id(response)).atexit = False
        entry = _Entry(item, page, of_response)
        of_response.add(entry)
        self._by_item.setdefault(id(item), deque()).append(entry)

    def take(self, item: Any) -> T | None:
        """Return what was remembered of *item* first, and forget it; ``None`` if nothing was."""
        entries = self._by_item.get(id(item))
        if not entries:
            return None
        entry = entries[0]
        entry.of_response.discard(entry)
        self._forget(entry)
        return entry.page

    def _response_is_gone(self, response_id: int) -> None:
        for entry in self._by_response.pop(response_id):
            self._forget(entry)

    def _forget(self, entry: _Entry[T]) -> None:
        entries = self._by_item[id(entry.item)]
        entries.remove(entry)
        if not entries:
            del self._by_item[id(entry.item)]

    def __len__(self) -> int:
        """Return the number of items on their way."""
        return sum(map(len, self._by_item.values()))
