"""What becomes of the records of a scan: kept, or a duplicate of one that is kept."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from dedup.methods import METHODS, Method
from dedup.packed import Packed
from dedup.scan.reading import Sketched
from dedup.search import batch_index_for


class Found(IntEnum):
    """What became of a record; those from `NEW` on are kept."""

    BAD = 0
    EXACT = 1
    NEAR = 2
    NEW = 3
    EMPTY = 4
    UNREAD = 5


@dataclass
class Outcome:
    """What a scan found, by the numbers of the records, 0, 1, ... over all inputs.

    *found* has a `Found` for each; *duplicates*, *originals* and *distances* tell which repeats
    which kept one, in the order in which they were judged. *keys* is empty unless asked for.
    """

    found: bytearray = field(default_factory=bytearray)
    duplicates: "array[int]" = field(default_factory=lambda: array("Q"))
    originals: "array[int]" = field(default_factory=lambda: array("Q"))
    distances: "array[float]" = field(default_factory=lambda: array("d"))
    keys: Packed = field(default_factory=Packed)
    short: int = 0
    first_bad: str | None = None
    first_unread: str | None = None

    @property
    def keep(self) -> list[int]:
        """Whether each record is kept, as 0 or 1."""
        return [found >= Found.NEW for found in self.found]

    def count(self, found: Found) -> int:
        return self.found.count(found)

    def key(self, number: int) -> str | None:
        key = self.keys[number]
        return key[1:].decode("utf-8", "surrogatepass") if key else None


class Judge:
    """Judges records as the detector does pages, but in batches; writes down what it finds.

    All is in memory and in one scope, and what is new is kept at once, so that neither claims nor a
    ledger is needed. A record is compared with kept ones only.
    """

    def __init__(self, method: Method, min_tokens: int) -> None:
        self.outcome = Outcome()
        self._min_tokens = min_tokens
        self._texts = batch_index_for(METHODS["exact"]())
        self._index = batch_index_for(method)
        # The numbers of the records that were kept: of all, and of those that are in the index.
        self._of_texts = array("Q")
        self._of_index = array("Q")

    def judge(self, numbers: Sequence[int], records: Sequence[Sketched]) -> None:
        """Judge *records*, which have these *numbers*, one after the other.

        What they are found to be takes the place of what stands in the outcome.
        """
        pairs = [
            (number, record)
            for number, record in zip(numbers, records, strict=True)
            if record.digest is not None
        ]
        self._texts.begin([record.digest for _, record in pairs])
        self._index.begin(
            [
                record.sketch
                if record.tokens >= self._min_tokens and not self._texts.query(place)
                else None
                for place, (_, record) in enumerate(pairs)
            ]
        )
        found = self.outcome.found
        for number, record in zip(numbers, records, strict=True):
            if record.digest is None:
                found[number] = Found.EMPTY
        for place, (number, record) in enumerate(pairs):
            found[number] = self._found(place, number, record)

    def _found(self, place: int, number: int, record: Sketched) -> Found:
        if text := self._texts.query(place):
            return self._repeats(Found.EXACT, number, self._of_texts[text.page], 0)
        is_short = record.tokens < self._min_tokens or record.sketch is None
        if is_short:
            self.outcome.short += 1
        else:
            if match := self._index.query(place):
                return self._repeats(Found.NEAR, number, self._of_index[match.page], match.distance)
            self._index.add(place)
            self._of_index.append(number)
        self._texts.add(place)
        self._of_texts.append(number)
        return Found.NEW

    def _repeats(self, found: Found, number: int, original: int, distance: float) -> Found:
        outcome = self.outcome
        outcome.duplicates.append(number)
        outcome.originals.append(original)
        outcome.distances.append(distance)
        return found
