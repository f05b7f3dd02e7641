"""``dedup stats``: what a ledger holds."""

import argparse
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dedup.cli.files import add_json, check_outputs, write_json
from dedup.cli.ledgers import LEDGER_HELP, open_ledger, place_of
from dedup.cli.terminal import console
from dedup.stores.reader import Crawl
from dedup.stores.shared.log_url import LogUrl
from dedup.text import printable
from dedup.units import Count, format_bytes

EXAMPLES = """\
examples:
  dedup stats pages.sqlite
  dedup stats pages.sqlite --json - | jq .pages
  dedup stats redis://localhost:6379/0
"""
_GROUPS = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ledger", type=place_of, metavar="LEDGER", help=LEDGER_HELP)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    check_outputs(options, options.json)
    is_file = not isinstance(options.ledger, LogUrl)
    with open_ledger(options.ledger) as ledger:
        numbers = {
            "ledger": ledger.name,
            "bytes": ledger.path.stat().st_size if is_file else None,
            "identity": ledger.identity,
            **ledger.counts(),
            "crawls": list(map(_of_crawl, ledger.crawls())),
            "largest_groups": [
                {"original": original, "duplicates": size}
                for original, size in ledger.largest_groups(_GROUPS)
            ],
        }
    write_json(options.json, numbers)
    _show(console(options.json), numbers)


def _of_crawl(crawl: Crawl) -> dict[str, Any]:
    report = crawl.report or {}
    pages = report.get("pages", {})
    return {
        "crawl": crawl.id,
        "run": crawl.run,
        "spider": crawl.spider,
        "job": crawl.job,
        "started": _time(crawl.started),
        "finished": _time(crawl.finished),
        "reason": crawl.reason,
        "pages": {name: count for name, count in pages.items() if name != "per_second"},
    }


def _time(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def _show(output: Console, numbers: dict[str, Any]) -> None:
    identity = dict(numbers["identity"])
    output.print(Text(printable(numbers["ledger"]), style="bold"))
    for label, value in _lines(numbers, identity):
        output.print(Text(f"{label:12} {printable(value)}"))
    output.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    columns = ("new", "changed", "unchanged", "exact", "near", "skipped")
    runs = Counter(crawl["run"] for crawl in numbers["crawls"])
    is_fleet = len(runs) < runs.total()
    numbered = ("crawl", "run") if is_fleet else ("crawl",)
    for title in (*numbered, "spider", "started", "reason", "judged", *columns):
        table.add_column(title, justify="left" if title in ("spider", "reason") else "right")
    for crawl in numbers["crawls"]:
        pages = crawl["pages"]
        counts = [pages.get(name) for name in ("judged", "new", "changed", "unchanged")]
        counts += [pages.get("exact_duplicates"), pages.get("near_duplicates")]
        counts.append(sum(pages["skipped"].values()) if pages else None)
        table.add_row(
            *(str(crawl[name]) for name in numbered),
            Text(printable(crawl["spider"])),
            crawl["started"].replace("+00:00", "Z"),
            Text(printable(crawl["reason"] or "has not ended")),
            *("–" if count is None else f"{count:,}" for count in counts),
        )
    output.print(table)
    if numbers["largest_groups"]:
        output.print()
        output.print(Text("most duplicates", style="bold"))
    for group in numbers["largest_groups"]:
        output.print(Text(f"{group['duplicates']:7,}  {printable(group['original'])}"))


def _lines(numbers: dict[str, Any], identity: dict[str, Any]) -> Iterator[tuple[str, str]]:
    current = Count(numbers["pages"])
    yield "pages", f"{current:that counts|that count}, {numbers['ended']:,} replaced or expired"
    yield "duplicates", f"{numbers['matches']:,} found"
    if numbers["bytes"] is not None:
        yield "size", format_bytes(numbers["bytes"])
    name, version = identity.pop("method"), identity.pop("version")
    has_secret = identity.pop("secret", None) is not None
    yield "method", f"{name}, version {version}" + ", with a secret" * has_secret
    yield "made with", ", ".join(f"{key}={value}" for key, value in identity.items())
