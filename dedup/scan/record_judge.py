"""The judge of the records of a scan, and what it found."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from dedup.arrays import Packed
from dedup.evidence import Evidence, Names, Objection, Weakness
from dedup.index.base import Match
from dedup.lost_text import LostText, LostTextSample, Sequences
from dedup.methods.base import Method
from dedup.methods.digests import Exact
from dedup.record import Claimed, PageRecord
from dedup.records.lines import json_line
from dedup.rule import Kind, Rule
from dedup.scan.read_record import Fate
from dedup.search import BatchIndex
from dedup.text import from_utf8
from dedup.view.view import View

_IS_KEPT = bytes(fate >= Fate.NEW for fate in range(256))


@dataclass
class Outcome:
    """What a scan found, by the numbers of the records, 0, 1, ... over all inputs.

    *fates* has a `Fate` for each; *duplicates*, *originals* and *distances* tell which repeats
    which kept one, in the order in which they were judged. *keys* is empty unless asked for.
    *with_evidence*: how many were pages of HTML, or records of such.
    *lost_text* is that of the duplicates, ``None`` if nobody knows the words of the records;
    *lossiest* has those duplicates that lost most: number, original, sequences lost, and in all.
    """

    fates: bytearray = field(default_factory=bytearray)
    duplicates: "array[int]" = field(default_factory=lambda: array("Q"))
    originals: "array[int]" = field(default_factory=lambda: array("Q"))
    distances: "array[float]" = field(default_factory=lambda: array("d"))
    keys: Packed = field(default_factory=Packed)
    short: int = 0
    with_evidence: int = 0
    objections: Counter[Objection] = field(default_factory=Counter)
    lost_text: LostText | None = None
    lossiest: list[tuple[int, int, int, int]] = field(default_factory=list)
    weak: Counter[Weakness] = field(default_factory=Counter)
    first_bad: str | None = None
    first_unread: str | None = None

    @property
    def keep(self) -> bytes:
        """Whether each record is kept, as 0 or 1."""
        return bytes(self.fates.translate(_IS_KEPT))

    def key(self, number: int) -> str | None:
        key = self.keys[number]
        return from_utf8(key[1:]) if key else None


KINDS = {
    Fate.EMPTY: Kind.SKIPPED, Fate.EXACT: Kind.EXACT, Fate.NEAR: Kind.NEAR, Fate.NEW: Kind.NEW,
}  # fmt: skip
_FATES = {kind: fate for fate, kind in KINDS.items()}


class RecordJudge:
    """Judges records by the rule, as the detector does pages, but in batches; notes the outcome.

    All is in memory, and what is new is kept at once, so that nobody waits and no store is needed.
    Texts are judged in batches; pages one by one, since they have evidence, and records of crawls,
    since they may have many scopes of few pages each: a record is compared with kept ones of its
    scope only. The text of those that are kept, and of those left out, is sampled.
    """

    def __init__(
        self, method: Method, rule: Rule, *, has_pages: bool = False, names: Names | None = None
    ) -> None:
        """Create it without records; *has_pages*: there may be other records than of texts.

        *names* knows the names of sites; by default, they are learned of the records.
        """
        self.outcome = Outcome()
        self._rule = rule
        self._view = View(method, rule, names) if has_pages else None
        self._numbers_in_view = array("I")
        self._texts = BatchIndex(Exact())
        # Nothing is near by that method that is not equal.
        self._index = None if type(method) is Exact else BatchIndex(method)
        # The numbers of the records that were kept: of all, and of those that are in the index,
        # which has no more than 2**32 either.
        self._numbers_of_texts = array("I")
        self._numbers_of_index = array("I")
        self._sample = LostTextSample()
        self._all_texts_known = True

    def judge(
        self,
        numbers: Sequence[int],
        records: Sequence[PageRecord],
        texts: Sequence[Sequences | None] = (),
    ) -> None:
        """Judge *records*, which have these *numbers*, one after the other.

        The outcome has their fates from then on. *texts* are those of all of them, or of none.
        """
        repeats = len(self.outcome.duplicates)
        if (view := self._view) is not None:  # it may be empty
            for number, record in zip(numbers, records, strict=True):
                self.outcome.fates[number] = self._fate_in(view, number, record)
        else:
            self._judge_batch(numbers, records)
        for number, sequences in zip(numbers, texts, strict=bool(texts)):
            is_kept = self.outcome.fates[number] >= Fate.NEW
            if sequences is None:
                self._all_texts_known = False
            elif is_kept:
                self._sample.add_kept(sequences)
            else:
                original = self.outcome.originals[repeats]
                self._sample.add_dropped(sequences, str(number), str(original))
            repeats += not is_kept

    def finish(self, sequences: int = 0) -> None:
        """Put what is lost into the outcome, unless a record came without its text.

        *sequences*: how many were read, also of records that were not judged.
        """
        if self._all_texts_known:
            # A worker samples by what it has read: the figures would depend on their number.
            self._sample.cut_for(sequences)
            self.outcome.lost_text = self._sample.result()
            self.outcome.lossiest = [
                (int(drop.key), int(drop.original), round(drop.lost), drop.sequences)
                for drop in self._sample.lossiest()
            ]

    def _judge_batch(self, numbers: Sequence[int], records: Sequence[PageRecord]) -> None:
        # Their places in the batch; what is skipped has none.
        self._texts.begin([record.digest for record in records])
        if self._index:
            self._index.begin(
                [
                    None
                    if record.digest is None
                    or self._rule.is_short(record)
                    or self._texts.query(place)
                    else record.sketch
                    for place, record in enumerate(records)
                ]
            )
        for place, (number, record) in enumerate(zip(numbers, records, strict=True)):
            self.outcome.fates[number] = self._fate(place, number, record)

    def _fate_in(self, view: View, number: int, record: PageRecord) -> Fate:
        if record.evidence and (weakness := Evidence.from_bytes(record.evidence).weakness):
            self.outcome.weak[weakness] += 1
        look = view.look(record)
        view.learn_names(record)
        decision = look.decision
        if decision.match is not None:
            self._note_duplicate(decision.kind, number, decision.match, self._numbers_in_view)
        elif decision.kind is Kind.NEW:
            view.commit(view.claim(Claimed(record, number=len(self._numbers_in_view))))
            self._numbers_in_view.append(number)
            self.outcome.short += self._rule.is_short(record)
            if look.objection:
                self.outcome.objections[look.objection] += 1
        return _FATES[decision.kind]

    def _fate(self, place: int, number: int, record: PageRecord) -> Fate:
        decision = self._rule.judge(
            record,
            lambda: self._texts.query(place),
            lambda: self._index.query(place) if self._index else None,
        )
        if decision.match:
            is_exact = decision.kind is Kind.EXACT
            numbers = self._numbers_of_texts if is_exact else self._numbers_of_index
            self._note_duplicate(decision.kind, number, decision.match, numbers)
        elif decision.kind is Kind.NEW:
            self._texts.add(place)
            self._numbers_of_texts.append(number)
            if self._rule.is_short(record):
                self.outcome.short += 1
            elif self._index:
                self._index.add(place)
                self._numbers_of_index.append(number)
        return _FATES[decision.kind]

    def _note_duplicate(self, kind: Kind, number: int, match: Match, numbers: "array[int]") -> None:
        self.outcome.duplicates.append(number)
        self.outcome.originals.append(numbers[match.page])
        self.outcome.distances.append(0 if kind is Kind.EXACT else match.distance)


def write_clusters(file: BinaryIO, outcome: Outcome) -> None:
    """Write a line for each kept record that others repeat, by number.

    Numbers count from 1, over all inputs. The duplicates are in their order, each with its distance
    from the kept record (0 for an exact one).
    """
    members: dict[int, list[int]] = {}
    for place, original in enumerate(outcome.originals):
        members.setdefault(original, []).append(place)
    for original in sorted(members):
        duplicates = [
            {
                **_name(outcome, outcome.duplicates[place]),
                "distance": outcome.distances[place],
                "exact": outcome.fates[outcome.duplicates[place]] == Fate.EXACT,
            }
            for place in sorted(members[original], key=outcome.duplicates.__getitem__)
        ]
        line = {**_name(outcome, original), "duplicates": duplicates}
        file.write(json_line(line) + b"\n")


def _name(outcome: Outcome, number: int) -> dict[str, object]:
    return {"number": number + 1, "key": outcome.key(number)}
