"""Files as rows: each partition of a DataFrame is one piece of a file, so that order is known."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import quote

from pyspark.accumulators import AccumulatorParam
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from dedup.records.lines import JsonLines
from dedup.records.parquet import Parquet
from dedup.spark.columns import column
from dedup.spark.files.inputs import InputFile, Inputs
from dedup.spark.files.storage import literal, local_path

_LEAST = 1 << 20
_MOST = 128 << 20
_FILES_OF_A_TASK = 100

PATH, START, ROW = PLACES = "__dedup_path", "__dedup_start", "__dedup_row"
"""The columns that say where a row is from: its file, the start of its piece, of tables its row."""
Place = tuple[int, int]
"""A piece of a file: the number of the file, and where it begins, in bytes."""


class Noted(AccumulatorParam[dict[Any, Any]]):
    """What tasks tell the driver, by task; the last attempt counts."""

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {}

    def addInPlace(  # noqa: N802  # as PySpark has it
        self, value1: dict[Any, Any], value2: dict[Any, Any]
    ) -> dict[Any, Any]:
        value1.update(value2)
        return value1


@contextmanager
def settings(session: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Have *session* use these settings, and then again its own."""
    before = {name: session.conf.get(name, None) for name in values}
    for name, value in values.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, own in before.items():
            if own is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, own)


def piece_by_piece(session: SparkSession, size: int) -> AbstractContextManager[None]:
    """Have each partition of the files that are read be one piece of up to *size* bytes.

    Spark packs several into one by default, the largest first.
    """
    names = "spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"
    return settings(session, dict.fromkeys(names, str(size)))


def size_of_pieces(session: SparkSession, inputs: Inputs, partitions: int | None) -> int:
    """Return how large pieces have to be for so many, by default some for each core."""
    if partitions is None:
        wanted = 3 * session.sparkContext.defaultParallelism
        return min(max(inputs.nbytes // wanted, _LEAST), _MOST)
    return max(-(-inputs.nbytes // partitions), 1)


def rows_of(
    session: SparkSession, inputs: Inputs, files: Sequence[InputFile], columns: Sequence[str] | None
) -> DataFrame:
    """Return the content of *files* as rows: of lines, of Parquet, or of whole files.

    Each has the path and the start of its piece. *columns* are those of Parquet, ``None`` for all.
    What is whole and on this machine has no content, since tasks open it themselves.
    """
    paths = [literal(file.path) for file in files]
    if inputs.is_split and inputs.kind is JsonLines:
        # The bytes stay as they are: nothing is decoded on the way.
        value = F.col("value").cast("binary").alias("value")
        lines = session.read.text(paths, lineSep="\n")
        return lines.select(*_places(lines, PATH, START), value)
    if inputs.is_split and inputs.kind is Parquet:
        table = session.read.parquet(*paths)
        names = table.columns if columns is None else columns
        return table.select(*_places(table, PATH, START, ROW), *map(column, names))
    zero = F.lit(0).cast("long").alias(START)
    if all(local_path(file.path) for file in files):
        rows = [(file.path,) for file in files]
        tasks = len(rows) if not files[0].below else -(-len(rows) // _FILES_OF_A_TASK)
        told = session.sparkContext.parallelize(rows, tasks)
        table = session.createDataFrame(told, f"{PATH} string")
        return table.select(PATH, zero, F.lit(None).cast("binary").alias("content"))
    table = session.read.format("binaryFile").load(paths)
    table = table.select(*_places(table, PATH), zero, "content")
    # Spark reads no file that is empty.
    empty = [(quote(file.path), 0, b"") for file in files if not file.size]
    if not empty:
        return table
    schema = f"{PATH} string, {START} long, content binary"
    return table.union(session.createDataFrame(empty, schema))


_METADATA = {PATH: "file_path", START: "file_block_start", ROW: "row_index"}


def _places(rows: DataFrame, *names: str) -> list[Column]:
    """Return what says where *rows* are from, although they may have a column _metadata, too."""
    metadata = rows.metadataColumn("_metadata")
    return [metadata[_METADATA[name]].alias(name) for name in names]
