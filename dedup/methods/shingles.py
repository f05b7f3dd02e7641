"""Shingles: runs of consecutive tokens, as text and as hashes."""

from collections.abc import Sequence

from dedup.methods.hashing import PLAIN, Array, Hashing, mix
from dedup.text import Document


def shingle_hashes(tokens: Sequence[str], width: int, hashing: Hashing = PLAIN) -> Array:
    """Return the hashes of all runs of *width* consecutive tokens, in order, shape (n,), uint64.

    A shorter text has one shingle, the whole text; a text without tokens has none. The hashes are
    well mixed, and computed from the `block_hashes` of the tokens, position by position.
    """
    hashes = hashing.block_hashes(" ".join(tokens).encode())
    return _mix_runs(hashes, min(width, len(hashes)))


def shingle_hashes_of(
    documents: Sequence[Document], width: int, hashing: Hashing = PLAIN
) -> list[Array]:
    """Return the `shingle_hashes` of each document's tokens, faster than one by one."""
    joined = [document.joined_tokens for document in documents if document.joined_tokens]
    hashes = hashing.block_hashes(b" ".join(joined))
    runs = _mix_runs(hashes, width)
    shingles, start = [], 0
    for document in documents:
        end = start + document.token_count
        shingles.append(
            runs[start : end - width + 1]
            if end - start >= width
            else _mix_runs(hashes[start:end], end - start)
        )
        start = end
    return shingles


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


def shingles(tokens: Sequence[str], width: int) -> list[str]:
    """Return the shingles that `shingle_hashes` hashes, as text.

    >>> shingles("a rose is a rose".split(), 3)
    ['a rose is', 'rose is a', 'is a rose']
    """
    width = min(width, len(tokens))
    starts = range(len(tokens) - width + 1 if width else 0)
    return [" ".join(tokens[start : start + width]) for start in starts]
