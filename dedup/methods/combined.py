"""Shingling, with a random projection to filter its matches."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

import numpy as np

from dedup.arrays import Array
from dedup.methods.arguments import check_whole, whole
from dedup.methods.base import BytesMethod, as_rows
from dedup.methods.shingling import Shingling
from dedup.methods.simhash import RandomProjection
from dedup.text import Document


@dataclass(eq=False)
class Combined(BytesMethod):
    """Two pages match if they match by shingling and at least 355 of 384 projected bits agree.

    Shingling sees the order of words but not their frequency; for the projection it is the reverse.
    The distance of two sketches is the number of differing bits if enough supershingles are equal,
    and infinite otherwise. Exact: two sketches that match share a block key. Up to *max_distance*
    bits and *max_unequal* supershingles may differ; for the rest, see `Shingling` and
    `RandomProjection`.

    Source: Henzinger, "Finding Near-Duplicate Web Pages: A Large-Scale Evaluation of Algorithms",
    SIGIR 2006 (the combined algorithm).
    """

    name = "combined"
    version = 3
    sweep = ("max_distance", (0, 2, 4, 6, 8, 10, 12, 16, 20, 24, 29, 35, 42, 50, 60))

    max_distance: int = 29
    _: KW_ONLY
    max_unequal: int = 4
    width: int = 8
    supershingles: int = whole(6, 1)
    minimums: int = 84
    bits: int = 384

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("max_unequal", self.max_unequal, 0, self.supershingles - 1)
        self._shingling = Shingling(
            self.max_unequal,
            width=self.width,
            supershingles=self.supershingles,
            minimums=self.minimums,
        )
        self._projection = RandomProjection(self.max_distance, bits=self.bits)

    def sketch(self, document: Document) -> bytes | None:
        """Return both sketches of *document*, one after the other; ``None`` if it has no tokens.

        A text of fewer tokens than *width* has one shingle, as in `Shingling`.
        """
        supershingles = self._shingling.with_hashing(self.hashing).sketch(document)
        projection = self._projection.with_hashing(self.hashing).sketch(document)
        if supershingles is None or projection is None:
            return None
        return self._shingling.to_bytes(supershingles) + self._projection.to_bytes(projection)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return self._shingling.weighted_features(document)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        as_rows(sketches, 8 * self.supershingles + -(-self.bits // 8))
        keys, counts, _ = self._shingling.keys_of_many(self._parts(sketches)[0])
        return keys, counts, sketches

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        supershingles, projections = zip(self._parts(payloads), self._parts(others), strict=True)
        unequal = self._shingling.distances_of_pairs(*supershingles)
        differing = self._projection.distances_of_pairs(*projections)
        return np.where(unequal <= self.max_unequal, differing, math.inf)

    def _parts(self, sketches: Sequence[bytes]) -> tuple[list[bytes], list[bytes]]:
        border = 8 * self.supershingles
        return [data[:border] for data in sketches], [data[border:] for data in sketches]
