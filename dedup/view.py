"""The view: what a process knows of all stored pages, in memory, to look at."""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from hashlib import blake2b
from math import inf
from typing import Any, NamedTuple

from dedup.claim import Claim
from dedup.evidence import Evidence, Names, Objection
from dedup.evidence_table import EvidenceTable
from dedup.index.base import Index, Match, PageFilter
from dedup.methods.base import Method
from dedup.methods.exact import Exact
from dedup.record import Claimed, Committed, Event, PageRecord, RecordColumns
from dedup.rule import Finding, Kind, Rule, Witness
from dedup.scopes import has_few_pages, host
from dedup.search import Loader, index_for


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


class View:
    """The pages that are stored, or about to be, by number; lower numbers are older.

    To look changes nothing. What happens to pages is applied by a verb for each event: `claim`,
    `commit` and `release`.
    """

    def __init__(self, method: Method, rule: Rule) -> None:
        """Create a view without pages."""
        self._method = method
        self._rule = rule
        self._texts = index_for(Exact())
        self._scopes: dict[str, _ScopeIndex] = {}
        self._claims: dict[int, Claim] = {}
        self.claims_so_far = 0
        """The number of claims that were ever made: whether a look may be out of date."""
        # Pages that were replaced: the indexes still have them.
        self._ended: set[int] = set()
        self._evidence = EvidenceTable()
        self._names = Names()
        self._count = 0
        self._last_sketch: tuple[bytes | None, Any] = None, None

    def look(self, record: PageRecord, without: Container[int] = (), below: float = inf) -> Look:
        """Return what *record* is among the stored pages.

        *without*: numbers of pages that do not count, nor do those from *below* on.
        """
        open_numbers: list[int] = []
        objections = _Objections(self._rule, self._evidence, self._names, record)
        objections.finds_parts = self._method.finds_parts

        def counts(number: int) -> bool:
            if number >= below or number in self._ended or number in without:
                return False
            if objections.against(number):
                return False
            if number in self._claims:
                open_numbers.append(number)
                return False
            return True

        def equal() -> Match | None:
            objections.is_exact = True
            return self._texts.query(_key_of(record), counts)

        def near() -> Match | None:
            objections.is_exact = False
            pages = self._scopes.get(record.scope)
            return pages.query(self._sketch(record), counts) if pages else None

        finding = self._rule.judge(record, equal, near)
        if finding.kind is not Kind.NEW:
            return Look(finding)
        if open_numbers:
            return Look(finding, self._claims[min(open_numbers)])
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

    def apply(self, events: Iterable[Event]) -> list[Claim]:
        """Have *events* of the store happen, in this order; return the claims that they made."""
        claims = []
        for event in events:
            if isinstance(event, Claimed):
                claims.append(self.claim(event))
            elif isinstance(event, Committed):
                self.commit(self._claims[event.number])
            else:
                self.release(self._claims[event.number])
        return claims

    def claim(self, claimed: Claimed) -> Claim:
        """Reserve the content of a page: from now on others wait for what becomes of it."""
        record, number = claimed.record, claimed.number
        claim = self._claims[number] = Claim(claimed)
        self.claims_so_far += 1
        self._texts.add(_key_of(record), number)
        if self._rule.demands:
            self._evidence.add(number, record.tokens, record.evidence)
        if not self._rule.is_short(record):
            self._scope(record.scope).add(self._sketch(record), number)
        return claim

    def commit(self, claim: Claim) -> None:
        """The page of *claim* is stored: it counts, and what it replaces does not any more."""
        del self._claims[claim.number]
        replaced = set(claim.claimed.replaces) - self._ended
        self._ended |= replaced
        self._count += 1 - len(replaced)
        claim.end()

    def release(self, claim: Claim) -> None:
        """The page of *claim* was not stored: it is forgotten, and the next near one is new."""
        record, number = claim.record, claim.number
        del self._claims[number]
        self._texts.discard(_key_of(record), number)
        self._evidence.discard(number)
        if not self._rule.is_short(record):
            self._scope(record.scope).discard(self._sketch(record), number)
        claim.end()

    def load(
        self,
        pieces: Iterable[RecordColumns],
        tell: Callable[[int], object] = lambda number: None,
    ) -> None:
        """Take over many stored pages; *tell* is called with their numbers.

        Raises ValueError if a sketch is none of the method's.
        """
        number, texts = 0, Loader(self._texts)
        loaders: dict[str, Loader] = {}
        for piece in pieces:
            if self._rule.demands:
                for row in zip(piece.numbers, piece.tokens, piece.evidence, strict=True):
                    self._evidence.add(*row)
            for scope, pages in piece.by_scope():
                self._count += len(pages.numbers)
                texts.add([_in_scope(digest, scope) for digest in pages.digests], pages.numbers)
                rows = zip(pages.numbers, pages.sketches, pages.tokens, strict=True)
                long = [
                    (number, sketch)
                    for number, sketch, tokens in rows
                    if sketch is not None and tokens >= self._rule.min_tokens
                ]
                index = self._scope(scope)
                is_small = scope not in loaders and len(long) <= _MOST_WITHOUT_INDEX
                if is_small and has_few_pages(scope):
                    for number, sketch in long:
                        index.add(self._method.from_bytes(sketch), number)
                    continue
                if scope not in loaders:
                    loaders[scope] = Loader(index.index)
                loaders[scope].add([sketch for _, sketch in long], [number for number, _ in long])
            number = piece.numbers[-1]
            tell(number)
        texts.finish()
        while loaders:
            _, loader = loaders.popitem()
            loader.finish()
            tell(number)

    def has_ended(self, number: int) -> bool:
        """Return whether page *number* was replaced."""
        return number in self._ended

    def _scope(self, scope: str) -> "_ScopeIndex":
        pages = self._scopes.get(scope)
        if pages is None:
            small = has_few_pages(scope)
            pages = self._scopes[scope] = _ScopeIndex(self._method, begins_small=small)
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
        return self._texts.nbytes + self._evidence.nbytes + scopes


