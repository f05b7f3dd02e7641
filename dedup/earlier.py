"""What earlier crawls stored under the key of a page, which is not compared with that.

And what they stored under another one, and met under this one, which was preferred.
"""

from collections.abc import Callable, Sequence

from dedup.methods.base import Method
from dedup.record import PageRecord
from dedup.rule import Kind, Rule, Verdict, Witness
from dedup.scopes import base_of, is_of_item, is_within
from dedup.stores import Store, Stored


class EarlierPages:
    """The stored pages of one key: the same page as it was, or its items."""

    def __init__(
        self,
        method: Method,
        rule: Rule,
        key: str,
        pages: Sequence[Stored],
        *,
        several_a_key: bool,
    ) -> None:
        """Create it of *pages*; *several_a_key*: a key may stand for several contents.

        Those with another key than *key* are copies: other pages, for which *key* is preferred.
        """
        self._method = method
        self._rule = rule
        self._pages = [page for page in pages if page.record.key == key]
        self._copies = [page for page in pages if page.record.key != key]
        self._several_a_key = several_a_key
        self.numbers = {page.number for page in self._pages}

    def unchanged(self, record: PageRecord) -> Stored | None:
        """Return the page that *record* equals, or ``None``."""
        if not (self._pages or self._copies):
            return None
        page = Witness.of(record)
        # What is stored under the own key decides, if anything is.
        for stored in self._pages or self._copies:
            if stored.record.digest == record.digest:
                original = Witness.of(stored.record)
                if self._rule.objection(page, original, is_exact=True) is None:
                    return stored
        return None

    def replaced_by(self, record: PageRecord) -> tuple[Verdict, list[int]]:
        """Return the verdict on a page that is to be stored, and what it takes the place of.

        That is what was stored under its key; where a key stands for several contents, those of
        them that are near: it is the stored page that goes.
        """
        method, pages = self._method, self._pages
        if is_within(record.scope) and len(pages) > 1:
            pages = []  # Of several items of one page, nobody can say which one this was.
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


class Earlier:
    """Finds what earlier crawls stored under a key."""

    def __init__(
        self,
        method: Method,
        rule: Rule,
        store: Store,
        has_ended: Callable[[int], bool],
        *,
        several_a_key: bool,
    ) -> None:
        """Create it; *has_ended* says of a page, by its number, that it does not count any more."""
        self._method = method
        self._rule = rule
        self._store = store
        self._has_ended = has_ended
        self._several_a_key = several_a_key
        self._nothing = EarlierPages(method, rule, "", (), several_a_key=several_a_key)
        self._by_scope: dict[str, tuple[list[Stored], dict[str, list[Stored]]]] = {}

    async def pages(self, key: str, scope: str) -> EarlierPages:
        """Return what was stored under *key*, as a version of what is in *scope*.

        And that for which it was noted as the preferred one.
        """
        stored = await self._store.earlier(key)
        if not stored:
            return self._nothing
        if is_of_item(scope):
            stored = self._by_scope_of_item(key, stored).get(base_of(scope), [])
        counting = [page for page in stored if not self._has_ended(page.number)]
        return EarlierPages(
            self._method, self._rule, key, counting, several_a_key=self._several_a_key
        )

    def _by_scope_of_item(self, key: str, stored: list[Stored]) -> dict[str, list[Stored]]:
        """Return what is *stored* under *key* by its scope: a page may have thousands of items."""
        sorted_so_far, by_scope = self._by_scope.get(key, (None, {}))
        if sorted_so_far is not stored:
            by_scope = {}
            for page in stored:
                by_scope.setdefault(base_of(page.record.scope), []).append(page)
            if len(self._by_scope) >= _KEYS_AT_HAND:
                del self._by_scope[next(iter(self._by_scope))]
            self._by_scope[key] = stored, by_scope
        return by_scope


# Items of one page have one key, and some pages are judged at a time.
_KEYS_AT_HAND = 16
