"""Which index searches the sketches of a method."""

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


def fill(
    index: Index,
    method: Method,
    sketches: Packed,
    pages: Sequence[int],
    tell: Callable[[int], object] = lambda page: None,
) -> None:
    """Put many stored sketches, as `Method.to_bytes` gave them, into *index*.

    *tell* is called with the numbers of the pages that are done, where that takes long.
    Raises ValueError for bytes that cannot be a sketch of *method*.
    """
    if isinstance(index, HammingIndex) and index.bits == 64:
        rows = np.frombuffer(sketches.rows(8), "<u8").astype(np.uint64)
        index.add_many(rows, np.asarray(pages))
        return
    for sketch, page in zip(sketches, pages, strict=True):
        index.add(method.from_bytes(sketch), page)
        tell(page)
