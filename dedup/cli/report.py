"""``dedup report``: the HTML report of a ledger."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from heapq import merge
from pathlib import Path

from dedup.cli.errors import CommandError
from dedup.cli.files import add_overwrite, check_outputs
from dedup.cli.ledgers import (
    LEDGER_HELP,
    method_of_ledger,
    open_ledger,
    place_of,
    setting_of_crawls,
)
from dedup.detector import Detector
from dedup.evidence import Evidence
from dedup.methods.base import Method
from dedup.page import Page
from dedup.record import PageRecord
from dedup.report import Report, Summary, TextStore, write_html
from dedup.report.counts import Counters
from dedup.report.events import PageEvents
from dedup.rule import Kind, Verdict
from dedup.sqlite_file import LedgerError
from dedup.stores import finished
from dedup.stores.reader import Crawl, LedgerReader, StoredMatch, StoredPage, StoreOfReader
from dedup.text import printable
from dedup.units import count_of
from dedup.url_advice import Content, Contents

EXAMPLES = """\
examples:
  dedup report pages.sqlite -o report.html            report on all crawls together
  dedup report pages.sqlite -o report.html --crawl 2  report on one (dedup stats lists them)
  dedup report redis://localhost:6379/0 -o report.html   report on what all of a fleet have stored
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=place_of, metavar="LEDGER", help=LEDGER_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FILE",
        help="where the HTML goes")  # fmt: skip
    parser.add_argument("--crawl", type=int, metavar="N",
        help="the report of one crawl, as it was at its end; of one that shared the ledger, with "
        "the others of its run (default: all crawls)")  # fmt: skip
    add_overwrite(parser)


def run(options: argparse.Namespace) -> None:
    check_outputs(options, options.output)
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(options.ledger))
        texts = stack.enter_context(closing(TextStore(0)))
        for text in ledger.texts():
            texts.put(*text)
        crawls = ledger.crawls()
        run = None if options.crawl is None else _run_of(ledger, crawls, options.crawl)
        report, events = _report(ledger, crawls, run)
        stack.enter_context(closing(events))
        write_html(
            report,
            texts,
            options.output,
            copies=(
                copy._replace(
                    title=texts.title(copy.url), original_title=texts.title(copy.original)
                )
                for copy in events.copies()
            ),
            copies_in=ledger.name,
            crawls=len({crawl.run for crawl in crawls}) if run is None else None,
        )
    output = printable(str(options.output))
    print(f"{output}: {count_of(report.pages.judged, 'page')}, {count_of(report.groups, 'group')}")


def _run_of(ledger: LedgerReader, crawls: list[Crawl], number: int) -> int:
    runs = {crawl.id: crawl.run for crawl in crawls}
    if crawls and number not in runs:
        raise CommandError(f"--crawl must be one of {', '.join(map(str, runs))}, got {number}")
    return runs.get(number, 0)


def _report(
    ledger: LedgerReader, crawls: list[Crawl], run: int | None
) -> tuple[Report, PageEvents]:
    """Return the report that a crawl made at its end, or else one of what the ledger holds."""
    chosen = [crawl for crawl in crawls if run in (None, crawl.run)]
    if not chosen:
        raise CommandError(f"{ledger.name} has no crawls")
    try:
        # Each process of a fleet has a report of its own only.
        has_report = run is not None and len(chosen) == 1 and chosen[0].report
        kept = Report.from_json(chosen[0].report) if has_report else None
        report, events = _report_of_pages(ledger, run, crawls, chosen)
    except LedgerError:
        raise
    except (TypeError, ValueError) as error:
        # Whatever a method makes of bytes that are no sketch of its own.
        raise ledger.damage_error(error) from error
    return kept or report, events


def _report_of_pages(
    ledger: LedgerReader,
    run: int | None,
    crawls: list[Crawl],
    chosen: list[Crawl],
) -> tuple[Report, PageEvents]:
    """Return the report of the pages that the *chosen* ones of *crawls* stored, and the pages."""
    identity = ledger.identity
    method = method_of_ledger(identity, crawls)
    settings = {
        "DEDUP_METHOD": identity.get("method"),
        "DEDUP_MAX_DISTANCE": None if method is None else method.max_distance,
        "DEDUP_SCOPE": identity.get("scope") or "crawl",
        "DEDUP_EXTRACTOR": identity.get("extractor"),
        "DEDUP_INDEX": ledger.name,
        "DEDUP_ACTION": setting_of_crawls(crawls, "DEDUP_ACTION", "drop"),
        "DEDUP_DUPLICATES": setting_of_crawls(crawls, "DEDUP_DUPLICATES", None),
    }
    if identity.get("simplify_chinese"):
        settings["DEDUP_METHOD"] = {"name": identity.get("method"), "simplify_chinese": True}
    # Pages that were not compared are not in the ledger.
    contents = Contents(method, is_whole=False)
    summary = Summary(Counters(), settings, contents=contents)
    started = ended = min(crawl.started for crawl in chosen)
    numbers = {crawl.id for crawl in chosen}
    min_tokens = setting_of_crawls(crawls, "DEDUP_MIN_TOKENS", 20)
    pages: Iterator[StoredPage | StoredMatch] = ledger.pages(ended=True)
    for met in merge(pages, ledger.matches(run), key=_time_of):
        if isinstance(met, StoredMatch):
            verdict = Verdict(Kind(met.kind), "", met.original, met.distance)
            summary.record(verdict, met.duplicate, 0, content=_content_of(met))
        elif run is None or met.crawl in numbers:
            record, is_past = met.record, met.ended or method is None
            verdict = Verdict(Kind.CHANGED if met.is_change else Kind.NEW, "")
            page = Page(PageRecord(tokens=record.tokens, sketch=None if is_past else record.sketch))
            content = _content_of_page(met, min_tokens)
            summary.record(verdict, record.key, 0, page, record.scope, content=content)
        else:
            continue
        ended = max(ended, _time_of(met))
    detector = _detector(ledger, method) if method else None
    report = summary.finish(
        detector, spider=", ".join(dict.fromkeys(crawl.spider for crawl in chosen))
    )
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


def _detector(ledger: LedgerReader, method: Method) -> Detector:
    """Return a detector that knows the pages of the ledger, for near misses."""
    detector = Detector(method, store=StoreOfReader(ledger))
    finished(detector.load())
    return detector
