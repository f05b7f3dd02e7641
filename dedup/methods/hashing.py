"""Hashes of features: the same in every process and on every platform, and without bias.

Features are hashed by xxh3, which is fast; but anybody can find texts with a given hash. Where an
equal hash alone makes pages match, it is a digest of BLAKE2b, for which nobody can. With a secret
(`dedup.methods.keyed`), both are BLAKE2b with a key.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from hashlib import blake2b
from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np
import xxhash

Array = np.ndarray[Any, Any]
# About 10 MB.
_TOKENS_REMEMBERED = 1 << 16
_LONGEST_REMEMBERED = 64
# A block has 8 bytes. Most words have one or two; longer ones are rare and hashed one by one.
_LONGEST_IN_BLOCKS = 32
_FIRST_BYTES = np.array([256**count - 1 for count in range(9)], np.uint64)


class TokenHashes(dict[Any, bytes]):
    """A cache of the hashes of tokens, str or bytes, as 8 bytes in big-endian order.

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
        if len(tokens) < 2:  # itemgetter would not return a tuple
            digests = b"".join(self[token] for token in tokens)
        else:
            digests = b"".join(itemgetter(*tokens)(self))
        return np.frombuffer(digests, ">u8").astype(np.uint64)


_TOKEN_DIGESTS = TokenHashes(lambda token: xxhash.xxh3_64_digest(token.encode()))


class Hashing:
    """The hash functions of methods. These have no secret: everybody can compute them."""

    secret_digest: str | None = None
    """Identifies the secret without revealing it; ``None`` if there is no secret."""

    def feature_hash(self, feature: str, seed: int = 0) -> int:
        """Return the 64-bit hash of a feature (xxh3 of its UTF-8 bytes)."""
        return xxhash.xxh3_64_intdigest(feature.encode(), seed)

    def feature_hashes(self, features: Iterable[str], count: int = -1, seed: int = 0) -> Array:
        """Return the 64-bit hashes of *features*, *count* if given, shape (n,), uint64."""
        hashes = map(self.feature_hash, features, repeat(seed))
        return np.fromiter(hashes, np.dtype("<u8"), count)

    def token_hashes(self, tokens: Sequence[str]) -> Array:
        """Return the `feature_hash` of each token, shape (n,), uint64; fast for texts.

        >>> PLAIN.token_hashes(["word"]).tolist() == [PLAIN.feature_hash("word")]
        True
        """
        return _TOKEN_DIGESTS.hashes(tokens)

    def block_hashes(self, joined_tokens: bytes) -> Array:
        """Return another hash of each token, shape (n,), uint64; the fastest for many tokens.

        *joined_tokens*: tokens in UTF-8, separated by single spaces. A token is split into blocks
        of 8 bytes, the last one padded with zeros, and each block is mixed with the ones before it.
        So words of up to 8 bytes never collide. Tokens of more than 32 bytes have their
        `feature_hash`.
        """
        if not joined_tokens:
            return np.empty(0, np.uint64)
        data = joined_tokens + b" " + bytes(7)  # so that the last token ends and has whole blocks
        octets = np.frombuffer(data, np.uint8)[:-7]
        ends = np.flatnonzero(octets == ord(" "))
        starts = np.append(0, ends[:-1] + 1)
        lengths = ends - starts
        # The 8 bytes from each byte onwards.
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
        """Return the 16-byte digest of *content*; pages with equal digests match."""
        return blake2b(content.encode(), digest_size=16).digest()

    def part_digest(self, part: str | bytes, number: int = 0) -> int:
        """Return the 64-bit digest of *part* of a page; parts with equal digests match.

        *number*: 0 for the first of equal parts, 1 for the second, ...
        """
        data = part.encode() if isinstance(part, str) else part
        salt = number.to_bytes(8, "little")
        return int.from_bytes(blake2b(data, digest_size=8, salt=salt).digest(), "little")


PLAIN = Hashing()


def mix(values: Array) -> Array:
    """Return *values* mixed by the finaliser of MurmurHash3, a bijection of 64-bit numbers.

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
    """Return *count* unique 64-bit numbers, to derive as many hash functions from one."""
    numbers = mix(np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
    numbers.setflags(write=False)
    return numbers
