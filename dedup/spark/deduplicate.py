"""Rows of a DataFrame -> which of them are kept, and what the others repeat; or their records."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, MapType, StringType, StructType

from dedup.choices import name_of, naming
from dedup.evidence import NORMAL
from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import MethodChoice, load_extractor, load_preference
from dedup.preference import CRITERIA
from dedup.record_field import MadeWith
from dedup.records import Fields
from dedup.records.base import check_column, columns_of
from dedup.records.parquet import Parquet
from dedup.rule import Kind, Rule
from dedup.scan.deciding import check_together
from dedup.scan.reader import RecordReader
from dedup.scopes import Scope
from dedup.spark.judge import cut
from dedup.spark.reading import RowReader, column, judge_read
from dedup.spark.session import clear_errors
from dedup.units import SECONDS_OF_A_DAY

RESULT = ("kept", "original", "distance", "verdict")
_ROW = "__dedup_row"
_HASH = "__dedup_hash"
_TYPES = {
    "text": (StringType,),
    "html": (StringType, BinaryType),
    "record": (StringType, StructType, MapType),
}


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
    and *canonical* name others, the first that of URLs, the last by default the one of its name, if
    there is one. The other arguments are those of ``dedup scan``; *method*, *scope*, *keep* and
    *extractor* may also be what names stand for, *method* a dictionary, as in DEDUP_METHOD.
    *page_timeout*: the seconds after which a page of HTML is given up.

    *df* is read once, at once: its rows stay with the executors until the result is forgotten.

    Raises ValueError or TypeError for arguments that make no sense, and SparkError if the
    executors cannot do the work.
    """
    contents = {"text": text, "html": html, "record": record}
    reader = _reader_of(
        df, contents, method, secret, extractor, scope, keep, page_timeout, key, date, canonical
    )
    by = [order_by] if isinstance(order_by, str) else list(order_by or ())
    for name in by:
        check_column(name, df.columns, "order_by: the DataFrame")
    if taken := [name for name in df.columns if name in RESULT]:
        raise ValueError(f"the DataFrame has columns of the result already: {', '.join(taken)}")
    rule = Rule(min_tokens, NORMAL if evidence else None)
    own_order = {f"__dedup_order{place}": name for place, name in enumerate(by)}
    content = reader.reader.format.fields.content
    content_hash = F.xxhash64(column(content)) if record is None else F.lit(0)
    with clear_errors():
        numbered = cut(df.withColumn(_ROW, F.monotonically_increasing_id()))
        wanted = numbered.select(
            F.col(_ROW),
            *(column(name).alias(own) for own, name in own_order.items()),
            content_hash.alias(_HASH),
            *map(column, reader.columns),
        )
        read = cut(reader.read(wanted, [_ROW, *own_order, _HASH]).withColumnRenamed(_ROW, "row"))
        order = ["rank", *own_order, "key", "digest", "evidence", _HASH, "row"]
        judged = judge_read(read, reader.reader, rule, order)
        keys = read.select(F.col("row").alias("original"), F.col("key").alias("key_of_original"))
        found = judged.select("row", "verdict", "original", "distance")
        results = cut(found.join(keys, "original", "left"))
        return numbered.join(results, F.col(_ROW) == F.col("row")).select(
            *(column(name) for name in df.columns),
            (~F.col("verdict").isin(Kind.EXACT.value, Kind.NEAR.value)).alias("kept"),
            F.col("key_of_original").alias("original"),
            *map(column, RESULT[2:]),
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
    contents = {"text": text, "html": html}
    reader = _reader_of(df, contents, method, secret, extractor, scope, "first", page_timeout, key)
    others = [name for name in df.columns if name != reader.reader.format.fields.content]
    if field in others:
        raise ValueError(f"the DataFrame has a column {field!r} already")
    where = reader.reader.scope
    made_with = MadeWith.of(reader.reader.method, {
        "extractor": name_of(extractor, load_extractor(extractor)),
        "item_field": text,
        "scope": "crawl" if where is None else where.name,
    })  # fmt: skip
    return reader.sketch(df, others, field, made_with)


def _reader_of(
    df: DataFrame,
    contents: Mapping[str, str | None],
    method: Any,
    secret: str | None,
    extractor: str | Extractor,
    scope: Any,
    keep: Any,
    page_timeout: float,
    key: str | None,
    date: str | None = None,
    canonical: str | None = None,
) -> RowReader:
    """Return the reader of the rows of *df*; raises ValueError for what does not go together.

    *contents*: the names of the columns of each kind of content, of which there must be one.
    """
    with naming("method "):
        chosen = method if isinstance(method, Method) else MethodChoice.of(method).method()
    chosen = with_keyed_hashing(chosen, KeyedHashing(secret)) if secret else chosen
    with naming("scope "):
        where = None if scope is None else Scope.of(scope)
    with naming("keep "):
        preference = load_preference(CRITERIA, keep)
    with naming("extractor "):
        extract: Extractor = load_extractor(extractor)
    named = {kind: name for kind, name in contents.items() if name is not None}
    if len(named) != 1:
        got = " and ".join(named) or "none of them"
        raise ValueError(f"exactly one of text, html and record must name a column, got {got}")
    [(kind, content)] = named.items()
    # Records have keys of their own unless another column is named.
    own_key = None if kind == "record" and key == "url" else key or ""
    if not 1 <= page_timeout <= SECONDS_OF_A_DAY:
        raise ValueError(
            f"page_timeout must be from 1 to {SECONDS_OF_A_DAY} seconds, got {page_timeout}"
        )
    for what, name in {kind: content, "key": own_key, "date": date, "canonical": canonical}.items():
        if name:
            check_column(name, df.columns, f"{what}: the DataFrame")
    if not isinstance(type_ := df.schema[content].dataType, _TYPES[kind]):
        raise ValueError(f"{kind}: the column {content!r} is {type_.simpleString():.60}")
    fields = Fields(
        content, kind == "html", own_key, date,
        is_object=kind == "record", with_all=where is not None and where.needs_item,
        canonical=canonical,
    )  # fmt: skip
    check_together(Parquet, fields, where, preference)
    reader = RecordReader(
        Parquet([], fields), chosen, extract, where, page_timeout=page_timeout, with_sequences=False
    )
    columns = columns_of(fields, df.columns, "the DataFrame")
    return RowReader(reader, columns, preference)
