"""``dedup report``: the HTML report of a ledger."""

import argparse
from collections.abc import Container, Iterator
from contextlib import closing
from dataclasses import replace
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
from dedup.report import PageVerdict, Report, TextStore, replay, write_html
from dedup.report.copies import CopyOf, copy_of
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
    with open_ledger(options.ledger) as ledger, closing(TextStore(0)) as texts:
        crawls = ledger.crawls()
        run = None if options.crawl is None else _run_of(ledger, crawls, options.crawl)
        report = _report(ledger, crawls, run)
        for text in ledger.texts():
            texts.put(*text)
        number = len({crawl.run for crawl in crawls}) if run is None else None
        write_html(
            report,
            texts,
            options.output,
            copies=_copies(ledger, run, texts),
            copies_in=ledger.name,
            crawls=number,
        )
    output = printable(str(options.output))
    print(f"{output}: {count_of(report.pages.judged, 'page')}, {count_of(report.groups, 'group')}")


def _run_of(ledger: LedgerReader, crawls: list[Crawl], number: int) -> int:
    runs = {crawl.id: crawl.run for crawl in crawls}
    if crawls and number not in runs:
        raise CommandError(f"--crawl must be one of {', '.join(map(str, runs))}, got {number}")
    return runs.get(number, 0)


def _report(ledger: LedgerReader, crawls: list[Crawl], run: int | None) -> Report:
    """Return the report that a crawl made at its end, or else one of what the ledger holds."""
    chosen = [crawl for crawl in crawls if run in (None, crawl.run)]
    if not chosen:
        raise CommandError(f"{ledger.name} has no crawls")
    try:
        # Each process of a fleet has a report of its own only.
        if run is not None and len(chosen) == 1 and chosen[0].report:
            return Report.from_json(chosen[0].report)
        return _report_of_pages(ledger, run, crawls, chosen)
    except LedgerError:
        raise
    except (TypeError, ValueError) as error:
        # Whatever a method makes of bytes that are no sketch of its own.
        raise ledger.damage_error(error) from error


def _report_of_pages(
    ledger: LedgerReader, run: int | None, crawls: list[Crawl], chosen: list[Crawl]
) -> Report:
    """Return the report of the pages that the *chosen* ones of *crawls* stored."""
    identity = ledger.identity
    method = method_of_ledger(identity, crawls)
    settings = {
        "DEDUP_METHOD": identity.get("method"),
        "DEDUP_MAX_DISTANCE": None if method is None else method.max_distance,
        "DEDUP_SCOPE": identity.get("scope") or "crawl",
        "DEDUP_EXTRACTOR": identity.get("extractor"),
        "DEDUP_INDEX": ledger.name,
    }
    if identity.get("simplify_chinese"):
        settings["DEDUP_METHOD"] = {"name": identity.get("method"), "simplify_chinese": True}
    started = min(crawl.started for crawl in chosen)
    min_tokens = setting_of_crawls(crawls, "DEDUP_MIN_TOKENS", 20)
    numbers = {crawl.id for crawl in chosen}
    pages = list(_pages(ledger, run, numbers, method, min_tokens))
    ended = max((time for time, _ in pages), default=started)
    report = replay(
        (page for _, page in pages),
        settings,
        spider=", ".join(dict.fromkeys(crawl.spider for crawl in chosen)),
        started=datetime.fromtimestamp(started, UTC),
        seconds=max(0.0, ended - started),
        detector=_detector(ledger, method) if method else None,
        # Pages that were not compared are not in the ledger.
        contents=Contents(method, is_whole=False),
    )
    # A ledger does not know what was saved, how fast a crawl was, and how long duplicates are; nor
    # which pages of several crawls came when.
    return replace(
        report,
        saved=None,
        pages=replace(report.pages, per_second=None),
        timeline=replace(report.timeline, buckets=()),
        lengths=tuple(replace(bucket, duplicates=None) for bucket in report.lengths),
    )


def _copies(ledger: LedgerReader, run: int | None, texts: TextStore) -> Iterator[CopyOf]:
    """Yield all duplicates of a run, or of all."""
    for match in ledger.matches(run):
        verdict = Verdict(Kind(match.kind), "", match.original, match.distance)
        title = texts.title(match.duplicate)
        yield CopyOf(match.original, copy_of(verdict, match.duplicate, title))


def _pages(
    ledger: LedgerReader,
    run: int | None,
    crawls: Container[int],
    method: Method | None,
    min_tokens: int,
) -> Iterator[tuple[float, PageVerdict]]:
    """Yield pages and duplicates of a *run*, which has these *crawls*, by when they were met.

    Those of all runs if it is ``None``.
    """

    pages = (
        (
            page.stored,
            PageVerdict(
                page.record.key,
                Kind.CHANGED if page.is_change else Kind.NEW,
                tokens=page.record.tokens,
                sketch=None if page.ended or method is None else page.record.sketch,
                scope=page.record.scope,
                content=_content_of_page(page, min_tokens),
            ),
        )
        for page in ledger.pages(ended=True)
        if run is None or page.crawl in crawls
    )
    matches = (
        (
            match.found,
            PageVerdict(
                match.duplicate,
                Kind(match.kind),
                match.original,
                match.distance,
                content=_content_of(match),
            ),
        )
        for match in ledger.matches(run)
    )
    yield from merge(pages, matches, key=lambda record: record[0])


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
