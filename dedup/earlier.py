"""What earlier crawls stored under the key of a page, which is not compared with that."""

from collections.abc import Sequence

from dedup.methods.base import Method
from dedup.record import PageRecord
from dedup.rule import Kind, Rule, Verdict, Witness
from dedup.scopes import is_within
from dedup.stores import Stored


class EarlierPages:
    """The stored pages of one key: the same page as it was, or its items."""

    def __init__(
        self, method: Method, rule: Rule, pages: Sequence[Stored], *, several_a_key: bool
    ) -> None:
        """Create it of *pages*; *several_a_key*: a key may stand for several contents."""
        self._method = method
        self._rule = rule
        self._pages = pages
        self._several_a_key = several_a_key
        self.numbers = {page.number for page in pages}

    def unchanged(self, record: PageRecord) -> int | None:
        """Return the number of the page that *record* equals, or ``None``."""
        if not self._pages:
            return None
        page = Witness.of(record)
        for number, stored in self._pages:
            if stored.digest == record.digest:
                original = Witness.of(stored)
                if self._rule.objection(page, original, is_exact=True) is None:
                    return number
        return None

    def replaced_by(self, record: PageRecord) -> tuple[Verdict, list[int]]:
        """Return the verdict on a page that is to be stored, and what it takes the place of.

        That is what was stored under its key; where a key stands for several contents, those of
        them that are near: it is the stored page that goes.
        """
        method, pages = self._method, self._pages
        if is_within(record.scope) and len(pages) > 1:
            pages = ()  # Of several items of one page, nobody can say which one this was.
        if not pages:
            return Verdict(Kind.NEW, method.name), []
        own = None if record.sketch is None else method.from_bytes(record.sketch)
        distances = {
            number: method.distance(method.from_bytes(stored.sketch), own)
            for number, stored in pages
            if own is not None and stored.sketch is not None
        }
        replaced = [
            number
            for number, _ in pages
            if not self._several_a_key
            or distances.get(number, method.max_distance + 1) <= method.max_distance
        ]
        if not replaced:
            return Verdict(Kind.NEW, method.name), []
        distance = min((distances[n] for n in replaced if n in distances), default=None)
        return Verdict(Kind.CHANGED, method.name, record.key, distance), replaced
