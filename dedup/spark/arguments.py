"""What is asked of DataFrames: columns, method, rule and preference, checked before any work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import BinaryType, MapType, StringType, StructType

from dedup.extraction import Extractor
from dedup.methods import Method
from dedup.methods.keyed import KeyedHashing, with_keyed_hashing
from dedup.plugins import MethodChoice, load_extractor, load_preference, name_of
from dedup.preference import CRITERIA, canonical, first, newest
from dedup.record_field import MadeWith
from dedup.records import Fields
from dedup.scan.reader import RecordReader
from dedup.scopes import Scope
from dedup.spark.reading import PARTS, RowReader, Rows
from dedup.units import SECONDS_OF_A_DAY

_TYPES = {
    "text": (StringType,),
    "html": (StringType, BinaryType),
    "record": (StringType, StructType, MapType),
}


@dataclass(frozen=True)
class Columns:
    """The names of columns: one of *text*, *html* and *record*, and what else is known of a row."""

    text: str | None = None
    html: str | None = None
    record: str | None = None
    key: str | None = "url"
    date: str | None = None
    canonical: str | None = None
    order_by: str | Sequence[str] | None = None

    def check(self, df: DataFrame) -> None:
        """Raise ValueError if *df* lacks one of them, or if one is of a wrong type."""
        contents = [name for name in _TYPES if getattr(self, name) is not None]
        if len(contents) != 1:
            got = " and ".join(contents) or "none of them"
            raise ValueError(f"exactly one of text, html and record must name a column, got {got}")
        named = [("key", self.own_key), ("date", self.date), ("canonical", self.canonical)]
        named += [(kind, getattr(self, kind)) for kind in contents]
        named += [("order_by", name) for name in self.order]
        for what, name in named:
            if name is not None and df.columns.count(name) != 1:
                raise ValueError(
                    f"{what}: the DataFrame has {df.columns.count(name) or 'no'} columns named "
                    f"{name!r}; it has {', '.join(df.columns)}"
                )
        kind = df.schema[self.content].dataType
        if not isinstance(kind, _TYPES[contents[0]]):
            raise ValueError(
                f"{contents[0]}: the column {self.content!r} is {kind.simpleString():.60}"
            )

    @property
    def content(self) -> str:
        """The name of the column that has what is compared."""
        return self.text or self.html or self.record or ""

    @property
    def own_key(self) -> str | None:
        """The column of the key; records have keys of their own unless another one is named."""
        return None if self.record is not None and self.key == "url" else self.key

    @property
    def order(self) -> list[str]:
        """The columns that say what comes first."""
        if self.order_by is None:
            return []
        return [self.order_by] if isinstance(self.order_by, str) else list(self.order_by)

    def parts(self, item: Sequence[str]) -> list[Column]:
        """Return what is read of each row, as `parts_of`."""
        return parts_of([self.content, self.own_key, self.date, self.canonical], item)


def parts_of(names: Sequence[str | None], item: Sequence[str]) -> list[Column]:
    """Return what is read of each row, as `PARTS`, those that are there.

    *names*: the columns of content, key, date and canonical URL; *item*: those that are its item.
    """
    found = [column(name).alias(part) for name, part in zip(names, PARTS, strict=False) if name]
    return [*found, F.struct(*map(column, item)).alias(PARTS[-1])] if item else found


def column(name: str) -> Column:
    """Return the column of exactly this *name*, which may have dots in it."""
    return F.col("`" + name.replace("`", "``") + "`")


def method_of(method: Any, secret: str | None) -> Method:
    """Return the method that *method* is or describes; raises ValueError if there is none."""
    with _naming("method"):
        chosen: Method = method if isinstance(method, Method) else MethodChoice.of(method).method()
    return with_keyed_hashing(chosen, KeyedHashing(secret)) if secret else chosen


@contextmanager
def _naming(argument: str) -> Iterator[None]:
    """Name *argument* in messages of errors."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise type(error)(f"{argument} {error}") from error


def reader_of(
    columns: Columns,
    method: Method,
    extractor: str | Extractor,
    scope: Any = None,
    keep: Any = "first",
    page_timeout: float = 30.0,
) -> RowReader:
    """Return the reader of rows; raises ValueError for settings that do not go together."""
    with _naming("scope"):
        where = None if scope is None else Scope.of(scope)
    with _naming("keep"):
        preference = load_preference(CRITERIA, keep)
    with _naming("extractor"):
        extract: Extractor = load_extractor(extractor)
    checks = (
        (not preference, f"keep must name a criterion, one of {', '.join(CRITERIA)}"),
        (first in preference.criteria[:-1], "keep: after first, nothing is left to decide"),
        (newest in preference.criteria and not columns.date, "keep newest needs date, a column"),
        (
            bool(columns.record) and where is not None and where.needs_language,
            "a scope of languages is for text and html: no record has one",
        ),
        (
            where is not None and where.needs_url and not (columns.key or columns.record),
            "a scope of URLs needs key, a column",
        ),
        (
            bool(columns.canonical) and canonical not in preference.criteria,
            "canonical is for keep canonical",
        ),
        (
            not 1 <= page_timeout <= SECONDS_OF_A_DAY,
            f"page_timeout must be from 1 to {SECONDS_OF_A_DAY} seconds, got {page_timeout}",
        ),
    )
    for is_wrong, problem in checks:
        if is_wrong:
            raise ValueError(problem)
    fields = Fields(
        columns.content,
        columns.html is not None,
        columns.own_key,
        columns.date,
        is_object=columns.record is not None,
        with_all=where is not None and where.needs_item,
        canonical=columns.canonical,
    )
    made_with = MadeWith.of(
        method,
        {
            "extractor": name_of(extractor, extract),
            "item_field": columns.text,
            "scope": "crawl" if where is None else where.name,
        },
    )
    rows = Rows(fields)
    reader = RecordReader(
        rows, method, extract, where, page_timeout=page_timeout, with_sequences=False
    )
    return RowReader(reader, preference, made_with)
