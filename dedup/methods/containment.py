"""Containment: how much of a page stands in another one, estimated from a sample of shingles."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import check_share, check_whole
from dedup.methods.base import KeyMethod
from dedup.methods.shingles import shingle_hashes_of, shingles
from dedup.text import Document

# One of so many hashes is a block key.
_HASHES_A_KEY = 6


class Containment(KeyMethod):
    """Matches a page with a stored one that contains it: a part, a quoted text, an older version.

    The distance is the share of the page's shingles that the stored page lacks: 0 if all of the
    page stands there, whatever else does. So it is not symmetric: a page that contains a stored one
    is not near it.

    A sketch is the *hashes* least hashes of a page's shingles; all of them if it has no more. Up to
    the lower of their greatest hashes, two sketches know all shingles of both pages; there they are
    compared. What is compared is a random sample of the page, or all of it if both pages are short.
    With fewer than *min_sample* hashes to compare, of a page that has more, two pages do not match:
    so a part is found in pages of up to about *hashes* / *min_sample* times its length. Among 32
    hashes, the share has a standard deviation of .05 where it is .1.

    One of six hashes is a block key. A part that agrees in 29 hashes shares one with a probability
    of .995, and in 60 hashes always.

    Source: Broder, "On the Resemblance and Containment of Documents", SEQUENCES 1997, section 4
    (containment from the fingerprints that are 0 mod m); Gibbons, "Distinct Sampling for
    Highly-Accurate Answers to Distinct Values Queries and Event Reports", VLDB 2001 (a rate that
    falls as a page gets longer); Irber et al., "Lightweight compositional analysis of metagenomes
    with FracMinHash and minimum metagenome covers", bioRxiv 2022.
    """

    finds_parts = True

    name = "containment"
    version = 1
    key_bits = 32
    candidates_per_key = 128
    sweep = ("max_distance", tuple(round(0.05 * step, 2) for step in range(19)))

    def __init__(
        self, max_distance: float = 0.1, *, width: int = 5, hashes: int = 256, min_sample: int = 32
    ) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to 1.

        *width*: the number of consecutive words in a shingle. *hashes*, *min_sample*: see above.
        Raises ValueError for a value out of range.
        """
        check_share("max_distance", max_distance)
        check_whole("width", width, 1)
        check_whole("hashes", hashes, 1)
        check_whole("min_sample", min_sample, 1, hashes)
        self.max_distance = max_distance
        self.width = width
        self.hashes = hashes
        self.min_sample = min_sample

    def sketch(self, document: Document) -> Array | None:
        """Return the least hashes, sorted, shape (n,), uint32; ``None`` if there are no tokens."""
        return Containment.sketches(self, [document])[0]

    def sketches(self, documents: Sequence[Document]) -> list[Array | None]:
        hashes = shingle_hashes_of(documents, self.width, self.hashing).of_each()
        return [self._least(own) if len(own) else None for own in hashes]

    def _least(self, hashes: Array) -> Array:
        values = (hashes >> np.uint64(32)).astype(np.uint32)
        return np.unique(values)[: self.hashes]

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return dict.fromkeys(shingles(document.tokens, self.width), 1.0)

    def keys(self, sketch: Array) -> Iterable[int]:
        keys, _, _ = self.keys_of_many([self.to_bytes(sketch)])
        return keys.tolist()  # type: ignore[no-any-return]

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        hashes, of_sketch, sizes = _join(sketches)
        is_key = hashes % _HASHES_A_KEY == 0
        # Equal sketches always share one.
        is_key[np.cumsum(sizes) - sizes] = True
        counts = np.bincount(of_sketch[is_key], minlength=len(sketches))
        return hashes[is_key].astype(np.uint64), counts, sketches

    def distance(self, sketch: Array, other: Array) -> float:
        pair = [self.to_bytes(sketch)], [self.to_bytes(other)]
        return self.distances_of_pairs(*pair).item()  # type: ignore[no-any-return]

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        own, of_own, sizes = _join(payloads)
        known, of_known, known_sizes = _join(others)
        greatest = known[np.cumsum(known_sizes) - 1]
        # A sketch that is not full has all hashes of its page.
        greatest[known_sizes < self.hashes] = 2**32 - 1
        is_compared = own <= greatest[of_own]
        own, of_own = own[is_compared], of_own[is_compared]
        wanted, stored = of_own << 32 | own, of_known << 32 | known
        is_missing = stored.take(np.searchsorted(stored, wanted), mode="clip") != wanted
        sample = np.bincount(of_own, minlength=len(sizes))
        missing = np.bincount(of_own[is_missing], minlength=len(sizes))
        distances = np.full(len(sizes), math.inf)
        is_enough = sample >= np.minimum(sizes, self.min_sample)
        np.divide(missing, sample, out=distances, where=is_enough)
        return distances

    def to_bytes(self, sketch: Array) -> bytes:
        return sketch.astype("<u4").tobytes()

    def from_bytes(self, data: bytes) -> Array:
        return np.frombuffer(data, "<u4")


def _join(sketches: Sequence[bytes]) -> tuple[Array, Array, Array]:
    """Return the hashes of all *sketches*, the number of the sketch of each, and the sizes.

    Raises ValueError for bytes that are not a sketch.
    """
    lengths = np.fromiter(map(len, sketches), np.int64, len(sketches))
    if (lengths % 4).any() or not lengths.all():
        raise ValueError("a sketch is truncated: its hashes must have 4 bytes each")
    sizes = lengths // 4
    hashes = np.frombuffer(b"".join(sketches), "<u4")
    return hashes, np.repeat(np.arange(len(sizes)), sizes), sizes
