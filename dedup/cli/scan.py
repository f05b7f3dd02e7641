"""``dedup scan``: leave out the duplicates in files of records."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.table import Table
from rich.text import Text

from dedup.cli.errors import CommandError
from dedup.cli.files import add_overwrite, check_outputs
from dedup.cli.methods import create_method, extractor_of, json_object, method_class
from dedup.cli.terminal import console, progress
from dedup.evidence import DEMANDS
from dedup.files import replacing
from dedup.methods.base import Method
from dedup.records import Fields, Folder, Format, format_of
from dedup.records.warc import Warc
from dedup.rule import Rule
from dedup.scan import Fate, Outcome, RecordReader, ScanLedger, scan, write_clusters
from dedup.text import printable

EXAMPLES = """\
examples:
  dedup scan pages.jsonl -o unique.jsonl                   compare the field "text" of each line
  dedup scan crawl/*.warc.gz -o unique.warc.gz --method verified
  dedup scan pages.csv.zst -o unique.csv.zst --html-field body --key-field link
  dedup scan pages.parquet -o unique.parquet --keep newest --date-field fetched
  dedup scan pages.jsonl -o unique.jsonl --record-field dedup_record   compare no texts
  dedup scan site/ -o unique/ --clusters clusters.jsonl    compare files of HTML or text

The end of a file's name says what format it has:
  .jsonl .jl .ndjson .json    an object in each line; .gz or .zst may follow
  .csv .tsv                   a record in each row; .gz or .zst may follow
  .parquet .pq                Parquet
  .warc                       WARC; .gz may follow
A folder is a collection of HTML and text files.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", type=Path, metavar="INPUT",
        help="files of one format, or folders; together they are one collection")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="OUT",
        help="where the unique records go, in the same format and order")  # fmt: skip
    content = parser.add_mutually_exclusive_group()
    content.add_argument("--text-field", metavar="NAME",
        help="the field or column with the text (default: text)")  # fmt: skip
    content.add_argument("--html-field", metavar="NAME",
        help="the field or column with HTML, from which the main text is extracted")  # fmt: skip
    content.add_argument("--record-field", metavar="NAME",
        help="the field with the page's record (DEDUP_SKETCH_FIELD), not a text")  # fmt: skip
    parser.add_argument("--key-field", metavar="NAME",
        help="the field that names a record in the clusters (default: url, if any)")  # fmt: skip
    parser.add_argument("--date-field", metavar="NAME", help="the date field, for --keep newest")
    parser.add_argument("--keep", choices=("first", "longest", "newest"), default="first",
        help="which of several near records to keep (default: first)")  # fmt: skip
    parser.add_argument("--method", default="simhash", metavar="NAME",
        help="the name of a method, or an import path (default: simhash)")  # fmt: skip
    parser.add_argument("--args", default="{}", metavar="JSON",
        help="arguments of the method, as a JSON object (see DEDUP_METHOD_ARGS)")  # fmt: skip
    parser.add_argument("--evidence", choices=tuple(DEMANDS), default="normal",
        help="what pages of HTML must show besides equal texts (default: normal)")  # fmt: skip
    parser.add_argument("--min-tokens", type=int, default=20, metavar="N",
        help="texts with fewer words can only be exact duplicates (default: 20)")  # fmt: skip
    parser.add_argument("--extractor", default="trafilatura", metavar="NAME",
        help="what extracts the main text from HTML (default: trafilatura)")  # fmt: skip
    parser.add_argument("--encoding", default="utf-8", metavar="NAME",
        help="the encoding of JSONL, CSV and text files (default: utf-8)")  # fmt: skip
    parser.add_argument("--follow-links", action="store_true",
        help="also read the files and folders that links in folders lead to")  # fmt: skip
    parser.add_argument("--skip-bad", action="store_true",
        help="leave out and count bad records, instead of stopping at the first")  # fmt: skip
    parser.add_argument("--workers", type=int, metavar="N",
        help="the number of processes that read records (default: one for each core)")  # fmt: skip
    parser.add_argument("--ledger", type=Path, metavar="FILE",
        help="save progress in FILE, to continue after an interruption")  # fmt: skip
    parser.add_argument("--clusters", type=Path, metavar="FILE",
        help="write to FILE which records repeat each kept one, as JSONL")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE")
    add_overwrite(parser)


def run(options: argparse.Namespace) -> None:
    start = perf_counter()
    method = create_method(method_class(options.method), json_object("--args", options.args))
    extractor = extractor_of(options.extractor)
    if options.min_tokens < 0:
        raise CommandError(f"--min-tokens must be 0 or more, got {options.min_tokens}")
    workers = _cores() if options.workers is None else options.workers
    if workers < 1:
        raise CommandError(f"--workers must be 1 or more, got {workers}")
    format_ = _format(options)
    _check_outputs(options, format_)
    with _ledger(options, format_, method) as ledger, progress(None) as advance:
        outcome = scan(
            RecordReader(format_, method, extractor),
            workers=workers,
            keep=options.keep,
            rule=Rule(options.min_tokens, demands=DEMANDS[options.evidence]),
            skip_bad=options.skip_bad,
            with_keys=options.clusters is not None,
            ledger=ledger,
            advance=advance,
        )
    # All files are put in place at the end, the records first.
    is_new = not options.overwrite
    with ExitStack() as outputs:
        json_file, clusters_file = (
            outputs.enter_context(replacing(path, is_new=is_new)) if path else None
            for path in (options.json, options.clusters)
        )
        written = _write(format_, outcome, options.output, outputs, is_new=is_new)
        if clusters_file:
            write_clusters(clusters_file, outcome)
        format_.check_unchanged()
        figures = _figures(format_, outcome, options)
        figures["from_ledger"] = ledger.count_before if ledger else 0
        figures |= {"bytes_written": written, "seconds": round(perf_counter() - start, 3)}
        if json_file:
            json_file.write(f"{json.dumps(figures, indent=1)}\n".encode())
    _show(figures, options)


def _format(options: argparse.Namespace) -> Format:
    kind = format_of(options.inputs)
    own_fields = kind in (Folder, Warc)
    given = options.text_field, options.html_field, options.record_field, options.key_field
    if own_fields and any(given):
        raise CommandError(f"a {kind.name} has no fields to be named")
    if options.record_field and options.ledger:
        raise CommandError("--ledger is for texts: what --record-field names is read as fast")
    if options.date_field and (own_fields or options.keep != "newest"):
        raise CommandError("--date-field is for --keep newest, of formats with fields")
    if options.follow_links and kind is not Folder:
        raise CommandError("--follow-links is for folders")
    if options.keep == "newest" and not (own_fields or options.date_field):
        raise CommandError("--keep newest needs --date-field")
    try:
        is_ascii = b'\n",{'.decode(options.encoding) == '\n",{'
    except (LookupError, UnicodeDecodeError):
        is_ascii = False
    if not is_ascii:
        raise CommandError(
            f"--encoding must be a superset of ASCII that Python knows, got {options.encoding!r}"
        )
    if kind is Warc and options.keep == "newest":
        options.date_field = "WARC-Date"
    fields = Fields(
        options.html_field or options.record_field or options.text_field or "text",
        bool(options.html_field),
        options.key_field,
        options.date_field,
        options.encoding,
        bool(options.record_field),
    )
    if kind is Folder:
        return Folder(options.inputs, fields, follow_links=options.follow_links)
    return kind(options.inputs, fields)


def _check_outputs(options: argparse.Namespace, format_: Format) -> None:
    format_.check_output(options.output)
    output = options.output.resolve()
    files = [options.clusters, options.json]
    if isinstance(format_, Folder):
        if output.exists() or options.output.is_symlink():
            raise CommandError(f"{options.output} exists; name a folder that does not")
        if not output.parent.is_dir():
            raise CommandError(f"{options.output} must be in a folder that exists")
    else:
        files.insert(0, options.output)
    check_outputs(options, *files)
    if ledger := options.ledger:
        if ledger.is_dir() or not ledger.resolve().parent.is_dir():
            raise CommandError(f"{ledger} must be a file in a folder that exists")
        if ledger.resolve() in {path.resolve() for path in (output, *filter(None, files))}:
            raise CommandError(f"{ledger} is named for the ledger and for an output")
        files.append(ledger)
    for path in (options.output, *filter(None, files)):
        for given in options.inputs:
            if path.resolve() == given.resolve() or (
                given.is_dir() and given.resolve() in path.resolve().parents
            ):
                raise CommandError(f"{path} is an input, or in one")


@contextmanager
def _ledger(
    options: argparse.Namespace, format_: Format, method: Method
) -> Iterator[ScanLedger | None]:
    if options.ledger is None:
        yield None
        return
    fields = format_.fields
    identity = {
        "inputs": format_.state,
        "encoding": fields.encoding,
        "html field" if fields.is_html else "text field": fields.content,
        "key field": fields.key,
        "date field": fields.date,
        "extractor": options.extractor if format_.has_html else None,
        **method.identity,
    }
    with closing(ScanLedger(options.ledger, identity)) as ledger:
        try:
            yield ledger
        except KeyboardInterrupt:
            told = f"{options.ledger} has what was read: the same command goes on"
            print(printable(told), file=sys.stderr)
            raise


def _write(
    format_: Format, outcome: Outcome, output: Path, outputs: ExitStack, *, is_new: bool
) -> int:
    """Write the kept records aside, to take their place when *outputs* is closed; return bytes."""
    if isinstance(format_, Folder):
        return format_.copy(outputs.enter_context(_new_folder(output)), outcome.keep)
    file = outputs.enter_context(replacing(output, is_new=is_new))
    format_.write(file, output, outcome.keep)
    return file.tell()


@contextmanager
def _new_folder(path: Path) -> Iterator[Path]:
    """Yield a folder to fill; it is put at *path*, where there is none, when the block ends."""
    aside = Path(tempfile.mkdtemp(dir=path.resolve().parent, prefix=f".{path.name}."))
    try:
        folder = aside / "new"
        folder.mkdir()
        yield folder
        os.rename(folder, path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _figures(format_: Format, outcome: Outcome, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "records": len(outcome.fates),
        "kept": sum(outcome.keep),
        "exact_duplicates": outcome.count(Fate.EXACT),
        "near_duplicates": outcome.count(Fate.NEAR),
        "clusters": len(set(outcome.originals)),
        "kept_empty": outcome.count(Fate.EMPTY),
        "kept_short": outcome.short,
        "kept_unread": outcome.count(Fate.UNREAD),
        "kept_by_evidence": {str(what): count for what, count in outcome.objections.items()},
        "weak": {str(what): count for what, count in outcome.weak.items()},
        "bad": outcome.count(Fate.BAD),
        "links_left_out": format_.links_left_out,
        "first_bad": outcome.first_bad,
        "first_unread": outcome.first_unread,
        "method": options.method,
        "keep": options.keep,
        "bytes_read": format_.nbytes,
    }


def _show(figures: dict[str, Any], options: argparse.Namespace) -> None:
    records = figures["records"]

    def share(name: str) -> str:
        return f"{figures[name]:,} ({figures[name] / records:.1%})"

    table = Table(box=None, pad_edge=False, show_header=False)
    a_second = records / max(figures["seconds"], 0.001)
    table.add_row("records", f"{records:,} ({a_second:,.0f} a second)")
    if figures["from_ledger"]:
        table.add_row("  of these, from the ledger", share("from_ledger"))
    table.add_row("  kept", share("kept"))
    for name, label in (
        ("kept_empty", "    without text"),
        ("kept_short", "    too short for near-duplicates"),
        ("kept_unread", "    that could not be read"),
    ):
        if figures[name]:
            table.add_row(label, share(name))
    for objection, count in figures["kept_by_evidence"].items():
        table.add_row(f"    no duplicates: {objection}", f"{count:,} ({count / records:.1%})")
    for weakness, count in figures["weak"].items():
        label = f"  of which too little was extracted: {weakness}"
        table.add_row(label, f"{count:,} ({count / records:.1%})")
    table.add_row("  exact duplicates", share("exact_duplicates"))
    table.add_row("  near-duplicates", share("near_duplicates"))
    if figures["bad"]:
        table.add_row("  bad, left out", share("bad"))
    if figures["links_left_out"]:
        table.add_row("links, left out (--follow-links)", f"{figures['links_left_out']:,}")
    table.add_row("kept records that others repeat", f"{figures['clusters']:,}")
    megabytes = (figures[name] / 1e6 for name in ("bytes_read", "bytes_written"))
    table.add_row("megabytes, read and written", " and ".join(f"{size:,.1f}" for size in megabytes))
    output = console()
    output.print(table)
    for name, label in (("first_bad", "first bad record"), ("first_unread", "first unread one")):
        if figures[name]:
            output.print(Text(printable(f"{label}: {figures[name]}")), soft_wrap=True)
    output.print(Text(printable(f"written: {options.output}")), soft_wrap=True)
