"""One search for the original of a page: which of the pages that match may be it."""

from collections.abc import Callable, Container, Iterable

from dedup.index.base import Match
from dedup.view.objections import Objections


class Search:
    """Says of the pages that match whether the page may go for them, and notes who is not stored.

    *counts* says of a page by its number whether it is considered; *claims* are the open ones.
    """

    def __init__(
        self, counts: Callable[[int], bool], claims: Container[int], objections: Objections
    ) -> None:
        self._counts = counts
        self._claims = claims
        self._objections = objections
        self.open_numbers: list[int] = []
        """The open claims for which the page would have to wait."""

    def is_same(self, number: int) -> bool:
        """Return whether page *number*, whose text is equal, is stored and shows the same."""
        is_same = self._counts(number) and self._objections.is_same(number)
        return is_same and self._is_stored(number)

    def first_equal(self, pages: Iterable[int]) -> Match | None:
        """Return the first of *pages*, whose texts are equal, that may be the original."""
        for page in pages:
            if self._objections.are_enough:
                break
            if self._may_be(page, is_exact=True):
                return Match(page, 0)
        return None

    def nearest(self, query: Callable[[Callable[[int], bool]], Match | None]) -> Match | None:
        """Return the match that *query* finds among the near pages that may be the original."""
        if self._objections.are_enough:
            return None
        match = query(self._ends_search_or_is_near)
        return None if self._objections.are_enough else match

    def _ends_search_or_is_near(self, number: int) -> bool:
        return self._objections.are_enough or self._may_be(number, is_exact=False)

    def _may_be(self, number: int, *, is_exact: bool) -> bool:
        if not self._counts(number) or self._objections.against(number, is_exact=is_exact):
            return False
        return self._is_stored(number)

    def _is_stored(self, number: int) -> bool:
        if number in self._claims:
            self.open_numbers.append(number)
            return False
        return True
