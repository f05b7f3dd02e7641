"""Parquet, by pyarrow."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Format, Piece, Record, RecordError, columns_of, record_of

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
        self._columns = columns_of(fields, schemas[0].names, paths[0]) if paths else []

    def _read(self, path: Path, file: BinaryIO) -> Iterator[Piece]:
        try:
            for batch in _open(path, file).iter_batches(_ROWS_AT_A_TIME, columns=self._columns):
                columns = batch.to_pydict()
                for row in zip(*columns.values(), strict=True):
                    values = dict(zip(columns, row, strict=True))
                    content = values[self.fields.content]
                    yield len(content) if isinstance(content, str | bytes) else 0, values
        except (OSError, ValueError) as error:  # the bases of pyarrow's errors
            raise ValueError(f"{path} is damaged ({_first_line(error)})") from error

    def parse(self, data: dict[str, Any]) -> Record:
        return record_of(data, self.fields)

    def check_output(self, path: Path) -> None:
        import pyarrow as pa

        super().check_output(path)
        for column in _open(self.paths[0]).schema_arrow:
            try:  # not after hours
                pa.nulls(1, column.type).take(pa.array([0]))
            except NotImplementedError as error:
                raise RecordError(
                    f"{self.paths[0]}: pyarrow cannot select rows of the column {column.name!r} "
                    f"({_first_line(error)}): store it as another type, such as string"
                ) from error

    def _write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.parquet as pq

        flags = np.frombuffer(bytes(keep), np.bool_)
        first = _open(self.paths[0])
        start = 0
        with pq.ParquetWriter(file, first.schema_arrow, compression=_compressions(first)) as writer:
            for input_, opened in self._open_files():
                source = _open(input_, opened)
                for group in range(source.num_row_groups):
                    table = source.read_row_group(group)
                    mask = flags[start : start + len(table)]
                    start += len(table)
                    if mask.any():
                        writer.write_table(table.filter(pa.array(mask)))


def _compressions(file: Any) -> dict[str, str]:
    if not file.metadata.num_row_groups:
        return {}
    group = file.metadata.row_group(0)
    columns = map(group.column, range(group.num_columns))
    return {one.path_in_schema: one.compression.replace("UNCOMPRESSED", "NONE") for one in columns}


def _open(path: Path, file: BinaryIO | None = None) -> Any:
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise RecordError("Parquet needs: pip install 'scrapy-dedup[parquet]'") from error
    try:
        return pq.ParquetFile(file or path)
    except ValueError as error:
        raise RecordError(f"{path} is not a Parquet file ({_first_line(error)})") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
