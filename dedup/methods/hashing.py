"""Hashes of features: the same in every process and on every platform, and without bias.

Features are hashed by xxh3, which is fast; but anybody can find texts with a given hash. Where an
equal hash alone makes pages match, it is a digest of BLAKE2b, for which nobody can. With a secret
(`dedup.methods.keyed`), both are BLAKE2b with a key.
"""

from collections.abc import Callable, Collection
from functools import cache
from hashlib import blake2b
from itertools import repeat
from threading import Lock

import numpy as np
import xxhash

from dedup.arrays import Array, sort_runs
from dedup.words import BLOCK, Words

# A block has 8 bytes. Most words have one or two; longer ones are rare and hashed one by one.
_LONGEST_IN_BLOCKS = 32
_PLACE_BITS = 18
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / the golden ratio: Knuth, vol. 3, section 6.4


class WordHashes:
    """The hashes of the different words of texts, from a table of those that were met last.

    NumPy looks all words up at once. A word of up to 16 bytes has one place in the table, where it
    displaces any other one. Words are equal only if all of their bytes are, whoever chose them.
    """

    def __init__(self, digest: Callable[[bytes], int]) -> None:
        self._digest = digest
        # 6 MB: the bytes of the word at each place, as two blocks, and its hash.
        self._first, self._second, self._hashes = np.zeros((3, 1 << _PLACE_BITS), np.uint64)
        self._lock = Lock()

    def count(self, words: Words) -> tuple[Array, Array, Array]:
        """Return the hashes of the different words of each text, one text after the other.

        Also returned is how often its text has each, and how many different ones each text has.
        """
        longer = np.flatnonzero(words.lengths > BLOCK)
        first, second = words.first_blocks, np.zeros(len(words.starts), np.uint64)
        second[longer] = words.blocks(BLOCK, longer)
        mixed = (first ^ second * _MULTIPLIER) * _MULTIPLIER
        homes = (mixed >> np.uint64(64 - _PLACE_BITS)).astype(np.intp)
        with self._lock:
            is_known = self._first.take(homes, mode="clip") == first
            is_known &= self._second.take(homes, mode="clip") == second
            is_known[longer[words.lengths[longer] > 2 * BLOCK]] = False
            # Words that are not in the table have numbers beyond it.
            unknown = np.flatnonzero(~is_known)
            tokens = words.tokens(unknown)
            different = {token: number for number, token in enumerate(dict.fromkeys(tokens))}
            others = np.fromiter(map(different.__getitem__, tokens), np.intp, len(tokens))
            numbers = homes.astype(np.uint32)
            numbers[unknown] = others + len(self._hashes)
            firsts, counts = sort_runs(numbers, words.counts)
            found = numbers[firsts].astype(np.intp)
            hashes = np.fromiter(map(self._digest, different), np.uint64, len(different))
            found_hashes = self._hashes.take(found, mode="clip")
            is_new = found >= len(self._hashes)
            found_hashes[is_new] = hashes[found[is_new] - len(self._hashes)]
            is_short = words.lengths[unknown] <= 2 * BLOCK
            short = unknown[is_short]
            places = homes[short]
            self._first[places], self._second[places] = first[short], second[short]
            self._hashes[places] = hashes[others[is_short]]
        return found_hashes, np.diff(firsts, append=len(numbers)), counts


_WORD_HASHES = WordHashes(xxhash.xxh3_64_intdigest)


class Hashing:
    """The hash functions of methods. These have no secret: everybody can compute them."""

    secret_digest: str | None = None
    """Identifies the secret without revealing it; ``None`` if there is no secret."""

    _key = _person_of_parts = b""

    def feature_hash(self, feature: str, seed: int = 0) -> int:
        """Return the 64-bit hash of a feature (xxh3 of its UTF-8 bytes)."""
        return xxhash.xxh3_64_intdigest(feature.encode(), seed)

    def feature_hashes(self, features: Collection[str], seed: int = 0) -> Array:
        """Return the `feature_hash` of each of *features*, shape (n,), uint64."""
        hashes = map(self.feature_hash, features, repeat(seed))
        return np.fromiter(hashes, np.uint64, len(features))

    def word_counts(self, words: Words) -> tuple[Array, Array, Array]:
        """Return what `WordHashes.count` does, of the `feature_hash` of words, in any order."""
        return _WORD_HASHES.count(words)

    def block_hashes(self, words: Words) -> Array:
        """Return another hash of each token, shape (n,), uint64; the fastest for many tokens.

        A token is split into blocks of 8 bytes, the last one padded with zeros, and each block is
        mixed with the ones before it. So words of up to 8 bytes never collide. Tokens of more than
        32 bytes have their `feature_hash`.
        """
        hashes = mix(words.first_blocks)
        longer = np.flatnonzero(words.lengths > BLOCK)
        for first in range(BLOCK, _LONGEST_IN_BLOCKS, BLOCK):
            hashes[longer] = mix(hashes[longer] ^ words.blocks(first, longer))
            longer = longer[words.lengths[longer] > first + BLOCK]
        hashes[longer] = [xxhash.xxh3_64_intdigest(token) for token in words.tokens(longer)]
        return hashes

    def digest(self, content: str) -> bytes:
        """Return the 16-byte digest of *content*; pages with equal digests match."""
        return blake2b(content.encode(), digest_size=16, key=self._key).digest()

    def part_digest(self, part: str | bytes, number: int = 0) -> int:
        """Return the 64-bit digest of *part* of a page; parts with equal digests match.

        *number*: 0 for the first of equal parts, 1 for the second, ...
        """
        data = part.encode() if isinstance(part, str) else part
        salt, person = number.to_bytes(8, "little"), self._person_of_parts
        digest = blake2b(data, digest_size=8, key=self._key, salt=salt, person=person).digest()
        return int.from_bytes(digest, "little")


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
