"""Hashes of features: equal in every process and on every platform, and without bias."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import xxhash

Array = np.ndarray[Any, Any]
# Some 10 MB.
_TOKENS_REMEMBERED = 1 << 16


def feature_hash(feature: str, seed: int = 0) -> int:
    """Return the 64-bit hash of a feature (xxh3 of its UTF-8 bytes)."""
    return xxhash.xxh3_64_intdigest(feature.encode(), seed)


def feature_hashes(features: Iterable[str], count: int = -1) -> Array:
    """Return the 64-bit hashes of features, shape (n,), uint64; *count*: how many there are."""
    return np.fromiter(map(feature_hash, features), np.dtype("<u8"), count)


class _TokenDigests(dict[str, bytes]):
    """The hashes of tokens as bytes; texts have most of their tokens in common."""

    def __missing__(self, token: str) -> bytes:
        if len(self) >= _TOKENS_REMEMBERED:
            self.clear()
        digest = self[token] = xxhash.xxh3_64_digest(token.encode())
        return digest


_TOKEN_DIGESTS = _TokenDigests()


def token_hashes(tokens: Sequence[str]) -> Array:
    """Return the `feature_hash` of each token, shape (n,), uint64; the fast way for those of texts.

    >>> token_hashes(["word"]).tolist() == [feature_hash("word")]
    True
    """
    if len(tokens) < 2:  # itemgetter would not give a tuple
        return feature_hashes(tokens, len(tokens))
    digests = b"".join(itemgetter(*tokens)(_TOKEN_DIGESTS))
    return np.frombuffer(digests, ">u8").astype(np.uint64)


def shingle_hashes(tokens: Sequence[str], width: int) -> Array:
    """Return the hashes of all runs of *width* consecutive tokens, in order, shape (n,), uint64.

    A shorter text has one shingle, the whole of it; a text without tokens has none. Computed of the
    hashes of the tokens, position by position.
    """
    return shingle_hashes_of([tokens], width)[0]


def shingle_hashes_of(texts: Sequence[Sequence[str]], width: int) -> list[Array]:
    """Return the `shingle_hashes` of each of *texts*, which takes less time than one by one."""
    hashes = token_hashes(list(chain.from_iterable(texts)))
    joined = _runs_mixed(hashes, width)
    shingles, start = [], 0
    for tokens in texts:
        end = start + len(tokens)
        shingles.append(
            joined[start : end - width + 1]
            if len(tokens) >= width
            else _runs_mixed(hashes[start:end], len(tokens))
        )
        start = end
    return shingles


def _runs_mixed(hashes: Array, width: int) -> Array:
    """Return the hashes of all runs of *width* hashes; none if there are fewer, or no width."""
    count = len(hashes) - width + 1
    if width == 0 or count < 1:
        return hashes[:0]
    shingles = mix(hashes[:count])
    for offset in range(1, width):
        shingles ^= hashes[offset : offset + count]
        shingles = mix(shingles)
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
    return mix_folded(fold(values.astype(np.uint64)))


def fold(values: Array) -> Array:
    """Return the first step of `mix`: that of ``a ^ b`` is that of *a* ^ that of *b*."""
    folded: Array = values ^ values >> np.uint64(33)
    return folded


def mix_folded(values: Array) -> Array:
    """Do the other steps of `mix` in *values* itself, and return it."""
    shifted = np.empty_like(values)
    values *= np.uint64(0xFF51AFD7ED558CCD)
    values ^= np.right_shift(values, np.uint64(33), out=shifted)
    values *= np.uint64(0xC4CEB9FE1A85EC53)
    values ^= np.right_shift(values, np.uint64(33), out=shifted)
    return values


@cache
def seeds(count: int) -> Array:
    """Return *count* different numbers of 64 bits, to make as many hash functions of one."""
    numbers = mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    numbers.setflags(write=False)
    return numbers


def key(*parts: bytes | str | int) -> int:
    """Return a block key: the 64-bit hash of *parts*, whose borders count."""
    joined = b""
    for part in parts:
        if isinstance(part, int):
            part = part.to_bytes(8, "little")
        elif isinstance(part, str):
            part = part.encode()
        joined += len(part).to_bytes(4, "little") + part
    return xxhash.xxh3_64_intdigest(joined)
