"""What is remembered of records that are judged later: all but their texts."""

from array import array

from dedup.methods import Method
from dedup.packed import Packed
from dedup.page import Page
from dedup.scan.reading import Sketched

_NO_DIGEST = bytes(16)


class Sketches:
    """The records of a scan by their numbers, 0, 1, ...: sketches, digests, lengths and dates."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._sketches = Packed()
        self._digests = Packed()
        self._tokens = array("Q")
        self._lengths = array("Q")
        self._dates = array("d")

    def append(self, record: Sketched) -> None:
        sketch = record.sketch
        self._sketches.append(b"" if sketch is None else self._method.to_bytes(sketch))
        self._digests.append(record.digest or _NO_DIGEST)
        self._tokens.append(record.tokens)
        self._lengths.append(record.length)
        self._dates.append(float("-inf") if record.date is None else record.date)

    def __len__(self) -> int:
        return len(self._tokens)

    def page(self, number: int) -> Page:
        """Return what the detector judges."""
        digest, sketch = self._digests[number], self._sketches[number]
        return Page(
            None,
            None,
            None,
            self._tokens[number],
            None if digest == _NO_DIGEST else digest,
            self._method.from_bytes(sketch) if sketch else None,
        )

    def longest_first(self) -> list[int]:
        """Return the numbers by length of the main text, equal ones in their order."""
        return sorted(range(len(self)), key=lambda number: -self._lengths[number])

    def newest_first(self) -> list[int]:
        """Return the numbers by date, equal ones in their order, those without one at last."""
        return sorted(range(len(self)), key=lambda number: -self._dates[number])
