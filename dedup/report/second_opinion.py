"""What another setting would have found: a sample of the kept pages is judged again."""

from collections import Counter
from time import monotonic
from typing import Any

from dedup.detector import Detector
from dedup.extraction import Extraction, language_of_text
from dedup.methods.base import Method
from dedup.methods.verified import Verified
from dedup.page import PageReader
from dedup.record import PageRecord
from dedup.report.kept_pages import KeptPages
from dedup.report.texts import TextStore
from dedup.rule import Rule
from dedup.text import script_of

_SECONDS = 1.5


def second_opinion(detector: Detector, kept: KeptPages, texts: TextStore) -> dict[str, Any] | None:
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


def chinese_scripts(detector: Detector, kept: KeptPages, texts: TextStore) -> dict[str, Any] | None:
    """Return how many of the *kept* pages are in either Chinese script, and what that hides.

    That is how many repeat others once Chinese is simplified, ``None`` without OpenCC. ``None`` in
    all if *detector* has that method, or one of the scripts was not met.
    """
    if detector.method.simplifies_chinese:
        return None
    scripts = Counter(
        script_of(page.text)
        for _, page in kept.read_again(texts)
        if language_of_text(page.text) == "zh"
    )
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
    for record, extraction in kept.read_again(texts):
        if monotonic() > deadline:
            break
        compared += 1
        near += again.judge(_read_again(method, record, extraction)).is_duplicate
    return compared, near


def _read_again(method: Method, record: PageRecord, extraction: Extraction) -> PageRecord:
    read = PageReader(lambda _html: extraction, method).read_html("").record
    return read.under(record.key, record.scope)._replace(item=record.item)
