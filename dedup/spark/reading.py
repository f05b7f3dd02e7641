"""Rows of a DataFrame -> records of pages, read by the reader of `dedup scan`."""

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from dedup.evidence import Evidence
from dedup.preference import Preference
from dedup.record import PageRecord
from dedup.record_field import MadeWith, to_field
from dedup.records import RawRecord
from dedup.records.lines import LONGEST_LINE, TOO_LONG, JsonLines
from dedup.rule import Rule
from dedup.scan.deciding import rank_of
from dedup.scan.reader import Fate, ReadRecord, RecordReader
from dedup.scan.record_stream import pool_for, read_raws
from dedup.spark.judge import Batches, judge, slices
from dedup.text import writable

READ, BAD, UNREAD = Fate.NEW.verdict, Fate.BAD.verdict, Fate.UNREAD.verdict
"""What becomes of rows before they are judged."""

_ROWS_AT_ONCE = 256
_READ = pa.schema([
    ("state", pa.string()), ("message", pa.string()),
    ("fields", pa.list_(pa.string())), ("weakness", pa.string()), ("rank", pa.binary()),
    ("key", pa.string()), ("scope", pa.string()), ("tokens", pa.int64()),
    ("digest", pa.binary()), ("sketch", pa.binary()), ("evidence", pa.binary()),
    ("is_binary", pa.bool_()), ("item", pa.binary()),
])  # fmt: skip
_FIELD = pa.struct({
    "key": pa.string(), "scope": pa.string(), "tokens": pa.int64(), "digest": pa.string(),
    "sketch": pa.string(), "evidence": pa.string(), "binary": pa.bool_(), "says": pa.string(),
    "made_with": pa.struct(dict.fromkeys(MadeWith._fields, pa.string())),
})  # fmt: skip


@dataclass(frozen=True)
class RowReader:
    """Reads rows in the executors: texts in their Python, HTML in a process that may be lost.

    It reads these *columns* of them; of JSON lines, that is one with a line.
    """

    reader: RecordReader
    columns: Sequence[str]
    preference: Preference

    def read(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        """Return the columns *names* of *rows*, and what was read, `_READ`."""
        return self._map(rows, names, _READ, self._row)

    def sketch(
        self, rows: DataFrame, names: Sequence[str], field: str, made_with: MadeWith
    ) -> DataFrame:
        """Return the columns *names* of *rows*, and the record of each as the column *field*."""

        def field_of(read: ReadRecord) -> tuple[dict[str, Any] | None]:
            is_read = read.fate not in (Fate.BAD, Fate.UNREAD)
            return (to_field(read.page, made_with) if is_read else None,)

        return self._map(rows, names, pa.schema([(field, _FIELD)]), field_of)

    def _map(
        self,
        rows: DataFrame,
        names: Sequence[str],
        schema: pa.Schema,
        values_of: Callable[[ReadRecord], tuple[Any, ...]],
    ) -> DataFrame:
        reader = self.reader

        def read(batches: Batches) -> Iterator[pa.RecordBatch]:
            with pool_for(reader, 1) as pool:
                for part in slices(batches, _ROWS_AT_ONCE):
                    found = read_raws(reader, self._raws(part), pool, 1)
                    records = map(values_of, chain.from_iterable(found))
                    columns = zip(zip(*records, strict=True), schema.types, strict=True)
                    arrays = [part[name] for name in names]
                    arrays += [pa.array(*column) for column in columns]
                    yield pa.RecordBatch.from_arrays(arrays, [*names, *schema.names])

        before = [rows.schema[name] for name in names]
        return rows.mapInArrow(read, StructType([*before, *from_arrow_schema(schema).fields]))

    def _raws(self, part: pa.RecordBatch) -> Iterator[RawRecord]:
        content = self.reader.format.fields.content
        if isinstance(self.reader.format, JsonLines):
            for line in part[self.columns[0]].to_pylist():
                error = TOO_LONG if len(line) >= LONGEST_LINE else None
                yield RawRecord("", 0, len(line), line.removeprefix(BOM_UTF8) + b"\n", error)
            return
        columns = [_values(part[name], b"" if name == content else None) for name in self.columns]
        for row in zip(*columns, strict=True):
            values = dict(zip(self.columns, row, strict=True))
            size = len(values[content]) if isinstance(values[content], str | bytes) else 0
            yield RawRecord("", 0, size, values)

    def _row(self, read: ReadRecord) -> tuple[Any, ...]:
        page, state = read.page, read.fate.verdict
        message = read.error if state == BAD else read.unread
        seen = page.evidence if state == READ else None
        weakness = Evidence.from_bytes(seen).weakness if seen else None
        has_rank = self.preference.changes_order and state != BAD
        return (
            state, message and writable(message), read.fields, weakness and str(weakness),
            rank_of(self.preference, read) if has_rank else b"",
            writable(page.key), writable(page.scope), *page[2:],
        )  # fmt: skip


def _values(column: pa.Array, otherwise: bytes | None) -> list[Any]:
    """Return the values of a *column*, and *otherwise* of those that are not in UTF-8.

    Spark has such strings: it checks neither what it casts nor what it reads.
    """

    def value_of(scalar: pa.Scalar) -> Any:
        try:
            return scalar.as_py()
        except UnicodeDecodeError:
            return otherwise

    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return list(map(value_of, column))


def judge_read(
    read: DataFrame, reader: RecordReader, rule: Rule, order: Sequence[str]
) -> DataFrame:
    """Return what was *read*, with what `judge` says of it, or else the state as its verdict."""
    names = dict.fromkeys([*order, *PageRecord._fields])
    records = read.where(F.col("state") == READ).select(*names)
    verdicts = judge(records, reader.method, rule, order, has_pages=reader.has_pages)
    judged = read.join(verdicts, "row", "left")
    return judged.withColumn("verdict", F.coalesce("verdict", "state"))


def column(name: str) -> Column:
    """Return the column of exactly this *name*, which may have dots in it."""
    return F.col("`" + name.replace("`", "``") + "`")
