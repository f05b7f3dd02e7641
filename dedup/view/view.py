"""The view: what a process knows of all stored pages, in memory, to look at."""

from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

from dedup.arrays import Array
from dedup.claim import Claim
from dedup.evidence import Evidence, Names, Objection
from dedup.evidence_table import EvidenceTable
from dedup.index.base import Match
from dedup.methods.base import Method
from dedup.record import Claimed, Committed, Event, PageRecord, RecordColumns, Released
from dedup.rule import Finding, Kind, Rule
from dedup.scopes import host
from dedup.search import Loader, index_for
from dedup.view.equal_pages import EqualPages
from dedup.view.objections import Objections, OwnNames
from dedup.view.scope_index import ScopeIndex
from dedup.view.search import Search
from dedup.view.stored_items import StoredItems


class Look(NamedTuple):
    """What a page is, seen from the view.

    *claim* is the oldest open claim on an equal or near content, for which the page has to wait;
    ``None`` if there is none, or if a stored page tells what the page is. If the page is new
    although its main text matches, *objection* says why, and *page* is the number of the nearest
    match.
    """

    finding: Finding[Match]
    claim: Claim | None = None
    objection: Objection | None = None
    page: int = -1

    @property
    def is_of_new_page(self) -> bool:
        """Whether the page may be claimed: nothing is there that it repeats, or may come to."""
        return self.finding.match is None and self.claim is None


