"""MinHash: signatures whose equal components estimate the Jaccard similarity of shingles."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import check_whole, whole
from dedup.methods.base import ArrayMethod, as_rows
from dedup.methods.hashing import mix, seeds
from dedup.methods.shingles import ShingleMethod, minimums
from dedup.words import Words


@dataclass(eq=False)
class MinHash(ShingleMethod, ArrayMethod):
    """Signatures of minimums; two match if they share a band and enough components.

    Each component is the least hash of the page's shingles under its own hash function. It is equal
    for two pages with a probability of J, the Jaccard similarity of their shingles. A pair is
    compared if all *rows* components of one of *bands* bands are equal: with a probability of
    1 - (1 - J**rows)**bands, by default .993 at J = .65 and .18 at J = .3. It matches if at most
    *max_distance* components differ; the default, 35 of 100, estimates a J of .65. A shingle has
    *width* consecutive words.

    Source: Broder et al., "Syntactic Clustering of the Web", WWW 1997; Leskovec, Rajaraman, Ullman,
    "Mining of Massive Datasets", section 3.4.
    """

    name = "minhash"
    version = 2
    sweep = ("max_distance", tuple(range(0, 101, 4)))

    max_distance: int = 35
    _: KW_ONLY
    width: int = whole(3, 1)
    bands: int = whole(25, 1)
    rows: int = whole(4, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("max_distance", self.max_distance, 0, self.bands * self.rows)

    def sketches_of_shingles(self, hashes: Array, counts: Array, words: Words) -> Array:
        """Return the signature of each text, shape (texts, bands * rows), uint32."""
        return minimums(hashes, counts, self.bands * self.rows)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        components = as_rows(sketches, 4 * self.bands * self.rows).view("<u4")
        bands = components.reshape(-1, self.bands, self.rows)
        factors = seeds(self.rows) | np.uint64(1)
        keys = mix(bands @ factors ^ seeds(self.bands))
        return keys.reshape(-1), np.full(len(sketches), self.bands), sketches
