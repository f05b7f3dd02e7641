"""The index over block keys: candidates share one, and the method says how far they are."""

from collections.abc import Iterable

import numpy as np

from dedup.index.base import Index, Match
from dedup.index.buckets import Array, Buckets, spread
from dedup.methods import KeyMethod
from dedup.packed import Packed

# Of a key of 64 bits, the lowest choose the bucket and the next 32 stand in it.
_BUCKET_BITS = 16
_BUCKET_MASK = (1 << _BUCKET_BITS) - 1
_TAG_MASK = (1 << 32) - 1


class KeyIndex(Index):
    """Finds the nearest of the sketches that share a block key.

    The sketches are kept as bytes, the keys as 32 bits beside a position. (48 bits of a key are
    compared: what else has them by chance is one more candidate, which the method then refuses.)
    """

    def __init__(self, method: KeyMethod) -> None:
        self._method = method
        self._sketches = Packed()
        self._pages = Packed()
        self._buckets = Buckets(_BUCKET_BITS, [np.uint32, np.uint32])
        self._next_page = 0

    def add(self, sketch: object, page: int | None = None) -> int:
        number = self._next_page if page is None else page
        keys = set(self._method.keys(sketch))
        position = self._sketches.append(self._method.to_bytes(sketch))
        self._pages.append(number.to_bytes(4, "little"))
        for key in keys:
            self._buckets.append(key & _BUCKET_MASK, key >> _BUCKET_BITS & _TAG_MASK, position)
        self._next_page = max(self._next_page, number + 1)
        return number

    def query(self, sketch: object) -> Match | None:
        return min(self.query_all(sketch), default=None)

    def query_all(self, sketch: object) -> list[Match]:
        """Return all pages that match, the nearest first, ties by age."""
        method, matches = self._method, []
        for position in self._candidates(method.keys(sketch)).tolist():
            distance = method.distance(sketch, method.from_bytes(self._sketches[position]))
            if distance <= method.max_distance:
                page = int.from_bytes(self._pages[position], "little")
                matches.append(Match(page, distance))
        return sorted(matches)

    def _candidates(self, keys: Iterable[int]) -> Array:
        wanted = np.array(list(keys), np.uint64)
        starts, sizes = self._buckets.runs((wanted & np.uint64(_BUCKET_MASK)).astype(np.int64))
        places = spread(starts, sizes)
        tags = (wanted >> np.uint64(_BUCKET_BITS)).astype(np.uint32)
        equal = self._buckets.columns[0][places] == np.repeat(tags, sizes)
        return np.unique(self._buckets.columns[1][places[equal]])

    def __len__(self) -> int:
        return len(self._sketches)

    @property
    def nbytes(self) -> int:
        return self._sketches.nbytes + self._pages.nbytes + self._buckets.nbytes
