"""Shingling, with a random projection to filter its matches."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Self

from dedup.arrays import Array
from dedup.methods.arguments import check_whole
from dedup.methods.base import KeyMethod, as_rows
from dedup.methods.hashing import Hashing
from dedup.methods.shingling import Shingling
from dedup.methods.simhash import RandomProjection
from dedup.text import Document


class CombinedSketch(NamedTuple):
    """The sketches of one page by both methods."""

    supershingles: Array
    projection: int


class Combined(KeyMethod):
    """Two pages match if they match by shingling and at least 355 of 384 projected bits agree.

    Shingling sees the order of words but not their frequency; for the projection it is the reverse.
    The distance of two sketches is the number of differing bits if enough supershingles are equal,
    and infinite otherwise. Exact: two sketches that match share a block key.

    Source: Henzinger, "Finding Near-Duplicate Web Pages: A Large-Scale Evaluation of Algorithms",
    SIGIR 2006 (the combined algorithm).
    """

    name = "combined"
    version = 3
    sweep = ("max_distance", (0, 2, 4, 6, 8, 10, 12, 16, 20, 24, 29, 35, 42, 50, 60))

    def __init__(
        self,
        max_distance: int = 29,
        *,
        max_unequal: int = 4,
        width: int = 8,
        supershingles: int = 6,
        minimums: int = 84,
        bits: int = 384,
    ) -> None:
        """Create the method with its two inclusive thresholds.

        *max_distance*: how many bits may differ, from 0 to *bits* - 1. *max_unequal*: how many
        supershingles may differ, from 0 to *supershingles* - 1. *width*, *supershingles*,
        *minimums*: see `Shingling`. *bits*: see `RandomProjection`. Raises ValueError for a value
        out of range.
        """
        check_whole("supershingles", supershingles, 1)
        check_whole("max_unequal", max_unequal, 0, supershingles - 1)
        self._shingling = Shingling(
            max_unequal, width=width, supershingles=supershingles, minimums=minimums
        )
        self._projection = RandomProjection(max_distance, bits=bits)
        self.max_distance = max_distance
        self.max_unequal = max_unequal
        self.width = width
        self.supershingles = supershingles
        self.minimums = minimums
        self.bits = bits

    def with_hashing(self, hashing: Hashing) -> Self:
        method = super().with_hashing(hashing)
        method._shingling = self._shingling.with_hashing(hashing)
        method._projection = self._projection.with_hashing(hashing)
        return method

    def sketch(self, document: Document) -> CombinedSketch | None:
        """Return both sketches of *document*; ``None`` if it has no tokens.

        A text of fewer tokens than *width* has one shingle, as in `Shingling`.
        """
        supershingles = self._shingling.sketch(document)
        projection = self._projection.sketch(document)
        if supershingles is None or projection is None:
            return None
        return CombinedSketch(supershingles, projection)

    def weighted_features(self, document: Document) -> Mapping[str, float]:
        return self._shingling.weighted_features(document)

    def keys(self, sketch: CombinedSketch) -> Iterable[int]:
        return self._shingling.keys(sketch.supershingles)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        border = 8 * self.supershingles
        as_rows(sketches, border + -(-self.bits // 8))
        keys, counts, _ = self._shingling.keys_of_many([data[:border] for data in sketches])
        return keys, counts, sketches

    def distance(self, sketch: CombinedSketch, other: CombinedSketch) -> float:
        """Return how many bits differ, or infinity if more than *max_unequal* supershingles do."""
        unequal = self._shingling.distance(sketch.supershingles, other.supershingles)
        if unequal > self.max_unequal:
            return math.inf
        return self._projection.distance(sketch.projection, other.projection)

    def to_bytes(self, sketch: CombinedSketch) -> bytes:
        return self._shingling.to_bytes(sketch.supershingles) + self._projection.to_bytes(
            sketch.projection
        )

    def from_bytes(self, data: bytes) -> CombinedSketch:
        border = 8 * self.supershingles
        return CombinedSketch(
            self._shingling.from_bytes(data[:border]), self._projection.from_bytes(data[border:])
        )
