"""Hashes of features: equal in every process and on every platform, and without bias."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xxhash

Array = np.ndarray[Any, Any]


def feature_hash(feature: str, seed: int = 0) -> int:
    """Return the 64-bit hash of a feature (xxh3 of its UTF-8 bytes)."""
    return xxhash.xxh3_64_intdigest(feature.encode(), seed)


def feature_hashes(features: Iterable[str], count: int = -1) -> Array:
    """Return the 64-bit hashes of features, shape (n,), uint64; *count*: how many there are."""
    return np.fromiter(map(feature_hash, features), np.dtype("<u8"), count)


def shingle_hashes(tokens: Sequence[str], width: int) -> Array:
    """Return the hashes of all runs of *width* consecutive tokens, in order, shape (n,), uint64.

    A shorter text has one shingle, the whole of it; a text without tokens has none. Computed of the
    hashes of the tokens, position by position.
    """
    hashes = feature_hashes(tokens, len(tokens))
    width = min(width, len(tokens))
    if width == 0:
        return hashes
    shingles = np.zeros(len(tokens) - width + 1, np.uint64)
    for offset in range(width):
        shingles = mix(shingles ^ hashes[offset : len(tokens) - width + 1 + offset])
    return shingles


def shingles(tokens: Sequence[str], width: int) -> list[str]:
    """Return what `shingle_hashes` hashes, as text.

    >>> shingles("a rose is a rose".split(), 3)
    ['a rose is', 'rose is a', 'is a rose']
    """
    width = min(width, len(tokens))
    starts = range(len(tokens) - width + 1 if width else 0)
    return [" ".join(tokens[start : start + width]) for start in starts]


def mix(values: Array) -> Array:
    """Return 64-bit numbers scrambled: the finaliser of MurmurHash3, a bijection.

    Source: Appleby, MurmurHash3, fmix64.
    """
    values = values.astype(np.uint64)
    values ^= values >> np.uint64(33)
    values *= np.uint64(0xFF51AFD7ED558CCD)
    values ^= values >> np.uint64(33)
    values *= np.uint64(0xC4CEB9FE1A85EC53)
    values ^= values >> np.uint64(33)
    return values


def seeds(count: int) -> Array:
    """Return *count* different numbers of 64 bits, to make as many hash functions of one."""
    return mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def key(*parts: bytes | str | int) -> int:
    """Return a block key: the 64-bit hash of *parts*, whose borders count."""
    state = xxhash.xxh3_64()
    for part in parts:
        if isinstance(part, int):
            part = part.to_bytes(8, "little")
        elif isinstance(part, str):
            part = part.encode()
        state.update(len(part).to_bytes(4, "little") + part)
    return state.intdigest()
