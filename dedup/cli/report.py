"""``dedup report``: what a ledger holds, in the terminal or as HTML."""

import argparse
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any

from dedup.cli.ledgers import open_ledger, place_of
from dedup.cli.options import add_json, check_new
from dedup.cli.terminal import print_json, show, show_heading, show_line, show_table
from dedup.report.html import as_html
from dedup.report.of_ledger import report_of_ledger
from dedup.report.templating import write_html
from dedup.stores.reader import LedgerReader
from dedup.units import Count, format_bytes, iso_time

EXAMPLES = """\
examples:
  dedup report pages.sqlite                           show the crawls, and how many pages count
  dedup report pages.sqlite --json | jq .pages
  dedup report pages.sqlite -o report.html            write the report of all crawls together
  dedup report pages.sqlite -o report.html --crawl 2  write that of one
  dedup report redis://localhost:6379/0               show what all of a fleet have stored
"""
_GROUPS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=place_of, metavar="LEDGER",
        help="the ledger of DEDUP_INDEX: a file, or the URL of a shared store")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
        help="where the HTML goes (default: a table is shown, and no HTML is written)")  # fmt: skip
    parser.add_argument("--crawl", type=int, metavar="N",
        help="the report of one crawl, as it was at its end; of one that shared the ledger, with "
        "the others of its run (default: all crawls)")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    if options.output and options.json:
        raise ValueError("--json is for the figures that are shown without -o")
    if options.crawl is not None and not options.output:
        raise ValueError("--crawl is for the report that -o writes")
    check_new(options.output)
    with open_ledger(options.ledger) as ledger:
        if options.output:
            _write(ledger, options)
            return
        figures = _figures(ledger)
    if options.json:
        print_json(figures)
    else:
        _show(figures)


def _figures(ledger: LedgerReader) -> dict[str, Any]:
    return {
        "ledger": ledger.name,
        "bytes": None if ledger.is_copy else ledger.path.stat().st_size,
        "identity": ledger.identity,
        **ledger.counts(),
        "crawls": [
            {
                "crawl": crawl.id,
                "run": crawl.run,
                "spider": crawl.spider,
                "job": crawl.job,
                "started": iso_time(crawl.started),
                "reason": crawl.reason,
                "finished": None if crawl.finished is None else iso_time(crawl.finished),
                "pages": {
                    name: count
                    for name, count in (crawl.report or {}).get("pages", {}).items()
                    if name != "per_second"
                },
            }
            for crawl in ledger.crawls()
        ],
        "largest_groups": [
            {"original": original, "duplicates": size}
            for original, size in ledger.largest_groups(_GROUPS)
        ],
    }


def _show(figures: dict[str, Any]) -> None:
    show_line(figures["ledger"], "bold")
    identity = dict(figures["identity"])
    name, version = identity.pop("method"), identity.pop("version")
    secret = ", with a secret" * (identity.pop("secret", None) is not None)
    size = figures["bytes"]
    counting = f"{Count(figures['pages']):that counts|that count}"
    for label, value in (
        ("pages", f"{counting}, {figures['ended']:,} replaced or expired"),
        ("duplicates", f"{figures['matches']:,} found"),
        ("size", None if size is None else format_bytes(size)),
        ("method", f"{name}, version {version}{secret}"),
        ("made with", ", ".join(f"{key}={value}" for key, value in identity.items())),
    ):
        if value is not None:
            show_line(f"{label:12} {value}")
    show()
    counts = ("judged", "new", "changed", "unchanged", "exact_duplicates", "near_duplicates")
    titles = (f">{name.partition('_')[0]}" for name in (*counts, "skipped"))
    rows = (
        (
            *map(str, (crawl["crawl"], crawl["run"])),
            crawl["spider"],
            crawl["started"].replace("+00:00", "Z"),
            crawl["reason"] or "has not ended",
            *map(crawl["pages"].get, counts),
            sum(crawl["pages"]["skipped"].values()) if crawl["pages"] else None,
        )
        for crawl in figures["crawls"]
    )
    show_table(["crawl", "run", "spider", "started", "reason", *titles], rows)
    if figures["largest_groups"]:
        show_heading("most duplicates")
    for group in figures["largest_groups"]:
        show_line(f"{group['duplicates']:7,}  {group['original']}")


def _write(ledger: LedgerReader, options: argparse.Namespace) -> None:
    crawls = ledger.crawls()
    runs = {crawl.id: crawl.run for crawl in crawls}
    if options.crawl is not None and options.crawl not in runs:
        ids = ", ".join(map(str, runs)) or "none, since there was no crawl"
        raise ValueError(f"--crawl must be one of {ids}, got {options.crawl}")
    run = None if options.crawl is None else runs[options.crawl]
    report, events = report_of_ledger(ledger, run)

    @lru_cache(1000)
    def title_of(url: str) -> str | None:
        stored = ledger.text(url)
        return stored and stored[0]

    with closing(events):
        copies = (
            copy._replace(title=title_of(copy.url), original_title=title_of(copy.original))
            for copy in events.copies()
        )
        number = len(set(runs.values())) if run is None else None
        html = as_html(report, ledger.text, copies, copies_in=ledger.name, crawls=number)
        write_html(options.output, html)
    pages, groups = Count(report.pages.judged), Count(report.groups)
    show_line(f"{options.output}: {pages:page}, {groups:group}")
