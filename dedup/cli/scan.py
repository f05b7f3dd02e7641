"""``dedup scan``: leave out the duplicates in files of records."""

import argparse
import gc
import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from dedup.atomic_file import replacing
from dedup.choices import naming
from dedup.cli.options import (
    add_evidence,
    add_extractor,
    add_field,
    add_json,
    add_method,
    check_new,
    check_numbers,
    extractor_of,
    method_of,
    preference_of,
    scope_of,
)
from dedup.cli.terminal import print_json, progress, show_line, show_table
from dedup.evidence import DEMANDS
from dedup.lost_text import LostText
from dedup.methods.digests import Exact
from dedup.preference import CRITERIA, Preference, newest
from dedup.records import Fields, Folder, Format, format_of
from dedup.records.warc import Warc
from dedup.rule import SHORT, Rule
from dedup.scan import Outcome, RecordReader, SketchesFile, scan, write_clusters
from dedup.scan.deciding import check_together
from dedup.scan.reader import COUNTED
from dedup.units import format_bytes

EXAMPLES = """\
examples:
  dedup scan pages.jsonl -o unique.jsonl                   compare the field "text" of each line
  dedup scan crawl/*.warc.gz -o unique.warc.gz --method verified
  dedup scan pages.csv.zst -o unique.csv.zst --html-field body --key-field link
  dedup scan pages.parquet -o unique.parquet --keep newest:fetched
  dedup scan pages.jsonl -o unique.jsonl --record-field dedup_record   compare no texts
  dedup scan pages.jsonl dropped.jsonl -o best.jsonl --keep canonical,clean-url,longest
  dedup scan shop.jsonl -o unique.jsonl --scope field:sku  compare records of one product
  dedup scan site/ -o unique/ --clusters clusters.jsonl    compare files of HTML or text
  dedup scan s3a://b/crawl -o s3a://b/unique --spark spark://host:7077

The end of a file's name says what format it has:
  .jsonl .jl .ndjson .json    an object in each line; .gz or .zst may follow
  .csv .tsv                   a record in each row; .gz or .zst may follow
  .parquet .pq                Parquet
  .warc                       WARC; .gz may follow
A folder is a collection of HTML and text files. JSON lines, CSV and text are UTF-8.
"""


