"""What is remembered of records that are judged later: all but their texts."""

from array import array

from dedup.lost_text import Sequences
from dedup.packed import Packed
from dedup.preference import Copy, Preference
from dedup.record import PageRecord
from dedup.scan.reader import ReadRecord

_NO_DIGEST = bytes(16)


class Sketches:
    """The records of a scan by their numbers, 0, 1, ...: sketches, digests and ranks."""

    def __init__(self, preference: Preference) -> None:
        """Create it without records, which will be ranked by *preference*."""
        self._preference = preference
        # By criterion.
        self._ranks = [array("Q") for _ in preference.criteria]
        self._sketches = Packed()
        self._digests = Packed()
        # Empty for what is no page of HTML.
        self._evidence = Packed()
        self._sequences = Packed()
        self._tokens = array("Q")
        # Of those that are in another than "": few in most collections.
        self._scopes: dict[int, str] = {}

    def append(self, record: ReadRecord) -> None:
        """Add the next record; raises whatever a criterion of the user's own raises."""
        copy = Copy(record.page.key, record.canonical, record.length, record.date)
        is_bad = record.error is not None
        ranks = [0] * len(self._ranks) if is_bad else self._preference.rank(copy)
        for column, rank in zip(self._ranks, ranks, strict=True):
            column.append(rank)
        if record.page.scope:
            self._scopes[len(self)] = record.page.scope
        self._sketches.append(record.page.sketch or b"")
        self._digests.append(record.page.digest or _NO_DIGEST)
        self._evidence.append(record.page.evidence or b"")
        self._sequences.append(record.sequences.to_bytes() if record.sequences else b"")
        self._tokens.append(record.page.tokens)

    def __len__(self) -> int:
        return len(self._tokens)

    def record(self, number: int) -> PageRecord:
        """Return what is judged of a record."""
        digest = self._digests[number]
        return PageRecord(
            scope=self._scopes.get(number, ""),
            tokens=self._tokens[number],
            digest=None if digest == _NO_DIGEST else digest,
            sketch=self._sketches[number] or None,
            evidence=self._evidence[number] or None,
        )

    def sequences(self, number: int) -> Sequences | None:
        """Return the sequences of a record, if they are known."""
        data = self._sequences[number]
        return Sequences.from_bytes(data) if data else None

    def best_first(self) -> list[int]:
        """Return the numbers from the best on, equally good ones in their order."""
        return sorted(range(len(self)), key=lambda number: [ranks[number] for ranks in self._ranks])
