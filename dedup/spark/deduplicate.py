"""Rows of a DataFrame -> which of them are kept, and what the others repeat; or their records."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.evidence import NORMAL
from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.record import PageRecord
from dedup.rule import Kind, Rule
from dedup.spark.arguments import Columns, column, method_of, reader_of
from dedup.spark.components import cut
from dedup.spark.judge import judge
from dedup.spark.reading import READ
from dedup.spark.session import clear_errors

RESULT = ("kept", "original", "distance", "verdict")
_ROW = "__dedup_row"
_HASH = "__dedup_hash"


def deduplicate(
    df: DataFrame,
    *,
    text: str | None = None,
    html: str | None = None,
    record: str | None = None,
    key: str | None = "url",
    date: str | None = None,
    canonical: str | None = None,
    method: str | Mapping[str, Any] | Method | type[Method] = "simhash",
    min_tokens: int = 20,
    scope: Any = None,
    keep: Any = "first",
    order_by: str | Sequence[str] | None = None,
    evidence: bool = True,
    extractor: str | Extractor = "trafilatura",
    page_timeout: float = 30.0,
    secret: str | None = None,
) -> DataFrame:
    """Return *df* with the columns kept, original, distance and verdict.

    It is what ``dedup scan`` says of the same rows in the same order. Of the rows that repeat each
    other, the first is *kept*, by the criteria of *keep*, as `--keep` names them, then by the
    columns *order_by* (nulls last), then by *key*, and last by their contents: so no answer depends
    on how the rows are spread. The *original* is the key of the kept row that another one repeats,
    at this distance. The *verdict* is "new", "exact-duplicate", "near-duplicate", "skipped" (no
    text), "unread" (its page could not be read), "bad" (a value of its columns is none), or
    "without-scope"; only duplicates are not kept.

    Exactly one of *text*, *html* and *record* names the column of what is compared: main texts,
    pages of HTML, or records that `sketches` or a crawl has made. *key*, *date* (for *keep* newest)
    and *canonical* name others, the first that of URLs. The other arguments are those of ``dedup
    scan``; *method*, *scope*, *keep* and *extractor* may also be what names stand for, *method* a
    dictionary, as in DEDUP_METHOD.
    *page_timeout*: the seconds after which a page of HTML is given up.

    *df* is read once, at once: its rows stay with the executors until the result is forgotten.

    Raises ValueError or TypeError for arguments that make no sense, and SparkError if the
    executors cannot do the work.
    """
    columns = Columns(text, html, record, key, date, canonical, order_by)
    columns.check(df)
    if taken := [name for name in df.columns if name in RESULT]:
        raise ValueError(f"the DataFrame has columns of the result already: {', '.join(taken)}")
    chosen = method_of(method, secret)
    reader = reader_of(columns, chosen, extractor, scope, keep, page_timeout)
    rule = Rule(min_tokens, NORMAL if evidence else None)
    own_order = {f"__dedup_order{place}": name for place, name in enumerate(columns.order)}
    content_hash = F.xxhash64(column(columns.content)) if record is None else F.lit(0)
    with clear_errors():
        numbered = cut(df.withColumn(_ROW, F.monotonically_increasing_id()))
        wanted = numbered.select(
            F.col(_ROW).alias("row"),
            *(column(name).alias(own) for own, name in own_order.items()),
            content_hash.alias(_HASH),
            *columns.parts(df.columns if reader.needs_item else ()),
        )
        read = cut(reader.read(wanted, ["row", *own_order, _HASH]))
        order = ["rank", *own_order, "key", "digest", "evidence", _HASH, "row"]
        records = read.where(F.col("state") == READ).select(
            *dict.fromkeys([*order, *PageRecord._fields])
        )
        verdicts = judge(records, chosen, rule, order, has_pages=reader.reader.has_pages)
        originals = read.select(
            F.col("row").alias("original"), F.col("key").alias("key_of_original")
        )
        found = verdicts.join(originals, "original", "left")
        results = cut(read.select("row", "state").join(found, "row", "left"))
        verdict = F.coalesce("verdict", "state")
        return numbered.join(results, F.col(_ROW) == F.col("row")).select(
            *(column(name) for name in df.columns),
            (~verdict.isin(Kind.EXACT.value, Kind.NEAR.value)).alias("kept"),
            F.col("key_of_original").alias("original"),
            F.col("distance").alias("distance"),
            verdict.alias("verdict"),
        )


def sketches(
    df: DataFrame,
    *,
    text: str | None = None,
    html: str | None = None,
    key: str | None = "url",
    method: str | Mapping[str, Any] | Method | type[Method] = "simhash",
    scope: Any = None,
    extractor: str | Extractor = "trafilatura",
    page_timeout: float = 30.0,
    secret: str | None = None,
    field: str = "dedup_record",
) -> DataFrame:
    """Return *df* with the record of each page in place of its content, in the column *field*.

    The record is that which a crawl with `DEDUP_SKETCH_FIELD` writes into items. It can be stored,
    as in Parquet, joined with records of other times, of crawls, too, and given to `deduplicate` as
    *record*, which then says what it would have said of the contents. It is null where a row could
    not be read. The arguments are those of `deduplicate`; of those, the records must have the same
    *method* and *secret*, and have the *scope* that they were given here.

    Raises ValueError or TypeError for arguments that make no sense.
    """
    columns = Columns(text, html, key=key)
    columns.check(df)
    others = [name for name in df.columns if name != columns.content]
    if field in others:
        raise ValueError(f"the DataFrame has a column {field!r} already")
    chosen = method_of(method, secret)
    reader = reader_of(columns, chosen, extractor, scope, page_timeout=page_timeout)
    parts = columns.parts(df.columns if reader.needs_item else ())
    return reader.sketch(df.select(*(column(name) for name in others), *parts), others, field)
