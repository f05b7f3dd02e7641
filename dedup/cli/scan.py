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

from dedup.atomic_file import replacing
from dedup.cli.errors import CommandError
from dedup.cli.files import STDOUT, add_json, check_numbers, write_json
from dedup.cli.ledgers import path_of
from dedup.cli.methods import (
    add_evidence,
    add_extractor,
    add_method,
    extractor_of,
    method_of,
    preference_of,
    scope_of,
)
from dedup.cli.scan_figures import figures_of, show_figures
from dedup.cli.scan_on_spark import run_on_spark
from dedup.cli.scan_options import check_scan_outputs, format_from
from dedup.cli.terminal import progress_of
from dedup.evidence import DEMANDS
from dedup.methods.base import Method
from dedup.preference import CRITERIA, Preference
from dedup.records import Folder, Format
from dedup.rule import Rule
from dedup.scan import Outcome, RecordReader, ScanLedger, scan, write_clusters
from dedup.scan.memory import expected_memory, memory_of_machine
from dedup.scopes import Scope
from dedup.text import printable
from dedup.units import SECONDS_OF_A_DAY, format_bytes

_WORTH_SAYING = 16 << 20

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
  dedup scan s3a://b/crawl -o s3a://b/unique --engine spark --master spark://host:7077

The end of a file's name says what format it has:
  .jsonl .jl .ndjson .json    an object in each line; .gz or .zst may follow
  .csv .tsv                   a record in each row; .gz or .zst may follow
  .parquet .pq                Parquet
  .warc                       WARC; .gz may follow
A folder is a collection of HTML and text files.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="INPUT",
        help="files of one format, or folders; together they are one collection")  # fmt: skip
    parser.add_argument("-o", "--output", required=True, metavar="OUT",
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
    add_evidence(parser, default="on")
    parser.add_argument("--scope", metavar="NAME",
        help="what must be equal in records that are compared, as in DEDUP_SCOPE")  # fmt: skip
    add_extractor(parser)
    parser.add_argument("--page-timeout", type=int, default=30, metavar="SECONDS",
        help="give up to extract a page of HTML after so many seconds (default: 30)")  # fmt: skip
    parser.add_argument("--encoding", default="utf-8", metavar="NAME",
        help="the encoding of JSONL, CSV and text files (default: utf-8)")  # fmt: skip
    parser.add_argument("--follow-links", action="store_true",
        help="also read the files and folders that links in folders lead to")  # fmt: skip
    parser.add_argument("--skip-bad", action="store_true",
        help="leave out and count bad records, instead of stopping at the first")  # fmt: skip
    parser.add_argument("--workers", type=int, metavar="N",
        help="the number of processes that read records (default: one for each core)")  # fmt: skip
    parser.add_argument("--ledger", type=path_of, metavar="FILE",
        help="save progress in FILE, to continue after an interruption")  # fmt: skip
    parser.add_argument("--clusters", metavar="FILE",
        help="write to FILE which records repeat each kept one, as JSONL")  # fmt: skip
    parser.add_argument("--engine", choices=("local", "spark"), default="local",
        help="what does the work: processes of this machine (default), or Spark, which writes "
        "folders of part files")  # fmt: skip
    parser.add_argument("--master", metavar="URL",
        help="the Spark cluster (default: all cores of this machine)")  # fmt: skip
    parser.add_argument("--partitions", type=int, metavar="N",
        help="in how many parts Spark works (default: by the size of the files)")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    if not 1 <= options.page_timeout <= SECONDS_OF_A_DAY:
        limits = f"from 1 to {SECONDS_OF_A_DAY}"
        raise CommandError(f"--page-timeout must be {limits}, got {options.page_timeout}")
    if options.engine == "spark":
        run_on_spark(options)
    elif options.master or options.partitions:
        raise CommandError("--master and --partitions are for --engine spark")
    else:
        _run_here(options)


def _run_here(options: argparse.Namespace) -> None:
    start = perf_counter()
    options.inputs = list(map(Path, options.inputs))
    options.output = Path(options.output)
    options.clusters = options.clusters and Path(options.clusters)
    method = method_of(options)
    extractor = extractor_of(options.extractor)
    if options.workers is None:
        options.workers = _cores()
    check_numbers(options, min_tokens=0, workers=1)
    scope = None if options.scope is None else scope_of(options.scope)
    keep = preference_of(options.keep)
    format_ = format_from(options, scope, keep)
    check_scan_outputs(options, format_)
    limit = options.page_timeout
    reader = RecordReader(format_, method, extractor, scope, page_timeout=limit)
    with _ledger(options, format_, method, scope) as ledger:
        if not (ledger and ledger.is_whole):
            _say_memory(reader, options, keep)
        with progress_of("reading", format_.nbytes, lambda: format_.bytes_read):
            outcome = scan(
                reader,
                workers=options.workers,
                keep=keep,
                rule=Rule(options.min_tokens, demands=DEMANDS[options.evidence]),
                skip_bad=options.skip_bad,
                with_keys=options.clusters is not None,
                ledger=ledger,
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
        with progress_of("writing", format_.nbytes, lambda: format_.bytes_read):
            written = _write(format_, outcome, options.output, outputs, is_new=is_new)
        if clusters_file:
            write_clusters(clusters_file, outcome)
        format_.check_unchanged()
        figures = figures_of(format_, outcome, options)
        figures["from_ledger"] = ledger.count_before if ledger else 0
        figures |= {"bytes_written": written, "seconds": round(perf_counter() - start, 3)}
        if json_file:
            json_file.write(f"{json.dumps(figures, indent=1)}\n".encode())
    if options.json == STDOUT:
        write_json(STDOUT, figures)
    else:
        show_figures(figures, options)


def _say_memory(reader: RecordReader, options: argparse.Namespace, keep: Preference) -> None:
    """Say on stderr how much memory is needed, if that is worth saying."""
    expected = expected_memory(
        reader,
        workers=options.workers,
        is_sorted=keep.changes_order,
        with_keys=options.clusters is not None,
    )
    if expected.growth < _WORTH_SAYING:
        return
    records = float(f"{expected.records:.2g}")
    print(
        f"about {format_bytes(expected.nbytes)} of memory for some {records:,.0f} records "
        "(an estimate)",
        file=sys.stderr,
    )
    limit = memory_of_machine()
    if limit is not None and expected.nbytes > limit:
        print(
            f"warning: this machine has only {format_bytes(limit)}; a method with smaller sketches "
            "(simhash, exact) takes less",
            file=sys.stderr,
        )


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
