"""How much text the drops of a crawl lose, from the verdicts and from what is stored."""

from collections.abc import Hashable
from typing import Any

from dedup.limits import shorten_url
from dedup.lost_text import SEQUENCES_OF_A_SAMPLE, LostTextSample, Sequences
from dedup.report.events import PageEvents
from dedup.rule import Kind

_PAGES_NAMED = 50
_STORED = """
    SELECT sequences FROM stored UNION ALL
    SELECT sequences FROM judged JOIN pages ON pages.number = page
    WHERE kind IN ('unchanged', 'exact-duplicate')
"""
_DROPPED = """
    SELECT url, coalesce(original, url) AS origin, sequences,
        kind = 'exact-duplicate' OR NOT ? OR coalesce(original, url) IN (
            SELECT url FROM stored UNION ALL SELECT url FROM pages WHERE kind = 'unchanged'
        )
    FROM judged JOIN pages ON pages.number = page
    WHERE kind IN ('exact-duplicate', 'near-duplicate', 'repeated')
"""


class Losses:
    """Samples the texts of stored and of dropped pages, and says at the end what was lost.

    What an earlier crawl stored is known where its text was met again: in an unchanged page, or in
    an exact duplicate of it. A drop for another page of an earlier crawl cannot be judged; such
    drops are counted, and left out of the estimate.
    """

    def __init__(self, most: int = SEQUENCES_OF_A_SAMPLE) -> None:
        """Create it; *most*: see `LostTextSample`."""
        self._most = most
        # It halves as the sample of the result will, whatever is kept.
        self._expected = LostTextSample(most)
        self._claimed: dict[Hashable, tuple[str, Sequences]] = {}
        self._has_past = False

    @property
    def halvings(self) -> int:
        """Which sample of the `Sequences` of the next page is needed."""
        return self._expected.halvings

    def expect_past(self) -> None:
        """Take note that there are pages which were stored before this crawl."""
        self._has_past = True

    def of_judged(self, kind: Kind, sequences: Sequences | None) -> Sequences | None:
        """Return what is sampled of a page that is judged, unless that is stored under a claim."""
        if not sequences or kind in (Kind.NEW, Kind.CHANGED, Kind.SKIPPED):
            return None
        return self._expected.add_kept(sequences)

    def claim_begins(self, claim: Hashable, url: str, sequences: Sequences) -> None:
        """The page at *url* is about to be stored, under *claim*."""
        self._claimed[claim] = shorten_url(url), self._expected.add_kept(sequences)

    def claim_ends(self, claim: Hashable, events: PageEvents, *, is_stored: bool) -> None:
        """It has been stored, or not: *events* are told."""
        if (claimed := self._claimed.pop(claim, None)) and is_stored:
            events.add_stored(*claimed)

    def result(self, events: PageEvents) -> dict[str, Any]:
        """Return the estimate from all *events*, with the drops that lost most.

        By the keys of a report's ``dropped_text``, but for ``is_stored``.
        """

        def read(written: bytes) -> Sequences:
            return Sequences.from_bytes(written).thinned(self.halvings)

        sample, pages, unknown = LostTextSample(self._most), 0, 0
        for (stored,) in events.query(_STORED):
            if stored:
                sample.add_kept(read(stored))
        for url, original, dropped, is_known in events.query(_DROPPED, self._has_past):
            if dropped and is_known:
                pages += 1
                sample.add_dropped(read(dropped), url, original)
            elif dropped:
                unknown += 1
        text = sample.result()
        return {
            "pages": pages,
            "pages_of_earlier_crawls": unknown,
            "sequences": text.sequences,
            "share": round(text.share, 6),
            "error": round(text.error, 6),
            "lossiest": [
                {
                    "url": drop.key,
                    "original": drop.original,
                    "lost": round(drop.lost),
                    "sequences": drop.sequences,
                }
                for drop in sample.lossiest(_PAGES_NAMED)
            ],
        }
