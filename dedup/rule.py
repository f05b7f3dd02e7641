"""What a page is, given what is equal to it and what is near: the one rule of all that judges.

It knows no index, no store and no crawl. These look for pages; what follows from what they find is
said here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from dedup.evidence import NORMAL, Demands, Evidence, KnownNames, Objection, Witness, names_agree
from dedup.limits import split_url
from dedup.record import PageRecord
from dedup.text import printable, readable_url

MOST_OBJECTIONS = 256
"""A page is kept if so many pages that match it cannot be its original: no other one is asked."""


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
    crawl, under the same key, and is no duplicate of another. A new page with an *objection* would
    be a duplicate of *original* by its main text; the objection says why that is not enough. A
    duplicate whose URL is better than that of the page that is stored has it as *preferred*.
    """

    kind: Kind
    method: str
    original: str | None = None
    distance: float | None = None
    reason: str | None = None
    objection: Objection | None = None
    preferred: str | None = None

    @property
    def is_duplicate(self) -> bool:
        return self.kind in (Kind.EXACT, Kind.NEAR)

    def __str__(self) -> str:
        if self.is_duplicate:
            kind = "exact duplicate" if self.kind is Kind.EXACT else "near-duplicate"
            original = printable(readable_url(self.original or ""))
            return f"{kind} of <{original}> ({self.method}, distance {self.distance:.3g})"
        if self.objection:
            original = printable(readable_url(self.original or ""))
            return f"{self.kind.value} (not a duplicate of <{original}>: {self.objection})"
        return f"skipped ({self.reason})" if self.kind is Kind.SKIPPED else self.kind.value


SHORT = 20
"""Main texts with fewer tokens are short, unless a rule says otherwise."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Decision(Generic[T]):
    """What the rule says of a page: `NEW`, `SKIPPED` for a *reason*, or a duplicate of *match*."""

    kind: Kind
    match: T | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Says what a page is.

    *min_tokens*: a page with fewer tokens is a duplicate only of one with an equal text. With 0,
    short pages are no duplicates at all. *demands*: what is asked of the evidence of two pages
    whose main texts match; ``None`` for nothing.
    """

    min_tokens: int = SHORT
    demands: Demands | None = NORMAL

    def is_short(self, record: PageRecord) -> bool:
        """Return whether *record* has too little text to be a near-duplicate of another page."""
        return record.tokens < (self.min_tokens or SHORT) or record.sketch is None

    def reason_to_skip(self, record: PageRecord) -> str | None:
        """Return why *record* is never a duplicate, or ``None``.

        "empty" if it has no text; "too_short" if it is short and short pages are kept.
        """
        if record.digest is None:
            return "empty"
        if not self.min_tokens and self.is_short(record) and not record.is_binary:
            return "too_short"
        return None

    def is_weak(self, page: Witness) -> bool:
        """Return whether the main text of *page* says too little of it to be compared alone.

        Then the page can only be a duplicate of one that shows the same.
        """
        if self.demands is None or page.evidence is None:
            return False
        return page.evidence.coverage < self.demands.coverage

    def believes(self, page: Witness, *urls: str) -> bool:
        """Return whether *page* is a copy by its own word: it calls what it matches canonical.

        It may have another title or address. *urls* are those of what it matches. Its main text
        has to be long, and all of the page that there is, as if it were equal to the other one:
        nobody is believed where pages have little but a title. Nor does a page repeat the home
        page, which templates name for all.
        """
        if self.demands is None or page.evidence is None:
            return False
        if any(split_url(url).path in ("", "/") for url in urls):
            return False
        return self.demands.are_met_by_text(page.tokens, page.evidence.coverage)

    def objection(
        self,
        page: Witness,
        original: Witness,
        *,
        is_exact: bool,
        finds_parts: bool = False,
        names: KnownNames | None = None,
    ) -> Objection | None:
        """Return what speaks against dropping *page* for *original*, whose main texts match.

        *is_exact*: they are equal. *finds_parts*: they match if the page stands in the original,
        however long that is. *names*: what is known of those of *page*. What nobody saw shows
        nothing that could be compared. The first of these holds:

        1. A weak main text, of either page, is not enough, unless all that the pages show is equal.
        2. A page that shows much more than its original has content of its own.
        3. Near-duplicates of which one has a much longer main text are none; where parts are found,
           the original may.
        4. Pages whose names differ are others, unless their main texts are equal, long, and all of
           the page that there is. So are near-duplicates that have nothing but a title of eight
           pages: it is that of a template.
        5. Near-duplicates are others if each begins with a word of its own URL, and the other one
           does not: they are pages of a template, named by their URLs. Where parts are found, the
           original has the words of many.
        """
        demands, shown, other = self.demands, page.evidence, original.evidence
        if demands is None:
            return None
        coverage = min(page.coverage, original.coverage)
        if shown is None or other is None:
            return Objection.WEAK if coverage < demands.coverage else None
        if is_exact and shown.view == other.view:
            coverage = 1.0
        elif coverage < demands.coverage:
            return Objection.WEAK
        elif shown.size >= demands.longer * other.size:
            return Objection.LONGER
        if not is_exact:
            return _objection_to_near(page, original, demands, names, finds_parts=finds_parts)
        is_enough = demands.are_met_by_text(page.tokens, coverage)
        return None if is_enough or _are_named_alike(shown, other, names) else Objection.TITLE

    def judge(
        self,
        record: PageRecord,
        equal: Callable[[], T | None],
        near: Callable[[], T | None],
    ) -> Decision[T]:
        """Return what *record* is.

        *equal* looks for a page with an equal digest, *near* for one whose sketch is within the
        threshold, both among those to which there is no objection. They return what they find, or
        ``None``, and are called only if it matters.
        """
        if reason := self.reason_to_skip(record):
            return Decision(Kind.SKIPPED, reason=reason)
        if (match := equal()) is not None:
            return Decision(Kind.EXACT, match)
        if not self.is_short(record) and (match := near()) is not None:
            return Decision(Kind.NEAR, match)
        return Decision(Kind.NEW)


def _objection_to_near(
    page: Witness,
    original: Witness,
    demands: Demands,
    names: KnownNames | None,
    *,
    finds_parts: bool,
) -> Objection | None:
    shown, other = page.evidence, original.evidence
    assert shown is not None
    assert other is not None
    if page.tokens >= demands.longer * original.tokens:
        return Objection.LONGER
    if original.tokens >= demands.longer * page.tokens and not finds_parts:
        return Objection.SHORTER
    if not _are_named_alike(shown, other, names) or _has_title_of_template(shown, names):
        return Objection.TITLE
    return None if finds_parts or not _have_own_words(shown, other) else Objection.ADDRESS


def _are_named_alike(shown: Evidence, other: Evidence, names: KnownNames | None) -> bool:
    return names_agree(shown, other, names) is not False


def _has_title_of_template(shown: Evidence, names: KnownNames | None) -> bool:
    return names is not None and not shown.headline and shown.title in names.shared


def _have_own_words(shown: Evidence, other: Evidence) -> bool:
    """Return whether each begins with a word of its own URL that the other one lacks."""
    return bool(shown.words & ~other.words and other.words & ~shown.words)
