"""Sketch -> near pages of its scope."""

from typing import Any

from dedup.index.base import Index, Match, PageFilter
from dedup.methods.base import KeyMethod, Method
from dedup.search import index_for


class ScopeIndex:
    """The sketches of one scope: an index, or while they are few and no index is asked for, a list.

    There may be very many scopes of one page each, as items have, or functions of URLs make.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._few: list[tuple[Any, int]] | None = []
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """The index of the sketches, which is made when there are enough, or somebody asks."""
        if self._index is None:
            self._index = index_for(self._method)
            for sketch, number in self._few or ():
                self._index.add(sketch, number)
            self._few = None
        return self._index

    def has_room_for(self, number: int) -> bool:
        """Return whether a *number* of sketches can be added without an index."""
        return self._few is not None and len(self._few) + number <= MOST_WITHOUT_INDEX

    def add(self, sketch: Any, number: int) -> None:
        """Have *sketch* of page *number* found from now on."""
        if self._few is not None and self.has_room_for(1):
            self._few.append((sketch, number))
        else:
            self.index.add(sketch, number)

    def discard(self, sketch: Any, number: int) -> None:
        """Forget page *number*, which was added with *sketch*."""
        if self._few is None:
            self.index.discard(sketch, number)
        else:
            self._few = [entry for entry in self._few if entry[1] != number]

    def query(self, sketch: Any, counts: PageFilter) -> Match | None:
        """Return the nearest match among the pages that count, ties to the oldest, or ``None``."""
        if self._few is None:
            return self.index.query(sketch, counts)
        near = (
            Match(number, distance)
            for stored, number in self._few
            if (distance := self._method.distance(sketch, stored)) <= self._method.max_distance
            and self._share_a_key(sketch, stored)
        )
        return next((match for match in sorted(near) if counts(match.page)), None)

    def _share_a_key(self, sketch: Any, other: Any) -> bool:
        """Return whether an index would find one by the other: else, answers would depend on it."""
        if not isinstance(self._method, KeyMethod):
            return True
        return not set(self._method.keys(sketch)).isdisjoint(self._method.keys(other))

    @property
    def nbytes(self) -> int:
        """The memory that the sketches take, in bytes; estimated where they have no index."""
        if self._few is None:
            return self.index.nbytes
        return sum(160 + len(self._method.to_bytes(sketch)) for sketch, _ in self._few)


MOST_WITHOUT_INDEX = 32
