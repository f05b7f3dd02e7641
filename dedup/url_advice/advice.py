"""Advice about a part of URLs, and the confidence in it."""

from dataclasses import dataclass

from dedup.wilson import wilson

LEAST_COMPARED = 5
"""The fewest compared pages that a rule needs."""

LEAST_CONFIDENCE = 0.9
"""The confidence that a rule needs if any page differs, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Advice:
    """A part of URLs, and how the content of pages depended on it.

    *kind* says what *name* is: a "parameter" of the query, "parameters" that come together
    (separated by commas), an "index" page, a last "slash", a "version" (any in this place), a
    "value" (this one in this place), a "host" (with its scheme). A URL is compared with the URL
    without the part; if the part is a value or host, with the URL that has *other* in its place.

    *pages*: the number of URLs with the part. *compared*: the number of URLs that a crawl could
    skip, since another URL differs in this part only. *agreed*: how many of these have the content
    of the URL that the crawl would fetch instead, averaged over the choice of that URL and rounded
    down. *alone*: the number of URLs with no such counterpart. *confidence*: the lower bound of the
    share that agrees (95 %, Wilson). *examples*, *counterexamples*: pairs of URLs.

    *deny*: the regular expression for a link extractor, if there is one.
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
    deny: str | None = None


@dataclass(frozen=True, slots=True)
class UrlAdvice:
    """All advice from *pages* pages; the surest and most useful first.

    *denied*: how many pages all deny expressions bar; each leaves one of the same content.
    *nearest*: where nothing is advised, the part that came nearest to it, if any did.
    """

    pages: int
    advice: tuple[Advice, ...]
    denied: int
    nearest: Advice | None = None


def is_advised(agreed: int, compared: int) -> bool:
    """Return whether to advise a rule if *agreed* of *compared* cases had equal content."""
    if compared < LEAST_COMPARED:
        return False
    return agreed == compared or confidence(agreed, compared) > LEAST_CONFIDENCE


def confidence(agreed: int, compared: int) -> float:
    """Return the lower bound of a share, 0 to 1, if *agreed* of *compared* cases agreed."""
    return wilson(agreed / compared, compared)[0] if compared else 0.0
