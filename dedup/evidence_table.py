"""The evidence of many stored pages, in little memory."""

from array import array
from bisect import bisect_left
from struct import Struct

import numpy as np

from dedup.arrays import Array
from dedup.evidence import SIZE_OF_EVIDENCE, VIEW, Evidence
from dedup.packed import Packed


class EvidenceTable:
    """What stored pages show besides their main texts, by page number; 45 bytes for each."""

    def __init__(self) -> None:
        # Sorted: pages come by number, but for those that others have claimed.
        self._numbers = array("I")
        self._rows = bytearray()

    def add(self, number: int, tokens: int, evidence: bytes | None) -> None:
        """Keep the *evidence* of page *number*, as `Evidence.to_bytes` gives it, and its length.

        A page without evidence needs no place: nothing speaks against it.
        """
        if evidence is None:
            return
        row = _ROW.pack(min(tokens, _MOST_TOKENS), evidence)
        if not self._numbers or number > self._numbers[-1]:  # as nearly always
            self._numbers.append(number)
            self._rows += row
            return
        place = bisect_left(self._numbers, number)
        self._numbers.insert(place, number)
        self._rows[place * _ROW.size : place * _ROW.size] = row

    def add_many(self, numbers: Array, tokens: Array, evidence: Array) -> None:
        """Keep what `add` would of many pages with evidence, in the order of their *numbers*.

        *numbers* and *tokens*: shape (n,), int64; *evidence*: shape (n, `SIZE_OF_EVIDENCE`), uint8.
        """
        if len(numbers) and self._numbers and numbers[0] <= self._numbers[-1]:
            columns = numbers.tolist(), tokens.tolist(), Packed.of_rows(evidence)
            for row in zip(*columns, strict=True):
                self.add(*row)
            return
        rows = np.empty((len(numbers), _ROW.size), np.uint8)
        lengths = np.minimum(tokens, _MOST_TOKENS).astype("<u4")
        rows[:, :4] = lengths.view(np.uint8).reshape(-1, 4)
        rows[:, 4:] = evidence
        self._numbers.frombytes(numbers.astype(np.uint32).tobytes())
        self._rows += rows.tobytes()

    def discard(self, number: int) -> None:
        """Forget page *number*, if it is there."""
        place = self._place(number)
        if place is not None:
            del self._numbers[place]
            del self._rows[place * _ROW.size : (place + 1) * _ROW.size]

    def get(self, number: int) -> tuple[int, Evidence | None]:
        """Return the tokens and the evidence of page *number*; 0 and ``None`` if it has none."""
        place = self._place(number)
        if place is None:
            return 0, None
        tokens, evidence = _ROW.unpack_from(self._rows, place * _ROW.size)
        return tokens, Evidence.from_bytes(evidence)

    def view(self, number: int) -> bytes | None:
        """Return the view of page *number*; ``None`` if it has no evidence."""
        place = self._place(number)
        if place is None:
            return None
        return bytes(_ROW.unpack_from(self._rows, place * _ROW.size)[1][VIEW])

    def _place(self, number: int) -> int | None:
        place = bisect_left(self._numbers, number)
        is_there = place < len(self._numbers) and self._numbers[place] == number
        return place if is_there else None

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return len(self._numbers) * self._numbers.itemsize + len(self._rows)


_ROW = Struct(f"<I{SIZE_OF_EVIDENCE}s")
_MOST_TOKENS = 2**32 - 1