_DROPS_SHOWN = 3
_EXTRACTED = {"links": "links or a menu", "little": "a part of the text"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("inputs", nargs="+", metavar="INPUT",
        help="files of one format, or folders; together they are one collection")  # fmt: skip
    parser.add_argument("-o", "--output", required=True, metavar="OUT",
        help="where the unique records go, in the same format and order")  # fmt: skip
    content = parser.add_mutually_exclusive_group()
    for what in ("text", "html", "record"):
        add_field(content, what)
    add_field(parser, "key")
    parser.add_argument("--keep", default="first", metavar="NAME,...",
        help=f"which of several near records to keep: {', '.join(CRITERIA)} (default: first), or "
        "import paths; several in order of precedence; newest:FIELD names the field of the "
        "date")  # fmt: skip
    add_method(parser)
    parser.add_argument("--min-tokens", type=int, default=SHORT, metavar="N",
        help="texts with fewer words can only be exact duplicates; each Han character is one "
        f"(default: {SHORT})")  # fmt: skip
    add_evidence(parser, default="on")
    parser.add_argument("--scope", metavar="NAME",
        help="what must be equal in records that are compared, as in DEDUP_SCOPE")  # fmt: skip
    add_extractor(parser)
    parser.add_argument("--skip-bad", action="store_true",
        help="leave out and count bad records, instead of stopping at the first")  # fmt: skip
    parser.add_argument("--workers", type=int, metavar="N",
        help="the number of processes that read records (default: one for each core)")  # fmt: skip
    parser.add_argument("--sketches", type=Path, metavar="FILE",
        help="write what was read to FILE, and do not read again what it has: to continue after an "
        "interruption")  # fmt: skip
    parser.add_argument("--clusters", metavar="FILE",
        help="write to FILE which records repeat each kept one, as JSONL")  # fmt: skip
    parser.add_argument("--spark", nargs="?", const="", metavar="MASTER",
        help="have Spark do the work, which writes folders of part files: on a cluster, or on all "
        "cores of this machine")  # fmt: skip
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    start = perf_counter()
    if options.spark is not None and (options.sketches or options.workers):
        raise ValueError("--sketches and --workers are for one machine, not for --spark")
    check_numbers(options, workers=1, min_tokens=0)
    gc.freeze()  # what was imported stays, and is not to be looked at again and again
    rule = Rule(options.min_tokens, demands=DEMANDS[options.evidence])
    figures = _scan(options, rule) if options.spark is None else _scan_on_spark(options, rule)
    figures |= {
        "method": options.method, "keep": options.keep, "evidence": options.evidence,
        "seconds": round(perf_counter() - start, 3),
    }  # fmt: skip
    if options.json:
        print_json(figures)
    else:
        show_figures(figures, options.output)


def _reader_of(
    options: argparse.Namespace, kind: type[Format], paths: Sequence[Path]
) -> tuple[RecordReader, Preference]:
    """Return what reads the records of *paths*, and which are kept of several.

    Raises ValueError if *kind* has not what is asked for.
    """
    scope, (keep, date) = scope_of(options.scope), preference_of(options.keep)
    needs_item = scope is not None and scope.needs_item
    content = options.html_field or options.record_field or options.text_field
    if kind in (Folder, Warc) and (content or options.key_field or date or needs_item):
        raise ValueError(f"a {kind.name} has no fields to be named")
    fields = Fields(
        content or "text",
        is_html=bool(options.html_field),
        key=options.key_field,
        date="WARC-Date" if newest in keep.criteria and kind is Warc else date,
        is_object=bool(options.record_field),
        with_all=needs_item,
    )
    with naming("--"):
        check_together(kind, fields, scope, keep)
    method, extractor = method_of(options.method), extractor_of(options.extractor)
    # With texts that are equal, no text is lost; and Spark does not estimate it.
    has_losses = type(method) is not Exact and options.spark is None
    format_ = kind(paths, fields)
    return RecordReader(format_, method, extractor, scope, with_sequences=has_losses), keep


def _scan(options: argparse.Namespace, rule: Rule) -> dict[str, Any]:
    inputs, output = list(map(Path, options.inputs)), Path(options.output)
    clusters = options.clusters and Path(options.clusters)
    reader, keep = _reader_of(options, format_of(inputs), inputs)
    format_ = reader.format
    format_.check_output(output)
    for path in filter(None, (output, clusters)):
        if any(folder.resolve() in path.resolve().parents for folder in inputs):
            raise ValueError(f"{path} is in an input")
    is_continued = options.sketches and options.sketches.exists()
    check_new(output, clusters, None if is_continued else options.sketches)
    with (
        _sketches(options, reader) as saved,
        _unchanged(format_),
        progress("reading", format_.nbytes, lambda: format_.bytes_read),
    ):
        outcome = scan(
            reader,
            workers=options.workers or _cores(),
            keep=keep,
            rule=rule,
            skip_bad=options.skip_bad,
            with_keys=clusters is not None,
            saved=saved,
        )
    # All files are put in place at the end, the records first.
    with ExitStack() as outputs, _unchanged(format_):
        clusters_file = clusters and outputs.enter_context(replacing(clusters, is_new=True))
        with progress("writing", format_.nbytes, lambda: format_.bytes_read):
            written = outputs.enter_context(format_.writing(output, outcome.keep))
        if clusters_file:
            write_clusters(clusters_file, outcome)
    before = saved.count_before if saved else 0
    return _figures_of(format_, outcome) | {"from_sketches": before, "bytes_written": written}


def _scan_on_spark(options: argparse.Namespace, rule: Rule) -> dict[str, Any]:
    if not all(map(find_spec, ("pyspark", "pandas", "pyarrow"))):
        raise ValueError("--spark needs: pip install 'scrapy-dedup[spark]'")
    from dedup.spark.files import find_inputs, scan_files
    from dedup.spark.session import spark_session

    with spark_session(options.spark or None) as session:
        inputs = find_inputs(session, options.inputs)
        reader, keep = _reader_of(options, inputs.kind, [])
        outputs, skip_bad = (options.output, options.clusters), options.skip_bad
        figures = scan_files(session, inputs, reader, keep, rule, *outputs, skip_bad=skip_bad)
        return {**figures, "from_sketches": 0}


@contextmanager
def _unchanged(format_: Format) -> Iterator[None]:
    """Raise RecordError if a file changes meanwhile, in place of what follows from that."""
    try:
        yield
    finally:
        format_.check_unchanged()


def _sketches(
    options: argparse.Namespace, reader: RecordReader
) -> AbstractContextManager[SketchesFile | None]:
    if options.sketches is None:
        return nullcontext()
    fields = reader.format.fields
    content = "record" if fields.is_object else "html" if fields.is_html else "text"
    identity = {
        "inputs": reader.format.state,
        f"{content} field": fields.content,
        "key field": fields.key,
        "date field": fields.date,
        "extractor": options.extractor if reader.format.has_html else None,
        "scope": reader.scope and reader.scope.name,
        **reader.method.identity,
    }
    return SketchesFile.open(options.sketches, identity)


def _cores() -> int:
    has_affinity = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1


def _figures_of(format_: Format, outcome: Outcome) -> dict[str, Any]:
    """Return what JSON has of *outcome*, but for what only its end tells."""
    name, lost_text = outcome.name, outcome.lost_text
    lossiest = [
        {**name(number), "original": name(original), "lost": lost, "sequences": sequences}
        for number, original, lost, sequences in outcome.lossiest
    ]
    return {
        "records": len(outcome.fates),
        "kept": sum(outcome.keep),
        **{counted: outcome.fates.count(fate) for counted, fate in COUNTED.items()},
        "clusters": len(set(outcome.originals)),
        "kept_short": outcome.short,
        "with_evidence": outcome.with_evidence,
        "kept_by_evidence": dict(sorted(outcome.objections.items())),
        "lost_text": lost_text and {**lost_text._asdict(), "lossiest": lossiest},
        "weak": dict(sorted(outcome.weak.items())),
        "first_bad": outcome.first_bad,
        "first_unread": outcome.first_unread,
        "bytes_read": format_.nbytes,
    }


def _rows(figures: dict[str, Any]) -> Iterator[tuple[str, str]]:
    records, seconds = figures["records"], max(figures["seconds"], 0.001)
    yield "records", f"{records:,} ({records / seconds:,.0f} a second)"
    kept_by, weak = figures["kept_by_evidence"], figures["weak"]
    for label, count, is_always_shown in (
        ("  of these, from --sketches", figures["from_sketches"], False),
        ("  kept", figures["kept"], True),
        ("    without text", figures["kept_empty"], False),
        ("    too short for near-duplicates", figures["kept_short"], False),
        ("    that could not be read", figures["kept_unread"], False),
        ("    without a value for --scope", figures["kept_without_scope"], False),
        *((f"    no duplicates: {name}", kept_by[name], True) for name in kept_by),
        *((f"  less than half extracted: {_EXTRACTED[kind]}", weak[kind], True) for kind in weak),
        ("  exact duplicates", figures["exact_duplicates"], True),
        ("  near-duplicates", figures["near_duplicates"], True),
        ("  bad, left out", figures["bad"], False),
    ):
        if count or is_always_shown:
            yield label, f"{count:,} ({count / records:.1%})"
    if figures["evidence"] != "off" and not figures["with_evidence"]:
        yield "evidence (--evidence)", "none: no page of HTML; only texts count, no other fields"
    yield "kept records that others repeat", f"{figures['clusters']:,}"
    sizes = (format_bytes(figures[name]) for name in ("bytes_read", "bytes_written"))
    yield "read and written", " and ".join(sizes)


def show_figures(figures: dict[str, Any], written: str) -> None:
    """Show *figures* as a table; *written* is the name of the output."""
    show_table(("", ""), _rows(figures))
    for name, label in (("first_bad", "first bad record"), ("first_unread", "first unread one")):
        if figures[name]:
            show_line(f"{label}: {figures[name]}")
    if (lost_text := figures["lost_text"]) and lost_text["sequences"]:
        *estimate, lossiest = lost_text.values()
        kind = "extracted text" if figures["with_evidence"] else "text"
        show_line(f"{kind} of duplicates: {LostText(*estimate)}")
        for drop in lossiest[:_DROPS_SHOWN]:
            key = f" ({drop['key']})" if drop.get("key") else ""
            show_line(
                f"  {drop['lost']:,} of {drop['sequences']:,} of record {drop['number']:,}{key}, "
                f"left out for record {drop['original']['number']:,}"
            )
    show_line(f"written: {written}")
