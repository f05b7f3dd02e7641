"""How many duplicates have another title than their originals."""

import re

from dedup.report.report import TitleCounts
from dedup.report.sample import priority
from dedup.rule import Kind, Verdict
from dedup.text import normalise

_TITLES = 100_000
_NAME_OF_SITE = re.compile(r"(?<=\S)(?:\s[–—|·•»-]+\s|\s?\|)")
_KEPT = (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED)


class Titles:
    """Remembers the titles of up to *limit* kept pages, and compares those of their duplicates.

    Only what stands before the name of a site counts: "Tea – The Lantern" is "Tea | Reading Room".
    """

    def __init__(self, limit: int = _TITLES) -> None:
        self._limit = limit
        # By hashes, which take 16 bytes and not hundreds.
        self._kept: dict[int, int] = {}
        self._compared = 0
        self._different = 0

    def record(self, verdict: Verdict, url: str, title: str | None) -> None:
        """Take note of the *title* of the page at *url*."""
        if not title:
            return
        digest = priority(normalise(_NAME_OF_SITE.split(title, 1)[0]))
        if verdict.is_duplicate:
            original = self._kept.get(priority(verdict.original or ""))
            if original is not None:
                self._compared += 1
                self._different += digest != original
        elif verdict.kind in _KEPT and len(self._kept) < self._limit:
            self._kept[priority(url)] = digest

    def counts(self) -> TitleCounts:
        """Return how many were compared, and differ."""
        return TitleCounts(self._compared, self._different)
