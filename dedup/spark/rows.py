"""Rows of a DataFrame -> records of pages, read as `dedup scan` reads those of files."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NoReturn

import pyarrow as pa

from dedup.limits import shorten
from dedup.preference import Copy, Preference
from dedup.record_field import MadeWith, to_field
from dedup.records import Fields, Format, RawRecord, Record
from dedup.records.base import record_of
from dedup.records.decoding import decode_html
from dedup.scan.reader import ReadRecord, ReadTask, RecordReader
from dedup.spark.columns import PARTS
from dedup.workers import ReadError, WorkerPool

READ = "read"
BAD, UNREAD, WITHOUT_SCOPE = "bad", "unread", "without-scope"
"""What becomes of rows that cannot be judged; they are kept."""

READ_COLUMNS = (
    "state string, preferred binary, key string, scope string, tokens long, digest binary, "
    "sketch binary, evidence binary, is_binary boolean, item binary"
)
RECORD = (
    "key string, scope string, tokens long, digest string, sketch string, evidence string, "
    "binary boolean, item string, made_with struct<method: string, digest: string, "
    "extractor: string, item_field: string, scope: string>"
)
"""The type of a record of `dedup.record_field`."""

Batches = Iterable[pa.RecordBatch]
_ROWS_OF_A_TASK = 256
_PAGES_UNDER_WAY = 8


class Rows(Format):
    """The rows of a DataFrame as records; Spark itself reads and writes them."""

    name = "dataframe"

    def __init__(self, fields: Fields) -> None:
        super().__init__((), fields)

    def raw_records(self) -> Iterator[RawRecord]:
        raise NotImplementedError("Spark reads rows")

    def parse(self, data: tuple[Any, ...]) -> Record:
        content, key, date, canonical, item = data
        if isinstance(content, bytes | bytearray) and self.fields.is_html:
            content = decode_html(bytes(content))
        return record_of(content, key, date, self.fields, item or MappingProxyType({}), canonical)

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> NoReturn:
        raise NotImplementedError("Spark writes rows")


@dataclass(frozen=True)
class RowReader:
    """Reads rows in the executors: texts in their Python, HTML in a process that may be lost."""

    reader: RecordReader
    preference: Preference
    made_with: MadeWith

    @property
    def needs_item(self) -> bool:
        """Whether all columns of a row count, since they tell its scope."""
        return self.reader.format.fields.with_all

    def to_columns(self, names: Sequence[str]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
        """Return what makes `READ_COLUMNS` of rows with `PARTS`, after the columns *names*."""

        def read(batches: Batches) -> Iterator[pa.RecordBatch]:
            with self._reading() as records_of:
                for batch in _slices(batches):
                    rows = [self._row(record) for record in records_of(_data(batch))]
                    own = [pa.array(values, kind) for values, kind in zip(
                        zip(*rows, strict=True), _TYPES.values(), strict=True)]  # fmt: skip
                    columns = [*(batch.column(name) for name in names), *own]
                    yield pa.RecordBatch.from_arrays(columns, [*names, *_TYPES])

        return read

    def to_fields(self, names: Sequence[str]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
        """Return what makes a `RECORD` of rows with `PARTS`, after the columns *names*."""

        def read(batches: Batches) -> Iterator[pa.RecordBatch]:
            with self._reading() as records_of:
                for batch in _slices(batches):
                    fields = [self._field(record) for record in records_of(_data(batch))]
                    columns = [*(batch.column(name) for name in names), pa.array(fields, _FIELD)]
                    yield pa.RecordBatch.from_arrays(columns, [*names, "record"])

        return read

    @contextmanager
    def _reading(self) -> Iterator[Callable[[list[Any]], Iterable[ReadRecord]]]:
        if not self.reader.format.has_html:
            yield self.reader.read
            return
        pool = WorkerPool(self.reader, page_timeout=self.reader.page_timeout)
        try:
            pool.start()
            yield lambda data: _read_by(pool, data)
        finally:
            pool.close()

    def _row(self, read: ReadRecord) -> tuple[Any, ...]:
        page = read.page
        copy = Copy(page.key, read.canonical, read.length, read.date)
        ranks = [0] if _state(read) == BAD else self.preference.rank(copy)
        preferred = b"".join(rank.to_bytes(8, "big") for rank in ranks)
        return _state(read), preferred, page.key if read.has_key else None, *page[1:]

    def _field(self, read: ReadRecord) -> dict[str, Any] | None:
        return None if _state(read) in (BAD, UNREAD) else to_field(read.page, self.made_with)


def _state(read: ReadRecord) -> str:
    if read.error is not None:
        return BAD
    if read.unread is not None:
        return UNREAD
    return READ if read.has_scope else WITHOUT_SCOPE


def _read_by(pool: WorkerPool, data: Sequence[Any]) -> Iterator[ReadRecord]:
    """Yield what *pool* reads, page by page, so that one that cannot be read is alone."""
    tasks = (pool.submit(ReadTask([one])) for one in data)
    under_way = deque(islice(tasks, _PAGES_UNDER_WAY))
    while under_way:
        try:
            yield from under_way.popleft().result()
        except ReadError as error:
            if error.cause == "start":
                raise
            yield ReadRecord(has_field=True, unread=shorten(f"{error.cause}: {error}"))
        under_way.extend(islice(tasks, 1))


def _slices(batches: Batches) -> Iterator[pa.RecordBatch]:
    """Yield the rows so many at a time as are read at once."""
    return chain.from_iterable(
        (batch.slice(start, _ROWS_OF_A_TASK) for start in range(0, len(batch), _ROWS_OF_A_TASK))
        for batch in batches
    )


def _data(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    nothing = [None] * len(batch)
    columns = (
        _values(batch.column(name), b"" if name == PARTS[0] else None)
        if name in batch.schema.names
        else nothing
        for name in PARTS
    )
    return list(zip(*columns, strict=True))


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


_TYPES = {
    "state": pa.string(), "preferred": pa.binary(), "key": pa.string(), "scope": pa.string(),
    "tokens": pa.int64(), "digest": pa.binary(), "sketch": pa.binary(), "evidence": pa.binary(),
    "is_binary": pa.bool_(), "item": pa.binary(),
}  # fmt: skip
_STRINGS = dict.fromkeys(("method", "digest", "extractor", "item_field", "scope"), pa.string())
_FIELD = pa.struct(
    {
        "key": pa.string(), "scope": pa.string(), "tokens": pa.int64(), "digest": pa.string(),
        "sketch": pa.string(), "evidence": pa.string(), "binary": pa.bool_(),
        "item": pa.string(), "made_with": pa.struct(_STRINGS),
    }
)  # fmt: skip
