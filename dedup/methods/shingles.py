"""Shingles: runs of consecutive tokens, as text and as hashes."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from dedup.arrays import Array
from dedup.methods.base import Method
from dedup.methods.hashing import PLAIN, Hashing, mix, seeds
from dedup.text import Document
from dedup.words import Words, words_of

# As many as fit into the processor's cache.
_VALUES_AT_A_TIME = 1 << 16


class ShingleMethod(Method):
    """A method whose features are the unique shingles of *width* words."""

    width: int

    def sketches(self, documents: Sequence[Document]) -> list[Any | None]:
        """Return the sketch of each text, ``None`` if it has no tokens.

        A text of fewer tokens than *width* has one shingle, the whole text, so that it matches only
        equal texts.
        """
        hashes, counts = shingle_hashes_of(documents, self.width, self.hashing)
        has_any = counts > 0
        if not has_any.any():
            return [None] * len(documents)
        made = iter(self.sketches_of_shingles(hashes, counts[has_any], words_of(documents)))
        return [next(made) if has else None for has in has_any.tolist()]

    @abstractmethod
    def sketches_of_shingles(self, hashes: Array, counts: Array, words: Words) -> Iterable[Any]:
        """Return the sketch of each of several texts with shingles.

        *hashes*: those of all shingles, text by text, uint64, well mixed; *counts*: how many each
        text has, at least one, shape (texts,). *words* has texts without any, too.
        """

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        tokens = document.tokens
        return {" ".join(run): 1.0 for run in runs(tokens, self.width)} if tokens else {}


def shingle_hashes(tokens: Sequence[str], width: int, hashing: Hashing = PLAIN) -> Array:
    """Return the hashes of all runs of *width* consecutive tokens, in order, shape (n,), uint64.

    A shorter text has one shingle, the whole text; a text without tokens has none. The hashes are
    well mixed, and computed from the `block_hashes` of the tokens, position by position.
    """
    return _shingles(Words([" ".join(tokens).encode()]), width, hashing)[0]


def shingle_hashes_of(
    documents: Sequence[Document], width: int, hashing: Hashing = PLAIN
) -> tuple[Array, Array]:
    """Return the `shingle_hashes` of all documents, and how many each has, shape (n,), int64."""
    return words_of(documents).once(  # type: ignore[no-any-return]
        ("shingles", width, hashing), lambda words: _shingles(words, width, hashing)
    )


def _shingles(words: Words, width: int, hashing: Hashing) -> tuple[Array, Array]:
    hashes = words.once(("blocks", hashing), hashing.block_hashes)
    counts = words.counts
    runs = _mix_runs(hashes, width)
    is_short = (counts > 0) & (counts < width)
    ends = np.cumsum(counts)
    # The runs that begin in one text and end in another.
    is_whole = np.ones(len(hashes), np.bool_)
    for back in range(1, width):
        is_whole[ends[counts >= back] - back] = False
    is_whole[ends[is_short] - counts[is_short]] = True
    shingles = np.empty(len(hashes), np.uint64)
    shingles[: len(runs)] = runs
    for text in np.flatnonzero(is_short).tolist():
        start, end = ends[text] - counts[text], ends[text]
        shingles[start] = _mix_runs(hashes[start:end], end - start)[0]
    return shingles[is_whole], np.where(is_short, 1, np.maximum(counts - width + 1, 0))


def _mix_runs(hashes: Array, width: int) -> Array:
    """Return a hash for each run of *width* hashes; none if there are fewer or *width* is 0."""
    count = len(hashes) - width + 1
    if width == 0 or count < 1:
        return hashes[:0]
    shingles = mix(hashes[:count])
    for offset in range(1, width):
        shingles ^= hashes[offset : offset + count]
        shingles = mix(shingles)
    return shingles


def runs(sequence: Sequence[str], width: int) -> Iterable[Any]:
    """Return all runs of *width* consecutive elements of *sequence*, or all of it if it is shorter.

    >>> list(runs("mat", 2))
    ['ma', 'at']
    """
    return (sequence[i : i + width] for i in range(max(1, len(sequence) - width + 1)))


def minimums(hashes: Array, counts: Array, functions: int) -> Array:
    """Return the least hashes of each of several sets, shape (sets, functions), uint32.

    *hashes*: those of all elements, set by set, uint64, well mixed; *counts*: how many each set
    has, at least one, shape (sets,). There is one least hash under each of so many *functions*.
    These are linear, modulo 2**32, of the high half of a hash: good enough for mixed hashes, and
    several times as fast as others.

    Source: Dietzfelbinger et al., "A Reliable Randomized Algorithm for the Closest-Pair Problem",
    Journal of Algorithms 25, 1997 (multiply-add hashing).

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
