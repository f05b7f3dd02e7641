"""Rows of a DataFrame -> records of pages, read by the reader of `dedup scan`."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from dedup.evidence import Evidence
from dedup.preference import Preference
from dedup.record_field import MadeWith, to_field
from dedup.records import Fields, Format, RawRecord, Record
from dedup.records.base import record_of
from dedup.records.lines import LONGEST_LINE, TOO_LONG, JsonLines
from dedup.scan.deciding import rank_of
from dedup.scan.reader import ReadRecord, RecordReader
from dedup.scan.record_stream import pool_for, read_raws
from dedup.spark.judge import Batches, slices

PARTS = (
    "__dedup_content", "__dedup_key", "__dedup_date", "__dedup_canonical", "__dedup_item",
)  # fmt: skip
"""The names of the columns that are read of each row, where they are there."""

READ = "read"
BAD, UNREAD, WITHOUT_SCOPE = "bad", "unread", "without-scope"
"""What becomes of rows that cannot be judged; they are kept."""

_ROWS_AT_ONCE = 256
_READ = pa.schema([
    ("state", pa.string()), ("message", pa.string()),
    ("has_text", pa.bool_()), ("has_key", pa.bool_()), ("has_date", pa.bool_()),
    ("has_canonical", pa.bool_()), ("weakness", pa.string()), ("rank", pa.binary()),
    ("key", pa.string()), ("scope", pa.string()), ("tokens", pa.int64()),
    ("digest", pa.binary()), ("sketch", pa.binary()), ("evidence", pa.binary()),
    ("is_binary", pa.bool_()), ("item", pa.binary()),
])  # fmt: skip
_STRINGS = dict.fromkeys(MadeWith._fields, pa.string())
_FIELD = pa.struct({
    "key": pa.string(), "scope": pa.string(), "tokens": pa.int64(), "digest": pa.string(),
    "sketch": pa.string(), "evidence": pa.string(), "binary": pa.bool_(), "says": pa.string(),
    "made_with": pa.struct(_STRINGS),
})  # fmt: skip


class Rows(Format):
    """The rows of a DataFrame as records; Spark itself reads and writes them."""

    name = "dataframe"

    def __init__(self, fields: Fields) -> None:
        super().__init__((), fields)

    def raw_records(self) -> Iterator[RawRecord]:
        raise NotImplementedError("Spark reads rows")

    def parse(self, data: tuple[Any, ...]) -> Record:
        content, key, date, canonical, item = data
        return record_of(content, key, date, self.fields, item or MappingProxyType({}), canonical)

    def write(self, file: BinaryIO, path: object, keep: Sequence[int]) -> NoReturn:
        raise NotImplementedError("Spark writes rows")


@dataclass(frozen=True)
class RowReader:
    """Reads rows in the executors: texts in their Python, HTML in a process that may be lost.

    The rows have `PARTS` where the format is `Rows`, else the column *value* with a line of JSON.
    """

    reader: RecordReader
    preference: Preference
    made_with: MadeWith | None = None

    @property
    def needs_item(self) -> bool:
        """Whether all columns of a row count, since they tell its scope."""
        return self.reader.format.fields.with_all

    def read(self, rows: DataFrame, names: Sequence[str]) -> DataFrame:
        """Return the columns *names* of *rows*, and what was read, `_READ`."""
        return self._map(rows, names, _READ, self._row)

    def sketch(self, rows: DataFrame, names: Sequence[str], field: str) -> DataFrame:
        """Return the columns *names* of *rows*, and the record of each as the column *field*."""
        schema = pa.schema([("record", _FIELD)])
        return self._map(rows, names, schema, lambda read: (self._field(read),)).toDF(*names, field)

    def _map(
        self,
        rows: DataFrame,
        names: Sequence[str],
        schema: pa.Schema,
        values_of: Callable[[ReadRecord], tuple[Any, ...]],
    ) -> DataFrame:
        format_, reader = self.reader.format, self.reader
        raws_of = _lines if isinstance(format_, JsonLines) else _values_of_parts

        def read(batches: Batches) -> Iterator[pa.RecordBatch]:
            with pool_for(reader, 1, has_html=format_.has_html) as pool:
                for part in slices(batches, _ROWS_AT_ONCE):
                    raws, has_html = raws_of(part), format_.has_html
                    pairs = read_raws(raws, pool, 1, has_html=has_html)
                    records = [values_of(read) for _, read in chain.from_iterable(pairs)]
                    columns = zip(zip(*records, strict=True), schema.types, strict=True)
                    arrays = [part[name] for name in names]
                    arrays += [pa.array(*column) for column in columns]
                    yield pa.RecordBatch.from_arrays(arrays, [*names, *schema.names])

        before = [rows.schema[name] for name in names]
        return rows.mapInArrow(read, StructType([*before, *from_arrow_schema(schema).fields]))

    def _row(self, read: ReadRecord) -> tuple[Any, ...]:
        page, state = read.page, _state(read)
        message = read.error if state == BAD else read.unread
        seen = page.evidence if state == READ else None
        weakness = Evidence.from_bytes(seen).weakness if seen else None
        return (
            state, _characters(message), read.has_field, read.has_key, read.date is not None,
            read.canonical is not None, weakness and str(weakness), self._rank(read),
            _characters(page.key), _characters(page.scope), *page[2:],
        )  # fmt: skip

    def _rank(self, read: ReadRecord) -> bytes:
        """Return what sorts as the ranks by the preference."""
        if read.error is not None or not self.preference.changes_order:
            return b""
        return rank_of(self.preference, read)

    def _field(self, read: ReadRecord) -> dict[str, Any] | None:
        assert self.made_with is not None
        return None if _state(read) in (BAD, UNREAD) else to_field(read.page, self.made_with)


def _state(read: ReadRecord) -> str:
    if read.error is not None:
        return BAD
    if read.unread is not None:
        return UNREAD
    return READ if read.has_scope else WITHOUT_SCOPE


def _characters(text: str | None) -> str | None:
    """Return *text* with what is no character, but half of one, as an escape of its own."""
    return text and text.encode("utf-8", "backslashreplace").decode()


def _lines(part: pa.RecordBatch) -> Iterator[RawRecord]:
    for line in part["value"].to_pylist():
        if len(line) >= LONGEST_LINE:
            yield RawRecord("", 0, 0, None, TOO_LONG)
        else:
            yield RawRecord("", 0, len(line), line + b"\n")


def _values_of_parts(part: pa.RecordBatch) -> Iterator[RawRecord]:
    nothing = [None] * len(part)
    columns = (
        _values(part[name], b"" if name == PARTS[0] else None)
        if name in part.schema.names
        else nothing
        for name in PARTS
    )
    for row in zip(*columns, strict=True):
        yield RawRecord("", 0, len(row[0]) if isinstance(row[0], str | bytes) else 0, row)


def _values(column: pa.Array, otherwise: bytes | None) -> list[Any]:
    """Return the values of a *column*, and *otherwise* of those that are not in UTF-8.

    Spark has such strings: it checks neither what it casts nor what it reads.
    """
    try:
        return column.to_pylist()  # type: ignore[no-any-return]
    except UnicodeDecodeError:
        return [_value(value, otherwise) for value in column]


def _value(value: pa.Scalar, otherwise: bytes | None) -> Any:
    try:
        return value.as_py()
    except UnicodeDecodeError:
        return otherwise
