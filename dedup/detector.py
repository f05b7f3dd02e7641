"""Page -> verdict."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from typing import Any, NamedTuple

from dedup.claims import Claim, OpenClaims
from dedup.index.base import Counts, Index, Match
from dedup.ledger import Earlier, Entry, Ledger, MemoryLedger
from dedup.limits import kept_url
from dedup.methods import METHODS, Method
from dedup.page import Page
from dedup.scopes import is_within
from dedup.search import Loader, index_for
from dedup.text import printable


class Kind(StrEnum):
    """What a verdict says."""

    NEW = "new"
    EXACT = "exact-duplicate"
    NEAR = "near-duplicate"
    UNCHANGED = "unchanged"
    CHANGED = "changed"
    REPEATED = "repeated"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the detector says of a page.

    *original* is the key (URL) of the stored page it repeats, *distance* that of the sketches (0
    for an exact duplicate), *reason* why a skipped page was not judged. An unchanged or changed
    page is one that an earlier crawl stored under the same key; *distance* is then that from its
    earlier self, ``None`` if one of them has no sketch. A repeated page was met before in the same
    crawl, under the same key, and is no duplicate of another.
    """

    kind: Kind
    method: str
    original: str | None = None
    distance: float | None = None
    reason: str | None = None

    @property
    def is_duplicate(self) -> bool:
        return self.kind in (Kind.EXACT, Kind.NEAR)

    def __str__(self) -> str:
        if self.is_duplicate:
            kind = "exact duplicate" if self.kind is Kind.EXACT else "near-duplicate"
            original = printable(self.original or "")
            return f"{kind} of <{original}> ({self.method}, distance {self.distance:.3g})"
        return f"skipped ({self.reason})" if self.kind is Kind.SKIPPED else self.kind.value


SHORT_PAGES = ("exact", "keep")


class Reservation(NamedTuple):
    """What the detector says of a page that is about to be stored.

    *verdict* is ``None`` if that depends on another page, which is being stored: then *claim* is
    that one's, and the page has to be judged again when it has ended. If the page is new, *claim*
    is its own, and has to be committed or released.
    """

    verdict: Verdict | None
    claim: Claim | None = None


