"""Rows of a DataFrame -> the records of their pages, to be stored and compared at any time."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame

from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.spark.columns import Columns, column
from dedup.spark.settings import method_of, reader_of


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
