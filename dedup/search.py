"""The choice of an index for the sketches of a method, and the loading of stored sketches."""

from collections.abc import Sequence

import numpy as np

from dedup.arrays import Array, Packed
from dedup.index.base import Index
from dedup.index.batches import BatchIndex, FingerprintBatches, KeyBatches
from dedup.index.hamming import HammingIndex
from dedup.index.keys import KeyIndex
from dedup.methods.base import KeyMethod, Method
from dedup.methods.fingerprints import FingerprintMethod
from dedup.text import Document


def index_for(method: Method) -> Index:
    """Return an empty index over the sketches of *method*, with its threshold.

    Raises TypeError if there is no index for the kind of *method*.
    """
    if isinstance(method, FingerprintMethod):
        return HammingIndex(method.bits, method.max_distance)
    return KeyIndex(_with_keys(method))


def batch_index_for(method: Method) -> BatchIndex:
    """Return an empty index with the same answers as that of `index_for`, queried in batches."""
    if isinstance(method, FingerprintMethod):
        return FingerprintBatches(method)
    return KeyBatches(_with_keys(method))


def _with_keys(method: Method) -> KeyMethod:
    if isinstance(method, KeyMethod):
        return method
    name = type(method).__name__
    raise TypeError(f"no index for {name}: it is neither a FingerprintMethod nor a KeyMethod")


def order_to_compare(method: Method, documents: Sequence[Document]) -> list[int]:
    """Return the numbers of *documents* in the order in which an index of *method* finds all pairs.

    A part is only found if what contains it was added before: the longest first.
    """
    numbers = range(len(documents))
    if not method.finds_parts:
        return list(numbers)
    return sorted(numbers, key=lambda number: -documents[number].token_count)


class Loader:
    """Adds many stored sketches from `Method.to_bytes` to an index, in batches of the best size."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._begin()

    def _begin(self) -> None:
        self._sketches = Packed()
        self._pages = [np.empty(0, np.int64)]

    def add(self, sketches: Sequence[bytes], pages: Sequence[int] | Array) -> None:
        """Add *sketches* under the numbers *pages*; some may be added only by `finish`.

        Raises ValueError for bytes that are not a sketch of the method.
        """
        self._sketches.extend(sketches)
        self._pages.append(np.asarray(pages, np.int64))
        if self._sketches.nbytes >= self._index.loaded_at_once:
            self.finish()

    def finish(self) -> None:
        """Add the remaining sketches to the index; raises ValueError as `add` does."""
        self._index.add_many(self._sketches, np.concatenate(self._pages))
        self._begin()
