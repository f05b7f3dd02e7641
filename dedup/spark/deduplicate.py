"""Rows of a DataFrame -> which of them are kept, and what the others repeat."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import AtomicType, BinaryType, StructType

from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.rule import Kind
from dedup.spark.columns import Columns, column
from dedup.spark.cut import cut
from dedup.spark.executors import check_executors
from dedup.spark.judge import judge
from dedup.spark.rows import READ, READ_COLUMNS, UNREAD, RowReader
from dedup.spark.settings import method_of, reader_of, rule_of

RESULT = ("kept", "original", "distance", "verdict")
_ROW, _COPY = _IDENTITY = ("__dedup_row", "__dedup_copy")


def deduplicate(
    df: DataFrame,
    *,
    text: str | None = None,
    html: str | None = None,
    record: str | None = None,
    key: str | None = "url",
    date: str | None = None,
    canonical: str | None = None,
    method: str | Method | type[Method] = "simhash",
    args: Mapping[str, Any] | None = None,
    min_tokens: int = 20,
    scope: Any = None,
    keep: Any = "first",
    order_by: str | Sequence[str] | None = None,
    evidence: str = "normal",
    extractor: str | Extractor = "trafilatura",
    page_timeout: float = 30.0,
    secret: str | None = None,
    simplify_chinese: bool = False,
    partitions: int | None = None,
) -> DataFrame:
    """Return *df* with the columns kept, original, distance and verdict.

    It is what ``dedup scan`` says of the same rows in the same order; `judge` tells where it may
    differ. Of the rows that repeat each other, the first is *kept*, by the criteria of *keep*, as
    `--keep` names them, then by the columns *order_by* (nulls last), then by *key*, and last by
    their contents: so no answer depends on how the rows are spread. The *original* is the key of
    the kept row that another one repeats, at this distance. The *verdict* is "new",
    "exact-duplicate", "near-duplicate", "skipped" (no text), "unread" (its page could not be read),
    "bad" (a value of its columns is none), or "without-scope"; only duplicates are not kept.

    Exactly one of *text*, *html* and *record* names the column of what is compared: main texts,
    pages of HTML, or records that `sketches` or a crawl has made. *key*, *date* (for *keep* newest)
    and *canonical* name others, the first that of URLs. The other arguments are those of ``dedup
    scan``; *method*, *scope*, *keep* and *extractor* may also be what names stand for.
    *page_timeout*: the seconds after which a page of HTML is given up. *partitions* as in `judge`.

    Work begins at once, and its results are in the executors until the DataFrame is forgotten. *df*
    is read twice, so it should give the same rows each time; a row that was not there the first
    time is kept, as "unread".

    Raises ValueError or TypeError for arguments that make no sense, and SparkError if the
    executors cannot do the work.
    """
    columns = Columns(text, html, record, key, date, canonical, order_by)
    columns.check(df)
    if taken := [name for name in df.columns if name in RESULT]:
        raise ValueError(f"the DataFrame has columns of the result already: {', '.join(taken)}")
    chosen = method_of(method, args, secret, simplify_chinese=simplify_chinese)
    reader = reader_of(columns, chosen, extractor, scope, keep, page_timeout)
    rule = rule_of(min_tokens, evidence)
    check_executors(df.sparkSession, reader)
    marked = df.withColumn(_ROW, _row(df, columns, reader))
    ranked = cut(_ranked(marked, df.columns, columns, reader))
    records = ranked.where(F.col("state") == READ)
    if columns.text is not None:  # nobody has seen the pages
        records = records.drop("evidence")
    verdicts = judge(records, chosen, rule, partitions=partitions)
    return _joined(marked, _by_row(ranked, verdicts), df.columns)


def _row(df: DataFrame, columns: Columns, reader: RowReader) -> Column:
    """Return a digest of all that counts of a row of *df*, by which it is found again.

    A number would not do: Spark may read rows in another order when it reads them again.
    """

    def value(name: str) -> Column:
        kind = df.schema[name].dataType
        return column(name) if isinstance(kind, AtomicType) else F.to_json(column(name))

    def digest(name: str | None) -> Column:
        if name is None:
            return F.lit("")
        is_binary = isinstance(df.schema[name].dataType, BinaryType)
        data = value(name) if is_binary else value(name).cast("string")
        return F.coalesce(F.sha2(data, 256), F.lit(""))

    # Contents and keys are chosen by others, so that no shorter hash tells them apart.
    others = [columns.date, columns.canonical, *columns.order]
    others += df.columns if reader.needs_item else []
    rest = F.xxhash64(F.lit(0), *(value(name) for name in others if name)).cast("string")
    key = digest(columns.own_key)
    return F.unhex(F.sha2(F.concat_ws("|", digest(columns.content), key, rest), 256))


def _ranked(
    marked: DataFrame, names: Sequence[str], columns: Columns, reader: RowReader
) -> DataFrame:
    """Return what was read of the rows, with a rank each, and which of equal rows each one is."""
    order = {f"__dedup_order{place}": name for place, name in enumerate(columns.order)}
    parts = columns.parts(names if reader.needs_item else ())
    wanted = marked.select(_ROW, *(column(name).alias(own) for own, name in order.items()), *parts)
    beside = [_ROW, *order]
    columns_read = cast(StructType, StructType.fromDDL(READ_COLUMNS)).fields
    schema = StructType([*(wanted.schema[name] for name in beside), *columns_read])
    read = wanted.mapInArrow(reader.to_columns(beside), schema)
    by_order = [F.col(name).asc_nulls_last() for name in (*order, "key")]
    # Ids grow from partition to partition, and these are in order.
    ranked = read.withColumn(_COPY, _copy()).orderBy("preferred", *by_order, "digest", *_IDENTITY)
    return ranked.select(
        F.monotonically_increasing_id().alias("rank"),
        *_IDENTITY, "state", "key", "scope", "tokens", "digest", "sketch", "evidence", "is_binary",
    )  # fmt: skip


def _copy() -> Column:
    return F.row_number().over(Window.partitionBy(_ROW).orderBy(_ROW))


def _by_row(ranked: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Return the results by `_IDENTITY`."""
    keys = ranked.select(F.col("rank").alias("original"), F.col("key").alias("key_of_original"))
    named = verdicts.join(keys, "original", "left")
    joined = ranked.select("rank", *_IDENTITY, "state").join(named, "rank", "left")
    return joined.select(
        *_IDENTITY,
        F.col("key_of_original").alias("original"),
        "distance",
        F.coalesce("verdict", "state").alias("verdict"),
    )


def _joined(marked: DataFrame, results: DataFrame, names: Sequence[str]) -> DataFrame:
    joined = marked.withColumn(_COPY, _copy()).join(cut(results), [*_IDENTITY], "left")
    verdict = F.coalesce("verdict", F.lit(UNREAD))
    is_kept = ~verdict.isin(Kind.EXACT.value, Kind.NEAR.value)
    return joined.select(
        *(column(name) for name in names),
        is_kept.alias("kept"),
        "original",
        "distance",
        verdict.alias("verdict"),
    )
