"""What is said of a part of URLs, and how sure it is."""

from dataclasses import dataclass
from math import sqrt

from dedup.url_advice.rules import Rule

LEAST_COMPARED = 5
"""How many pages must have been compared before anything is advised."""

LEAST_CONFIDENCE = 0.9
"""How sure it must be that content is equal, where a page was found that differs."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A part of URLs, and how the content of pages depended on it.

    *kind* says what *name* is: a "parameter" of the query, "parameters" that come together
    (separated by commas), a "path-parameter" (``;sid=1``), a
    "segment" of the path, an "index" page, a last "slash", a "suffix" of the last segment, a
    "version" (any in this place), a "value" (this one in this place), a "host" (with its scheme).
    What it is compared with is the URL without it, or, of a value or host, with *other*.

    *pages*: how many URLs have it; *compared*: how many URLs could have been left out, since
    another one differs in this part only; *agreed*: how many of these had the content of the one
    that would have stayed, on average over which one that is, rounded down; *alone*: how many of
    the pages have no such URL; *confidence*: lower bound
    of the share that agrees (95 %, Wilson). *examples*, *counterexamples*: pairs of URLs.

    *discarder*: the rule for duplicate-url-discarder, *deny*: the regular expression for a link
    extractor, where one can be given.
    """

    kind: str
    name: str
    other: str | None
    host: str
    pages: int
    compared: int
    agreed: int
    alone: int
    confidence: float
    is_advised: bool
    examples: tuple[tuple[str, str], ...]
    counterexamples: tuple[tuple[str, str], ...]
    discarder: Rule | None
    deny: str | None


@dataclass(frozen=True, slots=True)
class Followed:
    """What it would have meant to crawl with all the rules.

    *pages* that would not have been fetched; *contents*: how many of these differ from the one
    fetched in their place, on average over which one that is, rounded up.
    """

    pages: int
    contents: int


@dataclass(frozen=True, slots=True)
class UrlAdvice:
    """All of the advice, of *pages* that were looked at; the surest and most useful first."""

    pages: int
    advice: tuple[Advice, ...]
    with_deny: Followed
    with_discarder: Followed


def is_advised(agreed: int, compared: int) -> bool:
    """Return whether a part is advised of whose cases *agreed* of *compared* had equal content."""
    if compared < LEAST_COMPARED:
        return False
    return agreed == compared or confidence(agreed, compared) > LEAST_CONFIDENCE


def confidence(agreed: int, compared: int) -> float:
    """Return the lower bound of a share of which *agreed* of *compared* were seen, 0 to 1.

    >>> round(confidence(5, 5), 2), round(confidence(40, 40), 2), confidence(0, 0)
    (0.57, 0.91, 0.0)

    Source: Wilson, "Probable Inference", JASA 22, 1927; at 95 %.
    """
    if not compared:
        return 0.0
    share, z2 = agreed / compared, 1.96**2
    spread = sqrt(z2 * (share * (1 - share) + z2 / (4 * compared)) / compared)
    return max(0.0, (share + z2 / (2 * compared) - spread) / (1 + z2 / compared))
