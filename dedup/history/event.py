"""Something that became of a page, in words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

from dedup.rule import Kind
from dedup.units import count_of

MOST_LISTED = 10
"""The most URLs that an event names."""
_NOUNS = {
    Kind.EXACT: "an exact duplicate",
    Kind.NEAR: "a near-duplicate",
    Kind.REPEATED: "a page that was met before in the crawl, under this URL",
}


class Event(NamedTuple):
    """Something that became of a page: *what* in one word, in *words*, and the *facts* as JSON."""

    what: str
    words: str
    facts: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        return {"what": self.what, **self.facts, "words": self.words}


@dataclass
class History:
    """What one source knows of a page, and what else it may help to know."""

    source: str
    events: list[Event] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)


def event_of_copies(
    count: int, noun: str, listed: Sequence[tuple[str, str, float | None]]
) -> Event:
    """Return the event that *count* others, pages or items by *noun*, repeat a page.

    *listed*: URL, verdict and distance of the first of them.
    """
    pages = [
        f"<{url}> ({kind}" + (")" if kind != Kind.NEAR else f", distance {distance or 0:.4g})")
        for url, kind, distance in listed
    ]
    told = format_list(pages, count)
    words = f"{count_of(count, noun).capitalize()} {was(count)} found to repeat it:{told}"
    facts = [{"url": url, "verdict": kind, "distance": distance} for url, kind, distance in listed]
    return Event("repeated by others", words, {"count": count, "first": facts})


def format_list(pages: Sequence[str], count: int) -> str:
    """Return a line for each of *pages*, the first of *count*, and one for the others."""
    told = "".join(f"\n  {page}" for page in pages)
    return told + f"\n  and {count - len(pages):,} more" * (count > len(pages))


def was(count: int) -> str:
    return "was" if count == 1 else "were"


def noun_of(kind: str, distance: float | None) -> str:
    noun = _NOUNS.get(Kind(kind), kind)
    is_near = kind == Kind.NEAR and distance is not None
    return f"{noun} at distance {distance:.4g}" if is_near else noun


def format_time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
