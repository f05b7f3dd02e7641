"""Hashes of features: equal in every process and on every platform, and without bias.

xxh3 is for features: it is fast, and who wants to can find texts of any hash. What decides by being
equal alone is a digest of BLAKE2b, of which nobody can. With a secret (`dedup.methods.keyed`), both
are of BLAKE2b with a key.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
import xxhash

from dedup.text import Document

Array = np.ndarray[Any, Any]
# Some 10 MB.
_TOKENS_REMEMBERED = 1 << 16
_LONGEST_REMEMBERED = 64
# A block has 8 bytes. Most words have one or two; longer ones are seldom and hashed one by one.
_LONGEST_IN_BLOCKS = 32
_FIRST_BYTES = np.array([256**count - 1 for count in range(9)], np.uint64)


class TokenHashes(dict[Any, bytes]):
    """The hashes of tokens, str or bytes, as 8 bytes each, high ones first.

    Texts have most of their tokens in common.
    """

    def __init__(self, digest: Callable[[Any], bytes]) -> None:
        super().__init__()
        self._digest = digest

    def __missing__(self, token: Any) -> bytes:
        digest = self._digest(token)
        if len(token) <= _LONGEST_REMEMBERED:
            if len(self) >= _TOKENS_REMEMBERED:
                self.clear()
            self[token] = digest
        return digest

    def hashes(self, tokens: Sequence[Any]) -> Array:
        """Return the hash of each token, shape (n,), uint64."""
        if len(tokens) < 2:  # itemgetter would not give a tuple
            digests = b"".join(self[token] for token in tokens)
        else:
            digests = b"".join(itemgetter(*tokens)(self))
        return np.frombuffer(digests, ">u8").astype(np.uint64)


_TOKEN_DIGESTS = TokenHashes(lambda token: xxhash.xxh3_64_digest(token.encode()))


class Hashing:
    """What methods hash with. Here without a secret: everybody can compute the same."""

    secret_digest: str | None = None
    """What tells secrets apart, and none of them from it; ``None`` without one."""

    def feature_hash(self, feature: str, seed: int = 0) -> int:
        """Return the 64-bit hash of a feature (xxh3 of its UTF-8 bytes)."""
        return xxhash.xxh3_64_intdigest(feature.encode(), seed)

    def feature_hashes(self, features: Iterable[str], count: int = -1, seed: int = 0) -> Array:
        """Return the 64-bit hashes of features, shape (n,), uint64; *count*: how many there are."""
        hashes = map(self.feature_hash, features, repeat(seed))
        return np.fromiter(hashes, np.dtype("<u8"), count)

    def token_hashes(self, tokens: Sequence[str]) -> Array:
        """Return the `feature_hash` of each token, shape (n,), uint64: the fast way for texts.

        >>> PLAIN.token_hashes(["word"]).tolist() == [PLAIN.feature_hash("word")]
        True
        """
        return _TOKEN_DIGESTS.hashes(tokens)

    def block_hashes(self, joined_tokens: bytes) -> Array:
        """Return another hash of each token, shape (n,), uint64; of many together the fastest.

        *joined_tokens*: in UTF-8, with a blank between each two. They are taken in blocks of 8
        bytes, the last one of each token filled up with zeros; each block is mixed with those
        before it. So all words of up to 8 bytes have different hashes. Of a token of more than 32
        bytes it is the `feature_hash`.
        """
        if not joined_tokens:
            return np.empty(0, np.uint64)
        data = joined_tokens + b" " + bytes(7)  # so that the last token ends, and is in blocks, too
        octets = np.frombuffer(data, np.uint8)[:-7]
        ends = np.flatnonzero(octets == ord(" "))
        starts = np.append(0, ends[:-1] + 1)
        lengths = ends - starts
        # The 8 bytes from each byte on.
        blocks: Array = np.ndarray((len(octets),), "<u8", data, strides=(1,))
        hashes = mix(blocks[starts] & _FIRST_BYTES[np.minimum(lengths, 8)])
        for first in range(8, _LONGEST_IN_BLOCKS, 8):
            longer = np.flatnonzero(lengths > first)
            left = np.minimum(lengths[longer] - first, 8)
            hashes[longer] = mix(
                hashes[longer] ^ blocks[starts[longer] + first] & _FIRST_BYTES[left]
            )
        for token in np.flatnonzero(lengths > _LONGEST_IN_BLOCKS).tolist():
            hashes[token] = xxhash.xxh3_64_intdigest(data[starts[token] : ends[token]])
        return hashes

    def digest(self, content: str) -> bytes:
        """Return the 16-byte digest of what makes pages match where it is equal."""
        return blake2b(content.encode(), digest_size=16).digest()

    def part_digest(self, part: str | bytes, number: int = 0) -> int:
        """Return the 64-bit digest of a part of a page, which matches where that is equal.

        *number*: 0 for the first of equal parts, 1 for the second one, ...
        """
        data = part.encode() if isinstance(part, str) else part
        salt = number.to_bytes(8, "little")
        return int.from_bytes(blake2b(data, digest_size=8, salt=salt).digest(), "little")


PLAIN = Hashing()


def shingle_hashes(tokens: Sequence[str], width: int, hashing: Hashing = PLAIN) -> Array:
    """Return the hashes of all runs of *width* consecutive tokens, in order, shape (n,), uint64.

    A shorter text has one shingle, the whole of it; a text without tokens has none. Computed of the
    `block_hashes` of the tokens, position by position, and well mixed.
    """
    hashes = hashing.block_hashes(" ".join(tokens).encode())
    return _mix_runs(hashes, min(width, len(hashes)))


def shingle_hashes_of(
    documents: Sequence[Document], width: int, hashing: Hashing = PLAIN
) -> list[Array]:
    """Return the `shingle_hashes` of the tokens of each document, sooner than one by one."""
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
    mixed: Array = values.astype(np.uint64)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xFF51AFD7ED558CCD)
    mixed ^= mixed >> np.uint64(33)
    mixed *= np.uint64(0xC4CEB9FE1A85EC53)
    mixed ^= mixed >> np.uint64(33)
    return mixed


@cache
def seeds(count: int) -> Array:
    """Return *count* different numbers of 64 bits, to make as many hash functions of one."""
    numbers = mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    numbers.setflags(write=False)
    return numbers
