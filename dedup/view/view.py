"""The view: what a process knows of all stored pages, in memory, to look at."""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import partial
from math import inf
from typing import Any, NamedTuple

from dedup.claim import Claim
from dedup.evidence import Evidence, Names, Objection
from dedup.index.base import Match
from dedup.methods.base import Method
from dedup.record import Claimed, Committed, Event, PageRecord, Released, StoredBatch, pack_items
from dedup.rule import Decision, Kind, Rule
from dedup.scopes import host
from dedup.view.indexes import EqualPages, ScopeIndex, Search
from dedup.view.page_table import PageTable


class Look(NamedTuple):
    """What a page is, seen from the view.

    *claim* is the oldest open claim on an equal or near content, for which the page has to wait;
    ``None`` if there is none, or if a stored page tells what the page is. If the page is new
    although its main text matches, *objection* says why, and *page* is the number of the nearest
    match.
    """

    decision: Decision[Match]
    claim: Claim | None = None
    objection: Objection | None = None
    page: int = -1

    @property
    def is_of_new_page(self) -> bool:
        """Whether the page may be claimed: nothing is there that it repeats, or may come to."""
        return self.decision.match is None and self.claim is None


class View:
    """The pages that are stored, or about to be, by number; lower numbers are older.

    To look changes nothing. What happens to pages is applied by a verb for each event: `claim`,
    `commit` and `release`.
    """

    def __init__(self, method: Method, rule: Rule, names: Names | None = None) -> None:
        """Create a view without pages; *names* learns those of sites, by default of its own."""
        self.method = method
        self.rule = rule
        self._claims: dict[int, Claim] = {}
        self._pages = PageTable(self._claims, has_evidence=rule.demands is not None)
        self._equal = EqualPages(self._pages, by_view=rule.demands is not None)
        self._scopes: dict[str, ScopeIndex] = {}
        self.claims_so_far = 0
        """The number of claims that were ever made: whether a look may be out of date."""
        # Pages that were replaced: the indexes still have them.
        self._ended: set[int] = set()
        self._names = Names() if names is None else names
        self._count = 0
        self._last_sketch: tuple[bytes | None, Any] = None, None

    def look(
        self,
        record: PageRecord,
        apart_from: Container[int] = (),
        older_than: float = inf,
        *,
        as_a_whole: bool = False,
    ) -> Look:
        """Return what *record* is among the stored pages.

        Pages with the numbers *apart_from* do not count, nor open claims that are not *older_than*
        one. *as_a_whole*: main texts in its item count as they are.
        """
        search = Search(
            self.rule,
            self._pages,
            self._names,
            record,
            finds_parts=self.method.finds_parts,
            as_a_whole=as_a_whole,
            counts=lambda number: (
                number not in self._ended
                and number not in apart_from
                and (number < older_than or number not in self._claims)
            ),
        )

        def near() -> Match | None:
            if record.scope not in self._scopes:
                return None
            query = partial(self._scopes[record.scope].query, self._sketch(record))
            return search.nearest(query, is_exact=False)

        decision = self.rule.judge(record, lambda: self._equal.original_of(record, search), near)
        if decision.kind is not Kind.NEW:
            return Look(decision)
        if search.open_numbers:
            return Look(decision, self._claims[min(search.open_numbers)])
        return Look(decision, None, *search.first)

    def learn_names(self, record: PageRecord) -> None:
        """Take note of the title and headline of a page that is met: those of many say nothing.

        Once for each page that has its verdict, whatever that is, and however often it was asked
        for: so crawls learn what scans learn.
        """
        if record.evidence is not None and self.rule.demands:
            self._names.learn(host(record.key), Evidence.from_bytes(record.evidence))

    def nearest_beyond(
        self, records: Sequence[PageRecord], scope: str, within: float
    ) -> Iterator[Match | None]:
        """Yield for each record the nearest stored page of *scope* that is just no match.

        It is farther than the threshold and no farther than *within*; ``None`` if there is none.
        What is found beyond the threshold depends on the index: all with fingerprints, else a part.
        """
        return self._scope(scope).index.nearest_beyond(
            map(self._sketch, records),
            within,
            lambda number: number not in self._ended and number not in self._claims,
        )

    def objection_to(self, record: PageRecord, number: int) -> Objection | None:
        """Return what would speak against dropping *record* for page *number*, if texts matched."""
        finds_parts = self.method.finds_parts
        search = Search(self.rule, self._pages, self._names, record, finds_parts=finds_parts)
        return search.objection(number, is_exact=False)

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
        if not self.rule.is_short(record):
            self._scope(record.scope).add(self._sketch(record), number)

    def commit(self, claim: Claim) -> None:
        """The page of *claim* is stored, with its items: what it replaces counts no more."""
        del self._claims[claim.number]
        self._pages.add(claim.number, claim.record, pack_items(claim.items))
        if claim.record.item not in claim.items:  # first: it may say what the others say
            self._equal.discard_item(claim.record, claim.number)
        for item in claim.items:
            if item != claim.record.item:
                self._equal.add_item(claim.record._replace(item=item), claim.number)
        self._count += 1
        if claim.replaces:
            self._end(claim.replaces)
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
            claim.items = self._pages.items(claimed.number)
            claim.end(is_stored=True)
            self._count -= 1
        self._discard(claimed.record, claimed.number)
        return claim

    def _discard(self, record: PageRecord, number: int) -> None:
        self._equal.discard(record, number, self._pages.items(number))
        self._pages.discard(number)
        if not self.rule.is_short(record):
            self._scope(record.scope).discard(self._sketch(record), number)

    def _end(self, numbers: Iterable[int]) -> None:
        """Have stored pages count no more, those that are known."""
        ended = {number for number in numbers if number in self._pages} - self._ended
        self._ended |= ended
        self._count -= len(ended)

    def load(self, stored: StoredBatch) -> None:
        """Take over stored pages; raises ValueError if a sketch is none of the method's."""
        self._count += len(stored.pages)
        self._end(stored.replaced)
        self._equal.load(stored.pages)
        sketches: defaultdict[str, list[tuple[bytes, int]]] = defaultdict(list)
        for number, record, items in stored.pages:
            self._pages.add(number, record, items)
            if not self.rule.is_short(record):
                assert record.sketch is not None
                sketches[record.scope].append((record.sketch, number))
            # So many tell what the pages of a host share.
            if number <= 2000 or number % 16 == 0:
                self.learn_names(record)
        for scope, of_scope in sketches.items():
            self._scope(scope).add_many(*zip(*of_scope, strict=True))

    def items_of(self, number: int) -> list[bytes]:
        """Return what each item of page *number* says, as far as that is known."""
        return self._pages.items(number)

    @property
    def open_claims(self) -> list[Claim]:
        """The claims of pages that are being stored, the oldest first."""
        return list(self._claims.values())

    def has_ended(self, number: int) -> bool:
        """Return whether page *number* was replaced."""
        return number in self._ended

    def _scope(self, scope: str) -> ScopeIndex:
        if scope not in self._scopes:
            self._scopes[scope] = ScopeIndex(self.method)
        return self._scopes[scope]

    def _sketch(self, record: PageRecord) -> Any:
        # What is added was mostly looked for just before, and an index knows the object again.
        if self._last_sketch[0] is not record.sketch:
            assert record.sketch is not None
            self._last_sketch = record.sketch, self.method.from_bytes(record.sketch)
        return self._last_sketch[1]

    def __len__(self) -> int:
        """Return the number of pages that are stored and count."""
        return self._count

    @property
    def nbytes(self) -> int:
        """The memory that the pages take, in bytes."""
        scopes = sum(pages.nbytes for pages in self._scopes.values())
        return self._equal.nbytes + self._pages.nbytes + scopes
