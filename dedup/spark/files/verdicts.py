"""What becomes of the records that the first pass on Spark has read."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.evidence import Objection
from dedup.rule import Kind
from dedup.spark.errors import SparkError
from dedup.spark.files.first_pass import Records, is_short
from dedup.spark.files.job import Figures
from dedup.spark.files.staging import Staging
from dedup.spark.judge import judge

_ROWS_OF_A_PARTITION = 33  # bits, as monotonically_increasing_id has them
_JUDGED = "key", "scope", "tokens", "digest", "sketch", "evidence", "is_binary"


def judge_records(staging: Staging, records: Records, figures: Figures) -> DataFrame:
    """Judge all *records*, and count in *figures* what became of them.

    Return the duplicates: number, original (a number), distance and is_exact. Raises SparkError if
    a record has no verdict.
    """
    job = staging.job
    readable = records.numbered().where("error is null and unread is null and has_scope")
    is_ordered = any(name != "first" for name in job.keep.names)
    ranks = _ranks(staging, readable) if is_ordered else None
    if ranks is None:
        readable = readable.withColumn("rank", F.col("number"))
    else:
        readable = readable.join(ranks, "number")
    judged = judge(
        readable.select("rank", *_JUDGED),
        job.method,
        job.rule,
        partitions=job.partitions,
        objections=figures.with_evidence > 0,
    )
    judged.write.parquet(staging.path("verdicts"))
    verdicts = staging.table("verdicts")
    _count(verdicts, figures)
    if figures.with_evidence:
        found = verdicts.where("objection is not null").groupBy("objection").count().collect()
        counts = {row.objection: row["count"] for row in found}
        figures.kept_by_evidence = {str(o): counts[o] for o in Objection if o in counts}
    if records.have_short:
        new = verdicts.where(F.col("verdict") == Kind.NEW.value).select("rank")
        short = readable.where(is_short(job.rule)).join(new, "rank", "left_semi")
        figures.kept_short = short.count()
    return _duplicates(staging, verdicts, ranks, figures)


def _count(verdicts: DataFrame, figures: Figures) -> None:
    kinds = Kind.NEW, Kind.EXACT, Kind.NEAR, Kind.SKIPPED
    [counts] = verdicts.agg(
        *(F.count_if(F.col("verdict") == kind.value).alias(kind.name) for kind in kinds),
        F.count_distinct("original").alias("originals"),
    ).collect()
    figures.exact_duplicates = counts.EXACT
    figures.near_duplicates = counts.NEAR
    figures.kept_empty = counts.SKIPPED
    figures.clusters = counts.originals
    expected = figures.records - figures.bad - figures.kept_unread - figures.kept_without_scope
    found = counts.NEW + counts.EXACT + counts.NEAR + counts.SKIPPED
    if found != expected:
        raise SparkError(f"{expected:,} records were judged, and {found:,} have a verdict")
    figures.kept = figures.records - figures.bad - counts.EXACT - counts.NEAR


def _ranks(staging: Staging, records: DataFrame) -> DataFrame:
    """Return the number of each of *records*, and its rank in the order of the preference."""
    order = records.select("number", "preference").orderBy("preference", "number")
    order.select("number", F.monotonically_increasing_id().alias("place")).write.parquet(
        staging.path("order")
    )
    order = staging.table("order")
    part = F.shiftright("place", _ROWS_OF_A_PARTITION).cast("int").alias("part")
    counts = order.groupBy(part).count().collect()
    bases, base = [], 0
    for row in sorted(counts):
        bases.append((row.part, base - (row.part << _ROWS_OF_A_PARTITION)))
        base += row["count"]
    table = staging.session.createDataFrame(bases, "part int, base long")
    placed = order.withColumn("part", part).join(F.broadcast(table), "part")
    return placed.select("number", (F.col("base") + F.col("place")).alias("rank"))


def _duplicates(
    staging: Staging, verdicts: DataFrame, ranks: DataFrame | None, figures: Figures
) -> DataFrame:
    """Find the number, the original's number and the distance of each duplicate."""
    is_exact = (F.col("verdict") == Kind.EXACT.value).alias("is_exact")
    found = verdicts.where("original is not null").select("rank", "original", "distance", is_exact)
    if ranks is None:
        return found.withColumnRenamed("rank", "number")
    of_original = ranks.select(
        F.col("rank").alias("original"), F.col("number").alias("number_of_original")
    )
    found = found.join(ranks, "rank").join(of_original, "original").drop("rank", "original")
    found = found.withColumnRenamed("number_of_original", "original")
    found.write.parquet(staging.path("duplicates"))
    duplicates = staging.table("duplicates")
    if duplicates.count() != figures.exact_duplicates + figures.near_duplicates:
        raise SparkError("not all duplicates are there any more")
    return duplicates
