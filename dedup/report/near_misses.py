"""Kept pages that are just no near-duplicates of each other."""

from collections import Counter, defaultdict
from dataclasses import replace
from time import monotonic

from dedup.detector import Detector
from dedup.page import Page
from dedup.report.distances import round_up, sort_distances
from dedup.report.report import NearestKept, NearMiss
from dedup.report.sample import Sample

_SAMPLE = 500
_SECONDS = 1.5
_PAIRS_SHOWN = 50

NOTHING_NEAR = NearestKept(0, 0, 0, {})


class KeptPages:
    """An even sample of the kept pages, to be compared with all others at the end."""

    def __init__(self) -> None:
        self._sample: Sample[tuple[str, Page]] = Sample(_SAMPLE)

    def add(self, url: str, scope: str, page: Page) -> None:
        """Add the page at *url*, without what is not compared."""
        self._sample.add(url, (scope, replace(page, text=None, title=None, language=None)))

    def near_misses(self, detector: Detector) -> tuple[NearestKept, tuple[NearMiss, ...]]:
        """Return the distances of the nearest other page beyond the threshold; the nearest pairs.

        The search ends after 1.5 s, whatever it has not come to by then.
        """
        within = detector.near_miss_distance
        by_scope: dict[str, list[tuple[str, Page]]] = defaultdict(list)
        for url, (scope, page) in self._sample:
            if not detector.is_short(page):
                by_scope[scope].append((url, page))
        distances: Counter[float] = Counter()
        pairs: dict[frozenset[str], NearMiss] = {}
        compared, deadline = 0, monotonic() + _SECONDS
        for scope, pages in by_scope.items():
            if monotonic() > deadline:
                break
            matches = detector.near_misses([page for _, page in pages], scope, within)
            for (url, _), match in zip(pages, matches, strict=False):
                compared += 1
                if match:
                    other, distance = match
                    distances[round_up(distance)] += 1
                    pair = frozenset((url, other))
                    pairs.setdefault(pair, NearMiss(url, other, round(distance, 4)))
                if monotonic() > deadline:
                    break
        nearest = sorted(pairs.values(), key=lambda pair: pair.distance)[:_PAIRS_SHOWN]
        long_enough = sum(map(len, by_scope.values()))
        # The share of long enough pages is taken to be that of the sample.
        pages_in_all = round(self._sample.added * long_enough / max(1, len(self._sample)))
        nearest_kept = NearestKept(compared, pages_in_all, within, sort_distances(distances))
        return nearest_kept, tuple(nearest)