class _Objections:
    """What speaks against dropping one page for others whose main texts match."""

    def __init__(
        self, rule: Rule, evidence: EvidenceTable, names: Names, record: PageRecord
    ) -> None:
        self._rule = rule
        self._evidence = evidence
        self._names = names
        self._host = host(record.key)
        self._page = Witness.of(record)
        self._left = _MOST_OBJECTIONS
        self.is_exact = True
        self.finds_parts = False
        self.first: tuple[Objection | None, int] = None, -1
        """The first objection that there was, and to which page."""

    def against(self, number: int) -> bool:
        """Return whether the page is not to be dropped for page *number*."""
        if self._page.evidence is None:
            return False
        if not self._left:
            return True
        original = Witness(*self._evidence.get(number))
        objection = self._rule.objection(
            self._page,
            original,
            is_exact=self.is_exact,
            finds_parts=self.finds_parts,
            names=self._names,
            host=self._host,
        )
        if objection:
            self._left -= 1
            if self.first[0] is None:
                self.first = objection, number
        return objection is not None


# Thousands of pages may have one menu for a main text. Who is like none of so many is kept.
_MOST_OBJECTIONS = 256


class _ScopeIndex:
    """The sketches of one scope: an index, or while they are few and no index is asked for, a list.

    There may be very many scopes of one page each, as items of several pages have.
    """

    def __init__(self, method: Method, *, begins_small: bool) -> None:
        """Create it without sketches; *begins_small*: an index would take more than it saves."""
        self._method = method
        self._few: list[tuple[Any, int]] | None = [] if begins_small else None
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

    def add(self, sketch: Any, number: int) -> None:
        """Have *sketch* of page *number* found from now on."""
        if self._few is not None and len(self._few) < _MOST_WITHOUT_INDEX:
            self._few.append((sketch, number))
        else:
            self.index.add(sketch, number)

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
        distance = self._method.distance
        matches = (Match(number, distance(sketch, stored)) for stored, number in self._few)
        limit = self._method.max_distance
        near = [match for match in matches if match.distance <= limit and counts(match.page)]
        return min(near, default=None)

    @property
    def nbytes(self) -> int:
        """The memory that the sketches take, in bytes; estimated where they have no index."""
        if self._few is None:
            return self.index.nbytes
        return sum(160 + len(self._method.to_bytes(sketch)) for sketch, _ in self._few)


_MOST_WITHOUT_INDEX = 32


def _key_of(record: PageRecord) -> bytes:
    """Return what the text of *record* is looked up by."""
    assert record.digest is not None
    return _in_scope(record.digest, record.scope)


def _in_scope(digest: bytes, scope: str) -> bytes:
    """Return what *digest* is looked up by: equal texts of different scopes are not equal."""
    if not scope:
        return digest
    # Together: of two digests, what is made for one scope could be chosen to be that of another.
    both = digest + scope.encode("utf-8", "surrogatepass")
    return blake2b(both, digest_size=16, person=b"scope").digest()
