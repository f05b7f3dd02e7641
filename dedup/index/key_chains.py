"""Positions by key in a hash table with chaining, for look-ups of many keys at a time."""

import numpy as np

from dedup.arrays import Array

_FIRST_BITS = 12
_GROWTH_BITS = 1
# Linked at once when the table has grown: what that takes for a while is nothing beside it.
_ROWS_AT_ONCE = 1 << 18
_ROWS_OF_A_CHAIN = 2
_NOTHING = np.uint32(2**32 - 1)
_MULTIPLIER = np.uint32(2654435769)  # 2**32 / the golden ratio: Knuth, vol. 3, section 6.4


class KeyChains:
    """A multimap from keys to positions, as `KeyTable` is, but for batches, and without removal.

    It is a hash table whose chains begin with the newest row. NumPy follows the chains of all keys
    one step at a time: a few microseconds per thousand keys. A position takes 14 to 18 bytes. Only
    the lowest 32 bits of keys are compared, so a look-up may also return rows of other keys.
    """

    def __init__(self) -> None:
        self._bits = _FIRST_BITS
        self._heads = np.full(1 << self._bits, _NOTHING)
        # For each row: its key, its position, and the next row in its chain.
        self._keys, self._positions, self._next = (np.empty(1 << 10, np.uint32) for _ in range(3))
        self._rows = 0

    def add(self, keys: Array, positions: Array) -> None:
        """Store each of *positions* under the key in the same place; later ones are newer."""
        first, self._rows = self._rows, self._rows + len(keys)
        if self._rows > len(self._keys):
            room = max(self._rows, len(self._keys) * 9 // 8)
            for column in (self._keys, self._positions, self._next):
                column.resize(room, refcheck=False)  # no view of a column outlives its method
        self._keys[first : self._rows] = _low_bits(keys)
        self._positions[first : self._rows] = positions
        if self._rows > _ROWS_OF_A_CHAIN << self._bits:
            while self._rows > _ROWS_OF_A_CHAIN << self._bits:
                self._bits += _GROWTH_BITS
            self._heads = np.full(1 << self._bits, _NOTHING)
            first = 0
        for start in range(first, self._rows, _ROWS_AT_ONCE):
            self._link(start, min(start + _ROWS_AT_ONCE, self._rows))

    def _link(self, first: int, end: int) -> None:
        """Insert the rows from *first* to before *end* at the beginning of their chains."""
        rows = np.arange(first, end, dtype=np.uint64)
        chains = self._chains(self._keys[first:end]).astype(np.uint64)
        # Sorted by chain, and by row within each.
        both = chains << np.uint64(32) | rows
        both.sort()
        chains, rows = (both >> np.uint64(32)).astype(np.intp), both.astype(np.uint32)
        is_same = chains[1:] == chains[:-1]
        before = self._heads[chains]
        before[1:][is_same] = rows[:-1][is_same]
        self._next[rows] = before
        is_last = np.ones(len(rows), np.bool_)
        is_last[:-1] = ~is_same
        self._heads[chains[is_last]] = rows[is_last]

    def find(
        self, keys: Array, most: int | None = None, limit: int | None = None
    ) -> tuple[Array, Array]:
        """Return places in *keys* (int64) and a position under the key there for each (uint32).

        They are in no particular order. With *most*, only the newest *most* positions per key. With
        *limit*, stop once more than *limit* were found in total.
        """
        wanted = _low_bits(keys)
        places = np.arange(len(wanted))
        rows = self._heads[self._chains(wanted)]
        counts = np.zeros(len(wanted), np.int64)
        found = [(places[:0], self._positions[:0])]
        count = 0
        while limit is None or count <= limit:
            [unfinished] = (rows != _NOTHING).nonzero()
            if not len(unfinished):
                break
            places, rows = places[unfinished], rows[unfinished]
            [equal] = (self._keys[rows] == wanted[places]).nonzero()
            if len(equal):
                found.append((places[equal], self._positions[rows[equal]]))
                count += len(equal)
            rows = self._next[rows]
            if most is not None and len(equal):
                counts[places[equal]] += 1
                rows[counts[places] >= most] = _NOTHING
        return np.concatenate([of for of, _ in found]), np.concatenate([at for _, at in found])

    def _chains(self, keys: Array) -> Array:
        return keys * _MULTIPLIER >> np.uint32(32 - self._bits)

    @property
    def nbytes(self) -> int:
        """The memory it uses, in bytes."""
        columns = (self._heads, self._keys, self._positions, self._next)
        return sum(column.nbytes for column in columns)


def _low_bits(keys: Array) -> Array:
    return keys.astype(np.uint32)  # the lowest bits
