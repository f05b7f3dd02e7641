"""Sketches that are digests: one for the page, or a multiset of digests of its parts."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from dedup.methods.base import KeyMethod, as_rows
from dedup.methods.hashing import PLAIN, Hashing
from dedup.packed import lengths_of

Digests = np.ndarray[Any, Any]


class SingleDigestMethod(KeyMethod):
    """A method whose sketch is one 128-bit digest of the page; pages with equal digests match.

    Numbers of 4 bytes may follow the digest.
    """

    max_distance: float = 0

    def keys(self, sketch: bytes) -> Iterable[int]:
        return (int.from_bytes(sketch[:8], "little"),)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Digests, Digests, Sequence[bytes]]:
        lengths = lengths_of(sketches)
        if (lengths < 16).any() or (lengths % 4).any():
            raise ValueError("a sketch is truncated: its digest must have 16 bytes")
        if (lengths == 16).all():
            keys = as_rows(sketches, 16).view("<u8")[:, 0]
        else:
            keys = np.frombuffer(b"".join([sketch[:8] for sketch in sketches]), "<u8")
        return keys, np.ones(len(keys), np.int64), sketches

    def distance(self, sketch: bytes, other: bytes) -> float:
        return 0 if sketch == other else 1

    def to_bytes(self, sketch: bytes) -> bytes:
        return sketch

    def from_bytes(self, data: bytes) -> bytes:
        return data


class DigestMethod(KeyMethod):
    """A method whose sketch is the `digests` of parts of the page."""

    def keys(self, sketch: Digests) -> Iterable[int]:
        keys: list[int] = sketch.tolist()
        return keys

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Digests, Digests, Sequence[bytes]]:
        lengths = lengths_of(sketches)
        if (lengths % 8).any() or not lengths.all():
            raise ValueError("a sketch is truncated: its digests must have 8 bytes each")
        return self.from_bytes(b"".join(sketches)), lengths // 8, sketches

    def to_bytes(self, sketch: Digests) -> bytes:
        return sketch.astype("<u8").tobytes()

    def from_bytes(self, data: bytes) -> Digests:
        return np.frombuffer(data, "<u8")


def digests(parts: Iterable[str], hashing: Hashing = PLAIN) -> Digests:
    """Return the multiset of *parts* as a set of 64-bit digests, sorted, shape (n,), uint64.

    Each repetition of a part has a digest of its own, so that sizes, intersections and unions are
    those of the multisets.

    >>> sketch, other = digests(["a", "a", "b"]), digests(["a", "a", "a"])
    >>> len(sketch), count_common(sketch, other)
    (3, 2)
    """
    seen: Counter[str] = Counter()
    hashes = []
    for part in parts:
        hashes.append(hashing.part_digest(part, seen[part]))
        seen[part] += 1
    return np.unique(np.array(hashes, np.uint64))


def count_common(sketch: Digests, other: Digests) -> int:
    """Return how many digests two sketches have in common."""
    places = np.searchsorted(other, sketch)
    return int(np.count_nonzero(other.take(places, mode="clip") == sketch))


@overload
def jaccard_distance(shared: int, size: int, other_size: int) -> float: ...


@overload
def jaccard_distance(shared: Digests, size: int, other_size: Digests) -> Digests: ...


def jaccard_distance(shared: Any, size: Any, other_size: Any) -> Any:
    """Return 1 - J of two multisets of these sizes with *shared* elements in common.

    It is one division of integers, so it is never on the wrong side of a threshold: in floats,
    1 - .9 is less than .1.
    """
    return (size + other_size - 2 * shared) / (size + other_size - shared)


def missing_share(sketch: Digests, other: Digests, min_equal: int = 1) -> float:
    """Return the share of the smaller sketch that the other one lacks, from 0 to 1.

    So a page that contains another is at distance 0. Infinite if fewer than *min_equal* digests are
    equal. It is one division of integers, so that 4 of 10 is never above .4.
    """
    equal, smaller = count_common(sketch, other), min(len(sketch), len(other))
    return (smaller - equal) / smaller if equal >= min_equal else math.inf