class View:
    """The pages that are stored, or about to be, by number; lower numbers are older.

    To look changes nothing. What happens to pages is applied by a verb for each event: `claim`,
    `commit` and `release`.
    """

    def __init__(self, method: Method, rule: Rule, names: Names | None = None) -> None:
        """Create a view without pages; *names* learns those of sites, by default of its own."""
        self._method = method
        self._rule = rule
        self._items = StoredItems()
        self._equal = EqualPages(self.items_of, by_view=rule.demands is not None)
        self._scopes: dict[str, ScopeIndex] = {}
        self._claims: dict[int, Claim] = {}
        # Of stored pages that are being loaded, by scope.
        self._loaders: dict[str, Loader] = {}
        self.claims_so_far = 0
        """The number of claims that were ever made: whether a look may be out of date."""
        # Pages that were replaced: the indexes still have them.
        self._ended: set[int] = set()
        self._evidence = EvidenceTable()
        self._names = Names() if names is None else names
        self._count = 0
        self._last_sketch: tuple[bytes | None, Any] = None, None

    def look(
        self,
        record: PageRecord,
        apart_from: Container[int] = (),
        older_than: float = inf,
        own_names: OwnNames = dict,
    ) -> Look:
        """Return what *record* is among the stored pages.

        Pages with the numbers *apart_from* do not count, nor open claims that are not *older_than*
        one. *own_names* returns which values of its item are the page's title or headline, and
        their marks.
        """
        objections = self._objections(record, own_names)

        def counts(number: int) -> bool:
            if number in self._ended or number in apart_from:
                return False
            return number < older_than or number not in self._claims

        search = Search(counts, self._claims, objections)
        candidates = []
        if record.digest:
            candidates = self._equal.with_equal_text(
                record, lambda: objections.keys.difference(own_names())
            )

        def same() -> Match | None:
            if not candidates or not self._rule.demands or record.evidence is None:
                return None
            return self._equal.with_equal_view(record, search.is_same)

        def near() -> Match | None:
            pages = self._scopes.get(record.scope)
            if pages is None:
                return None
            return search.nearest(partial(pages.query, self._sketch(record)))

        finding = self._rule.judge(record, lambda: search.first_equal(candidates), near, same)
        if finding.kind is not Kind.NEW:
            return Look(finding)
        if search.open_numbers:
            return Look(finding, self._claims[min(search.open_numbers)])
        return Look(finding, None, *objections.first)

    def learn_names(self, record: PageRecord) -> None:
        """Take note of the title and headline of a page that is met: those of many say nothing."""
        if record.evidence is not None and self._rule.demands:
            self._names.learn(host(record.key), Evidence.from_bytes(record.evidence))

    def nearest_beyond(
        self, records: Sequence[PageRecord], scope: str, within: float
    ) -> Iterator[Match | None]:
        """Yield for each record the nearest stored page of *scope* that is just no match.

        It is farther than the threshold and no farther than *within*; ``None`` if there is none.
        What is found beyond the threshold depends on the index: all with fingerprints, else a part.
        """
        index = self._scopes[scope].index if scope in self._scopes else index_for(self._method)
        return index.nearest_beyond(
            map(self._sketch, records),
            within,
            lambda number: number not in self._ended and number not in self._claims,
        )

    def objection_to(self, record: PageRecord, number: int) -> Objection | None:
        """Return what would speak against dropping *record* for page *number*, if texts matched."""
        asked = self._objections(record, dict)
        asked.against(number, is_exact=False)
        return asked.first[0]

    def _objections(self, record: PageRecord, own_names: OwnNames) -> Objections:
        return Objections(
            self._rule,
            self._evidence,
            self._names,
            self._items,
            self._claims,
            record,
            own_names,
            finds_parts=self._method.finds_parts,
        )

    def apply(self, events: Iterable[Event]) -> list[Claim]:
        """Have *events* of the store happen, in this order; return the claims that they made."""
        claims = []
        for event in events:
            if isinstance(event, Claimed):
                claims.append(self.claim(event))
            elif isinstance(event, Committed):
                claim = self._claims[event.number]
                claim.end_with(event)
                self.commit(claim)
            elif isinstance(event, Released):
                self.release(self._claims[event.number])
        return claims

    def claim(self, claimed: Claimed) -> Claim:
        """Reserve the content of a page: from now on others wait for what becomes of it."""
        claim = Claim(claimed)
        self.add(claim)
        return claim

    def add(self, claim: Claim) -> None:
        """Have others wait for what becomes of *claim*, which has a number."""
        record, number = claim.record, claim.number
        self._claims[number] = claim
        self.claims_so_far += 1
        self._equal.add(record, number)
        if self._rule.demands:
            self._evidence.add(number, record.tokens, record.evidence)
        if not self._rule.is_short(record):
            self._scope(record.scope).add(self._sketch(record), number)

    def commit(self, claim: Claim) -> None:
        """The page of *claim* is stored, with its items: what it replaces counts no more."""
        del self._claims[claim.number]
        self._items.add(claim.number, claim.items)
        if claim.record.item not in claim.items:  # first: it may say what the others say
            self._equal.discard_item(claim.record, claim.number)
        for item in claim.items:
            if item != claim.record.item:
                self._equal.add_item(claim.record._replace(item=item), claim.number)
        replaced = set(claim.replaces) - self._ended
        self._ended |= replaced
        self._count += 1 - len(replaced)
        claim.end(is_stored=True)

    def release(self, claim: Claim) -> None:
        """The page of *claim* was not stored: it is forgotten, and the next near one is new."""
        del self._claims[claim.number]
        self._discard(claim.record, claim.number)
        claim.end()

    def forget(self, claimed: Claimed) -> Claim:
        """Forget a page, as if it had never been claimed; return its claim, as it stands."""
        claim = self._claims.pop(claimed.number, None)
        if claim is None:
            claim = Claim(claimed)
            claim.items = self._items.of(claimed.number)
            claim.end(is_stored=True)
            self._count -= 1
        self._discard(claimed.record, claimed.number)
        return claim

    def _discard(self, record: PageRecord, number: int) -> None:
        self._equal.discard(record, number, self._items.of(number))
        self._items.discard(number)
        self._evidence.discard(number)
        if not self._rule.is_short(record):
            self._scope(record.scope).discard(self._sketch(record), number)

    def load(self, pages: RecordColumns) -> None:
        """Take over many stored pages, some only by `finish_loading`.

        Raises ValueError if a sketch is none of the method's.
        """
        replaced = set(pages.replaced) - self._ended
        self._ended |= replaced
        self._count += len(pages.numbers) - len(replaced)
        self._items.add_many(pages.numbers, pages.items)
        if self._rule.demands:
            has = pages.has_evidence
            self._evidence.add_many(pages.numbers[has], pages.tokens[has], pages.evidence)
            # Of as many pages as are enough to tell what many share.
            for key, evidence in pages.keys_with_evidence():
                self._names.learn(host(key), evidence)
        self._equal.load(pages)
        for part in pages.sketches_by_scope(self._rule.min_tokens):
            self._load_sketches(*part)

    def finish_loading(self) -> None:
        """Take over the pages that `load` has left; raises ValueError as that."""
        self._equal.finish_loading()
        while self._loaders:
            _, loader = self._loaders.popitem()
            loader.finish()

    def _load_sketches(
        self, scope: str, numbers: Sequence[int] | Array, sketches: Sequence[bytes]
    ) -> None:
        """Add the sketches of pages of one *scope*, some only when its loader is finished."""
        index = self._scope(scope)
        if scope not in self._loaders and index.has_room_for(len(sketches)):
            for number, sketch in zip(numbers, sketches, strict=True):
                index.add(self._method.from_bytes(sketch), int(number))
            return
        if scope not in self._loaders:
            self._loaders[scope] = Loader(index.index)
        self._loaders[scope].add(sketches, numbers)

    def items_of(self, number: int) -> list[bytes]:
        """Return what each item of page *number* says, as far as that is known."""
        claim = self._claims.get(number)
        return claim.items if claim else self._items.of(number)

    @property
    def open_claims(self) -> list[Claim]:
        """The claims of pages that are being stored, the oldest first."""
        return list(self._claims.values())

    def has_ended(self, number: int) -> bool:
        """Return whether page *number* was replaced."""
        return number in self._ended

    def _scope(self, scope: str) -> ScopeIndex:
        pages = self._scopes.get(scope)
        if pages is None:
            # Any other may be one of many of few pages each.
            pages = self._scopes[scope] = ScopeIndex(self._method, begins_small=scope != "")
        return pages

    def _sketch(self, record: PageRecord) -> Any:
        # What is added was mostly looked for just before, and an index knows the object again.
        if self._last_sketch[0] is not record.sketch:
            assert record.sketch is not None
            self._last_sketch = record.sketch, self._method.from_bytes(record.sketch)
        return self._last_sketch[1]

    def __len__(self) -> int:
        """Return the number of pages that are stored and count."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The memory that the pages take, in bytes."""
        scopes = sum(pages.nbytes for pages in self._scopes.values())
        return self._equal.nbytes + self._items.nbytes + self._evidence.nbytes + scopes
