"""How much text the drops of a crawl lose, from the verdicts and from what is stored."""

from collections.abc import Hashable
from typing import Any

from dedup.limits import shorten_url
from dedup.lost_text import SEQUENCES_OF_A_SAMPLE, LostTextSample, Sequences
from dedup.report.sample import priority
from dedup.rule import Kind, Verdict

_PAGES_NAMED = 50
_DROPS = (Kind.EXACT, Kind.NEAR, Kind.REPEATED)
# Some 100 bytes each; what comes after that is not known to be stored.
_KEYS_REMEMBERED = 1 << 18
_DROPS_WAITING = 10_000
_HASHES_WAITING = 1 << 16


class Losses:
    """Samples the text of stored and of dropped pages, as their fates become known.

    What an earlier crawl stored is known where its text was met again: in an unchanged page, or in
    an exact duplicate of it. A drop for another page of an earlier crawl cannot be judged; such
    drops are counted, and left out of the estimate. One that comes before its original waits for
    it until the end.
    """

    def __init__(self, *, drops: bool = True, most: int = SEQUENCES_OF_A_SAMPLE) -> None:
        """Create it; *drops*: duplicates are not stored. *most*: see `LostTextSample`."""
        self._drops = drops
        self._sample = LostTextSample(most)
        self._most = most
        self._claimed: dict[Hashable, tuple[str, Sequences]] = {}
        self._hashes_claimed = self._halvings_of_claimed = 0
        self._looked_at = 0
        self._not_looked_at = 0
        # The pages whose text was met in this crawl, if there are others.
        self._has_past = False
        self._met: set[int] = set()
        self._waiting: list[tuple[str, str, Sequences]] = []
        self._hashes_waiting = 0

    @property
    def halvings(self) -> int:
        """Which sample of the `Sequences` of the next page is needed."""
        return self._sample.halvings

    def expect_past(self) -> None:
        """Take note that there are pages which were stored before this crawl."""
        self._has_past = True

    def page_is_judged(self, verdict: Verdict, url: str, sequences: Sequences) -> None:
        """Take note of the *verdict* on the page at *url*, unless that is stored under a claim."""
        if verdict.kind in (Kind.UNCHANGED, Kind.EXACT):
            # An equal text is stored.
            self._sample.add_kept(sequences)
        if verdict.kind is Kind.UNCHANGED:
            self._meet(url)
        if verdict.kind in _DROPS:
            original = verdict.original or url
            if verdict.kind is Kind.EXACT or self._has_met(original):
                self._add_drop(url, original, sequences)
            else:
                self._wait(url, original, sequences)

    def claim_begins(self, claim: Hashable, url: str, sequences: Sequences) -> None:
        """The page at *url* is about to be stored, under *claim*."""
        own = sequences.thinned(self._halvings_of_claimed)
        self._claimed[claim] = url, own
        self._hashes_claimed += own.sampled
        while self._hashes_claimed > self._most:
            self._thin_claimed()

    def _thin_claimed(self) -> None:
        """Keep half as much: the sample will have no more than that if all these are stored."""
        self._halvings_of_claimed += 1
        for claim, (url, sequences) in self._claimed.items():
            self._claimed[claim] = url, sequences.thinned(self._halvings_of_claimed)
        self._hashes_claimed = sum(own.sampled for _, own in self._claimed.values())

    def claim_ends(self, claim: Hashable, *, is_stored: bool) -> None:
        """It has been stored, or not."""
        claimed = self._claimed.pop(claim, None)
        if claimed is None:
            return
        url, sequences = claimed
        self._hashes_claimed -= sequences.sampled
        if is_stored:
            self._sample.add_kept(sequences)
            self._meet(url)

    def result(self) -> dict[str, Any]:
        """Return the estimate, with the drops that lost most; call it once, at the end.

        By the keys of a report's ``dropped_text``.
        """
        for url, original, sequences in self._waiting:
            if self._has_met(original):
                self._add_drop(url, original, sequences)
            else:
                self._not_looked_at += 1
        self._waiting = []
        text = self._sample.result()
        return {
            "pages": self._looked_at,
            "pages_of_earlier_crawls": self._not_looked_at,
            "sequences": text.sequences,
            "share": round(text.share, 6),
            "error": round(text.error, 6),
            "is_stored": not self._drops,
            "lossiest": [
                {
                    "url": drop.key,
                    "original": drop.original,
                    "lost": round(drop.lost),
                    "sequences": drop.sequences,
                }
                for drop in self._sample.lossiest(_PAGES_NAMED)
            ],
        }

    def _add_drop(self, url: str, original: str, sequences: Sequences) -> None:
        self._looked_at += 1
        self._sample.add_dropped(sequences, url, original)

    def _wait(self, url: str, original: str, sequences: Sequences) -> None:
        size = self._hashes_waiting + sequences.sampled
        if len(self._waiting) == _DROPS_WAITING or size > _HASHES_WAITING:
            self._not_looked_at += 1
            return
        self._hashes_waiting = size
        self._waiting.append((url, original, sequences))

    def _meet(self, url: str) -> None:
        if self._has_past and len(self._met) < _KEYS_REMEMBERED:
            self._met.add(priority(shorten_url(url)))

    def _has_met(self, url: str) -> bool:
        return not self._has_past or priority(url) in self._met
