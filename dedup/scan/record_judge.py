"""The judge of the records of a scan, and what it found."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, BinaryIO

from dedup.arrays import Packed
from dedup.evidence import Evidence, Names, Objection, Weakness
from dedup.index.base import Match
from dedup.lost_text import LostText, LostTextSample, Sequences
from dedup.methods.base import Method
from dedup.methods.digests import Exact
from dedup.record import Claimed, PageRecord
from dedup.records.lines import json_line
from dedup.rule import Decision, Kind, Rule
from dedup.scan.reader import Fate, ReadRecord
from dedup.search import BatchIndex
from dedup.text import from_utf8, to_utf8
from dedup.view.view import View

_IS_KEPT = bytes(fate >= Fate.NEW for fate in range(256))
_FATES = {fate.verdict: fate for fate in Fate}
Judged = tuple[int, PageRecord, Sequences | None]
"""A record by its number, and the sequences of its text, if they are known."""


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

    def note(self, record: ReadRecord, *, with_key: bool) -> Fate:
        """Add what is known of the next *record* before it is judged; return its fate till then."""
        fate = record.fate
        self.first_bad = self.first_bad or record.error
        self.first_unread = self.first_unread or record.unread
        self.with_evidence += fate is Fate.NEW and record.page.evidence is not None
        self.fates.append(fate)
        if with_key:
            self.keys.append(to_utf8(f"={record.page.key}" if record.has_key else ""))
        return fate

    def name(self, number: int) -> dict[str, Any]:
        """Return the number of a record, from 1, and its key if keys were asked for."""
        key = self.keys[number] if len(self.keys) else None
        named = {} if key is None else {"key": from_utf8(key[1:]) if key else None}
        return {"number": number + 1, **named}


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
        self._texts = BatchIndex(Exact())
        # Nothing is near by that method that is not equal.
        self._index = None if type(method) is Exact else BatchIndex(method)
        # The numbers of the records that were kept, by those that the indexes and the view have:
        # an earlier one may have been judged later.
        self._numbers = array("I")
        self._sample = LostTextSample()
        self._all_texts_known = True

    def judge(self, batch: Sequence[Judged]) -> None:
        """Judge the records of a *batch*, one after the other.

        The outcome, which has a fate for each of their numbers, has their own from then on.
        """
        if self._view is None:
            self._begin([record for _, record, _ in batch])
        for place, (number, record, sequences) in enumerate(batch):
            if self._view is None:
                fate = self._fate(place, number, record)
            else:
                fate = self._fate_in(self._view, number, record)
            self.outcome.fates[number] = fate
            if sequences is None:
                self._all_texts_known = False
            elif fate >= Fate.NEW:
                self._sample.add_kept(sequences)
            else:
                self._sample.add_dropped(sequences, str(number), str(self.outcome.originals[-1]))

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

    def _begin(self, records: Sequence[PageRecord]) -> None:
        """Have the indexes look up the records of a batch; what is skipped has no place there."""
        self._texts.begin([record.digest for record in records])
        if self._index:
            sketches = (
                None if record.digest is None or self._rule.is_short(record) else record.sketch
                for record in records
            )
            self._index.begin(
                [
                    None if sketch is None or self._texts.query(place) else sketch
                    for place, sketch in enumerate(sketches)
                ]
            )

    def _fate_in(self, view: View, number: int, record: PageRecord) -> Fate:
        if record.evidence and (weakness := Evidence.from_bytes(record.evidence).weakness):
            self.outcome.weak[weakness] += 1
        look = view.look(record)
        view.learn_names(record)
        if look.decision.kind is Kind.NEW:
            view.commit(view.claim(Claimed(record, number=len(self._numbers))))
            if look.objection:
                self.outcome.objections[look.objection] += 1
        return self._note(look.decision, number, record)

    def _fate(self, place: int, number: int, record: PageRecord) -> Fate:
        decision = self._rule.judge(
            record,
            lambda: self._texts.query(place),
            lambda: self._index.query(place) if self._index else None,
        )
        if decision.kind is Kind.NEW:
            self._texts.add(place, len(self._numbers))
            if self._index and not self._rule.is_short(record):
                self._index.add(place, len(self._numbers))
        return self._note(decision, number, record)

    def _note(self, decision: Decision[Match], number: int, record: PageRecord) -> Fate:
        """Note what became of a record; return its fate."""
        if decision.match:
            self.outcome.duplicates.append(number)
            self.outcome.originals.append(self._numbers[decision.match.page])
            is_exact = decision.kind is Kind.EXACT
            self.outcome.distances.append(0 if is_exact else decision.match.distance)
        elif decision.kind is Kind.NEW:
            self._numbers.append(number)
            self.outcome.short += self._rule.is_short(record)
        return _FATES[decision.kind]


def write_clusters(file: BinaryIO, outcome: Outcome) -> None:
    """Write a line for each kept record that others repeat, by number.

    Numbers count from 1, over all inputs. The duplicates are in their order, each with its distance
    from the kept record (0 for an exact one).
    """
    originals, duplicates = outcome.originals, outcome.duplicates
    places = sorted(range(len(originals)), key=lambda at: (originals[at], duplicates[at]))
    for original, group in groupby(places, originals.__getitem__):
        copies = [
            {
                **outcome.name(duplicates[at]),
                "distance": outcome.distances[at],
                "exact": outcome.fates[duplicates[at]] == Fate.EXACT,
            }
            for at in group
        ]
        line = {**outcome.name(original), "duplicates": copies}
        file.write(json_line(line) + b"\n")
