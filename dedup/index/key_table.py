"""Positions by key, in buckets that double in number as they fill."""

from collections.abc import Collection, Iterable

import numpy as np

from dedup.arrays import Array, run_positions, sort_unique
from dedup.index.buckets import Buckets

# The number of buckets starts low because a crawl with one index per host may have many small ones.
# It stops growing at the end: rebuilding the table would take long, and long buckets are fast too.
_FIRST_BITS, _LAST_BITS = 6, 11
_ROWS_OF_A_BUCKET = 256
# So that a tag takes at most 4 bytes.
_COMPARED_BITS = _FIRST_BITS + 32
# Up to so many keys, buckets are swept one by one.
_FEW_KEYS = 32


class KeyTable:
    """A multimap from keys to positions.

    The lowest bits of a key choose its bucket; the next bits are stored there as its tag. Together
    up to 38 bits are compared, so a look-up may also return rows of other keys.
    """

    def __init__(self, key_bits: int) -> None:
        self._compared_bits = min(_COMPARED_BITS, key_bits)
        self._bits = _FIRST_BITS
        self._buckets = self._empty()
        self._rows = 0

    def _empty(self) -> Buckets:
        return Buckets(self._bits, [np.min_scalar_type(self._tag_mask), np.uint32])

    @property
    def _tag_mask(self) -> int:
        return (1 << self._compared_bits - self._bits) - 1

    def add(self, keys: Collection[int], position: int) -> None:
        """Store *position* under each of *keys*."""
        self._make_room(len(keys))
        mask, tag_mask = (1 << self._bits) - 1, self._tag_mask
        for key in keys:
            self._buckets.append(key & mask, key >> self._bits & tag_mask, position)

    def add_many(self, keys: Array, positions: Array) -> None:
        """Store each of *positions* under the key, uint64, in the same place of *keys*."""
        self._make_room(len(keys))
        buckets, tags = self._places(keys)
        self._buckets.extend(buckets, tags, positions)

    def remove(self, keys: Collection[int], position: int) -> None:
        """Remove *position* from under each of *keys*."""
        tags, positions = self._buckets.columns
        mask, tag_mask = (1 << self._bits) - 1, self._tag_mask
        for key in keys:
            run = self._buckets.run(key & mask)
            equal = (positions[run] == position) & (tags[run] == (key >> self._bits & tag_mask))
            if equal.any():
                self._buckets.remove(key & mask, run.start + int(equal.argmax()))
                self._rows -= 1

    def _make_room(self, rows: int) -> None:
        self._rows += rows
        while self._bits < _LAST_BITS and self._rows > _ROWS_OF_A_BUCKET << self._bits:
            self._double()

    def _double(self) -> None:
        """Double the buckets: the lowest bit of a tag becomes the bucket's highest."""
        places = self._buckets.rows()
        numbers = np.arange(1 << self._bits)
        _, sizes = self._buckets.runs(numbers)
        tags, positions = (column[places] for column in self._buckets.columns)
        keys = np.repeat(numbers, sizes) | (tags & 1).astype(np.intp) << self._bits
        self._bits += 1
        self._buckets = self._empty()
        tag_type = self._buckets.columns[0].dtype
        self._buckets.fill(keys, (tags >> 1).astype(tag_type), positions)

    def renumber(self, positions: Array) -> None:
        """Replace every position by ``positions[position]``, uint32."""
        rows = self._buckets.rows()
        column = self._buckets.columns[1]
        column[rows] = positions[column[rows]]

    def positions(
        self, keys: Iterable[int], most: int | None = None, pages: Array | None = None
    ) -> Array:
        """Return the unique positions under any of *keys*, sorted, uint32.

        With *most*, only that many per key: those with the highest ``pages[position]``.
        """
        wanted = set(keys)
        if len(wanted) > _FEW_KEYS and most is None:
            numbers = np.fromiter(wanted, np.uint64, len(wanted))
            _, positions = self.postings(*self.runs(numbers))
            return sort_unique(positions)
        tags, positions = self._buckets.columns
        mask, tag_mask, tag_type = (1 << self._bits) - 1, self._tag_mask, tags.dtype.type
        found = []
        for key in wanted:
            run = self._buckets.run(key & mask)
            [equal] = (tags[run] == tag_type(key >> self._bits & tag_mask)).nonzero()
            if len(equal):
                under_key = positions[run][equal]
                if most is not None and pages is not None and len(under_key) > most:
                    newest = np.argpartition(pages[under_key], -most)[-most:]
                    under_key = under_key[newest]
                found.append(under_key)
        return sort_unique(np.concatenate(found)) if found else positions[:0]

    def runs(self, keys: Array) -> tuple[Array, Array, Array]:
        """Return starts, sizes and tags of *keys*, uint64, as arguments for `postings`.

        The sizes are those of buckets, which several keys may share.
        """
        buckets, tags = self._places(keys)
        return *self._buckets.runs(buckets), tags

    def _places(self, keys: Array) -> tuple[Array, Array]:
        """Return the buckets and the tags of *keys*."""
        mask = np.uint64((1 << self._bits) - 1)
        tags = keys >> np.uint64(self._bits) & np.uint64(self._tag_mask)
        return (keys & mask).astype(np.intp), tags.astype(self._buckets.columns[0].dtype)

    def postings(self, starts: Array, sizes: Array, tags: Array) -> tuple[Array, Array]:
        """Return key numbers and the positions under these keys, in the order of the keys."""
        places = run_positions(starts, sizes)
        found, positions = self._buckets.columns
        equal = found[places] == np.repeat(tags, sizes)
        return np.repeat(np.arange(len(sizes)), sizes)[equal], positions[places[equal]]

    @property
    def nbytes(self) -> int:
        return self._buckets.nbytes