class Detector:
    """Judges pages one after the other; the first page of a content is the one that is kept.

    A page is compared with the kept pages of its scope only: one that was a duplicate is not
    remembered, so that chains of ever more different copies cannot form. A page is kept when its
    claim is committed, which says that it was stored; until then it only bars others.
    """

    def __init__(
        self,
        method: Method,
        *,
        min_tokens: int = 20,
        short_pages: str = "exact",
        ledger: Ledger | None = None,
        several_a_key: bool = False,
    ) -> None:
        """Create a detector without pages.

        *min_tokens*: a page with fewer tokens is never a near-duplicate; with *short_pages*
        "exact" it is still dropped for an equal text, with "keep" never. *ledger*: where stored
        pages are kept, by default in memory. *several_a_key*: a key may stand for several contents,
        as the items of one page.

        Raises ValueError for other values of *short_pages*.
        """
        if short_pages not in SHORT_PAGES:
            raise ValueError(f"short_pages must be one of {SHORT_PAGES}, got {short_pages!r}")
        self._method = method
        self._min_tokens = min_tokens
        self._short_pages = short_pages
        self._several_a_key = several_a_key
        self._ledger = MemoryLedger() if ledger is None else ledger
        self._texts = index_for(METHODS["exact"]())
        self._scopes: dict[str, _Scope] = {}
        # Pages that were replaced: the indexes still have them.
        self._replaced: set[int] = set()
        self._kept = 0

    def load(self, tell: Callable[[int], object] = lambda number: None) -> None:
        """Take over the pages that the ledger has from before; *tell* is called with their numbers.

        Raises ValueError if a stored sketch is none of the method's.
        """
        number, texts = 0, Loader(self._texts)
        loaders: dict[str, Loader] = {}
        for stored in self._ledger.stored():
            for scope, pages in stored.by_scope():
                digests = [_in_scope(digest, scope) for digest in pages.digests]
                texts.add(digests, pages.numbers)
                self._kept += len(digests)
                long = [
                    (number, sketch)
                    for number, sketch, tokens in zip(
                        pages.numbers, pages.sketches, pages.tokens, strict=True
                    )
                    if sketch is not None and tokens >= self._min_tokens
                ]
                among = self._among(scope)
                if is_within(scope):
                    for number, sketch in long:
                        among.add(self._method.from_bytes(sketch), number)
                    continue
                if scope not in loaders:
                    loaders[scope] = Loader(among.index)
                loaders[scope].add([sketch for _, sketch in long], [number for number, _ in long])
            number = stored.numbers[-1]
            tell(number)
        texts.finish()
        while loaders:
            _, loader = loaders.popitem()
            loader.finish()
            tell(number)

    def judge(self, key: str, page: Page, scope: str = "") -> Verdict:
        """Return the verdict on *page*, and keep it under *key* if it is new.

        For use without claims: raises RuntimeError if a near page has an open one.
        """
        verdict, claim = self.reserve(key, page, scope)
        if verdict is None:
            raise RuntimeError("a near page is being stored: reserve, and wait for its claim")
        if claim:
            self.commit(claim)
        return verdict

    def reserve(self, key: str, page: Page, scope: str = "", *, again: bool = False) -> Reservation:
        """Return the verdict on *page*, and claim its content for *key* if it is new or changed.

        What an earlier crawl stored under the same key is not compared with: with an equal
        normalised text the page is unchanged, else it takes the place of that. Of others, exact
        duplicates have an equal text, near-duplicates a sketch within the method's threshold, of
        which the nearest, and of these the oldest, is the original. A page without main text is
        never a duplicate. *again*: the page is to be stored whatever is remembered; it is new, or
        changed, then.
        """
        key, scope = kept_url(key), kept_url(scope)
        if page.digest is None:
            return Reservation(self.skipped("empty"))
        is_short = self.is_short(page)
        if is_short and self._short_pages == "keep" and not page.is_binary:
            return Reservation(self.skipped("too_short"))
        pages = self._among(scope)
        itself = [one for one in self._ledger.earlier(key) if one.number not in self._replaced]
        if not again:
            for one in itself:
                if one.digest == page.digest:
                    self._ledger.seen_again(one.number)
                    return Reservation(Verdict(Kind.UNCHANGED, self._method.name, key, 0))
            earlier = {one.number for one in itself}
            if verdict := self._duplicate(key, page, scope, earlier, is_short):
                return Reservation(verdict)
            if other := pages.claims.near(page, is_short=is_short):
                return Reservation(None, other)
        # Of several items of one page, nobody can say which one this was.
        is_one_of_many = is_within(scope) and len(itself) > 1
        verdict, replaces = self._replacing(key, page, [] if is_one_of_many else itself)
        claim = Claim(key, page, scope, is_short=is_short, replaces=replaces)
        pages.claims.add(claim)
        return Reservation(verdict, claim)

    def _among(self, scope: str) -> "_Scope":
        """Return what is known of the pages of *scope*."""
        pages = self._scopes.get(scope)
        if pages is None:
            pages = self._scopes[scope] = _Scope(self._method, begins_small=is_within(scope))
        return pages

    def _duplicate(
        self, key: str, page: Page, scope: str, itself: set[int], is_short: bool
    ) -> Verdict | None:
        """Return the verdict on a page that repeats one that counts and is none of *itself*."""
        assert page.digest is not None
        pages = self._scopes[scope]

        def counts(number: int) -> bool:
            return number not in self._replaced and number not in itself

        if match := self._texts.query(_in_scope(page.digest, scope), counts):
            return self._matches(Kind.EXACT, key, match.page, 0)
        match = None if is_short else pages.query(page.sketch, counts)
        return self._matches(Kind.NEAR, key, match.page, match.distance) if match else None

    def _matches(self, kind: Kind, key: str, original: int, distance: float) -> Verdict:
        url = self._ledger.url(original)
        if url != key:
            self._ledger.add_match(key, original, kind.value, distance)
        elif not self._several_a_key:
            kind = Kind.REPEATED
        return Verdict(kind, self._method.name, url, distance)

    def _replacing(
        self, key: str, page: Page, earlier: Sequence[Earlier]
    ) -> tuple[Verdict, list[int]]:
        """Return the verdict on a page that is to be stored, and what it takes the place of.

        That is what was stored under its key; where a key stands for several contents, those of
        them that are near.
        """
        method = self._method
        distances = {
            one.number: method.distance(page.sketch, method.from_bytes(one.sketch))
            for one in earlier
            if page.sketch is not None and one.sketch is not None
        }
        replaced = [
            one.number
            for one in earlier
            if not self._several_a_key
            or distances.get(one.number, method.max_distance + 1) <= method.max_distance
        ]
        if not replaced:
            return Verdict(Kind.NEW, method.name), []
        distance = min((distances[n] for n in replaced if n in distances), default=None)
        return Verdict(Kind.CHANGED, method.name, key, distance), replaced

    def is_short(self, page: Page) -> bool:
        """Return whether *page* has too little text to be a near-duplicate of another."""
        return page.tokens < self._min_tokens or page.sketch is None

    @property
    def near_miss_distance(self) -> float:
        """The inclusive distance up to which a page that is no match is a near miss."""
        return self._method.near_miss_distance

    def near_misses(
        self, pages: Sequence[Page], scope: str, within: float
    ) -> Iterator[tuple[str, float] | None]:
        """Yield for each page the nearest kept one that is just no match: its key and distance.

        It is farther than the threshold and no farther than *within*; ``None`` if there is none.
        What is found beyond the threshold depends on the index: all with fingerprints, else a part.
        """
        index = self._scopes[scope].index if scope in self._scopes else index_for(self._method)
        sketches = (page.sketch for page in pages)
        for match in index.nearest_beyond(sketches, within, lambda n: n not in self._replaced):
            yield (self._ledger.url(match.page), match.distance) if match else None

    def commit(self, claim: Claim) -> None:
        """Keep the page of *claim*, which is stored: others may be duplicates of it from now on."""
        page, pages = claim.page, self._scopes[claim.scope]
        assert page.digest is not None
        sketch = None if page.sketch is None else self._method.to_bytes(page.sketch)
        number = self._ledger.add(
            Entry(claim.key, claim.scope, page.digest, sketch, page.tokens, claim.replaces)
        )
        self._texts.add(_in_scope(page.digest, claim.scope), number)
        if not claim.is_short:
            pages.add(page.sketch, number)
        replaced = set(claim.replaces) - self._replaced
        self._replaced |= replaced
        self._kept += 1 - len(replaced)
        pages.claims.remove(claim)
        claim.end()

    def release(self, claim: Claim) -> None:
        """Forget the page of *claim*, which was not stored: the next near one is new."""
        self._scopes[claim.scope].claims.remove(claim)
        claim.end()

    def skipped(self, reason: str) -> Verdict:
        """Return the verdict on a page that is not compared, for *reason*."""
        return Verdict(Kind.SKIPPED, self._method.name, reason=reason)

    @property
    def open_claims(self) -> int:
        """The number of claims that are neither committed nor released."""
        return sum(len(pages.claims) for pages in self._scopes.values())

    def __len__(self) -> int:
        """Return the number of pages kept."""
        return self._kept

    @property
    def nbytes(self) -> int:
        """The memory that the remembered pages take, in bytes."""
        indexes = sum(scope.nbytes for scope in self._scopes.values())
        return self._ledger.nbytes + self._texts.nbytes + indexes


