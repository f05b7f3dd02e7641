"""The least hashes of sets: the components of MinHash signatures."""

from functools import cache

import numpy as np

from dedup.arrays import Array
from dedup.methods.hashing import seeds

# As many as fit into the processor's cache.
_VALUES_AT_A_TIME = 1 << 16


def minimums(hashes: Array, counts: Array, functions: int) -> Array:
    """Return the least hashes of each of several sets, shape (sets, functions), uint32.

    *hashes*: those of all elements, set by set, uint64, well mixed; *counts*: how many each set
    has, at least one, shape (sets,). There is one least hash under each of so many *functions*.
    These are linear, modulo 2**32, of the high half of a hash: good enough for mixed hashes, and
    several times as fast as others.

    Source: Dietzfelbinger et al., "A Reliable Randomized Algorithm for the Closest-Pair Problem",
    Journal of Algorithms 25, 1997 (multiply-add hashing).

    >>> from dedup.methods.shingles import shingle_hashes
    >>> shingles = shingle_hashes("a rose is a rose is a rose".split(), 3)
    >>> minimums(shingles, np.array([len(shingles)]), 84).shape
    (1, 84)
    """
    factors, summands = _functions(functions)
    halves = (hashes >> np.uint64(32)).astype(np.uint32)
    firsts = np.cumsum(counts) - counts
    least = np.empty((functions, len(counts)), np.uint32)
    step = max(1, _VALUES_AT_A_TIME // max(1, len(halves)))
    for start in range(0, functions, step):
        part = slice(start, start + step)
        values = factors[part] * halves
        values += summands[part]
        np.minimum.reduceat(values, firsts, axis=1, out=least[part])
    return np.ascontiguousarray(least.T)


@cache
def _functions(count: int) -> tuple[Array, Array]:
    """Return the factors and summands of linear functions, each of shape (count, 1), uint32."""
    numbers = seeds(count)[:, None]
    return (numbers >> np.uint64(32)).astype(np.uint32) | np.uint32(1), numbers.astype(np.uint32)
