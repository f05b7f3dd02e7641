"""How much text a scan leaves out that stands in no record it keeps."""

from collections.abc import Sequence

from dedup.lost_text import LostTextSample, SampleSize, Sequences
from dedup.scan.outcome import Fate, Outcome


class ScanLosses:
    """Samples the texts of kept and of left out records, once their fates are known."""

    def __init__(self, outcome: Outcome) -> None:
        """Create it; *outcome* is what the judge notes fates and originals in."""
        self._outcome = outcome
        self._sample = LostTextSample()
        # Of records whose fates are known later: how small the samples of others have to be.
        self._read = SampleSize()
        self._duplicates = 0
        self._unknown = 0

    @property
    def halvings(self) -> int:
        """Which sample of the `Sequences` of the next records is needed."""
        return max(self._sample.halvings, self._read.halvings)

    def expect(self, sequences: Sequences | None) -> None:
        """Take note of a record that is judged when all are read."""
        if sequences:
            self._read.add(sequences)

    def add(self, numbers: Sequence[int], sequences: Sequence[Sequences | None]) -> None:
        """Take note of the fates of the records *numbers*, which were judged in this order."""
        outcome = self._outcome
        for number, own in zip(numbers, sequences, strict=True):
            is_kept = outcome.fates[number] >= Fate.NEW
            if own is None:
                self._unknown += 1
            elif is_kept:
                self._sample.add_kept(own)
            else:
                original = outcome.originals[self._duplicates]
                self._sample.add_dropped(own, str(number), str(original))
            self._duplicates += not is_kept

    def finish(self) -> None:
        """Put the estimate into the outcome; there is none if a record came without its words."""
        if not self._unknown:
            self._outcome.lost_text = self._sample.result()
            self._outcome.lossiest = [
                (int(drop.key), int(drop.original), round(drop.lost), drop.sequences)
                for drop in self._sample.lossiest()
            ]
