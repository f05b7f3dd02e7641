"""Sketches that are digests: one for the page, or a multiset of digests of its parts."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from dedup.arrays import Array, lengths_of
from dedup.methods.base import ArrayMethod, BytesMethod
from dedup.methods.hashing import PLAIN, Hashing
from dedup.text import Document
from dedup.words import words_of


class SingleDigestMethod(BytesMethod):
    """A method whose sketch is one 128-bit digest of the page; pages with equal digests match.

    Numbers of 4 bytes may follow the digest.
    """

    max_distance: float = 0

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        lengths = lengths_of(sketches)
        if (lengths < 16).any() or (lengths % 4).any():
            raise ValueError("a sketch is truncated: its digest must have 16 bytes")
        keys = np.frombuffer(b"".join([sketch[:8] for sketch in sketches]), "<u8")
        return keys, np.ones(len(keys), np.int64), sketches

    def distance(self, sketch: bytes, other: bytes) -> float:
        return 0 if sketch == other else 1


class Exact(SingleDigestMethod):
    """Matches pages whose normalised main texts are equal."""

    name = "exact"
    version = 2
    # Pages whose main texts are equal are stored only if they show that they differ: of thousands
    # with one menu for a main text, not all are looked at.
    candidates_per_key = 256

    def sketches(self, documents: Sequence[Document]) -> list[bytes | None]:
        """Return the 128-bit digest of each text, or ``None`` if it has no tokens."""
        counts = words_of(documents).counts.tolist()
        # Without a secret it is the digest of the document, which others need, too.
        is_plain = type(self.hashing) is Hashing
        return [
            (document.digest if is_plain else self.hashing.digest(document.text)) if count else None
            for document, count in zip(documents, counts, strict=True)
        ]


class DigestMethod(ArrayMethod):
    """A method whose sketch is the `digests` of parts of the page.

    The distance of two is the share of the smaller one that the other one lacks, from 0 to 1: a
    page that contains another is at distance 0. It is infinite if fewer than *min_equal* digests
    are equal.
    """

    dtype = "<u8"
    min_equal: int = 1

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        values, sizes = join_numbers(sketches, "<u8")
        return values, sizes, sketches

    def distance(self, sketch: Array, other: Array) -> float:
        equal, smaller = count_common(sketch, other), min(len(sketch), len(other))
        # One division of integers: 4 of 10 is never above .4.
        return (smaller - equal) / smaller if equal >= self.min_equal else math.inf


def digests(parts: Iterable[str], hashing: Hashing = PLAIN, least: int = 1) -> Array | None:
    """Return the multiset of *parts* as a set of 64-bit digests, sorted, shape (n,), uint64.

    Each repetition of a part has a digest of its own, so that sizes, intersections and unions are
    those of the multisets. ``None`` if there are fewer than *least*.

    >>> sketch, other = digests(["a", "a", "b"]), digests(["a", "a", "a"])
    >>> len(sketch), count_common(sketch, other)
    (3, 2)
    """
    seen: Counter[str] = Counter()
    hashes = []
    for part in parts:
        hashes.append(hashing.part_digest(part, seen[part]))
        seen[part] += 1
    unique = np.unique(np.array(hashes, np.uint64))
    return unique if len(unique) >= least else None


def join_numbers(sketches: Sequence[bytes], dtype: str) -> tuple[Array, Array]:
    """Return the numbers of which all *sketches* consist, and how many each has.

    Raises ValueError for bytes that are not a sketch: each has at least one number.
    """
    lengths, size = lengths_of(sketches), np.dtype(dtype).itemsize
    if (lengths % size).any() or not lengths.all():
        raise ValueError(f"a sketch is truncated: its numbers must have {size} bytes each")
    return np.frombuffer(b"".join(sketches), dtype), lengths // size


def count_common(sketch: Array, other: Array) -> int:
    """Return how many digests two sketches have in common."""
    places = np.searchsorted(other, sketch)
    return int(np.count_nonzero(other.take(places, mode="clip") == sketch))
