"""Equality of the normalised text."""

from collections.abc import Iterable

import xxhash

from dedup.methods.base import KeyMethod
from dedup.text import Document


class Exact(KeyMethod):
    """Matches pages whose normalised main texts are equal."""

    name = "exact"
    version = 1
    max_distance = 0

    def sketch(self, document: Document) -> bytes | None:
        """Return the 128-bit digest of the text, or ``None`` if it has no tokens."""
        return xxhash.xxh3_128_digest(document.text.encode()) if document.tokens else None

    def keys(self, sketch: bytes) -> Iterable[int]:
        return (int.from_bytes(sketch[:8], "little"),)

    def distance(self, one: bytes, other: bytes) -> float:
        return 0 if one == other else 1

    def to_bytes(self, sketch: bytes) -> bytes:
        return sketch

    def from_bytes(self, data: bytes) -> bytes:
        return data
