"""``dedup scan``: leave out the duplicates in files of records."""

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from dedup.atomic_file import replacing
from dedup.cli.errors import CommandError
from dedup.cli.files import check_outputs
from dedup.cli.ledgers import path_of
from dedup.cli.options import (
    add_evidence,
    add_extractor,
    add_json,
    add_method,
    add_min_tokens,
    add_overwrite,
    check_numbers,
    extractor_of,
    method_of,
    preference_of,
    scope_of,
)
from dedup.cli.scan_figures import figures_of, show_figures
from dedup.cli.terminal import print_json, progress
from dedup.evidence import DEMANDS
from dedup.methods.base import Method
from dedup.preference import CRITERIA, Preference, newest
from dedup.records import Fields, Folder, Format, format_of
from dedup.records.warc import Warc
from dedup.rule import Rule
from dedup.scan import Outcome, RecordReader, ScanLedger, scan, write_clusters
from dedup.scopes import Scope
from dedup.text import printable

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
A folder is a collection of HTML and text files. JSON lines, CSV and text are UTF-8.
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
    parser.add_argument("--keep", default="first", metavar="NAME,...",
        help=f"which of several near records to keep: {', '.join(CRITERIA)} (default: first), or "
        "import paths; several in order of precedence")  # fmt: skip
    add_method(parser)
    add_min_tokens(parser)
    add_evidence(parser, default="on")
    parser.add_argument("--scope", metavar="NAME",
        help="what must be equal in records that are compared, as in DEDUP_SCOPE")  # fmt: skip
    add_extractor(parser)
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
    add_overwrite(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    start = perf_counter()
    for name, engine in (
        ("ledger", "local"), ("workers", "local"), ("master", "spark"), ("partitions", "spark")
    ):  # fmt: skip
        if getattr(options, name) is not None:
            if options.engine != engine:
                raise CommandError(f"--{name} is for --engine {engine}")
            if name in ("workers", "partitions"):
                check_numbers(options, **{name: 1})
    check_numbers(options, min_tokens=0)
    scan_of_engine = _scan_on_spark if options.engine == "spark" else _scan
    figures = scan_of_engine(options) | {
        "method": options.method, "keep": options.keep, "evidence": options.evidence,
        "seconds": round(perf_counter() - start, 3),
    }  # fmt: skip
    if options.json:
        print_json(figures)
    else:
        show_figures(figures, options.output)


def _fields(
    options: argparse.Namespace, kind: type[Format], scope: Scope | None, keep: Preference
) -> Fields:
    """Return the fields of inputs of a *kind*; raises CommandError for options not for that."""
    has_fields = kind not in (Folder, Warc)
    needs_date = has_fields and newest in keep.criteria
    named = options.text_field, options.html_field, options.record_field, options.key_field
    for is_wrong, problem in (
        (any(named) and not has_fields, f"a {kind.name} has no fields to be named"),
        (
            options.record_field and options.ledger,
            "--ledger is for texts: what --record-field names is read as fast",
        ),
        (
            options.date_field and not needs_date,
            "--date-field is for --keep newest, of formats with fields",
        ),
        (needs_date and not options.date_field, "--keep newest needs --date-field"),
    ):
        if is_wrong:
            raise CommandError(problem)
    if scope is not None:
        _check_scope(options, kind, scope)
    return Fields(
        options.html_field or options.record_field or options.text_field or "text",
        is_html=bool(options.html_field),
        key=options.key_field,
        date="WARC-Date" if kind is Warc and newest in keep.criteria else options.date_field,
        is_object=bool(options.record_field),
        with_all=scope is not None and scope.needs_item,
    )


def _check_scope(options: argparse.Namespace, kind: type[Format], scope: Scope) -> None:
    """Raise CommandError if inputs of a *kind* lack what *scope* needs."""
    if scope.needs_item and kind in (Folder, Warc):
        raise CommandError(f"--scope {scope.name} needs fields, and a {kind.name} has none")
    if scope.name in ("host", "domain") and kind is Folder:
        raise CommandError(f"--scope {scope.name} needs URLs, and a {kind.name} has none")
    if scope.needs_language and options.record_field:
        raise CommandError(f"--scope {scope.name} needs a language, which no record of a page has")


def _scan(options: argparse.Namespace) -> dict[str, Any]:
    """Scan on this machine; return the figures."""
    inputs, output = list(map(Path, options.inputs)), Path(options.output)
    clusters = options.clusters and Path(options.clusters)
    method, scope, keep = (
        method_of(options.method),
        scope_of(options.scope),
        preference_of(options.keep),
    )
    extractor = extractor_of(options.extractor)
    kind = format_of(inputs)
    format_ = kind(inputs, _fields(options, kind, scope, keep))
    format_.check_output(output)
    _check_files(options, inputs, output, clusters)
    reader = RecordReader(format_, method, extractor, scope)
    with _ledger(options, format_, method, scope) as ledger:
        with progress("reading", format_.nbytes, lambda: format_.bytes_read):
            outcome = scan(
                reader,
                workers=options.workers or _cores(),
                keep=keep,
                rule=Rule(options.min_tokens, demands=DEMANDS[options.evidence]),
                skip_bad=options.skip_bad,
                with_keys=clusters is not None,
                ledger=ledger,
            )
        count_before = ledger.count_before if ledger else 0
    # All files are put in place at the end, the records first.
    is_new = not options.overwrite
    with ExitStack() as outputs:
        clusters_file = clusters and outputs.enter_context(replacing(clusters, is_new=is_new))
        with progress("writing", format_.nbytes, lambda: format_.bytes_read):
            written = _write(format_, outcome, output, outputs, is_new=is_new)
        if clusters_file:
            write_clusters(clusters_file, outcome)
        format_.check_unchanged()
    figures = figures_of(format_, outcome)
    return figures | {"from_ledger": count_before, "bytes_written": written}


def _scan_on_spark(options: argparse.Namespace) -> dict[str, Any]:
    """Scan on a cluster; return the figures."""
    scope, keep = scope_of(options.scope), preference_of(options.keep)
    method, extractor = method_of(options.method), extractor_of(options.extractor)
    if not all(map(find_spec, ("pyspark", "pandas", "pyarrow"))):
        raise CommandError("--engine spark needs: pip install 'scrapy-dedup[spark]'")
    from dedup.spark.files import Job, find_inputs, format_for, scan_files
    from dedup.spark.reading import RowReader
    from dedup.spark.session import spark_session

    with spark_session(options.master) as session:
        inputs = find_inputs(session, options.inputs)
        format_ = format_for(inputs.kind, _fields(options, inputs.kind, scope, keep))
        reader = RecordReader(format_, method, extractor, scope)
        job = Job(
            inputs,
            RowReader(reader, keep),
            Rule(options.min_tokens, demands=DEMANDS[options.evidence]),
            options.output,
            options.clusters,
            options.skip_bad,
            options.partitions,
        )
        return {**scan_files(session, job), "from_ledger": 0}


def _check_files(
    options: argparse.Namespace, inputs: list[Path], output: Path, clusters: Path | None
) -> None:
    """Raise CommandError if an output cannot be written, or would replace another file in use."""
    if inputs[0].is_dir() and os.path.lexists(output):
        raise CommandError(f"{output} exists; name a folder that does not")
    # A ledger goes on if it is there.
    check_outputs(output, clusters, options.ledger, overwrite=True, inputs=inputs)
    check_outputs(output, clusters, overwrite=options.overwrite)


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
        "html field" if fields.is_html else "text field": fields.content,
        "key field": fields.key,
        "date field": fields.date,
        "extractor": options.extractor if format_.has_html else None,
        "scope": scope and scope.name,
        **method.identity,
    }
    with closing(ScanLedger(options.ledger, identity)) as ledger:
        try:
            yield ledger
        except KeyboardInterrupt:
            said = f"{options.ledger} has what was read: the same command goes on"
            print(printable(said), file=sys.stderr)
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
