"""Which index searches the sketches of a method, and how stored ones get into it."""

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dedup.index import HammingIndex, Index
from dedup.index.batches import BatchIndex, KeyBatches, OneByOne
from dedup.index.keys import KeyIndex
from dedup.index.spots import SpotIndex
from dedup.methods import FingerprintMethod, KeyMethod, Method
from dedup.methods.spotsigs import SpotSigs
from dedup.packed import Packed

# Of fewer, the time goes into going from bucket to bucket; of more, the memory is felt.
_LOADED_AT_ONCE = 1 << 14

# The first kind that a method is of counts.
_INDEXES: tuple[tuple[Any, Callable[[Any], Index]], ...] = (
    (FingerprintMethod, lambda method: HammingIndex(method.bits, method.max_distance)),
    (SpotSigs, SpotIndex),
    (KeyMethod, KeyIndex),
)


def index_for(method: Method) -> Index:
    """Return an empty index over the sketches of *method*, with its threshold.

    Raises TypeError for a method whose sketches no index here can search.
    """
    for kind, create in _INDEXES:
        if isinstance(method, kind):
            return create(method)
    name = type(method).__name__
    raise TypeError(f"no index for {name}: it is neither a FingerprintMethod nor a KeyMethod")


def batch_index_for(method: Method) -> BatchIndex:
    """Return an empty index that finds what that of `index_for` does, asked in batches."""
    index = index_for(method)
    if isinstance(method, KeyMethod) and isinstance(index, KeyIndex):
        return KeyBatches(method)
    return OneByOne(index, method)


class Loader:
    """Puts many stored sketches, as `Method.to_bytes` gave them, into an index.

    Fingerprints when all are there, since their tables are made at once; others as soon as enough
    are there, so that few of them are in memory twice.
    """

    def __init__(self, index: Index, method: Method) -> None:
        self._index = index
        self._method = method
        self._begin()

    def _begin(self) -> None:
        self._sketches = Packed()
        self._pages = array("I")

    def add(self, sketches: Sequence[bytes], pages: Sequence[int]) -> None:
        """Take *sketches*, each under its one of *pages*; they may wait for `finish`.

        Raises ValueError for bytes that cannot be a sketch of the method.
        """
        self._sketches.extend(sketches)
        self._pages.extend(pages)
        if isinstance(self._index, KeyIndex | SpotIndex) and len(self._pages) >= _LOADED_AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Put what waits into the index; raises ValueError as `add` does."""
        if isinstance(self._index, HammingIndex):
            rows = _fingerprints(self._sketches, self._index.bits)
            self._index.add_many(rows, np.asarray(self._pages))
        elif isinstance(self._index, KeyIndex | SpotIndex):
            self._index.add_many(list(self._sketches), self._pages)
        self._begin()


def _fingerprints(sketches: Packed, bits: int) -> Any:
    """Return stored fingerprints of *bits* bits as rows of 64-bit words."""
    size, words = -(-bits // 8), -(-bits // 64)
    octets = np.frombuffer(sketches.rows(size), np.uint8).reshape(-1, size)
    if size < 8 * words:
        octets = np.pad(octets, ((0, 0), (0, 8 * words - size)))
    rows = octets.view("<u8").astype(np.uint64)
    return rows if words > 1 else rows[:, 0]
