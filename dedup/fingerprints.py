"""Fingerprints: integers of a fixed number of bits, and arrays of them."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from dedup.arrays import Array, Packed, is_number

FEWEST_BITS, MOST_BITS = 32, 384


class Fingerprints:
    """Operations on fingerprints of *bits* bits.

    A fingerprint is a Python integer, or a row of a uint64 array: of shape (n,) up to 64 bits, and
    of shape (n, words) beyond, the lowest word first.
    """

    def __init__(self, bits: int) -> None:
        """Create them; raises ValueError if *bits* is not from 32 to 384."""
        if not (is_number(bits) and FEWEST_BITS <= bits <= MOST_BITS):
            expected = f"from {FEWEST_BITS} to {MOST_BITS}"
            raise ValueError(f"bits must be {expected}, got {bits!r}")
        self.bits = int(bits)
        self.bytes = -(-self.bits // 8)
        self.words = -(-self.bits // 64)
        self._end = 1 << self.bits

    def to_integer(self, fingerprint: Any) -> int:
        """Return *fingerprint* as an int; raises ValueError if it is not one of *bits* bits."""
        if is_number(fingerprint) and 0 <= fingerprint < self._end:
            return int(fingerprint)
        expected = f"a fingerprint must be a whole number of {self.bits} bits"
        raise ValueError(f"{expected}, got {fingerprint!r:.80}")

    def array(self, fingerprints: Any) -> Array:
        """Return an array of *fingerprints*: an array, integers, or `Packed` bytes.

        The bytes are those of `FingerprintMethod.to_bytes`. Raises ValueError for anything else.
        """
        if isinstance(fingerprints, Packed):
            fingerprints = self.from_bytes(fingerprints.rows(self.bytes))
        if isinstance(fingerprints, np.ndarray):
            wide = self.words > 1 and fingerprints.shape[1:] == (self.words,)
            narrow = self.words == 1 and fingerprints.ndim == 1
            if fingerprints.dtype != np.uint64 or not (wide or narrow):
                shape = "(n,)" if self.words == 1 else f"(n, {self.words})"
                got = f"{fingerprints.dtype} of shape {fingerprints.shape}"
                raise ValueError(f"an array must be uint64 of shape {shape}, got {got}")
            rest = self.bits % 64
            last = fingerprints if self.words == 1 else fingerprints[:, -1]
            if rest and len(last) and int(last.max()) >> rest:
                raise ValueError(f"a fingerprint must be a whole number of {self.bits} bits")
            return fingerprints
        return self._from_integers([self.to_integer(value) for value in fingerprints])

    def row(self, fingerprint: int) -> Any:
        """Return one fingerprint as a row, for comparison with arrays."""
        if self.words == 1:
            return np.uint64(fingerprint)
        return self._from_integers([fingerprint])[0]

    def _from_integers(self, values: Iterable[int]) -> Array:
        data = b"".join(value.to_bytes(8 * self.words, "little") for value in values)
        flat = np.frombuffer(data, "<u8").astype(np.uint64)
        return flat if self.words == 1 else flat.reshape(-1, self.words)

    def from_bytes(self, octets: Array) -> Array:
        """Return an array of the fingerprints with these bytes, shape (n, bytes), uint8."""
        missing = 8 * self.words - octets.shape[1]
        rows = (np.pad(octets, ((0, 0), (0, missing))) if missing else octets).view("<u8")
        return rows.astype(np.uint64) if self.words > 1 else rows[:, 0].astype(np.uint64)

    def integers(self, rows: Array) -> list[int]:
        """Return the rows of an array as Python integers."""
        if self.words == 1:
            return rows.tolist()  # type: ignore[no-any-return]
        return [int.from_bytes(row.astype("<u8").tobytes(), "little") for row in rows]

    def distances(self, rows: Array, others: Array) -> Array:
        """Return the Hamming distances, row by row, or of every row to a single one."""
        differing = np.bitwise_count(rows ^ others)
        if self.words == 1:
            return differing
        return differing.sum(axis=-1, dtype=np.uint16)  # type: ignore[no-any-return]

    def bits_of(self, rows: Array, start: int, width: int) -> Array:
        """Return *width* bits of every row, from bit *start*, as uint64."""
        if self.words == 1:
            return (rows >> np.uint64(start)) & np.uint64((1 << width) - 1)
        word, shift = divmod(start, 64)
        value = rows[:, word] >> np.uint64(shift)
        if shift + width > 64:
            value = value | (rows[:, word + 1] << np.uint64(64 - shift))
        return value & np.uint64((1 << width) - 1)


def split_bits(bits: int, count: int) -> list[tuple[int, int]]:
    """Return *count* runs of bits: the lowest bit and the width of each, the wider ones first."""
    starts = [number * (bits // count) + min(number, bits % count) for number in range(count + 1)]
    return [(start, end - start) for start, end in pairwise(starts)]
