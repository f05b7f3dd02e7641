"""What the items of stored pages say, by page number, and which of them says all of something."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Sequence

import numpy as np

from dedup.arrays import Array
from dedup.index.key_table import KeyTable
from dedup.packed import Packed
from dedup.record import keys_of, pack_items, unpack_items

MANY = 64
"""So many items, or pages, are looked at one by one; of more, those with the rarest value."""
MOST = 1024
"""Of more that have the same values, only the latest are looked at."""
_AT_HAND = 64


class StoredItems:
    """The items of stored pages: 8 bytes for each value, 18 for a page with one item."""

    def __init__(self) -> None:
        # Sorted: pages come by number, but for those that others have claimed.
        self._numbers = array("I")
        # Where the items of each begin, and how many bytes they have.
        self._starts, self._sizes = array("Q"), array("I")
        self._data = bytearray()
        # Of the last pages with many items that were looked at, also of those with open claims.
        self._indexes: dict[int, ItemIndex] = {}

    def add(self, number: int, items: Iterable[bytes]) -> None:
        """Keep what the *items* of page *number* say."""
        data = pack_items(items)
        self._indexes.pop(number, None)
        place = bisect_left(self._numbers, number)
        self._numbers.insert(place, number)
        self._starts.insert(place, len(self._data))
        self._sizes.insert(place, len(data))
        self._data += data

    def add_many(self, numbers: Array, items: Packed) -> None:
        """Keep what `add` would of many pages, in the order of their *numbers*, shape (n,)."""
        if len(numbers) and self._numbers and numbers[0] <= self._numbers[-1]:
            for number, data in zip(numbers.tolist(), items, strict=True):
                self.add(number, unpack_items(data))
            return
        sizes = items.lengths()
        starts = len(self._data) + np.cumsum(sizes) - sizes
        self._numbers.frombytes(numbers.astype(np.uint32).tobytes())
        self._starts.frombytes(starts.astype(np.uint64).tobytes())
        self._sizes.frombytes(sizes.astype(np.uint32).tobytes())
        self._data += b"".join(items)

    def discard(self, number: int) -> None:
        """Forget page *number*, if it is there: as seldom as its bytes may stay."""
        place = self._place(number)
        if place is not None:
            del self._numbers[place], self._starts[place], self._sizes[place]
            self._indexes.pop(number, None)

    def of(self, number: int) -> list[bytes]:
        """Return what each item of page *number* says; nothing for a page that is not there."""
        return unpack_items(self._packed(number))

    def says_all(self, number: int, keys: Collection[bytes]) -> bool:
        """Return whether one item of page *number* has all of the values *keys*."""
        if number in self._indexes:
            return self._index(number).says_all(keys)
        data = self._packed(number)
        # Wherever they stand: this is fast.
        return all(key in data for key in keys) and self.any_says_all(
            number, unpack_items(data), keys
        )

    def any_says_all(self, number: int, items: Sequence[bytes], keys: Collection[bytes]) -> bool:
        """Return whether one of *items*, of page *number*, has all of the values *keys*.

        They may be those of an open claim, to which others are added at the end.
        """
        if len(items) <= MANY:
            return any(map(saying_all(keys), items))
        index = self._index(number)
        index.extend(items)
        return index.says_all(keys)

    def _index(self, number: int) -> "ItemIndex":
        index = self._indexes.pop(number, None) or ItemIndex()
        if len(self._indexes) >= _AT_HAND:
            del self._indexes[next(iter(self._indexes))]
        self._indexes[number] = index  # the last to go
        return index

    def _packed(self, number: int) -> bytes:
        place = self._place(number)
        if place is None:
            return b""
        start = self._starts[place]
        return bytes(self._data[start : start + self._sizes[place]])

    def _place(self, number: int) -> int | None:
        place = bisect_left(self._numbers, number)
        is_there = place < len(self._numbers) and self._numbers[place] == number
        return place if is_there else None

    @property
    def nbytes(self) -> int:
        """The memory that they take, in bytes."""
        columns = self._numbers, self._starts, self._sizes
        indexes = sum(index.nbytes for index in self._indexes.values())
        return len(self._data) + sum(len(c) * c.itemsize for c in columns) + indexes


def saying_all(keys: Collection[bytes]) -> Callable[[bytes], bool]:
    """Return what tells whether an item, as it is stored, has all of the values *keys*."""
    wanted = frozenset(keys)
    return lambda item: wanted <= keys_of(item)


class ItemIndex:
    """Many items of one page, found by their values."""

    def __init__(self) -> None:
        self._items: list[bytes] = []
        self._by_value = ValueIndex()

    def extend(self, items: Sequence[bytes]) -> None:
        """Take those of *items* that were added since the last time."""
        for place in range(len(self._items), len(items)):
            self._items.append(items[place])
            self._by_value.add(keys_of(items[place]), place)

    def says_all(self, keys: Collection[bytes]) -> bool:
        """Return whether one of them has all of the values *keys*."""
        places = self._by_value.with_rarest(keys)
        return any(map(saying_all(keys), (self._items[place] for place in places)))

    @property
    def nbytes(self) -> int:
        """The memory that they take, in bytes."""
        return self._by_value.nbytes + sum(map(len, self._items))


class ValueIndex:
    """Finds which of many items, or pages, have a value: about 10 bytes for each value."""

    def __init__(self) -> None:
        self._table = KeyTable()
        self._places = array("I")

    def add(self, keys: Iterable[bytes], place: int) -> None:
        """Have *place* found by each of *keys*."""
        self._table.add(_numbers(keys), place)
        self._places.append(place)

    def remove(self, keys: Iterable[bytes], place: int) -> None:
        """Have *place* found no more by *keys*, with which it was added."""
        if place in self._places:
            self._table.remove(_numbers(keys), place)
            self._places.remove(place)

    def with_rarest(self, keys: Iterable[bytes]) -> list[int]:
        """Return the places with that of *keys* which the fewest have, and maybe some others.

        All places, if there is no key; if they are very many, the latest. One of the others, if
        none has it, to be told of.
        """
        fewest: Sequence[int] | Array = self._places
        for key in keys:
            if len(fewest) < MANY:
                break
            fewest = min(fewest, np.sort(self._table.find(_numbers([key]))[1]), key=len)
        return list(map(int, fewest[-MOST:] if len(fewest) else self._places[-1:]))

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return self._table.nbytes + len(self._places) * self._places.itemsize


def _numbers(keys: Iterable[bytes]) -> Array:
    return np.array([int.from_bytes(key, "little") for key in keys], np.uint64)
