"""One-permutation hashing: many minimums of a set from a single hash of each element."""

from functools import cache
from typing import Any

import numpy as np

from dedup.methods.hashing import mix, seeds

Array = np.ndarray[Any, Any]
_NOTHING = np.uint64(2**64 - 1)
_PROBES_AT_ONCE = 64


def bin_minimums(hashes: Array, bins: int) -> Array:
    """Return the least hash of each of *bins* bins, shape (bins,), uint64.

    *hashes*: of at least one element, uint64, well mixed; each falls into one bin. An empty bin
    takes the minimum of the first non-empty one in an order of its own, so that two sets have a
    component equal with a probability of nearly their Jaccard similarity, as with MinHash, at the
    cost of one hash function.

    Source: Li, Owen, Zhang, "One Permutation Hashing", NIPS 2012; Shrivastava, "Optimal
    Densification for Fast and Accurate Minwise Hashing", ICML 2017, section 4.
    """
    least = np.full(bins, _NOTHING)
    # The bin by the high bits (a product instead of a remainder), the order by another mix.
    places = ((hashes >> np.uint64(32)) * np.uint64(bins)) >> np.uint64(32)
    np.minimum.at(least, places.astype(np.intp), mix(hashes) >> np.uint64(1))
    filled = least != _NOTHING
    empty = np.flatnonzero(~filled)
    first = 0
    while len(empty):
        donors = _probes(bins, first)[empty]
        found = filled[donors]
        any_found = found.any(axis=1)
        chosen = donors[np.arange(len(empty)), found.argmax(axis=1)]
        least[empty[any_found]] = least[chosen[any_found]]
        empty = empty[~any_found]
        first += _PROBES_AT_ONCE
    return least


@cache
def _probes(bins: int, first: int) -> Array:
    """Return the bins that each bin asks at its probes from *first* on, shape (bins, probes)."""
    probe = np.arange(first, first + _PROBES_AT_ONCE, dtype=np.uint64)
    values = mix(seeds(bins)[:, None] ^ (probe + np.uint64(1)))
    return (values % np.uint64(bins)).astype(np.intp)


def one_bit_signature(hashes: Array, bits: int) -> Array:
    """Return one bit of each of *bits* minimums of a set, packed: shape (bits / 8,), uint8.

    Two sets have a bit equal with a probability of (1 + J) / 2. The bit is hashed from the minimum
    and the number of its bin, so that bins that share a minimum have independent bits.

    Source: Li, König, "b-Bit Minwise Hashing", WWW 2010, section 2.
    """
    values = mix(bin_minimums(hashes, bits) ^ seeds(bits))
    return np.packbits((values & np.uint64(1)).astype(np.uint8))
