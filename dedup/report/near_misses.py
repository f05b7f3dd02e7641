"""Kept pages that are just no near-duplicates of each other."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from time import monotonic
from typing import Any

from dedup.detector import Detector
from dedup.evidence import Evidence, Objection
from dedup.extraction import Extraction
from dedup.record import PageRecord
from dedup.report.sample import Sample
from dedup.report.texts import TextStore
from dedup.rule import Rule, Verdict

_SAMPLE = 2000
_SECONDS = 1.5
_PAIRS_SHOWN = 50
# Shorter texts with other titles are mostly other pages of one template.
_TOKENS_OF_REPRINT = 200

NOTHING_NEAR = {"sample": 0, "pages": 0, "within": 0, "distances": {}}


class KeptPages:
    """An even sample of the kept pages, to be compared with all others at the end."""

    def __init__(self) -> None:
        self._sample: Sample[PageRecord] = Sample(_SAMPLE)
        # With what they would repeat if it had the same title.
        self._retitled: Sample[tuple[PageRecord, str | None]] = Sample(_PAIRS_SHOWN // 2)

    def add(self, record: PageRecord, verdict: Verdict) -> None:
        """Add a kept page."""
        self._sample.add(record.key, record)
        if verdict.objection is Objection.TITLE and record.tokens >= _TOKENS_OF_REPRINT:
            self._retitled.add(record.key, (record, verdict.original))

    async def fetch_near_misses(self, detector: Detector) -> None:
        """Have *detector* know what `near_misses` asks it; waits only if its store does.

        Raises LedgerError if that cannot be asked.
        """
        deadline = monotonic() + _SECONDS
        for scope, records in self._by_scope(detector.rule).items():
            if monotonic() > deadline:
                break
            await detector.neighbours.fetch(records, scope)

    def _by_scope(self, rule: Rule) -> dict[str, list[PageRecord]]:
        by_scope: dict[str, list[PageRecord]] = defaultdict(list)
        for _, record in self._sample:
            if not rule.is_short(record):
                by_scope[record.scope].append(record)
        return by_scope

    def read_again(self, texts: TextStore) -> Iterator[tuple[PageRecord, Extraction]]:
        """Yield those pages of the sample that are in *texts*, and what was extracted of them."""
        for url, record in self._sample:
            if (text := texts.get(url)) is not None:
                evidence = record.evidence and Evidence.from_bytes(record.evidence)
                yield record, Extraction(text, texts.title(url), evidence=evidence or None)

    def near_misses(self, detector: Detector) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Return the distances of the nearest other page beyond the threshold; the nearest pairs.

        These begin with long texts that only another title kept: they may be reprints. The search
        ends after 1.5 s, whatever it has not come to by then.
        """
        neighbours = detector.neighbours
        by_scope = self._by_scope(detector.rule)
        distances: Counter[float] = Counter()
        pairs: dict[frozenset[str], dict[str, Any]] = {}
        sampled, method = dict(self._sample), detector.method
        for _, (record, key) in self._retitled:
            original = sampled.get(key or "")
            if original and original.sketch and record.sketch:
                sketches = map(method.from_bytes, (record.sketch, original.sketch))
                pair = record.key, original.key
                pairs[frozenset(pair)] = _miss(*pair, method.distance(*sketches), Objection.TITLE)
        compared, deadline = 0, monotonic() + _SECONDS
        for scope, records in by_scope.items():
            if monotonic() > deadline:
                break
            matches = neighbours.of(records, scope)
            for record, match in zip(records, matches, strict=False):
                compared += 1
                if match:
                    other, distance, objection = match
                    distances[math.ceil(100 * distance) / 100] += 1
                    miss = _miss(record.key, other, distance, objection)
                    pairs.setdefault(frozenset((record.key, other)), miss)
                if monotonic() > deadline:
                    break
        nearest = sorted(pairs.values(), key=lambda pair: pair["distance"])[:_PAIRS_SHOWN]
        long_enough = sum(map(len, by_scope.values()))
        # The share of long enough pages is taken to be that of the sample.
        pages_in_all = round(self._sample.added * long_enough / max(1, len(self._sample)))
        nearest_kept = {
            "sample": compared,
            "pages": pages_in_all,
            "within": neighbours.distance,
            "distances": {f"{distance:g}": distances[distance] for distance in sorted(distances)},
        }
        return nearest_kept, nearest


def _miss(url: str, other: str, distance: float, objection: Objection | None) -> dict[str, Any]:
    return {"url": url, "other": other, "distance": round(distance, 4), "objection": objection}
