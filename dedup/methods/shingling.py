"""Shingling with supershingles: hashes of many MinHash components together."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import comb

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import check_whole
from dedup.methods.base import KeyMethod, as_rows
from dedup.methods.hashing import PLAIN, Hashing, mix, seeds
from dedup.methods.minhash import signatures
from dedup.methods.shingles import shingles
from dedup.text import Document

_MOST_KEYS = 20


class Shingling(KeyMethod):
    """Supershingles; two pages match if at least 2 of 6 are equal in the same place.

    A supershingle is the hash of 14 consecutive components of a MinHash signature. It is equal for
    two pages with a probability of J**14, where J is the Jaccard similarity of their sets of 8-word
    shingles. So 2 of 6 are equal with a probability of .03 at J = .8, .42 at .9 and .88 at .95: a
    steep curve, for pages that hardly differ. Exact: two sketches that match share a block key.

    Source: Broder et al., "Syntactic Clustering of the Web", WWW 1997; Henzinger, "Finding
    Near-Duplicate Web Pages: A Large-Scale Evaluation of Algorithms", SIGIR 2006, section 2.1;
    for the keys: Fetterly, Manasse, Najork, "On the Evolution of Clusters of Near-Duplicate Web
    Pages", LA-WEB 2003 (megashingles).
    """

    name = "shingling"
    version = 3
    sweep = ("max_distance", tuple(range(6)))

    def __init__(
        self,
        max_distance: int = 4,
        *,
        width: int = 8,
        supershingles: int = 6,
        minimums: int = 84,
    ) -> None:
        """Create the method with *supershingles* hashes of *minimums* components.

        *max_distance*: how many supershingles may be unequal, from 0 to *supershingles* - 1.
        *width*: the number of consecutive words in a shingle. *minimums*: a multiple of
        *supershingles*, each of which hashes an equal part of them. Raises ValueError for a value
        out of range.
        """
        check_whole("width", width, 1)
        check_whole("supershingles", supershingles, 1)
        check_whole("minimums", minimums, supershingles)
        if minimums % supershingles:
            raise ValueError(f"minimums must be a multiple of {supershingles}, got {minimums!r}")
        check_whole("max_distance", max_distance, 0, supershingles - 1)
        self.max_distance = max_distance
        self.width = width
        self.supershingles = supershingles
        self.minimums = minimums
        least_equal = supershingles - max_distance
        equal_in_key = least_equal if comb(supershingles, least_equal) <= _MOST_KEYS else 1
        self._groups = np.array(list(combinations(range(supershingles), equal_in_key)))

    def sketch(self, document: Document) -> Array | None:
        """Return the supershingles, shape (supershingles,), uint64; ``None`` without tokens.

        A text of fewer tokens than *width* has one shingle, the whole text, so that it matches only
        equal texts.
        """
        return Shingling.sketches(self, [document])[0]

    def sketches(self, documents: Sequence[Document]) -> list[Array | None]:
        return [
            None if own is None else hashes_of_parts(own, self.supershingles, self.hashing)
            for own in signatures(documents, self.width, self.minimums, self.hashing)
        ]

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(shingles(document.tokens, self.width), 1.0)

    def keys(self, sketch: Array) -> Iterable[int]:
        """Return a key for each group of supershingles, in their places, that is enough to match.

        Two sketches share a key exactly if they match, except for hash collisions. If that would
        take more than 20 keys, each supershingle is a key, and candidates need not match.
        """
        return self._keys(sketch).tolist()  # type: ignore[no-any-return]

    def _keys(self, sketches: Array) -> Array:
        """Return the keys of sketches, shape (..., supershingles), as shape (..., groups)."""
        keys = seeds(len(self._groups))
        for places in self._groups.T:
            keys = mix(keys ^ sketches[..., places])
        return keys

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        keys = self._keys(as_rows(sketches, 8 * self.supershingles).view("<u8"))
        return keys.reshape(-1), np.full(len(sketches), len(self._groups)), sketches

    def distance(self, sketch: Array, other: Array) -> float:
        """Return how many supershingles differ from the one in the same place."""
        return int(np.count_nonzero(sketch != other))

    def to_bytes(self, sketch: Array) -> bytes:
        return sketch.astype("<u8").tobytes()

    def from_bytes(self, data: bytes) -> Array:
        return np.frombuffer(data, "<u8")


def hashes_of_parts(signature: Array, count: int, hashing: Hashing = PLAIN) -> Array:
    """Return the hashes of *count* equally long parts of *signature*, shape (count,), uint64.

    >>> hashes_of_parts(np.zeros(84, np.uint64), 6).shape
    (6,)
    """
    parts = signature.astype("<u8").reshape(count, -1)
    digests = (hashing.part_digest(part.tobytes()) for part in parts)
    return np.fromiter(digests, np.dtype("<u8"), count)
