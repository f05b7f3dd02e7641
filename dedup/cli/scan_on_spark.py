"""``dedup scan --engine spark``: the same scan, on a cluster."""

import argparse
from importlib.util import find_spec
from time import perf_counter

from dedup.cli.errors import CommandError
from dedup.cli.files import STDOUT, check_numbers, check_outputs, write_json
from dedup.cli.methods import extractor_of, method_of, preference_of, scope_of
from dedup.cli.scan_figures import show_figures
from dedup.cli.scan_options import fields_from
from dedup.evidence import DEMANDS
from dedup.rule import Rule
from dedup.scan import RecordReader

_NOT_HERE = {
    "ledger": "--ledger is for scans on one machine: Spark does again what an executor has lost",
    "workers": "--workers is for scans on one machine: Spark has executors",
    "follow_links": "--follow-links is for scans on one machine",
}


def run_on_spark(options: argparse.Namespace) -> None:
    """Scan on Spark; raises CommandError for options that this engine has not."""
    start = perf_counter()
    for name, problem in _NOT_HERE.items():
        if getattr(options, name):
            raise CommandError(problem)
    check_numbers(options, min_tokens=0, **{"partitions": 1} if options.partitions else {})
    scope = None if options.scope is None else scope_of(options.scope)
    keep = preference_of(options.keep)
    method = method_of(options)
    extractor = extractor_of(options.extractor)
    check_outputs(options, options.json if options.json != STDOUT else None)
    if not all(map(find_spec, ("pyspark", "pandas", "pyarrow"))):
        raise CommandError("--engine spark needs: pip install 'scrapy-dedup[spark]'")
    from dedup.spark.files import Job, find_inputs, format_for, scan_files
    from dedup.spark.reading import RowReader
    from dedup.spark.session import spark_session

    with spark_session(options.master) as session:
        inputs = find_inputs(session, options.inputs)
        if options.json not in (None, STDOUT) and f"file:{options.json.resolve()}" in inputs.files:
            raise CommandError(f"{options.json} is an input")
        format_ = format_for(inputs.kind, fields_from(options, inputs.kind, scope, keep))
        limit = options.page_timeout
        reader = RecordReader(format_, method, extractor, scope, page_timeout=limit)
        job = Job(
            inputs,
            RowReader(reader, keep),
            Rule(options.min_tokens, demands=DEMANDS[options.evidence]),
            options.output,
            options.clusters,
            options.skip_bad,
            options.partitions,
        )
        figures = scan_files(session, job)
    for name in ("method", "keep", "evidence"):
        figures[name] = getattr(options, name)
    figures |= {"from_ledger": 0, "seconds": round(perf_counter() - start, 3)}
    write_json(options.json, figures)
    if options.json != STDOUT:
        show_figures(figures, options)
