"""Shingling with supershingles: hashes of many MinHash components together."""

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import combinations
from math import comb

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import check_whole, whole
from dedup.methods.base import ArrayMethod, as_rows
from dedup.methods.hashing import mix, seeds
from dedup.methods.shingles import ShingleMethod, minimums
from dedup.words import Words

_MOST_KEYS = 20


@dataclass(eq=False)
class Shingling(ShingleMethod, ArrayMethod):
    """Supershingles; two pages match if at least 2 of 6 are equal in the same place.

    A supershingle is the hash of 14 of the 84 *minimums*, the components of a MinHash signature. It
    is equal for two pages with a probability of J**14, where J is the Jaccard similarity of their
    sets of 8-word shingles. So 2 of 6 are equal with a probability of .03 at J = .8, .42 at .9 and
    .88 at .95: a steep curve, for pages that hardly differ. Exact: two sketches that match share a
    block key.

    Source: Broder et al., "Syntactic Clustering of the Web", WWW 1997; Henzinger, "Finding
    Near-Duplicate Web Pages: A Large-Scale Evaluation of Algorithms", SIGIR 2006, section 2.1;
    for the keys: Fetterly, Manasse, Najork, "On the Evolution of Clusters of Near-Duplicate Web
    Pages", LA-WEB 2003 (megashingles).
    """

    name = "shingling"
    version = 3
    sweep = ("max_distance", tuple(range(6)))
    dtype = "<u8"

    max_distance: int = 4
    _: KW_ONLY
    width: int = whole(8, 1)
    supershingles: int = whole(6, 1)
    minimums: int = 84

    def __post_init__(self) -> None:
        super().__post_init__()
        count, most = self.supershingles, self.max_distance
        check_whole("minimums", self.minimums, count)
        if self.minimums % count:
            raise ValueError(f"minimums must be a multiple of {count}, got {self.minimums!r}")
        check_whole("max_distance", most, 0, count - 1)
        # Two sketches share a key exactly if they match, except for hash collisions. If that would
        # take more keys, each supershingle is a key, and candidates need not match.
        equal_in_key = count - most if comb(count, most) <= _MOST_KEYS else 1
        self._groups = np.array(list(combinations(range(count), equal_in_key)))

    def sketches_of_shingles(self, hashes: Array, counts: Array, words: Words) -> Iterator[Array]:
        """Yield the supershingles of each text, shape (supershingles,), uint64."""
        for signature in minimums(hashes, counts, self.minimums):
            parts = signature.astype("<u8").reshape(self.supershingles, -1)
            digests = [self.hashing.part_digest(part.tobytes()) for part in parts]
            yield np.array(digests, np.uint64)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        rows = as_rows(sketches, 8 * self.supershingles).view("<u8")
        keys = seeds(len(self._groups))
        for places in self._groups.T:
            keys = mix(keys ^ rows[:, places])
        return keys.reshape(-1), np.full(len(sketches), len(self._groups)), sketches
