"""A sample of the kept pages, which is looked at again at the end of a crawl."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import heappush, heappushpop
from time import monotonic
from typing import Any, Generic, TypeVar

from dedup.detector import Detector
from dedup.evidence import Evidence, Objection
from dedup.extraction import Extraction, language_of_text
from dedup.methods.base import Method
from dedup.methods.verified import Verified
from dedup.page import PageReader
from dedup.record import PageRecord
from dedup.report.texts import TextStore, priority
from dedup.rule import Rule, Verdict
from dedup.text import script_of

_PAGES = 2000
_PAIRS_SHOWN = 50
# Shorter texts with other titles are mostly other pages of one template.
_TOKENS_OF_REPRINT = 200
_SECONDS = 1.5

T = TypeVar("T")


class Sample(Generic[T]):
    """Keeps the *limit* values whose keys have the lowest priorities: the same in every crawl.

    Each value is equally likely to be kept, whenever it is added. `added` counts all of them.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        # The highest priority is on top; the count keeps values from being compared.
        self._heap: list[tuple[int, int, T]] = []
        self.added = 0

    def add(self, key: str, value: T) -> None:
        """Keep *value* if the priority of *key* is among the lowest so far."""
        entry = (-priority(key), -self.added, value)
        self.added += 1
        if len(self._heap) < self._limit:
            heappush(self._heap, entry)
        else:
            heappushpop(self._heap, entry)

    def __iter__(self) -> Iterator[T]:
        """Iterate over the values, the lowest priority first."""
        return (value for *_, value in sorted(self._heap, reverse=True))

    def __len__(self) -> int:
        return len(self._heap)


