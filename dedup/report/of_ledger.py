"""The report of what a ledger holds."""

from collections.abc import Iterator
from heapq import merge
from typing import Any

from dedup.page import Page
from dedup.record import PageRecord
from dedup.report.counts import Counters
from dedup.report.events import PageEvents
from dedup.report.report import Report
from dedup.report.summary import Summary
from dedup.rule import Kind, Verdict
from dedup.stores.base import Crawl
from dedup.stores.ledger_file import LedgerError
from dedup.stores.reader import LedgerReader, StoredMatch, StoredPage
from dedup.units import iso_time
from dedup.view.view import View


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
    # Of URL advice it has nothing: pages that were not compared are not in the ledger.
    summary = Summary(Counters(), _settings_of(ledger))
    started = ended = min(crawl.started for crawl in chosen)
    numbers = {crawl.id for crawl in chosen}
    pages: Iterator[StoredPage | StoredMatch] = ledger.pages(ended=True)
    for met in merge(pages, ledger.matches(run), key=_time_of):
        if isinstance(met, StoredMatch):
            verdict = Verdict(Kind(met.kind), "", met.original, met.distance)
            summary.record(verdict, met.duplicate, 0)
        elif run is None or met.crawl in numbers:
            record, is_past = met.record, met.ended or method is None
            verdict = Verdict(Kind.CHANGED if met.is_change else Kind.NEW, "")
            sketch = None if is_past else record.sketch
            page = Page(PageRecord(scope=record.scope, tokens=record.tokens, sketch=sketch))
            summary.record(verdict, record.key, 0, page)
        else:
            continue
        ended = max(ended, _time_of(met))
    view = None
    if method:
        view = View(method, ledger.rule)
        for batch in ledger.stored():
            view.load(batch)
    report = summary.finish(view, ledger, spider=", ".join(dict.fromkeys(c.spider for c in chosen)))
    known = Report.of({
        "started": iso_time(started),
        "seconds": round(ended - started, 3),
        # A ledger knows neither what was saved nor how fast a crawl was.
        "saved": None,
        "pages": {**report.pages, "per_second": None},
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
