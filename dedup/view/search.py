"""One search for the original of a page: which of the pages that match may be it."""

from collections.abc import Callable, Mapping
from functools import cached_property

from dedup.evidence import KnownNames, Names, Objection, Witness, segments_of
from dedup.index.base import Match, PageFilter
from dedup.record import PageRecord, values_in
from dedup.rule import MOST_OBJECTIONS, Rule
from dedup.scopes import host
from dedup.view.page_table import PageTable

_COST_OF_ITEM = 0.5
"""To compare an item takes so much of what it takes to ask for the evidence of a page."""


class Search:
    """Asks of one page after the other whether the item that is judged may go for it.

    It stops after many objections, and the item is kept. What shows and says the same is found
    without, so such pages are copies with differences.
    """

    def __init__(
        self,
        rule: Rule,
        pages: PageTable,
        names: Names,
        record: PageRecord,
        *,
        finds_parts: bool,
        own_names: Mapping[bytes, bytes] = {},
        counts: PageFilter = lambda number: True,
    ) -> None:
        """Create it for a *record*; *finds_parts*: of the method by which pages are near.

        *own_names*: which values of its item are the page's title or headline, and their marks.
        *counts* says of a page whether it is considered.
        """
        self._rule = rule
        self._pages = pages
        self._names = names
        self._record = record
        self._keys = values_in(record.item)
        self._own_names = own_names
        self._finds_parts = finds_parts
        self._counts = counts
        self._left: float = MOST_OBJECTIONS
        self.first: tuple[Objection | None, int] = None, -1
        """The first objection that there was, and to which page."""
        self.open_numbers: list[int] = []
        """The open claims for which the page would have to wait."""

    def nearest(
        self, query: Callable[[PageFilter], Match | None], *, is_exact: bool
    ) -> Match | None:
        """Return the match that *query* finds among the pages that may be the original."""
        match = query(lambda number: self._left <= 0 or self._may_be(number, is_exact=is_exact))
        return None if self._left <= 0 else match

    def is_same(self, number: int) -> bool:
        """Return whether page *number*, whose main text is equal, shows and says the same.

        Such pages are asked beside those that `nearest` counts.
        """
        if not self._counts(number):
            return False
        shown, other = self._page.evidence, self._pages.witness(number).evidence
        if self._rule.demands and (shown and shown.view) != (other and other.view):
            return False
        return self.objection(number, is_exact=True) is None and self._is_stored(number)

    def _may_be(self, number: int, *, is_exact: bool) -> bool:
        if not self._counts(number):
            return False
        objection = self.objection(number, is_exact=is_exact)
        if objection is None:
            return self._is_stored(number)
        if objection is Objection.ITEM:
            self._left -= _COST_OF_ITEM
        else:
            # What is weak is not enough for any other page either.
            self._left = 0 if self._rule.is_weak(self._page) else self._left - 1
        return False

    def _is_stored(self, number: int) -> bool:
        if self._pages.is_open(number):
            self.open_numbers.append(number)
            return False
        return True

    def objection(self, number: int, *, is_exact: bool) -> Objection | None:
        """Return what speaks against dropping the item for one of page *number*."""
        original = self._pages.witness(number)
        is_said = self._is_said(number, original)
        objection = None
        if is_said or not self.first[0]:  # the first one is told, whatever it is
            objection = self._rule.objection(
                self._page,
                original,
                is_exact=is_exact,
                finds_parts=self._finds_parts,
                names=self._known,
            )
        if objection is None and not is_said:
            objection = Objection.ITEM
        if objection and not self.first[0]:
            self.first = objection, number
        return objection

    @cached_property
    def _page(self) -> Witness:
        return self._record.witness

    @cached_property
    def _known(self) -> KnownNames | None:
        shown = self._page.evidence
        return self._names.of(host(self._record.key), shown) if shown else None

    def _is_said(self, number: int, original: Witness) -> bool:
        """Return whether an item of page *number* says all that the item says.

        A name of its own page will do for the page's own title or headline, if both pages have one
        headline.
        """
        if self._pages.says_all(number, self._keys):
            return True
        if not self._has_headline_of(original):
            return False
        names = self._own_names
        others = self._keys.difference(names).union(names.values())
        return bool(names) and self._pages.says_all(number, others)

    def _has_headline_of(self, original: Witness) -> bool:
        """Return whether both pages have one headline, and that is not the site's.

        The title counts of a page that has no headline.
        """
        page = self._page.evidence
        if not page or not original.evidence:
            return False
        name, other = page.headline, original.evidence.headline
        if not name:
            name, other = page.title, original.evidence.title
        is_own = self._known is None or not self._known.own.isdisjoint(segments_of(name))
        return bool(name) and name == other and is_own
