"""A sample of the kept pages is looked at again at the end of a crawl."""

import math
from collections import Counter
from collections.abc import Iterator
from time import monotonic
from typing import Any

from dedup.detector import Detector
from dedup.evidence import Evidence, Objection
from dedup.extraction import Extraction, language_of_text
from dedup.methods.base import Method
from dedup.methods.verified import Verified
from dedup.page import PageReader
from dedup.record import PageRecord
from dedup.report.sample import PAIRS_SHOWN, KeptPages
from dedup.report.texts import TextStore
from dedup.rule import Rule
from dedup.text import script_of

_SECONDS = 1.5


async def fetch_near_misses(kept: KeptPages, detector: Detector) -> None:
    """Have *detector* know what `near_misses` asks it; waits only if its store does.

    Raises LedgerError if that cannot be asked: the report has other words for the pages.
    """
    deadline = monotonic() + _SECONDS
    for scope, records in kept.by_scope(detector.rule).items():
        if monotonic() > deadline:
            break
        await detector.neighbours.fetch(records, scope)


def near_misses(kept: KeptPages, detector: Detector, threshold: object) -> dict[str, Any]:
    """Return the distances of the nearest other page beyond the threshold; the nearest pairs.

    These begin with long texts that only another title kept: they may be reprints. None is farther
    than twice the *threshold*, if that is known. The search ends after 1.5 s, whatever it has not
    come to by then; of the distances, the sample says then how many pages it stands for.
    """
    pairs: dict[frozenset[str], dict[str, Any]] = {}
    sampled, method = dict(kept.sample), detector.method
    for _, (record, key) in kept.retitled:
        original = sampled.get(key or "")
        if original and original.sketch and record.sketch:
            sketches = map(method.from_bytes, (record.sketch, original.sketch))
            pair = record.key, original.key
            pairs[frozenset(pair)] = _miss(*pair, method.distance(*sketches), Objection.TITLE)
    compared, distances = 0, Counter[float]()
    for record, match in _neighbours(kept, detector):
        compared += 1
        if match:
            other, distance, objection = match
            distances[math.ceil(100 * distance) / 100] += 1
            miss = _miss(record.key, other, distance, objection)
            pairs.setdefault(frozenset((record.key, other)), miss)
    # What is farther is not just beyond the threshold.
    upto = 2 * threshold or 1 if isinstance(threshold, int | float) else math.inf
    nearest = sorted(pairs.values(), key=lambda pair: pair["distance"])[:PAIRS_SHOWN]
    long_enough = sum(map(len, kept.by_scope(detector.rule).values()))
    return {
        "near_misses": [pair for pair in nearest if pair["distance"] <= upto],
        "nearest_kept": {
            "sample": compared,
            # The share of long enough pages is taken to be that of the sample.
            "pages": round(kept.sample.added * long_enough / max(1, len(kept.sample))),
            "within": detector.neighbours.distance,
            "distances": {f"{distance:g}": distances[distance] for distance in sorted(distances)},
        },
    }


def _neighbours(
    kept: KeptPages, detector: Detector
) -> Iterator[tuple[PageRecord, tuple[str, float, Objection | None] | None]]:
    deadline = monotonic() + _SECONDS
    for scope, records in kept.by_scope(detector.rule).items():
        for pair in zip(records, detector.neighbours.of(records, scope), strict=True):
            yield pair
            if monotonic() > deadline:
                return


def _miss(url: str, other: str, distance: float, objection: Objection | None) -> dict[str, Any]:
    return {"url": url, "other": other, "distance": round(distance, 4), "objection": objection}


def second_opinion(kept: KeptPages, detector: Detector, texts: TextStore) -> dict[str, Any] | None:
    """Return how many of the *kept* pages repeat others of them by `Verified`.

    ``None`` if *detector* has that method, or no texts were kept.
    """
    if detector.method.name == Verified.name or not len(texts):
        return None
    method: Method = Verified()
    if detector.method.simplifies_chinese:
        method = method.simplifying_chinese()
    compared, near = _judge_again(method, detector.rule, kept, texts)
    return {"method": method.name, "compared": compared, "near": near}


def chinese_scripts(kept: KeptPages, detector: Detector, texts: TextStore) -> dict[str, Any] | None:
    """Return how many of the *kept* pages are in either Chinese script, and what that hides.

    That is how many repeat others once Chinese is simplified, ``None`` without OpenCC. ``None`` in
    all if *detector* has that method, or one of the scripts was not met.
    """
    if detector.method.simplifies_chinese:
        return None
    pages = (page.text for _, page in _read_again(kept, texts))
    scripts = Counter(script_of(text) for text in pages if language_of_text(text) == "zh")
    counts = {name: scripts[name] for name in ("simplified", "traditional")}
    if not all(counts.values()):
        return None
    try:
        method = detector.method.simplifying_chinese()
    except ValueError:  # OpenCC is not installed
        return {**counts, "near": None}
    return {**counts, "near": _judge_again(method, detector.rule, kept, texts)[1]}


def _judge_again(method: Method, rule: Rule, kept: KeptPages, texts: TextStore) -> tuple[int, int]:
    """Return how many pages were judged in 1.5 s, and how many of them repeat others.

    As in a crawl with *method*: what else the pages show, and what their items say, counts.
    """
    again, deadline = Detector(method, rule), monotonic() + _SECONDS
    compared = near = 0
    for record, extraction in _read_again(kept, texts):
        if monotonic() > deadline:
            break
        compared += 1
        near += again.judge(_read_with(method, record, extraction)).is_duplicate
    return compared, near


def _read_with(method: Method, record: PageRecord, extraction: Extraction) -> PageRecord:
    read = PageReader(lambda _html: extraction, method).read_html("").record
    return read.under(record.key, record.scope)._replace(item=record.item)


def _read_again(kept: KeptPages, texts: TextStore) -> Iterator[tuple[PageRecord, Extraction]]:
    for url, record in kept.sample:
        if (text := texts.get(url)) is not None:
            evidence = record.evidence and Evidence.from_bytes(record.evidence)
            yield record, Extraction(text, texts.title(url), evidence=evidence or None)
