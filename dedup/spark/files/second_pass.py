"""The second pass on Spark, as the driver sees it: what is kept is written into files aside."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark import Broadcast
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.records import Folder
from dedup.records.parquet import Parquet
from dedup.records.warc import Warc
from dedup.spark.errors import SparkError
from dedup.spark.files.clusters import lines_of_clusters
from dedup.spark.files.first_pass import Records
from dedup.spark.files.job import Figures
from dedup.spark.files.lines import LINES
from dedup.spark.files.splits import PLACES, Place, rows_of
from dedup.spark.files.staging import Staging
from dedup.spark.files.storage import Storage, local_path
from dedup.spark.files.writing import (
    Flags,
    Kept,
    copied_archives,
    copied_pages,
    kept_lines,
    kept_of_files,
    kept_rows,
    part_name,
)

NEW = "new"
"""The folder of what is kept, aside."""
# The flags of so many records are in the memory of the driver, and of each task, at a time: 64 MB.
_RECORDS_AT_ONCE = 1 << 29


def write_kept(
    staging: Staging,
    records: Records,
    duplicates: DataFrame,
    compression: str,
    figures: Figures,
    look: Callable[[Kept, int, int], object],
) -> None:
    """Write all *records* but *duplicates* and bad ones into the folder `NEW`.

    *compression* is that of Parquet. *look* may look at what tells which are kept, for so many
    records from a number on, as long as it is there. Raises SparkError if some are not there
    afterwards.
    """
    left_out = duplicates.select("number")
    if figures.bad:
        bad = records.numbered().where(F.col("error").isNotNull())
        left_out = left_out.union(bad.select("number"))
    staging.storage.make_folder(staging.path(NEW))
    writer = _Writer(staging, records, left_out, compression, look)
    for group, files in enumerate(_groups(records)):
        writer.write(group, files)
    size = sum(entry.size for entry in staging.storage.files_below(staging.path(NEW)))
    figures.bytes_written = size


def write_clusters(storage: Storage, records: Records, duplicates: DataFrame, folder: str) -> str:
    """Write the clusters below *folder*; return the folder that has them."""
    lines = lines_of_clusters(duplicates, records.numbered().select("number", "name"))
    lines.write.text(f"{folder}/clusters", lineSep="\n")
    storage.make_folder(f"{folder}/lines")
    written = _files_by_task(storage, f"{folder}/clusters")
    for number, task in enumerate(sorted(written)):
        name = part_name(number, len(written), ".jsonl")
        storage.rename(written[task], f"{folder}/lines/{name}")
    return f"{folder}/lines"


def _groups(records: Records) -> Iterator[range]:
    """Yield the numbers of files that are written in one job."""
    first, at_once = 0, 0
    count_of: dict[int, int] = {}
    for (file, _), count in records.counts.items():
        count_of[file] = count_of.get(file, 0) + count
    files = len(records.plan.inputs.files)
    if records.plan.inputs.kind is not Folder:
        for file in range(files):
            if at_once + count_of.get(file, 0) > _RECORDS_AT_ONCE and file > first:
                yield range(first, file)
                first, at_once = file, 0
            at_once += count_of.get(file, 0)
    yield range(first, files)


class _Writer:
    """Writes groups of files, one after the other, in one job each."""

    def __init__(
        self,
        staging: Staging,
        records: Records,
        left_out: DataFrame,
        compression: str,
        look: Callable[[Kept, int, int], object],
    ) -> None:
        self._staging = staging
        self._records = records
        self._left_out = left_out
        self._compression = compression
        self._look = look
        self._inputs = records.plan.inputs
        self._parts = 0

    def write(self, group: int, files: range) -> None:
        """Write what is kept of *files*; raises SparkError if some is not there afterwards."""
        is_folder = self._inputs.kind is Folder
        pieces = [piece for piece in self._records.bases if is_folder or piece[0] in files]
        if not pieces:
            return
        count = sum(self._records.counts[piece] for piece in pieces)
        first = min(self._records.bases[piece] for piece in pieces)
        flags = self._flags(first, count)
        kept = Kept(self._records.plan, self._records.bases, self._records.counts, flags)
        expected = count - flags.value.count
        told = self._staging.notes()
        with self._staging.pieces():
            rows = rows_of(
                self._staging.session,
                self._inputs,
                [self._inputs.files[file] for file in files],
                None,
            )
            if self._inputs.kind in (Warc, Folder):
                self._copy(rows, kept, told)
            else:
                self._write_parts(rows, kept, told, self._staging.path(f"written{group}"))
        self._look(kept, first, count)
        flags.destroy()
        # Of lines and rows, a task tells the piece, too.
        counts = (own[1] if isinstance(own, tuple) else own for own in told.value.values())
        if (written := sum(counts)) != expected:
            raise SparkError(f"{expected:,} records are to be kept, and {written:,} were written")

    def _flags(self, first: int, count: int) -> "Broadcast[Flags]":
        """Send every executor a bit for each of *count* records from number *first* on."""
        flags = Flags(first, count)
        one = F.col("number") + 1  # Spark counts from 1
        rows = (
            self._left_out.where(F.col("number").between(first, first + count - 1))
            .select(
                F.bitmap_bucket_number(one).alias("bucket"),
                F.bitmap_bit_position(one).alias("bit"),
            )
            .groupBy("bucket")
            .agg(F.bitmap_construct_agg("bit").alias("bits"))
        )
        for row in rows.toLocalIterator():
            flags.add(row.bucket - 1, bytes(row.bits))
        return self._staging.session.sparkContext.broadcast(flags)

    def _copy(self, rows: DataFrame, kept: Kept, told: Any) -> None:
        """Have the tasks themselves write whole files to where they will be."""
        here = local_path(self._staging.storage.full(self._staging.path(NEW)))
        assert here is not None
        is_folder = self._inputs.kind is Folder
        copied: Callable[[Kept, Any, Path], Any] = copied_pages if is_folder else copied_archives
        rows.mapInArrow(copied(kept, told, here), LINES).collect()
        _remove_leavings(here)
        found = sum(path.is_file() for path in here.rglob("*" if is_folder else "part-*"))
        self._check_written(found, sum(told.value.values()) if is_folder else len(told.value))

    def _write_parts(self, rows: DataFrame, kept: Kept, told: Any, target: str) -> None:
        """Have Spark write parts to *target*, and move them to where they will be."""
        if self._inputs.kind is Parquet:
            schema = rows.drop(*PLACES).schema
            table = rows.mapInArrow(kept_rows(kept, told), schema)
            table.write.option("compression", self._compression).parquet(target)
        else:
            tasks = kept_lines if self._inputs.is_split else kept_of_files
            compression = "gzip" if self._inputs.suffix.endswith(".gz") else "none"
            text = rows.mapInArrow(tasks(kept, told), LINES)
            text.write.text(target, compression=compression, lineSep="\n")
        self._name_parts(target, told.value)

    def _name_parts(self, folder: str, told: Mapping[int, tuple[Place, int]]) -> None:
        """Give the files that Spark has written to *folder* names in the order of the records."""
        files = _files_by_task(self._staging.storage, folder)
        with_records = {task: piece for task, (piece, count) in told.items() if count}
        self._check_written(len(files.keys() & with_records), len(with_records))
        for task in sorted(with_records, key=with_records.__getitem__):
            # No piece has more than one part.
            name = part_name(self._parts, len(self._records.bases), self._inputs.suffix)
            self._staging.storage.rename(files[task], self._staging.path(f"{NEW}/{name}"))
            self._parts += 1

    def _check_written(self, found: int, expected: int) -> None:
        if found != expected:
            raise SparkError(
                f"of {expected:,} files that the executors have written, {found:,} are there: "
                f"{self._staging.job.output} must be where all executors and this machine see the "
                "same"
            )


def _remove_leavings(folder: Path) -> None:
    """Remove what tasks that were killed have begun to write; what is whole has another name."""
    for path in folder.rglob(".*.part"):
        if path.is_file():
            path.unlink(missing_ok=True)


def _files_by_task(storage: Storage, folder: str) -> dict[int, str]:
    """Return the file with content that each task has written to *folder*, by its number."""
    files: dict[int, str] = {}
    for entry in storage.files_below(folder):
        name = entry.path.rpartition("/")[2]
        if name.startswith("part-") and entry.size:
            number = int(name.split("-")[1])
            if number in files:
                raise SparkError(f"task {number} has written several files, not one")
            files[number] = entry.path
    return files
