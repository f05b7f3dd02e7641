"""What the buckets of tables contain of a fingerprint: itself, or its position in an array."""

from collections.abc import Callable

import numpy as np

from dedup.arrays import Array, enlarge
from dedup.index.buckets import Buckets
from dedup.methods.fingerprints import Fingerprints

Runs = Callable[[Array], tuple[Array, Array]]
"""Returns the starts and sizes of the runs of fingerprints in the first table."""


class Inline:
    """Fingerprints of up to 64 bits, which are their own values.

    So a bucket is compared in one sweep of memory, even if it is very full: real fingerprints are
    skewed.
    """

    nbytes = 0

    def __init__(self, prints: Fingerprints, rows: Array) -> None:
        """Create them for the fingerprints *rows*; neither is kept."""

    def of_all(self, rows: Array) -> Array:
        """Return the values of the unique *rows* of the beginning, which are not copied."""
        return rows

    def add(self, fingerprint: int) -> int:
        """Allocate and return the value of a new fingerprint."""
        return fingerprint

    def free(self, value: int) -> None:
        """Free a value that `add` returned."""

    def rows_of(self, values: Array) -> Array:
        """Return the fingerprints of *values*."""
        return values

    def all_rows(self, first: Buckets) -> Array:
        """Return all fingerprints, including stale rows; *first* is the first table."""
        return first.all_rows()

    def stored_at(self, places: Array, first: Buckets, runs: Runs) -> Array:
        """Return the values at *places* of `all_rows` without the stale ones."""
        values = first.all_rows()[places]
        starts, sizes = runs(values)
        stored: Array = values[(places >= starts) & (places < starts + sizes)]
        return stored


class Positions:
    """Fingerprints of more bits in one array; their values are their positions in it."""

    def __init__(self, prints: Fingerprints, rows: Array) -> None:
        self._prints = prints
        self._rows, self._used = rows, len(rows)
        self._free: list[int] = []

    def of_all(self, rows: Array) -> Array:
        return np.arange(len(rows), dtype=np.uint32)

    def add(self, fingerprint: int) -> int:
        if self._used == len(self._rows) and not self._free:
            self._rows = enlarge(self._rows)
        position = self._free.pop() if self._free else self._used
        self._used = max(self._used, position + 1)
        self._rows[position] = self._prints.row(fingerprint)
        return position

    def free(self, value: int) -> None:
        self._free.append(value)

    def rows_of(self, values: Array) -> Array:
        return self._rows[values]

    def all_rows(self, first: Buckets) -> Array:
        return self._rows[: self._used]

    def stored_at(self, places: Array, first: Buckets, runs: Runs) -> Array:
        return places[np.isin(places, self._free, invert=True)].astype(np.uint32)

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes
