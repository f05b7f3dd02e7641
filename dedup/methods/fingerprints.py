"""What all methods with fingerprints have in common."""

from collections.abc import Sequence

import numpy as np

from dedup.arrays import Array
from dedup.fingerprints import Fingerprints, split_bits
from dedup.methods.arguments import check_whole
from dedup.methods.base import Method, as_rows
from dedup.methods.hashing import mix, seeds


class FingerprintMethod(Method):
    """A method whose sketch is a fingerprint of *bits* bits, compared by Hamming distance.

    Its keys are the blocks of the fingerprint: so many that two fingerprints within the threshold
    agree in at least one.
    """

    bits: int = 64
    max_distance: int

    def __init__(self, max_distance: int = 3) -> None:
        """Create the method with the inclusive threshold *max_distance*, from 0 to *bits* - 1."""
        self.max_distance = max_distance
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("max_distance", self.max_distance, 0, self.bits - 1)

    @property
    def near_miss_distance(self) -> int:
        return max(16, 2 * self.max_distance)

    def keys_of_many(self, sketches: Sequence[bytes]) -> tuple[Array, Array, Sequence[bytes]]:
        prints = Fingerprints(self.bits)
        rows = prints.from_bytes(as_rows(sketches, prints.bytes))
        blocks = split_bits(self.bits, max(self.max_distance + 1, prints.words))
        values = np.stack([prints.bits_of(rows, *block) for block in blocks], axis=1)
        keys = mix(values ^ seeds(len(blocks)))
        return keys.reshape(-1), np.full(len(rows), len(blocks)), sketches

    def distances_of_pairs(self, payloads: Sequence[bytes], others: Sequence[bytes]) -> Array:
        size = -(-self.bits // 8)
        differing = np.bitwise_count(as_rows(payloads, size) ^ as_rows(others, size))
        return differing.sum(axis=1, dtype=np.int64)  # type: ignore[no-any-return]

    def to_bytes(self, sketch: int) -> bytes:
        return sketch.to_bytes(-(-self.bits // 8), "little")

    def from_bytes(self, data: bytes) -> int:
        return int.from_bytes(data, "little")
