"""How many duplicates have another title and another headline than their originals."""

from dedup.evidence import Evidence, names_differ
from dedup.report.report import TitleCounts
from dedup.report.sample import priority
from dedup.rule import Kind, Verdict

_TITLES = 100_000
_KEPT = (Kind.NEW, Kind.CHANGED, Kind.UNCHANGED)


class Titles:
    """Remembers the names of up to *limit* kept pages, and compares those of their duplicates."""

    def __init__(self, limit: int = _TITLES) -> None:
        self._limit = limit
        self._kept: dict[int, Evidence] = {}
        self._compared = 0
        self._different = 0

    def record(self, verdict: Verdict, url: str, page: Evidence | None) -> None:
        """Take note of what the *page* at *url* calls itself."""
        if page is None or not (page.title or page.headline):
            return
        if verdict.is_duplicate:
            original = self._kept.get(priority(verdict.original or ""))
            if original is not None:
                self._compared += 1
                self._different += names_differ(page, original)
        elif verdict.kind in _KEPT and len(self._kept) < self._limit:
            # What else there is would take hundreds of bytes.
            self._kept[priority(url)] = Evidence(1.0, b"", 0, page.title, page.headline)

    def counts(self) -> TitleCounts:
        """Return how many were compared, and differ."""
        return TitleCounts(self._compared, self._different)
