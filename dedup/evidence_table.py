"""The evidence of many stored pages, in little memory."""

from array import array
from bisect import bisect_left
from struct import Struct

from dedup.evidence import SIZE_OF_EVIDENCE, Evidence


class EvidenceTable:
    """What stored pages show besides their main texts, by page number; 37 bytes a page."""

    def __init__(self) -> None:
        # Sorted: pages come by number, but for those that others have claimed.
        self._numbers = array("I")
        self._rows = bytearray()

    def add(self, number: int, tokens: int, evidence: bytes | None) -> None:
        """Keep the *evidence* of page *number*, as `Evidence.to_bytes` gives it, and its length."""
        place = bisect_left(self._numbers, number)
        self._numbers.insert(place, number)
        start = place * _ROW.size
        self._rows[start:start] = _ROW.pack(min(tokens, _MOST_TOKENS), evidence or _NONE)

    def discard(self, number: int) -> None:
        """Forget page *number*, if it is there."""
        place = bisect_left(self._numbers, number)
        if place < len(self._numbers) and self._numbers[place] == number:
            del self._numbers[place]
            del self._rows[place * _ROW.size : (place + 1) * _ROW.size]

    def get(self, number: int) -> tuple[int, Evidence | None]:
        """Return how many tokens page *number* has, and its evidence, if there is any."""
        place = bisect_left(self._numbers, number)
        if place == len(self._numbers) or self._numbers[place] != number:
            return 0, None
        tokens, evidence = _ROW.unpack_from(self._rows, place * _ROW.size)
        return tokens, None if evidence == _NONE else Evidence.from_bytes(evidence)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return len(self._numbers) * self._numbers.itemsize + len(self._rows)


_ROW = Struct(f"<I{SIZE_OF_EVIDENCE}s")
_NONE = bytes(SIZE_OF_EVIDENCE)
_MOST_TOKENS = 2**32 - 1
