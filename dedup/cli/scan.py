"""``dedup scan``: leave out the duplicates in files of records."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.table import Table
from rich.text import Text

from dedup.atomic_file import replacing
from dedup.cli.errors import CommandError
from dedup.cli.files import STDOUT, add_json, check_numbers, check_outputs, write_json
from dedup.cli.methods import (
    add_evidence,
    add_extractor,
    add_method,
    extractor_of,
    method_of,
    preference_of,
    scope_of,
)
from dedup.cli.terminal import console, progress
from dedup.evidence import DEMANDS
from dedup.lost_text import LostText
from dedup.methods.base import Method
from dedup.preference import CRITERIA, Preference, canonical, first, newest
from dedup.records import Fields, Folder, Format, format_of
from dedup.records.warc import Warc
from dedup.rule import Rule
from dedup.scan import Fate, Outcome, RecordReader, ScanLedger, scan, write_clusters
from dedup.scopes import Scope
from dedup.text import printable
from dedup.units import format_bytes

_DROPS_SHOWN = 3

EXAMPLES = """\
examples:
  dedup scan pages.jsonl -o unique.jsonl                   compare the field "text" of each line
  dedup scan crawl/*.warc.gz -o unique.warc.gz --method verified
  dedup scan pages.csv.zst -o unique.csv.zst --html-field body --key-field link
  dedup scan pages.parquet -o unique.parquet --keep newest --date-field fetched
  dedup scan pages.jsonl -o unique.jsonl --record-field dedup_record   compare no texts
  dedup scan pages.jsonl dropped.jsonl -o best.jsonl --keep canonical,clean-url,longest
  dedup scan shop.jsonl -o unique.jsonl --scope field:sku  compare records of one product
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
    parser.add_argument("--canonical-field", metavar="NAME",
        help="the field with the canonical URL, for --keep canonical (default: canonical, if "
        "any)")  # fmt: skip
    parser.add_argument("--keep", default="first", metavar="NAME,...",
        help=f"which of several near records to keep: {', '.join(CRITERIA)} (default: first), or "
        "import paths; several in order of precedence")  # fmt: skip
    add_method(parser)
    add_evidence(parser, default="normal")
    parser.add_argument("--scope", metavar="NAME",
        help="what must be equal in records that are compared, as in DEDUP_SCOPE")  # fmt: skip
    add_extractor(parser)
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
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    start = perf_counter()
    method = method_of(options)
    extractor = extractor_of(options.extractor)
    if options.workers is None:
        options.workers = _cores()
    check_numbers(options, min_tokens=0, workers=1)
    scope = None if options.scope is None else scope_of(options.scope)
    keep = preference_of(options.keep)
    format_ = _format(options, scope, keep)
    _check_outputs(options, format_)
    with _ledger(options, format_, method, scope) as ledger, progress(None) as advance:
        outcome = scan(
            RecordReader(format_, method, extractor, scope),
            workers=options.workers,
            keep=keep,
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
            outputs.enter_context(replacing(path, is_new=is_new))
            if path and path != STDOUT
            else None
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
    if options.json == STDOUT:
        write_json(STDOUT, figures)
    else:
        _show(figures, options)


def _format(options: argparse.Namespace, scope: Scope | None, keep: Preference) -> Format:
    """Return the format of the inputs; raises CommandError for options that are not for it."""
    kind = format_of(options.inputs)
    problems = chain(_problems(options, kind, keep), _problems_of_scope(options, kind, scope))
    if problem := next(problems, None):
        raise CommandError(problem)
    fields = Fields(
        options.html_field or options.record_field or options.text_field or "text",
        bool(options.html_field),
        options.key_field,
        "WARC-Date" if kind is Warc and newest in keep.criteria else options.date_field,
        options.encoding,
        bool(options.record_field),
        scope is not None and scope.needs_item,
        options.canonical_field,
    )
    if kind is Folder:
        return Folder(options.inputs, fields, follow_links=options.follow_links)
    return kind(options.inputs, fields)


def _problems(options: argparse.Namespace, kind: type[Format], keep: Preference) -> Iterator[str]:
    """Yield what is wrong with the options for inputs of a *kind*."""
    has_fields = kind not in (Folder, Warc)
    needs_date = has_fields and newest in keep.criteria
    takes_canonical = has_fields and canonical in keep.criteria
    named = options.text_field, options.html_field, options.record_field, options.key_field
    checks = (
        (any(named) and not has_fields, f"a {kind.name} has no fields to be named"),
        (
            options.record_field and options.ledger,
            "--ledger is for texts: what --record-field names is read as fast",
        ),
        (
            options.date_field and not needs_date,
            "--date-field is for --keep newest, of formats with fields",
        ),
        (
            options.canonical_field and not takes_canonical,
            "--canonical-field is for --keep canonical, of formats with fields",
        ),
        (first in keep.criteria[:-1], "--keep: after first, nothing is left to decide"),
        (options.follow_links and kind is not Folder, "--follow-links is for folders"),
        (needs_date and not options.date_field, "--keep newest needs --date-field"),
        (
            not _is_ascii(options.encoding),
            f"--encoding must be a superset of ASCII that Python knows, got {options.encoding!r}",
        ),
    )
    for is_wrong, problem in checks:
        if is_wrong:
            yield problem


def _problems_of_scope(
    options: argparse.Namespace, kind: type[Format], scope: Scope | None
) -> Iterator[str]:
    """Yield what inputs of a *kind* lack that *scope* needs."""
    if scope is None:
        return
    if scope.needs_item and kind in (Folder, Warc):
        yield f"--scope {scope.name} needs fields, and a {kind.name} has none"
    if scope.name in ("host", "domain") and kind is Folder:
        yield f"--scope {scope.name} needs URLs, and a {kind.name} has none"
    if scope.needs_language and options.record_field:
        yield f"--scope {scope.name} needs a language, which no record of a page has"


def _is_ascii(encoding: str) -> bool:
    try:
        return b'\n",{'.decode(encoding) == '\n",{'
    except (LookupError, UnicodeDecodeError):
        return False


def _check_outputs(options: argparse.Namespace, format_: Format) -> None:
    """Raise CommandError if an output cannot be written, or would replace another file in use."""
    format_.check_output(options.output)
    files = [path for path in (options.clusters, options.json) if path and path != STDOUT]
    if isinstance(format_, Folder):
        if os.path.lexists(options.output):
            raise CommandError(f"{options.output} exists; name a folder that does not")
        if not options.output.resolve().parent.is_dir():
            raise CommandError(f"{options.output} must be in a folder that exists")
        check_outputs(options, *files)
    else:
        check_outputs(options, options.output, *files)
    outputs = [options.output, *files]
    if ledger := options.ledger:
        if ledger.is_dir() or not ledger.resolve().parent.is_dir():
            raise CommandError(f"{ledger} must be a file in a folder that exists")
        if ledger.resolve() in {path.resolve() for path in outputs}:
            raise CommandError(f"{ledger} is named for the ledger and for an output")
        outputs.append(ledger)
    inputs = {path.resolve() for path in options.inputs}
    for path in outputs:
        # A file has no parents among the inputs that are files.
        if not inputs.isdisjoint({path.resolve(), *path.resolve().parents}):
            raise CommandError(f"{path} is an input, or in one")


@contextmanager
def _ledger(
    options: argparse.Namespace, format_: Format, method: Method, scope: Scope | None
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
        "canonical field": fields.canonical,
        "extractor": options.extractor if format_.has_html else None,
        "scope": scope and scope.name,
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
        "kept_without_scope": outcome.count(Fate.NO_SCOPE),
        "with_evidence": outcome.with_evidence,
        "kept_by_evidence": {str(what): count for what, count in outcome.objections.items()},
        "lost_text": _lost_text(outcome),
        "weak": {str(what): count for what, count in outcome.weak.items()},
        "bad": outcome.count(Fate.BAD),
        "links_left_out": format_.links_left_out,
        "first_bad": outcome.first_bad,
        "first_unread": outcome.first_unread,
        "method": options.method,
        "keep": options.keep,
        "evidence": options.evidence,
        "bytes_read": format_.nbytes,
    }


def _lost_text(outcome: Outcome) -> dict[str, Any] | None:
    if outcome.lost_text is None:
        return None

    def name(number: int) -> dict[str, Any]:
        key = outcome.key(number) if len(outcome.keys) else None
        return {"number": number + 1} if key is None else {"number": number + 1, "key": key}

    lossiest = [
        {**name(number), "original": name(original), "lost": lost, "sequences": sequences}
        for number, original, lost, sequences in outcome.lossiest
    ]
    return {**outcome.lost_text._asdict(), "lossiest": lossiest}


def _lines_of_lost_text(lost_text: dict[str, Any], *, is_extracted: bool) -> Iterator[str]:
    *estimate, lossiest = lost_text.values()
    yield f"{'extracted ' * is_extracted}text of duplicates: {LostText(*estimate)}"
    for drop in lossiest[:_DROPS_SHOWN]:
        key = f" ({drop['key']})" if "key" in drop else ""
        yield (
            f"  {drop['lost']:,} of {drop['sequences']:,} of record {drop['number']:,}{key}, "
            f"left out for record {drop['original']['number']:,}"
        )


def _rows(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the labels and the values of the table of *figures*."""
    records = figures["records"]

    def share(count: int) -> str:
        return f"{count:,} ({count / records:.1%})"

    a_second = records / max(figures["seconds"], 0.001)
    yield "records", f"{records:,} ({a_second:,.0f} a second)"
    if figures["from_ledger"]:
        yield "  of these, from the ledger", share(figures["from_ledger"])
    yield "  kept", share(figures["kept"])
    for name, label in (
        ("kept_empty", "    without text"),
        ("kept_short", "    too short for near-duplicates"),
        ("kept_unread", "    that could not be read"),
        ("kept_without_scope", "    without a value for --scope"),
    ):
        if figures[name]:
            yield label, share(figures[name])
    for objection, count in figures["kept_by_evidence"].items():
        yield f"    no duplicates: {objection}", share(count)
    for weakness, count in figures["weak"].items():
        yield f"  of which too little was extracted: {weakness}", share(count)
    yield "  exact duplicates", share(figures["exact_duplicates"])
    yield "  near-duplicates", share(figures["near_duplicates"])
    if figures["bad"]:
        yield "  bad, left out", share(figures["bad"])
    if figures["evidence"] != "off" and not figures["with_evidence"]:
        yield "evidence (--evidence)", "none: no record is a page of HTML"
    if figures["links_left_out"]:
        yield "links, left out (--follow-links)", f"{figures['links_left_out']:,}"
    yield "kept records that others repeat", f"{figures['clusters']:,}"
    sizes = (format_bytes(figures[name]) for name in ("bytes_read", "bytes_written"))
    yield "read and written", " and ".join(sizes)


def _show(figures: dict[str, Any], options: argparse.Namespace) -> None:
    table = Table(box=None, pad_edge=False, show_header=False)
    for label, value in _rows(figures):
        table.add_row(label, value)
    output = console()
    output.print(table)
    for name, label in (("first_bad", "first bad record"), ("first_unread", "first unread one")):
        if figures[name]:
            output.print(Text(printable(f"{label}: {figures[name]}")), soft_wrap=True)
    if figures["lost_text"] and figures["lost_text"]["sequences"]:
        is_extracted = figures["with_evidence"] > 0
        for line in _lines_of_lost_text(figures["lost_text"], is_extracted=is_extracted):
            output.print(Text(printable(line)), soft_wrap=True)
    output.print(Text(printable(f"written: {options.output}")), soft_wrap=True)
