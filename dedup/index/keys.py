"""The index over block keys: candidates share one, and the method says how far they are."""

from array import array
from collections.abc import Iterable
from sys import getsizeof

import numpy as np

from dedup.index.base import Index, Match
from dedup.index.buckets import Array, Buckets, spread
from dedup.methods import KeyMethod
from dedup.packed import Packed

# The lowest bits of a key choose the bucket, and the next ones stand in it as its tag. How many
# buckets there are doubles as they fill: a crawl with one index a host may have many small ones. At
# last it stays: making the table again would take long, and long buckets are swept fast, too.
_FIRST_BITS, _LAST_BITS = 6, 11
_ROWS_OF_A_BUCKET = 256
# So that a tag takes 4 bytes at most.
_COMPARED_BITS = _FIRST_BITS + 32
# Up to so many keys, their buckets are swept one by one.
_FEW_KEYS = 32


class KeyIndex(Index):
    """Finds the nearest of the sketches that share a block key.

    The sketches are kept as bytes, the keys as a tag beside a position. (38 bits of a key are
    compared, if it has so many: what has them by chance is one more candidate, which the method
    then refuses.)
    """

    def __init__(self, method: KeyMethod) -> None:
        self._method = method
        self._sketches = Packed()
        self._pages = array("I")
        self._bits = _FIRST_BITS
        self._buckets = self._empty()
        self._rows = 0
        self._next_page = 0

    def _empty(self) -> Buckets:
        return Buckets(self._bits, [np.min_scalar_type(self._tag_mask), np.uint32])

    @property
    def _tag_mask(self) -> int:
        return (1 << min(_COMPARED_BITS, self._method.key_bits) - self._bits) - 1

    def add(self, sketch: object, page: int | None = None) -> int:
        number = self._next_page if page is None else page
        keys = set(self._method.keys(sketch))
        position = self._sketches.append(self._method.kept(sketch))
        self._pages.append(number)
        mask, tag_mask = (1 << self._bits) - 1, self._tag_mask
        for key in keys:
            self._buckets.append(key & mask, key >> self._bits & tag_mask, position)
        self._rows += len(keys)
        while self._bits < _LAST_BITS and self._rows > _ROWS_OF_A_BUCKET << self._bits:
            self._double()
        self._next_page = max(self._next_page, number + 1)
        return number

    def _double(self) -> None:
        places = self._buckets.rows()
        _, sizes = self._buckets.runs(np.arange(1 << self._bits))
        tags, positions = (column[places] for column in self._buckets.columns)
        keys = (
            np.repeat(np.arange(1 << self._bits), sizes) | (tags & 1).astype(np.intp) << self._bits
        )
        self._bits += 1
        self._buckets = self._empty()
        tag_type = self._buckets.columns[0].dtype
        self._buckets.fill(keys, (tags >> 1).astype(tag_type), positions)

    def query(self, sketch: object) -> Match | None:
        return min(self.query_all(sketch), default=None)

    def query_all(self, sketch: object) -> list[Match]:
        """Return all pages that match, the nearest first, ties by age."""
        positions = self._candidates(self._method.keys(sketch)).tolist()
        if not positions:
            return []
        kept = [self._sketches[position] for position in positions]
        distances = self._method.distances(sketch, kept)
        return sorted(
            Match(self._pages[position], distance)
            for position, distance in zip(positions, distances, strict=True)
            if distance <= self._method.max_distance
        )

    def _candidates(self, keys: Iterable[int]) -> Array:
        tags, positions = self._buckets.columns
        mask, tag_mask = (1 << self._bits) - 1, self._tag_mask
        wanted = set(keys)
        if len(wanted) <= _FEW_KEYS:
            found = [positions[:0]]
            for key in wanted:
                run = self._buckets.run(key & mask)
                equal = tags[run] == tags.dtype.type(key >> self._bits & tag_mask)
                if equal.any():
                    found.append(positions[run][equal])
            return np.unique(np.concatenate(found))
        numbers = np.fromiter(wanted, np.uint64, len(wanted))
        starts, sizes = self._buckets.runs((numbers & np.uint64(mask)).astype(np.intp))
        places = spread(starts, sizes)
        asked = (numbers >> np.uint64(self._bits) & np.uint64(tag_mask)).astype(tags.dtype)
        return np.unique(positions[places[tags[places] == np.repeat(asked, sizes)]])

    def __len__(self) -> int:
        return len(self._sketches)

    @property
    def nbytes(self) -> int:
        return self._sketches.nbytes + getsizeof(self._pages) + self._buckets.nbytes
