"""Page -> verdict."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from sys import getsizeof
from typing import NamedTuple

from dedup.claims import Claim, OpenClaims
from dedup.index import Index
from dedup.methods import FingerprintMethod, Method
from dedup.packed import Packed
from dedup.page import Page
from dedup.search import index_for
from dedup.text import printable


class Kind(StrEnum):
    """What a verdict says."""

    NEW = "new"
    EXACT = "exact-duplicate"
    NEAR = "near-duplicate"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the detector says of a page.

    *original* is the key (URL) of the stored page it repeats, *distance* that of the sketches (0
    for an exact duplicate), *reason* why a skipped page was not judged.
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
        return f"skipped ({self.reason})" if self.kind is Kind.SKIPPED else "new"


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

    def __init__(self, method: Method, *, min_tokens: int = 20, short_pages: str = "exact") -> None:
        """Create a detector without pages.

        *min_tokens*: a page with fewer tokens is never a near-duplicate; with *short_pages*
        "exact" it is still dropped for an equal text, with "keep" never.

        Raises ValueError for other values of *short_pages*.
        """
        if short_pages not in SHORT_PAGES:
            raise ValueError(f"short_pages must be one of {SHORT_PAGES}, got {short_pages!r}")
        self._method = method
        self._min_tokens = min_tokens
        self._short_pages = short_pages
        self._keys = Packed()
        self._scopes: dict[str, _Scope] = {}

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

    def reserve(self, key: str, page: Page, scope: str = "") -> Reservation:
        """Return the verdict on *page*, and claim its content for *key* if it is new.

        Exact duplicates have an equal normalised text; near-duplicates a sketch within the
        method's threshold, of which the nearest, and of these the oldest, is the original. A page
        without main text is never a duplicate.
        """
        if page.digest is None:
            return Reservation(self.skipped("empty"))
        is_short = self.is_short(page)
        if is_short and self._short_pages == "keep":
            return Reservation(self.skipped("too_short"))
        pages = self._scopes.get(scope) or self._scopes.setdefault(scope, _Scope(self._method))
        if (original := pages.by_digest.get(page.digest)) is not None:
            return Reservation(self._verdict(Kind.EXACT, original, 0))
        if not is_short and (match := pages.index.query(page.sketch)):
            return Reservation(self._verdict(Kind.NEAR, match.page, match.distance))
        if other := pages.claims.near(page, is_short=is_short):
            return Reservation(None, other)
        claim = Claim(key, page, scope, is_short=is_short)
        pages.claims.add(claim)
        return Reservation(Verdict(Kind.NEW, self._method.name), claim)

    def is_short(self, page: Page) -> bool:
        """Return whether *page* has too little text to be a near-duplicate of another."""
        return page.tokens < self._min_tokens or page.sketch is None

    @property
    def margin(self) -> float:
        """How far beyond the threshold a page may be to be called a near miss."""
        limit = self._method.max_distance
        if isinstance(self._method, FingerprintMethod):
            return max(16, 2 * limit)
        # Shares are at most 1; others count something.
        return min(1, 2 * limit) if limit < 1 else 2 * limit

    def near_misses(
        self, pages: Sequence[Page], scope: str, within: float
    ) -> Iterator[tuple[str, float] | None]:
        """Yield for each page the nearest kept one that is just no match: its key and distance.

        It is farther than the threshold and no farther than *within*; ``None`` if there is none.
        What is found beyond the threshold depends on the index: all with fingerprints, else a part.
        """
        index = self._scopes[scope].index if scope in self._scopes else index_for(self._method)
        for match in index.nearest_beyond((page.sketch for page in pages), within):
            yield (self._url(match.page), match.distance) if match else None

    def commit(self, claim: Claim) -> None:
        """Keep the page of *claim*, which is stored: others may be duplicates of it from now on."""
        page, pages = claim.page, self._scopes[claim.scope]
        assert page.digest is not None
        number = self._keys.append(claim.key.encode("utf-8", "surrogatepass"))
        pages.by_digest[page.digest] = number
        if not claim.is_short:
            pages.index.add(page.sketch, number)
        pages.claims.remove(claim)
        claim.end()

    def release(self, claim: Claim) -> None:
        """Forget the page of *claim*, which was not stored: the next near one is new."""
        self._scopes[claim.scope].claims.remove(claim)
        claim.end()

    def skipped(self, reason: str) -> Verdict:
        """Return the verdict on a page that is not compared, for *reason*."""
        return Verdict(Kind.SKIPPED, self._method.name, reason=reason)

    def _verdict(self, kind: Kind, original: int, distance: float) -> Verdict:
        return Verdict(kind, self._method.name, self._url(original), distance)

    def _url(self, page: int) -> str:
        return self._keys[page].decode("utf-8", "surrogatepass")

    @property
    def open_claims(self) -> int:
        """The number of claims that are neither committed nor released."""
        return sum(len(pages.claims) for pages in self._scopes.values())

    def __len__(self) -> int:
        """Return the number of pages kept."""
        return len(self._keys)

    @property
    def nbytes(self) -> int:
        """The memory that the remembered pages take, in bytes (dictionaries estimated)."""
        return self._keys.nbytes + sum(scope.nbytes for scope in self._scopes.values())


class _Scope:
    """The kept pages among which duplicates are looked for."""

    def __init__(self, method: Method) -> None:
        self.by_digest: dict[bytes, int] = {}
        self.index: Index = index_for(method)
        self.claims = OpenClaims(method)

    @property
    def nbytes(self) -> int:
        entry = getsizeof(bytes(16)) + getsizeof(1 << 29)
        return getsizeof(self.by_digest) + entry * len(self.by_digest) + self.index.nbytes
