"""Which index searches the sketches of a method."""

from collections.abc import Callable
from typing import Any

from dedup.index import HammingIndex, Index
from dedup.index.keys import KeyIndex
from dedup.index.spots import SpotIndex
from dedup.methods import FingerprintMethod, KeyMethod, Method
from dedup.methods.spotsigs import SpotSigs

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
