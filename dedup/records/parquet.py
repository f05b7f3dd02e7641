"""Parquet, by pyarrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import (
    Fields,
    Format,
    RawRecord,
    Record,
    RecordError,
    check_column,
    columns_of,
    record_of,
)

_ROWS_AT_A_TIME = 256


class Parquet(Format):
    """Parquet tables; the output keeps row groups, schema, metadata and compression.

    All files must have the same schema. HTML may be stored as bytes.
    """

    name = "parquet"
    suffixes = (".parquet", ".pq")

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        super().__init__(paths, fields)
        schemas = [_open(path).schema_arrow for path in paths]
        for path, schema in zip(paths, schemas, strict=True):
            if not schema.equals(schemas[0]):
                raise RecordError(f"the schemas of {path} and {paths[0]} differ")
        names = schemas[0].names
        self._all_columns = list(dict.fromkeys(names)) if fields.with_all else []
        for name in self._all_columns:
            check_column(name, names, paths[0])
        self._columns = [*columns_of(fields, names, paths[0]), *self._all_columns]

    def raw_records(self) -> Iterator[RawRecord]:
        for path, before, size_of_file in self._passed():
            number = 0
            file = _open(path)
            columns = list(dict.fromkeys(filter(None, self._columns)))
            try:
                for batch in file.iter_batches(_ROWS_AT_A_TIME, columns=columns):
                    values = batch.to_pydict()
                    rows = zip(*(
                        values[name] if name else [None] * len(batch) for name in self._columns
                    ), strict=True)  # fmt: skip
                    for row in rows:
                        number += 1
                        size = len(row[0]) if isinstance(row[0], str | bytes) else 0
                        yield RawRecord(str(path), number, size, row)
                    self.bytes_read = before + size_of_file * number // file.metadata.num_rows
            except (OSError, ValueError) as error:  # the bases of pyarrow's errors
                raise RecordError(f"{path} is damaged ({_first_line(error)})") from error

    def parse(self, data: tuple[Any, ...]) -> Record:
        content, key, date, canonical, *row = data
        all_fields = dict(zip(self._all_columns, row, strict=True))
        return record_of(content, key, date, self.fields, all_fields, canonical)

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        flags = np.frombuffer(bytes(keep), np.bool_)
        first = _open(self.paths[0])
        start = 0
        with pq.ParquetWriter(file, first.schema_arrow, compression=_compressions(first)) as writer:
            for input_, before, size in self._passed():
                source = _open(input_)
                for group in range(source.num_row_groups):
                    self.bytes_read = before + size * group // source.num_row_groups
                    table = source.read_row_group(group)
                    mask = flags[start : start + len(table)]
                    start += len(table)
                    if mask.any():
                        writer.write_table(table.filter(pa.array(mask)))


def _compressions(file: Any) -> dict[str, str]:
    if file.metadata.num_row_groups == 0:
        return {}
    group = file.metadata.row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    return {
        column.path_in_schema: "NONE"
        if column.compression == "UNCOMPRESSED"
        else column.compression
        for column in columns
    }


def _open(path: Path) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise RecordError("Parquet needs: pip install 'scrapy-dedup[parquet]'") from error
    try:
        return pq.ParquetFile(path)
    except ValueError as error:
        raise RecordError(f"{path} is not a Parquet file ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
