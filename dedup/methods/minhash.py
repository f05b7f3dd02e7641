"""MinHash: signatures whose equal components estimate the Jaccard similarity of shingles."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dedup.methods.base import KeyMethod, as_rows, check_whole
from dedup.methods.hashing import fold, mix, mix_folded, seeds, shingle_hashes_of, shingles
from dedup.text import Document

Signature = np.ndarray[Any, Any]
# As many as the cache holds, however many shingles a page has.
_HASHES_AT_A_TIME = 1 << 14


class MinHash(KeyMethod):
    """Signatures of minimums; two match if they share a band and enough components.

    Each component is the least hash of the page's shingles under a hash function of its own; two
    pages have it equal with a probability of the Jaccard similarity J of their shingles. A pair is
    compared if all *rows* components of one of *bands* bands are equal: with a probability of
    1 - (1 - J**rows)**bands, .993 at J = .65 and .18 at .3 by default. It matches if at most
    *max_distance* components differ.

    Source: Broder et al., "Syntactic Clustering of the Web", WWW 1997; Leskovec, Rajaraman, Ullman,
    "Mining of Massive Datasets", section 3.4.
    """

    name = "minhash"
    version = 1
    sweep = ("max_distance", tuple(range(0, 101, 4)))

    def __init__(
        self, max_distance: int = 35, *, width: int = 3, bands: int = 25, rows: int = 4
    ) -> None:
        """Create the method with *bands* times *rows* components.

        *max_distance*: how many of them may differ, by default 35 of 100: an estimated J of .65.
        *width*: how many consecutive words a shingle has. Raises ValueError for a value outside
        its range.
        """
        check_whole("width", width, 1)
        check_whole("bands", bands, 1)
        check_whole("rows", rows, 1)
        check_whole("max_distance", max_distance, 0, bands * rows)
        self.max_distance = max_distance
        self.width = width
        self.bands = bands
        self.rows = rows

    def sketch(self, document: Document) -> Signature | None:
        """Return the signature, shape (bands * rows,), uint64; ``None`` if there are no tokens."""
        return self.sketches([document])[0]

    def sketches(self, documents: Sequence[Document]) -> list[Signature | None]:
        hashes = shingle_hashes_of([document.tokens for document in documents], self.width)
        count = self.bands * self.rows
        return [minimums(own, count) if len(own) else None for own in hashes]

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(shingles(document.tokens, self.width), 1.0)

    def keys(self, sketch: Signature) -> Iterable[int]:
        return self._keys(sketch).tolist()  # type: ignore[no-any-return]

    def _keys(self, signatures: Signature) -> Signature:
        """Return the keys of signatures, shape (..., bands * rows), as shape (..., bands)."""
        bands = signatures.reshape(*signatures.shape[:-1], self.bands, self.rows)
        factors = seeds(self.rows) | np.uint64(1)
        return mix(bands @ factors ^ seeds(self.bands))

    def split(self, sketches: Sequence[bytes]) -> tuple[Signature, Signature, list[bytes]]:
        signatures = as_rows(sketches, 8 * self.bands * self.rows).view("<u8")
        counts = np.full(len(sketches), self.bands)
        return self._keys(signatures).reshape(-1), counts, list(sketches)

    def distances_of_pairs(self, ones: Sequence[bytes], others: Sequence[bytes]) -> Signature:
        one, other = (self.from_bytes(b"".join(data)) for data in (ones, others))
        differs = (one != other).reshape(-1, self.bands * self.rows)
        return np.count_nonzero(differs, axis=1)  # type: ignore[no-any-return]

    def distance(self, one: Signature, other: Signature) -> float:
        return int(np.count_nonzero(one != other))

    def to_bytes(self, sketch: Signature) -> bytes:
        return sketch.astype("<u8").tobytes()

    def from_bytes(self, data: bytes) -> Signature:
        return np.frombuffer(data, "<u8")


def minimums(hashes: Signature, count: int) -> Signature:
    """Return the least of *hashes* under each of *count* hash functions, shape (count,), uint64.

    >>> from dedup.methods.hashing import shingle_hashes
    >>> shingles = shingle_hashes("a rose is a rose is a rose".split(), 3)
    >>> len(shingles), len(minimums(shingles, 84))
    (6, 84)
    """
    functions = fold(seeds(count))[:, None]
    least = np.full(count, np.iinfo(np.uint64).max, np.uint64)
    step = max(1, _HASHES_AT_A_TIME // count)
    for start in range(0, len(hashes), step):
        part = fold(hashes[start : start + step]) ^ functions
        least = np.minimum(least, mix_folded(part).min(axis=1))
    return least
