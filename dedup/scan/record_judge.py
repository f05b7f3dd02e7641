"""The judge of a scan: records, in batches -> what becomes of each."""

from array import array
from collections.abc import Sequence

from dedup.batch_search import batch_index_for
from dedup.evidence import Evidence, Names
from dedup.index.base import Match
from dedup.index.batches import Nothing
from dedup.methods.base import Method
from dedup.methods.exact import Exact
from dedup.record import Claimed, PageRecord
from dedup.rule import Kind, Rule
from dedup.scan.outcome import Fate, Outcome
from dedup.view.view import View

_FATES = {
    Kind.SKIPPED: Fate.EMPTY, Kind.EXACT: Fate.EXACT, Kind.NEAR: Fate.NEAR, Kind.NEW: Fate.NEW,
}  # fmt: skip


class RecordJudge:
    """Judges records by the rule, as the detector does pages, but in batches; notes the outcome.

    All is in memory, and what is new is kept at once, so that nobody waits and no store is needed.
    Texts are judged in batches; pages one by one, since they have evidence, and records of crawls,
    since they may have many scopes of few pages each: a record is compared with kept ones of its
    scope only.
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
        self._texts = batch_index_for(Exact())
        # Nothing is near by that method that is not equal.
        self._index = Nothing() if type(method) is Exact else batch_index_for(method)
        # The numbers of the records that were kept: of all, and of those that are in the index,
        # which has no more than 2**32 either.
        self._numbers_of_texts = array("I")
        self._numbers_of_index = array("I")

    def judge(self, numbers: Sequence[int], records: Sequence[PageRecord]) -> None:
        """Judge *records*, which have these *numbers*, one after the other.

        The outcome has their fates from then on.
        """
        if (view := self._view) is not None:  # it may be empty
            for number, record in zip(numbers, records, strict=True):
                self.outcome.fates[number] = self._fate_in(view, number, record)
            return
        # Their places in the batch; what is skipped has none.
        self._texts.begin([record.digest for record in records])
        self._index.begin(
            [
                None
                if record.digest is None or self._rule.is_short(record) or self._texts.query(place)
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
        finding = look.finding
        if finding.match is not None:
            self._note_duplicate(finding.kind, number, finding.match, self._numbers_in_view)
        elif finding.kind is Kind.NEW:
            view.commit(view.claim(Claimed(record, number=len(self._numbers_in_view))))
            self._numbers_in_view.append(number)
            self.outcome.short += self._rule.is_short(record)
            if look.objection:
                self.outcome.objections[look.objection] += 1
        return _FATES[finding.kind]

    def _fate(self, place: int, number: int, record: PageRecord) -> Fate:
        finding = self._rule.judge(
            record, lambda: self._texts.query(place), lambda: self._index.query(place)
        )
        if finding.match:
            is_exact = finding.kind is Kind.EXACT
            numbers = self._numbers_of_texts if is_exact else self._numbers_of_index
            self._note_duplicate(finding.kind, number, finding.match, numbers)
        elif finding.kind is Kind.NEW:
            self._keep(place, number, record)
        return _FATES[finding.kind]

    def _note_duplicate(self, kind: Kind, number: int, match: Match, numbers: "array[int]") -> None:
        self.outcome.duplicates.append(number)
        self.outcome.originals.append(numbers[match.page])
        self.outcome.distances.append(0 if kind is Kind.EXACT else match.distance)

    def _keep(self, place: int, number: int, record: PageRecord) -> None:
        self._texts.add(place)
        self._numbers_of_texts.append(number)
        if self._rule.is_short(record):
            self.outcome.short += 1
        else:
            self._index.add(place)
            self._numbers_of_index.append(number)
