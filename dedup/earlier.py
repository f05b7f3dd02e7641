"""What earlier crawls stored under the key of a page, which is not compared with that."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import chain, islice

from dedup.follower import Follower
from dedup.index.base import Index
from dedup.record import PageRecord, Stored
from dedup.rule import Kind, Verdict
from dedup.scopes import is_of_item
from dedup.search import index_for

_AT_HAND = 16


class Earlier:
    """Finds what earlier crawls stored under a key."""

    def __init__(self, follower: Follower, *, several_a_key: bool) -> None:
        """Create it; *several_a_key*: a key may stand for several contents."""
        self.follower = follower
        self.several_a_key = several_a_key
        # Of some keys what is stored, as one and by scope: items of one page have one key, and what
        # is there is read once for all of them.
        self._at_hand: dict[str, tuple[EarlierPages | None, dict[str, list[Stored]]]] = {}
        self._version: object = None

    async def pages(self, key: str, scope: str) -> "EarlierPages | None":
        """Return what was stored under *key*, as a version of what is in *scope*, if anything."""
        store = self.follower.store
        if self._version is not store.version_of_earlier:
            self._version, self._at_hand = store.version_of_earlier, {}
        at_hand = self._at_hand  # while this waits, another one may take its place
        if key not in at_hand:
            stored = await store.earlier(key)
            by_scope: defaultdict[str, list[Stored]] = defaultdict(list)
            for page in stored:
                by_scope[page.record.scope].append(page)
            if len(at_hand) >= _AT_HAND:
                del at_hand[next(iter(at_hand))]
            at_hand[key] = EarlierPages(self, stored) if stored else None, by_scope
        pages, of_scopes = at_hand[key]
        if pages and is_of_item(scope):
            return EarlierPages(self, of_scopes[scope]) if scope in of_scopes else None
        return pages


class EarlierPages:
    """The stored pages of one key: the same page as it was, or its items, maybe thousands."""

    def __init__(self, earlier: Earlier, pages: Sequence[Stored]) -> None:
        """Create it of *pages*, all with this key."""
        self._earlier = earlier
        # A page may have thousands of items, each of which is asked for.
        self._items_of = cache(lambda number: frozenset(earlier.follower.view.items_of(number)))
        self._pages = pages
        self._equal = defaultdict[bytes | None, list[Stored]](list)
        for page in pages:
            self._equal[page.record.digest].append(page)
        self.numbers = {page.number for page in pages}
        """Also of those that have ended."""

    def unchanged(self, record: PageRecord) -> Stored | None:
        """Return the page that *record* equals, with an item that says the same, or ``None``."""
        for stored in self._counting(self._equal.get(record.digest, ())):
            page, original = record.witness, stored.record.witness
            if record.item not in self._items_of(stored.number):
                continue
            if self._earlier.follower.rule.objection(page, original, is_exact=True) is None:
                return stored
        return None

    def has_changed_item(self, record: PageRecord) -> bool:
        """Return whether the page has another item than its only one.

        That is news for the page, though another stored page may say the same by chance. The rows
        of a list are not told from each other: whether others say them is asked as ever.
        """
        pages = self._counting(self._pages)
        items = chain.from_iterable(self._items_of(page.number) for page in pages)
        first_two = list(islice(items, 2))
        return bool(record.item) and len(first_two) == 1 and record.item not in first_two

    def replaced_by(
        self, record: PageRecord, met_again: Container[int] = ()
    ) -> tuple[Verdict, list[int]]:
        """Return the verdict on a page that is to be stored, and what it takes the place of.

        That is what was stored under its key, but for pages that were *met_again* there; where a
        key stands for several contents, those of them that are near: it is the stored page that
        goes.
        """
        method = self._earlier.follower.method
        if not self._pages:
            return Verdict(Kind.NEW, method.name), []
        own = None if record.sketch is None else method.from_bytes(record.sketch)
        several = self._earlier.several_a_key
        pages = list(self._counting(self._near(own) if several else self._pages))
        distances = {
            number: method.distance(method.from_bytes(stored.sketch), own)
            for number, stored, _ in pages
            if own is not None and stored.sketch is not None
        }
        replaced = [
            number
            for number, *_ in pages
            if number not in met_again
            if not several or distances.get(number, method.max_distance + 1) <= method.max_distance
        ]
        if not replaced:
            return Verdict(Kind.NEW, method.name), []
        distance = min((distances[n] for n in replaced if n in distances), default=None)
        return Verdict(Kind.CHANGED, method.name, record.key, distance), replaced

    def _counting(self, pages: Iterable[Stored]) -> Iterator[Stored]:
        has_ended = self._earlier.follower.view.has_ended
        return (page for page in pages if not has_ended(page.number))

    def _near(self, sketch: object) -> Iterable[Stored]:
        """Return the pages that may be near to *sketch*, in their order."""
        if self._earlier.follower.method.finds_parts:
            return self._pages  # an index finds what contains the page, and not its parts
        if sketch is None:
            return ()
        places = sorted(match.page for match in self._index.query_all(sketch))
        return [self._pages[place] for place in places]

    @cached_property
    def _index(self) -> Index:
        method = self._earlier.follower.method
        index = index_for(method)
        for place, stored in enumerate(self._pages):
            if stored.record.sketch is not None:
                index.add(method.from_bytes(stored.record.sketch), place)
        return index
