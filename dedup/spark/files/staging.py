"""Where the steps of a scan on Spark leave their results, and how they read files."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dedup.records import Folder, RecordError
from dedup.spark.files.job import Job
from dedup.spark.files.splits import Noted, piece_by_piece, size_of_pieces
from dedup.spark.files.storage import Storage


@dataclass(frozen=True)
class Staging:
    """The results of the steps of a *job*: tables and files in the folder *aside*."""

    session: SparkSession
    storage: Storage
    job: Job
    aside: str

    def path(self, name: str) -> str:
        return f"{self.aside}/{name}"

    def table(self, name: str) -> DataFrame:
        """Return the table that a step has written to its `path`."""
        return self.session.read.parquet(self.path(name))

    def notes(self) -> Any:
        """Return an accumulator of what tasks tell, a dict."""
        return self.session.sparkContext.accumulator({}, Noted())

    def pieces(self) -> AbstractContextManager[None]:
        """Have each task read one piece of a file, or some whole files of a folder."""
        if self.job.inputs.kind is Folder:  # small files, each with its number
            return nullcontext()
        size = size_of_pieces(self.session, self.job.inputs, self.job.partitions)
        return piece_by_piece(self.session, size)


@contextmanager
def folder_aside(storage: Storage, output: str) -> Iterator[str]:
    """Yield a new hidden folder beside *output*, and delete it at the end.

    Raises RecordError if there can be none.
    """
    try:
        folder = storage.make_aside(output)
    except OSError as error:
        raise RecordError(str(error)) from error
    try:
        yield folder
    finally:
        with suppress(Exception):  # what went wrong before is more important
            storage.delete(folder)
