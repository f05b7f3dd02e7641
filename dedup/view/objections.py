"""What speaks against dropping one page for others whose main texts match."""

from dedup.evidence import VIEW, Names, Objection
from dedup.evidence_table import EvidenceTable
from dedup.record import PageRecord
from dedup.rule import MOST_OBJECTIONS, Rule, Witness
from dedup.scopes import host


class Objections:
    """Asks of one page after the other whether the page that is judged may go for it.

    It stops after many objections, and the page is kept. What shows the same is found without, so
    such pages are copies with differences.
    """

    def __init__(
        self,
        rule: Rule,
        evidence: EvidenceTable,
        names: Names,
        record: PageRecord,
        *,
        finds_parts: bool = False,
    ) -> None:
        """Create it for a *record*; *finds_parts*: of the method by which pages are near."""
        self._rule = rule
        self._evidence = evidence
        self._names = names
        self._record = record
        self.may_be = rule.demands is not None
        self._finds_parts = finds_parts
        self._page: Witness | None = None
        self._host = ""
        self._left = MOST_OBJECTIONS
        self.first: tuple[Objection | None, int] = None, -1
        """The first objection that there was, and to which page."""

    def is_same(self, number: int) -> bool:
        """Return whether page *number*, whose main text is equal, shows the same and is no other.

        Such pages are asked beside those that `against` counts.
        """
        assert self._record.evidence is not None
        if self._evidence.view(number) != self._record.evidence[VIEW]:
            return False
        return self._objection(number, is_exact=True) is None

    def against(self, number: int, *, is_exact: bool) -> bool:
        """Return whether the page is not to be dropped for page *number*."""
        if not self.may_be or self._objection(number, is_exact=is_exact) is None:
            return False
        assert self._page
        # What is weak is not enough for any other page either.
        self._left = 0 if self._rule.is_weak(self._page) else self._left - 1
        return True

    def _objection(self, number: int, *, is_exact: bool) -> Objection | None:
        if self._page is None:
            self._page, self._host = Witness.of(self._record), host(self._record.key)
        objection = self._rule.objection(
            self._page,
            Witness(*self._evidence.get(number)),
            is_exact=is_exact,
            finds_parts=self._finds_parts,
            names=self._names,
            host=self._host,
        )
        if objection and self.first[0] is None:
            self.first = objection, number
        return objection

    @property
    def are_enough(self) -> bool:
        """Whether there were so many that no other page is to be asked."""
        return self._left <= 0