class _Scope:
    """The sketches among which near-duplicates are looked for, and the open claims."""

    def __init__(self, method: Method, *, begins_small: bool) -> None:
        """Create it without pages; *begins_small*: an index would take more than it saves."""
        self._method = method
        self._few: list[tuple[Any, int]] | None = [] if begins_small else None
        self._index: Index | None = None
        self.claims = OpenClaims(method)

    @property
    def index(self) -> Index:
        """The index of its sketches, which is made when there are enough, or somebody asks."""
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

    def query(self, sketch: Any, counts: Counts) -> Match | None:
        """Return the nearest match among the pages that count, ties to the oldest, or ``None``."""
        if self._few is None:
            return self.index.query(sketch, counts)
        distance = self._method.distance
        matches = (Match(number, distance(sketch, other)) for other, number in self._few)
        most = self._method.max_distance
        return min((m for m in matches if m.distance <= most and counts(m.page)), default=None)

    @property
    def nbytes(self) -> int:
        """The memory that the sketches take, in bytes; estimated where they have no index."""
        if self._few is None:
            return self.index.nbytes
        return sum(160 + len(self._method.to_bytes(sketch)) for sketch, _ in self._few)


_MOST_WITHOUT_INDEX = 32


def _in_scope(digest: bytes, scope: str) -> bytes:
    """Return what *digest* is looked up by: equal texts of different scopes are not equal."""
    if not scope:
        return digest
    # Together: of two digests, what is made for one scope could be chosen to be that of another.
    both = digest + scope.encode("utf-8", "surrogatepass")
    return blake2b(both, digest_size=16, person=b"scope").digest()
