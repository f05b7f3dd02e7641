"""What speaks against a drop, though the main texts of two pages match."""

from enum import StrEnum
from typing import NamedTuple

from dedup.evidence.evidence import ENOUGH_COVERAGE, Evidence, segments_of
from dedup.evidence.names import KnownNames


class Demands(NamedTuple):
    """What is asked of the evidence before a page is dropped.

    *coverage*: below it, a main text says too little of its page; down to *named_coverage*, one of
    *named_tokens* or more is enough if names agree. *longer*: a page that has so many
    times as much text as its original, or more, has content of its own; near-duplicates of which
    one has so many times as many tokens are none. *titled_tokens* and *titled_coverage*: an equal
    main text of fewer tokens, or of a smaller share of its page, is not enough, since the title may
    be what counts then.
    """

    coverage: float
    longer: float
    titled_tokens: int
    titled_coverage: float = 0.9
    named_tokens: int = 30
    named_coverage: float = 0.4

    def are_met_by_text(self, tokens: int, coverage: float) -> bool:
        """Return whether an equal main text is enough, whatever the names of its pages are."""
        return tokens >= self.titled_tokens and coverage >= self.titled_coverage

    def are_met_by_names(self, tokens: int, coverage: float) -> bool:
        """Return whether a weak main text is enough, if the names of its pages agree."""
        return tokens >= self.named_tokens and coverage >= self.named_coverage


NORMAL = Demands(coverage=ENOUGH_COVERAGE, longer=1.25, titled_tokens=50)
DEMANDS: dict[str, Demands | None] = {"on": NORMAL, "off": None}
"""What is demanded, by the names that commands have for it; ``None`` demands nothing."""


class Objection(StrEnum):
    """Why a page is kept although its main text matches that of another."""

    WEAK = "weak evidence"
    LONGER = "longer than its original"
    SHORTER = "shorter than its original"
    TITLE = "other title"
    ITEM = "other item"


def objection(
    page: Evidence | None,
    original: Evidence | None,
    *,
    tokens: int,
    original_tokens: int,
    is_exact: bool,
    finds_parts: bool = False,
    demands: Demands = NORMAL,
    names: KnownNames | None = None,
) -> Objection | None:
    """Return what speaks against dropping *page* for *original*, whose main texts match.

    *tokens* and *original_tokens*: how many each main text has. *is_exact*: they are equal.
    *finds_parts*: they match if the page stands in the original, however long that is. *names*:
    what is known of those of *page*. A page that is ``None`` is a text of which nobody saw the
    page, which shows nothing that could be compared. The first of these holds:

    1. A weak main text, of either page, is not enough, unless all that the pages show is equal, or
       it is only a little too weak, and the pages have one name.
    2. A page that shows much more than its original has content of its own.
    3. Near-duplicates of which one has a much longer main text are none; where parts are found,
       the original may.
    4. Pages whose names differ are others, unless their main texts are equal, long, and all of the
       page that there is.
    """
    coverage = _least_coverage(page, original)
    if page is None or original is None:
        return Objection.WEAK if coverage < demands.coverage else None
    if is_exact and page.view == original.view:
        coverage = 1.0
    elif coverage < demands.coverage and not (
        demands.are_met_by_names(min(tokens, original_tokens), coverage)
        and _have_one_name(page, original, names)
    ):
        return Objection.WEAK
    elif page.size >= demands.longer * original.size:
        return Objection.LONGER
    if is_exact and demands.are_met_by_text(tokens, coverage):
        return None
    if not is_exact:
        if tokens >= demands.longer * original_tokens:
            return Objection.LONGER
        if original_tokens >= demands.longer * tokens and not finds_parts:
            return Objection.SHORTER
    return Objection.TITLE if names_agree(page, original, names) is False else None


def _least_coverage(*pages: Evidence | None) -> float:
    return min((page.coverage for page in pages if page is not None), default=1.0)


def _have_one_name(page: Evidence, original: Evidence, names: KnownNames | None) -> bool:
    # Where no names are known, any could be that of the site.
    return names is not None and names_agree(page, original, names) is True


def names_agree(page: Evidence, original: Evidence, known: KnownNames | None = None) -> bool | None:
    """Return whether the titles or the headlines of two pages agree.

    They do if the original's has all segments that are the page's own. ``None`` if there is nothing
    to compare: what one of them lacks does not count, nor a common name that both have.
    """
    agreements = []
    for name, other in ((page.title, original.title), (page.headline, original.headline)):
        segments, others = set(segments_of(name)), set(segments_of(other))
        is_common = known is not None and name in known.common
        if name and other and not (is_common and name == other):
            own = segments if known is None else segments & known.own
            is_equal = bool(own) and own <= others and len(others) <= len(segments)
            agreements.append(is_equal and not is_common)
    return any(agreements) if agreements else None
