"""The pages of a scope whose main text is equal or near, and which of them may be the original."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from dedup.arrays import Packed
from dedup.evidence import VIEW, KnownNames, Names, Objection
from dedup.index.base import Index, Match, PageFilter
from dedup.index.digest_table import DigestTable
from dedup.methods.base import Method
from dedup.record import PageRecord, Stored, keys_of, unpack_items, values_in
from dedup.rule import MOST_OBJECTIONS, Rule
from dedup.scopes import host
from dedup.search import index_for
from dedup.view.page_table import PageTable, text_of

MOST_EQUAL = 256
"""Of more pages whose main texts are equal, only the latest are asked."""
MOST_WITHOUT_INDEX = 32
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
        as_a_whole: bool = False,
        counts: PageFilter = lambda number: True,
    ) -> None:
        """Create it for a *record*; *finds_parts*: of the method by which pages are near.

        *as_a_whole*: main texts in its item count as they are. *counts* says of a page whether it
        is considered.
        """
        self._rule = rule
        self._pages = pages
        self._names = names
        self._record = record
        self._page = record.witness
        self._keys = keys_of(record.item) if as_a_whole else values_in(record.item)
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
        if number in self._pages.claims:
            self.open_numbers.append(number)
            return False
        return True

    def objection(self, number: int, *, is_exact: bool) -> Objection | None:
        """Return what speaks against dropping the item for one of page *number*."""
        original = self._pages.witness(number)
        is_said = self._pages.says_all(number, self._keys)
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
    def _known(self) -> KnownNames | None:
        shown = self._page.evidence
        return self._names.of(host(self._record.key), shown) if shown else None


class EqualPages:
    """Finds pages whose main texts are equal.

    Thousands of pages may have one menu, or one notice, for a main text. Of so many, only the
    latest are asked; but those that show and say the same are found among all.
    """

    def __init__(self, pages: PageTable, *, by_view: bool) -> None:
        """Create it over *pages*; *by_view*: what they show besides their main text matters."""
        self._pages = pages
        self._by_view = by_view
        self._texts, self._same = DigestTable(), DigestTable()

    def add(self, record: PageRecord, number: int) -> None:
        """Have page *number* found from now on, by the item of *record*."""
        self._texts.add(text_of(record), number)
        self.add_item(record, number)

    def add_item(self, record: PageRecord, number: int) -> None:
        """Have page *number*, which was added, found by the item of *record*, too."""
        if all_of_it := self._all_of(text_of(record), record.evidence, record.item):
            self._same.add(all_of_it, number)

    def discard(self, record: PageRecord, number: int, items: Iterable[bytes]) -> None:
        """Forget page *number*, which was added as *record*, with its *items*."""
        self._texts.discard(text_of(record), number)
        for item in {record.item, *items}:
            self.discard_item(record._replace(item=item), number)

    def discard_item(self, record: PageRecord, number: int) -> None:
        """Have page *number* found no more by the item of *record*."""
        if all_of_it := self._all_of(text_of(record), record.evidence, record.item):
            self._same.discard(all_of_it, number)

    def original_of(self, record: PageRecord, search: Search) -> Match | None:
        """Return the page that *record* repeats, or ``None``: one that shows the same, if any."""
        text = text_of(record)
        equal = self._latest(self._texts.find(text), text)
        if not equal:
            return None

        def same() -> Match | None:
            all_of_it = self._all_of(text, record.evidence, record.item)
            numbers = self._latest(self._same.find(all_of_it), text) if all_of_it else ()
            return next((Match(n, 0) for n in numbers if search.is_same(n)), None)

        def oldest() -> Match | None:
            return search.nearest(
                lambda counts: next((Match(n, 0) for n in equal if counts(n)), None), is_exact=True
            )

        if self._by_view and record.evidence:
            return same() or oldest()
        return oldest() or same()

    def _latest(self, numbers: Sequence[int], text: bytes) -> list[int]:
        """Return those of *numbers* whose pages have the *text*, of many the latest, by number."""
        equal = (number for number in reversed(numbers) if self._pages.text(number) == text)
        return list(islice(equal, MOST_EQUAL))[::-1]

    def load(self, pages: Sequence[Stored]) -> None:
        """Have many stored *pages* found from now on, by each of their items."""
        texts = [text_of(page.record) for page in pages]
        self._texts.add_many(texts, [page.number for page in pages])
        same = [
            (all_of_it, number)
            for text, (number, record, items) in zip(texts, pages, strict=True)
            for item in unpack_items(items)
            if (all_of_it := self._all_of(text, record.evidence, item))
        ]
        if same:
            self._same.add_many(*zip(*same, strict=True))

    @property
    def nbytes(self) -> int:
        """The memory that it takes, in bytes."""
        return self._texts.nbytes + self._same.nbytes

    def _all_of(self, text: bytes, evidence: bytes | None, item: bytes) -> bytes | None:
        """Return what tells all of a page by one item; ``None`` if its *text* does.

        It is the exclusive or of the digests of its text and of its view, and of the values of its
        item: whoever finds a page so compares all of them.
        """
        view = evidence[VIEW] if self._by_view and evidence else b""
        if not view and not item:
            return None
        folded = 0
        for part in (text, view, *keys_of(item)):
            folded ^= int.from_bytes(part, "little")
        return folded.to_bytes(16, "little")


class ScopeIndex:
    """The sketches of one scope: an index, or while they are few and no index is asked for, a list.

    There may be very many scopes of one page each, as items have, or functions of URLs make.
    """

    def __init__(self, method: Method) -> None:
        self._method = method
        self._few: list[tuple[Any, int]] | None = []
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """The index of the sketches, which is made when there are enough, or somebody asks."""
        if self._index is None:
            self._index = index_for(self._method)
            for sketch, number in self._few or ():
                self._index.add(sketch, number)
            self._few = None
        return self._index

    def has_room_for(self, number: int) -> bool:
        """Return whether a *number* of sketches can be added without an index."""
        return self._few is not None and len(self._few) + number <= MOST_WITHOUT_INDEX

    def add(self, sketch: Any, number: int) -> None:
        """Have *sketch* of page *number* found from now on."""
        if self._few is not None and len(self._few) < MOST_WITHOUT_INDEX:
            self._few.append((sketch, number))
        else:
            self.index.add(sketch, number)

    def add_many(self, sketches: Sequence[bytes], numbers: Sequence[int]) -> None:
        """Have many *sketches* from `Method.to_bytes` found; raises ValueError if one is none."""
        packed = Packed()
        packed.extend(sketches)
        if not self.has_room_for(len(numbers)):
            self.index.add_many(packed, numbers)
            return
        self._method.keys_of_many(packed)  # raises as an index does
        for sketch, number in zip(sketches, numbers, strict=True):
            self.add(self._method.from_bytes(sketch), number)

    def discard(self, sketch: Any, number: int) -> None:
        """Forget page *number*, which was added with *sketch*."""
        if self._few is None:
            self.index.discard(sketch, number)
        else:
            self._few = [entry for entry in self._few if entry[1] != number]

    def query(self, sketch: Any, counts: PageFilter) -> Match | None:
        """Return the nearest match among the pages that count, ties to the oldest, or ``None``."""
        if self._few is None:
            return self.index.query(sketch, counts)
        if not self._few:
            return None
        method = self._method
        others = [method.payload(stored) for stored, _ in self._few]
        distances = method.distances_of_pairs([method.payload(sketch)] * len(others), others)
        near = (
            Match(number, distance)
            for (stored, number), distance in zip(self._few, distances.tolist(), strict=True)
            if distance <= method.max_distance and self._share_a_key(sketch, stored)
        )
        return next((match for match in sorted(near) if counts(match.page)), None)

    def _share_a_key(self, sketch: Any, other: Any) -> bool:
        """Return whether an index would find one by the other: else, answers would depend on it."""
        return not set(self._method.keys(sketch)).isdisjoint(self._method.keys(other))

    @property
    def nbytes(self) -> int:
        """The memory that the sketches take, in bytes; estimated where they have no index."""
        if self._few is None:
            return self.index.nbytes
        return sum(160 + len(self._method.to_bytes(sketch)) for sketch, _ in self._few)