class KeptPages:
    """An even sample of the kept pages of a crawl, to be compared with all others at the end.

    Each look at them ends after 1.5 s, whatever it has not come to by then.
    """

    def __init__(self) -> None:
        self._sample: Sample[PageRecord] = Sample(_PAGES)
        # With the keys of what they would repeat if they had the same titles.
        self._retitled: Sample[tuple[PageRecord, str | None]] = Sample(_PAIRS_SHOWN // 2)

    def add(self, record: PageRecord, verdict: Verdict) -> None:
        self._sample.add(record.key, record)
        if verdict.objection is Objection.TITLE and record.tokens >= _TOKENS_OF_REPRINT:
            self._retitled.add(record.key, (record, verdict.original))

    async def fetch_near_misses(self, detector: Detector) -> None:
        """Have *detector* know what `near_misses` asks it; waits only if its store does.

        Raises LedgerError if that cannot be asked: the report has other words for the pages.
        """
        deadline = monotonic() + _SECONDS
        for scope, records in self._by_scope(detector.rule).items():
            if monotonic() > deadline:
                break
            await detector.fetch_near_misses(records, scope)

    def near_misses(self, detector: Detector, threshold: object) -> dict[str, Any]:
        """Return the distances of the nearest page beyond the threshold, and the nearest pairs.

        These begin with long texts that only another title kept: they may be reprints. None is
        farther than twice the *threshold*, if that is known. Of the distances, the sample says how
        many pages it stands for.
        """
        pairs: dict[frozenset[str], dict[str, Any]] = {}
        sampled, method = {record.key: record for record in self._sample}, detector.method
        for record, key in self._retitled:
            original = sampled.get(key or "")
            if original and original.sketch and record.sketch:
                sketches = map(method.from_bytes, (record.sketch, original.sketch))
                pair = record.key, original.key
                pairs[frozenset(pair)] = _miss(*pair, method.distance(*sketches), Objection.TITLE)
        compared, distances = 0, Counter[float]()
        for record, match in self._neighbours(detector):
            compared += 1
            if match:
                other, distance, objection = match
                distances[math.ceil(100 * distance) / 100] += 1
                miss = _miss(record.key, other, distance, objection)
                pairs.setdefault(frozenset((record.key, other)), miss)
        # What is farther is not just beyond the threshold.
        upto = 2 * threshold or 1 if isinstance(threshold, int | float) else math.inf
        nearest = sorted(pairs.values(), key=lambda pair: pair["distance"])[:_PAIRS_SHOWN]
        long_enough = sum(map(len, self._by_scope(detector.rule).values()))
        return {
            "near_misses": [pair for pair in nearest if pair["distance"] <= upto],
            "nearest_kept": {
                "sample": compared,
                # The share of long enough pages is taken to be that of the sample.
                "pages": round(self._sample.added * long_enough / max(1, len(self._sample))),
                "within": detector.method.near_miss_distance,
                "distances": {f"{distance:g}": n for distance, n in sorted(distances.items())},
            },
        }

    def second_opinion(self, detector: Detector, texts: TextStore) -> dict[str, Any] | None:
        """Return how many of the pages repeat others of them by `Verified`.

        ``None`` if *detector* has that method, or no texts were kept.
        """
        if detector.method.name == Verified.name or not len(texts):
            return None
        method: Method = Verified()
        if detector.method.simplifies_chinese:
            method = method.simplifying_chinese()
        compared, near = self._judge_again(method, detector.rule, texts)
        return {"method": method.name, "compared": compared, "near": near}

    def chinese_scripts(self, detector: Detector, texts: TextStore) -> dict[str, Any] | None:
        """Return how many of the pages are in either Chinese script, and what that hides.

        That is how many repeat others once Chinese is simplified, ``None`` without OpenCC. ``None``
        in all if *detector* has that method, or one of the scripts was not met.
        """
        if detector.method.simplifies_chinese:
            return None
        pages = (page.text for _, page in self._read_again(texts))
        scripts = Counter(script_of(text) for text in pages if language_of_text(text) == "zh")
        counts = {name: scripts[name] for name in ("simplified", "traditional")}
        if not all(counts.values()):
            return None
        try:
            method = detector.method.simplifying_chinese()
        except ValueError:  # OpenCC is not installed
            return {**counts, "near": None}
        return {**counts, "near": self._judge_again(method, detector.rule, texts)[1]}

    def _by_scope(self, rule: Rule) -> dict[str, list[PageRecord]]:
        """Return those pages that are long enough to be near others."""
        by_scope: dict[str, list[PageRecord]] = defaultdict(list)
        for record in self._sample:
            if not rule.is_short(record):
                by_scope[record.scope].append(record)
        return by_scope

    def _neighbours(
        self, detector: Detector
    ) -> Iterator[tuple[PageRecord, tuple[str, float, Objection | None] | None]]:
        deadline = monotonic() + _SECONDS
        for scope, records in self._by_scope(detector.rule).items():
            for pair in zip(records, detector.near_misses(records, scope), strict=True):
                yield pair
                if monotonic() > deadline:
                    return

    def _judge_again(self, method: Method, rule: Rule, texts: TextStore) -> tuple[int, int]:
        """Return how many pages there was time to judge, and how many of them repeat others.

        As in a crawl with *method*: what else the pages show, and what their items say, counts.
        """
        again, deadline = Detector(method, rule), monotonic() + _SECONDS
        compared = near = 0
        for record, extraction in self._read_again(texts):
            if monotonic() > deadline:
                break
            compared += 1
            near += again.judge(_read_with(method, record, extraction)).is_duplicate
        return compared, near

    def _read_again(self, texts: TextStore) -> Iterator[tuple[PageRecord, Extraction]]:
        for record in self._sample:
            if stored := texts.text(record.key):
                title, text = stored
                evidence = record.evidence and Evidence.from_bytes(record.evidence)
                yield record, Extraction(text, title, evidence=evidence or None)


def _miss(url: str, other: str, distance: float, objection: Objection | None) -> dict[str, Any]:
    return {"url": url, "other": other, "distance": round(distance, 4), "objection": objection}


def _read_with(method: Method, record: PageRecord, extraction: Extraction) -> PageRecord:
    read = PageReader(lambda _html: extraction, method).read_html("").record
    return read.under(record.key, record.scope)._replace(item=record.item)
