"""What speaks against dropping one page for others whose main texts match."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dedup.claim import Claim
from dedup.evidence import VIEW, KnownNames, Names, Objection, segments_of
from dedup.evidence_table import EvidenceTable
from dedup.record import PageRecord, values_in
from dedup.rule import MOST_OBJECTIONS, Rule, Witness
from dedup.scopes import host
from dedup.view.stored_items import StoredItems

OwnNames: TypeAlias = Callable[[], Mapping[bytes, bytes]]
_COST_OF_ITEM = 0.5
"""To compare an item takes so much of what it takes to ask for the evidence of a page."""


class Objections:
    """Asks of one page after the other whether the item that is judged may go for it.

    It stops after many objections, and the item is kept. What shows and says the same is found
    without, so such pages are copies with differences.
    """

    def __init__(
        self,
        rule: Rule,
        evidence: EvidenceTable,
        names: Names,
        items: StoredItems,
        claims: Mapping[int, Claim],
        record: PageRecord,
        own_names: OwnNames = dict,
        *,
        finds_parts: bool = False,
    ) -> None:
        """Create it for a *record*; *finds_parts*: of the method by which pages are near.

        *items* are those of stored pages, *claims* the open ones by number. *own_names*
        returns which values of the item are the page's title or headline, and their marks.
        """
        self._rule = rule
        self._evidence = evidence
        self._names = names
        self._items = items
        self._claims = claims
        self._record = record
        self.keys = values_in(record.item)
        self._own_names = own_names
        self._finds_parts = finds_parts
        self._page: Witness | None = None
        self._known: KnownNames | None = None
        self._left: float = MOST_OBJECTIONS
        self.first: tuple[Objection | None, int] = None, -1
        """The first objection that there was, and to which page."""

    def is_same(self, number: int) -> bool:
        """Return whether page *number*, whose main text is equal, shows and says the same.

        Such pages are asked beside those that `against` counts.
        """
        assert self._record.evidence is not None
        if self._evidence.view(number) != self._record.evidence[VIEW]:
            return False
        return self._objection(number, is_exact=True) is None

    def against(self, number: int, *, is_exact: bool) -> bool:
        """Return whether the item is not to be dropped for one of page *number*."""
        objection = self._objection(number, is_exact=is_exact)
        if objection is Objection.ITEM:
            self._left -= _COST_OF_ITEM
        elif objection:
            assert self._page
            # What is weak is not enough for any other page either.
            self._left = 0 if self._rule.is_weak(self._page) else self._left - 1
        return objection is not None

    def _objection(self, number: int, *, is_exact: bool) -> Objection | None:
        if self._page is None:
            self._page = Witness.of(self._record)
            if self._page.evidence:
                self._known = self._names.of(host(self._record.key), self._page.evidence)
        original = Witness(*self._evidence.get(number))
        is_said = self._is_said(number, original)
        if self.first[0] and not is_said:
            return Objection.ITEM
        objection = self._rule.objection(
            self._page,
            original,
            is_exact=is_exact,
            finds_parts=self._finds_parts,
            names=self._known,
        )
        if objection is None and not is_said:
            objection = Objection.ITEM
        if objection and self.first[0] is None:
            self.first = objection, number
        return objection

    def _is_said(self, number: int, original: Witness) -> bool:
        """Return whether an item of page *number* says all that the item says.

        A name of its own page will do for the page's own title or headline, if both pages have one
        headline.
        """
        if self._says_all(number, self.keys):
            return True
        if not self._has_headline_of(original):
            return False
        names = self._own_names()
        others = self.keys.difference(names).union(names.values())
        return bool(names) and self._says_all(number, others)

    def _says_all(self, number: int, keys: frozenset[bytes]) -> bool:
        claim = self._claims.get(number)
        if claim is None:
            return self._items.says_all(number, keys)
        return self._items.any_says_all(number, claim.items, keys)

    def _has_headline_of(self, original: Witness) -> bool:
        """Return whether both pages have one headline, and that is not the site's.

        The title counts of a page that has no headline.
        """
        page = self._page and self._page.evidence
        if not page or not original.evidence:
            return False
        name, other = page.headline, original.evidence.headline
        if not name:
            name, other = page.title, original.evidence.title
        is_own = self._known is None or not self._known.own.isdisjoint(segments_of(name))
        return bool(name) and name == other and is_own

    @property
    def are_enough(self) -> bool:
        """Whether there were so many that no other page is to be asked."""
        return self._left <= 0
