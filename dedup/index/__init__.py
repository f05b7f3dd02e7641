"""Indexes over sketches, and the choice of one for a method."""

from dedup.index.base import Index, Match
from dedup.index.design import Design, linear_scan, multi_index, nested, permuted
from dedup.index.hamming import HammingIndex
from dedup.index.keys import KeyIndex
from dedup.index.linear import LinearIndex
from dedup.index.spots import SpotIndex
from dedup.methods import FingerprintMethod, KeyMethod, Method, SpotSigs

__all__ = [
    "Design",
    "HammingIndex",
    "Index",
    "KeyIndex",
    "LinearIndex",
    "Match",
    "SpotIndex",
    "index_for",
    "linear_scan",
    "multi_index",
    "nested",
    "permuted",
]


def index_for(method: Method) -> Index:
    """Return an empty index over the sketches of *method*, with its threshold.

    Raises TypeError for a method whose sketches no index here can search.
    """
    if isinstance(method, FingerprintMethod):
        return HammingIndex(method.bits, method.max_distance)
    if isinstance(method, SpotSigs):
        return SpotIndex(method)
    if isinstance(method, KeyMethod):
        return KeyIndex(method)
    kind = type(method).__name__
    raise TypeError(f"no index for {kind}: it is neither a FingerprintMethod nor a KeyMethod")
