"""Sketches that are digests: one of the page, or a multiset of those of its parts."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dedup.methods.base import KeyMethod
from dedup.methods.hashing import PLAIN, Hashing

Digests = np.ndarray[Any, Any]


class SingleDigestMethod(KeyMethod):
    """A method whose sketch is one digest of the page, of 128 bits; it matches where that is equal.

    Something may stand behind the digest, as numbers of 4 bytes.
    """

    max_distance: float = 0

    def keys(self, sketch: bytes) -> Iterable[int]:
        return (int.from_bytes(sketch[:8], "little"),)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Digests, Digests, list[bytes]]:
        lengths = set(map(len, sketches))
        if any(length < 16 or length % 4 for length in lengths):
            raise ValueError("a sketch is cut off: it is no digest of 16 bytes")
        if lengths == {16}:
            keys = np.frombuffer(b"".join(sketches), "<u8")[::2]
        else:
            keys = np.frombuffer(b"".join([sketch[:8] for sketch in sketches]), "<u8")
        return keys, np.ones(len(keys), np.int64), list(sketches)

    def distance(self, one: bytes, other: bytes) -> float:
        return 0 if one == other else 1

    def to_bytes(self, sketch: bytes) -> bytes:
        return sketch

    def from_bytes(self, data: bytes) -> bytes:
        return data


class DigestMethod(KeyMethod):
    """A method whose sketch is what `digests` makes of parts of the page."""

    def keys(self, sketch: Digests) -> Iterable[int]:
        keys: list[int] = sketch.tolist()
        return keys

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Digests, Digests, list[bytes]]:
        lengths = np.fromiter(map(len, sketches), np.int64, len(sketches))
        if (lengths % 8).any() or not lengths.all():
            raise ValueError("a sketch is cut off: it is no row of digests of 8 bytes")
        return self.from_bytes(b"".join(sketches)), lengths // 8, list(sketches)

    def to_bytes(self, sketch: Digests) -> bytes:
        return sketch.astype("<u8").tobytes()

    def from_bytes(self, data: bytes) -> Digests:
        return np.frombuffer(data, "<u8")


def digests(parts: Iterable[str], hashing: Hashing = PLAIN) -> Digests:
    """Return the multiset of *parts* as a set of 64-bit digests, sorted, shape (n,), uint64.

    The second of equal parts has a digest of its own, and so has the third: sizes, intersections
    and unions are those of the multisets.

    >>> one, other = digests(["a", "a", "b"]), digests(["a", "a", "a"])
    >>> len(one), count_common(one, other)
    (3, 2)
    """
    seen: Counter[str] = Counter()
    hashes = []
    for part in parts:
        hashes.append(hashing.part_digest(part, seen[part]))
        seen[part] += 1
    return np.unique(np.array(hashes, np.uint64))


def count_common(one: Digests, other: Digests) -> int:
    """Return how many digests two sketches have in common."""
    places = np.searchsorted(other, one)
    return int(np.count_nonzero(other.take(places, mode="clip") == one))


def missing_share(one: Digests, other: Digests, min_equal: int = 1) -> float:
    """Return the share of the smaller sketch that the other one lacks, from 0 to 1.

    A page that contains another is at distance 0 of it. Infinite if fewer than *min_equal* digests
    are equal. Computed of whole numbers, divided once: 4 of 10 are never more than .4.
    """
    equal, smaller = count_common(one, other), min(len(one), len(other))
    return (smaller - equal) / smaller if equal >= min_equal else math.inf
