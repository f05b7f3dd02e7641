"""The report of what a ledger holds."""

from collections.abc import Iterator
from datetime import UTC, datetime
from heapq import merge
from typing import Any

from dedup.detector import Detector
from dedup.evidence import Evidence
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.counts import Counters
from dedup.report.events import PageEvents
from dedup.report.report import Report
from dedup.report.summary import Summary
from dedup.rule import Kind, Verdict
from dedup.stores import finished
from dedup.stores.base import Crawl
from dedup.stores.ledger_file import LedgerError
from dedup.stores.reader import LedgerReader, StoredMatch, StoredPage, StoreOfReader
from dedup.url_advice import Content, Contents


def report_of_ledger(ledger: LedgerReader, run: int | None = None) -> tuple[Report, PageEvents]:
    """Return the report of the crawls of a *run*, by default of all, and the events of its pages.

    It is the one that a crawl made at its end, or else what the ledger holds. Raises LedgerError,
    and ValueError where there are no crawls.
    """
    chosen = [crawl for crawl in ledger.crawls() if run in (None, crawl.run)]
    if not chosen:
        raise ValueError(f"{ledger.name} has no crawls")
    try:
        # Each process of a fleet has a report of its own only.
        has_report = run is not None and len(chosen) == 1 and chosen[0].report
        kept = Report.from_json(chosen[0].report) if has_report else None
        report, events = _report_of_pages(ledger, run, chosen)
    except LedgerError:
        raise
    except (TypeError, ValueError) as error:
        # Whatever a method makes of bytes that are no sketch of its own.
        raise ledger.damage_error(error) from error
    return kept or report, events


def _report_of_pages(
    ledger: LedgerReader, run: int | None, chosen: list[Crawl]
) -> tuple[Report, PageEvents]:
    method = ledger.method
    # Pages that were not compared are not in the ledger.
    contents = Contents(method, is_whole=False)
    summary = Summary(Counters(), _settings_of(ledger), contents=contents)
    started = ended = min(crawl.started for crawl in chosen)
    numbers = {crawl.id for crawl in chosen}
    rule = ledger.rule
    pages: Iterator[StoredPage | StoredMatch] = ledger.pages(ended=True)
    for met in merge(pages, ledger.matches(run), key=_time_of):
        if isinstance(met, StoredMatch):
            verdict = Verdict(Kind(met.kind), "", met.original, met.distance)
            summary.record(verdict, met.duplicate, 0, content=_content_of(met))
        elif run is None or met.crawl in numbers:
            record, is_past = met.record, met.ended or method is None
            verdict = Verdict(Kind.CHANGED if met.is_change else Kind.NEW, "")
            page = Page(PageRecord(tokens=record.tokens, sketch=None if is_past else record.sketch))
            content = _content_of_page(met, rule.min_tokens)
            summary.record(verdict, record.key, 0, page, record.scope, content=content)
        else:
            continue
        ended = max(ended, _time_of(met))
    detector = None
    if method:
        detector = Detector(method, rule, store=StoreOfReader(ledger))
        finished(detector.load())
    report = summary.finish(detector, spider=", ".join(dict.fromkeys(c.spider for c in chosen)))
    # A ledger does not know what was saved, how fast a crawl was, and how long duplicates are; nor
    # which pages of several crawls came when.
    known = Report.of({
        "started": datetime.fromtimestamp(started, UTC).isoformat(timespec="seconds"),
        "seconds": round(ended - started, 3),
        "saved": None,
        "pages": {**report.pages, "per_second": None},
        "timeline": {**report.timeline, "buckets": []},
        "lengths": [{**bucket, "duplicates": None} for bucket in report.lengths],
    })  # fmt: skip
    return Report(report, **known), summary.events


def _settings_of(ledger: LedgerReader) -> dict[str, Any]:
    identity, method = ledger.identity, ledger.method
    name = identity.get("method")
    simplifies = identity.get("simplify_chinese")
    return {
        "DEDUP_METHOD": {"name": name, "simplify_chinese": True} if simplifies else name,
        "DEDUP_MAX_DISTANCE": None if method is None else method.max_distance,
        "DEDUP_SCOPE": identity.get("scope") or "crawl",
        "DEDUP_EXTRACTOR": identity.get("extractor"),
        "DEDUP_INDEX": ledger.name,
        "DEDUP_ACTION": ledger.setting("DEDUP_ACTION", "drop"),
        "DEDUP_DUPLICATES": ledger.setting("DEDUP_DUPLICATES", None),
    }


def _time_of(met: StoredPage | StoredMatch) -> float:
    return met.found if isinstance(met, StoredMatch) else met.stored


def _content_of_page(page: StoredPage, min_tokens: int) -> Content:
    """Return the content of a stored page.

    A page whose main text is no evidence is near no other.
    """
    record = page.record
    evidence = None if record.evidence is None else Evidence.from_bytes(record.evidence)
    is_weak = evidence is not None and evidence.weakness is not None
    sketch = None if is_weak or record.tokens < min_tokens else record.sketch
    return Content(page.number, record.scope, sketch, is_past=page.ended is not None)


def _content_of(match: StoredMatch) -> Content:
    """Return the content of a duplicate: that of its original, or one near that."""
    is_past = match.ended is not None
    if match.kind == Kind.EXACT:
        return Content(match.page, match.scope, is_past=is_past)
    return Content(match.duplicate, match.scope, original=match.page, is_past=is_past)
