"""The first pass on Spark, as the driver sees it: all records are read, checked and numbered."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from dedup.evidence import Weakness
from dedup.lost_text import halvings_of_all
from dedup.records import Folder, RecordError
from dedup.records.parquet import Parquet
from dedup.rule import Rule
from dedup.scan.fields_seen import FieldsSeen
from dedup.spark.errors import SparkError
from dedup.spark.files.inputs import Inputs
from dedup.spark.files.job import Figures, Job
from dedup.spark.files.reading import READ, Plan, read_records
from dedup.spark.files.splits import Place, rows_of
from dedup.spark.files.staging import Staging
from dedup.spark.files.tables import Tables


@dataclass(frozen=True)
class Records:
    """All records of a scan, as they were read.

    *bases* has the number of the first record of each piece, *counts* how many it has. *have_short*
    says whether one of them has less text than the rule asks for, *have_texts* whether the texts of
    all that are judged were read, *halvings* how often a `LostTextSample` of these is halved.
    """

    staging: Staging
    plan: Plan
    bases: Mapping[Place, int]
    counts: Mapping[Place, int]
    have_short: bool = False
    have_texts: bool = True
    halvings: int = 0

    def as_read(self) -> DataFrame:
        """Return what was read, `READ`, without numbers over all files."""
        return self.staging.table("read")

    def numbered(self) -> DataFrame:
        """Return what was read, with numbers over all files."""
        bases = [(*piece, base) for piece, base in self.bases.items()]
        table = self.staging.session.createDataFrame(bases, "file int, start long, base long")
        read = self.as_read().join(F.broadcast(table), ["file", "start"])
        return read.withColumn("number", F.col("base") + F.col("place"))

    def first_message(self, condition: Column, column: str) -> str:
        """Return the message in *column* of the first record of a *condition*, with its place."""
        [row] = self.numbered().where(condition).orderBy("number").limit(1).collect()
        files = self.plan.inputs.files
        if self.plan.inputs.kind is Folder:
            name, number = files[row.place].name, row.number
        else:
            name = files[row.file].name
            first = min(base for (file, _), base in self.bases.items() if file == row.file)
            number = row.number - first
        return f"{name}, record {number + 1}: {row[column]}"


def read_files(staging: Staging, tables: Tables, figures: Figures) -> Records:
    """Read all records, and count them in *figures*.

    Raises RecordError for a bad one, and for fields that are nowhere.
    """
    job = staging.job
    plan = Plan(
        job.inputs, job.fields, job.method, job.extractor, job.scope, job.keep,
        job.clusters is not None, job.page_timeout, tables.columns,
    )  # fmt: skip
    told, headers = staging.notes(), staging.notes()
    columns = None
    if job.inputs.kind is Parquet:
        assert isinstance(plan.format, Parquet)
        columns = list(dict.fromkeys(filter(None, plan.format.columns)))
    with staging.pieces():
        if job.inputs.files:
            rows = rows_of(staging.session, job.inputs, job.inputs.files, columns)
            read = rows.mapInArrow(read_records(plan, told, headers), from_arrow_schema(READ))
        else:
            read = staging.session.createDataFrame([], from_arrow_schema(READ))
        read.write.parquet(staging.path("read"))
    _check_files(job.inputs, headers.value)
    told_by_tasks = told.value.values()
    records = _numbered_by_piece(staging, plan, sum(count for count, _ in told_by_tasks))
    figures.records = sum(records.counts.values())
    halvings = halvings_of_all(sizes for _, sizes in told_by_tasks)
    return replace(_check_records(records, job, figures), halvings=halvings)


def is_short(rule: Rule) -> Column:
    """Return whether a record has less text than the *rule* asks for."""
    return F.col("sketch").isNull() | (F.col("tokens") < rule.min_tokens)


def _check_files(inputs: Inputs, columns: Mapping[int, Any]) -> None:
    """Raise RecordError if the *columns* of files differ, SparkError if one was not read."""
    files = inputs.files
    if inputs.is_split or inputs.kind is Folder:
        return
    for number, file in enumerate(files):
        if number not in columns:
            raise SparkError(f"Spark has not read {file.name}")
        if columns[number] != columns[0]:
            raise RecordError(f"the columns of {file.name} and {files[0].name} differ")


def _numbered_by_piece(staging: Staging, plan: Plan, expected: int) -> Records:
    """Find out the number of the first record of each piece; each has a count of its own."""
    inputs = plan.inputs
    rows = staging.table("read").groupBy("file", "start").agg(F.count("*").alias("count"))
    bases: dict[Place, int] = {}
    counts: dict[Place, int] = {}
    base, base_of_file, last = 0, 0, -1
    for file, start, count in sorted(map(tuple, rows.collect())):
        if file != last:
            base_of_file, last = base, file
        # The rows of a table are numbered within their file.
        bases[file, start] = base_of_file if inputs.kind is Parquet else base
        counts[file, start] = count
        base += count
    if base != expected:
        raise SparkError(
            f"the executors have read {expected:,} records, and {base:,} of them are in "
            f"{staging.aside}: {staging.job.output} must be where all executors and this machine "
            "see the same"
        )
    if inputs.kind is Folder and base != len(inputs.files):
        raise SparkError(f"Spark has read {base:,} of {len(inputs.files):,} files")
    return Records(staging, plan, bases, counts)


def _check_records(records: Records, job: Job, figures: Figures) -> Records:
    """Count what was read, and return *records* with what was found of them.

    Raises RecordError for a bad record, and for fields that are nowhere.
    """
    seen = _fields_seen(job)
    if not figures.records:
        seen.check()
    is_bad = F.col("error").isNotNull()
    is_unread = ~is_bad & F.col("unread").isNotNull()
    is_without = ~is_bad & ~is_unread & ~F.col("has_scope")
    is_judged = ~is_bad & ~is_unread & F.col("has_scope")
    [row] = (
        records.as_read()
        .agg(
            F.count_if(is_bad).alias("bad"),
            F.count_if(is_unread).alias("unread"),
            F.count_if(is_without).alias("without"),
            F.count_if(F.col("evidence").isNotNull()).alias("with_evidence"),
            F.count_if(~is_bad & is_short(job.rule)).alias("short"),
            F.count_if(is_judged & F.col("different").isNull()).alias("without_text"),
            *(
                F.count_if(~is_bad & F.col(name)).alias(name)
                for name in ("has_field", "has_key", "has_date", "has_canonical", "has_scope")
            ),
        )
        .collect()
    )
    figures.bad, figures.kept_unread = row.bad, row.unread
    figures.kept_without_scope = row.without
    figures.with_evidence = row.with_evidence
    if row.with_evidence:
        weak = records.as_read().where("weakness <> ''").groupBy("weakness").count()
        counts = {found.weakness: found["count"] for found in weak.collect()}
        figures.weak = {str(what): counts[what] for what in Weakness if what in counts}
    if row.bad:
        figures.first_bad = records.first_message(is_bad, "error")
        if not job.skip_bad:
            raise RecordError(figures.first_bad)
    if row.unread:
        figures.first_unread = records.first_message(is_unread, "unread")
    if figures.records > row.bad:
        seen.note(
            figures.records - row.bad,
            text=row.has_field > 0,
            key=row.has_key > 0,
            date=row.has_date > 0,
            canonical=row.has_canonical > 0,
            has_scope=row.has_scope > 0,
        )
    seen.check()
    return replace(records, have_short=bool(row.short), have_texts=not row.without_text)


def _fields_seen(job: Job) -> FieldsSeen:
    inputs = job.inputs
    names = dict.fromkeys(file.name for file in inputs.files) or inputs.named
    return FieldsSeen(job.fields, job.scope, names, inputs.links_left_out)
