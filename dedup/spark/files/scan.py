"""A scan of files on Spark: read, judge, write aside, put in place."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pyspark.sql import SparkSession

from dedup.spark.errors import clear_errors
from dedup.spark.files.first_pass import read_files
from dedup.spark.files.inputs import check_unchanged
from dedup.spark.files.job import Figures, Job, check_outputs
from dedup.spark.files.left_out import Losses
from dedup.spark.files.second_pass import NEW, write_clusters, write_kept
from dedup.spark.files.splits import settings, size_of_pieces
from dedup.spark.files.staging import Staging, folder_aside
from dedup.spark.files.storage import Storage, local_path
from dedup.spark.files.tables import describe_tables
from dedup.spark.files.verdicts import judge_records

_SETTINGS = {
    # A file that cannot be read, or is gone, must end the scan: its pages would be gone, too.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Each task writes one file, whose name says which.
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # Pages of a megabyte are no rarity.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "256",
}


def scan_files(session: SparkSession, job: Job) -> Figures:
    """Scan the files of *job*, as `dedup.scan.scan` does, and write folders of what is kept.

    Raises RecordError for what is wrong with the records, as a scan does, SparkError for what is
    wrong with the cluster. Then there is no output.
    """
    storage = Storage(session)
    check_outputs(storage, job)
    size = size_of_pieces(session, job.inputs, job.partitions)
    # What is shuffled is a small part of what is read.
    parts = max(-(-job.inputs.nbytes // size), session.sparkContext.defaultParallelism)
    own = {**_SETTINGS, "spark.sql.shuffle.partitions": str(job.partitions or parts)}
    with ExitStack() as stack:
        stack.enter_context(settings(session, own))
        stack.enter_context(clear_errors())
        aside = stack.enter_context(folder_aside(storage, job.output))
        # Beside where they will be: a rename may not lead to another file system.
        clusters = stack.enter_context(folder_aside(storage, job.clusters or job.output))
        if not (session.sparkContext.master or "").startswith("local"):
            # Executors may be lost in numbers: nothing shall be with them alone.
            stack.enter_context(checkpoints(session, f"{aside}/rounds"))
        return _scan(Staging(session, storage, job, aside), clusters)


def _scan(staging: Staging, clusters: str) -> Figures:
    """Scan, and put the results in place; *clusters* is a folder for those, aside."""
    storage, job = staging.storage, staging.job
    figures = Figures(bytes_read=job.inputs.nbytes)
    tables = describe_tables(storage, job.inputs)
    records = read_files(staging, tables, figures)
    duplicates = judge_records(staging, records, figures)
    losses = Losses(records)
    write_kept(staging, records, duplicates, tables.compression, figures, losses.add)
    losses.finish(duplicates, figures)
    lines = None if job.clusters is None else write_clusters(storage, records, duplicates, clusters)
    check_unchanged(storage, job.inputs)
    storage.rename(staging.path(NEW), job.output)
    if job.clusters is not None and lines is not None:
        storage.rename(lines, job.clusters)
    if local_path(storage.full(job.output)) is None:
        # Where a rename is a copy of one file after the other, this one tells that it is whole.
        storage.touch(f"{job.output.rstrip('/')}/_SUCCESS")
    return figures


@contextmanager
def checkpoints(session: SparkSession, folder: str) -> Iterator[None]:
    """Have Spark keep checkpoints in *folder*, unless it has one for them, and then no longer."""
    context = session.sparkContext
    if context.getCheckpointDir() is not None:
        yield
        return
    context.setCheckpointDir(folder)
    try:
        yield
    finally:
        context.setCheckpointDir(None)  # type: ignore[arg-type]  # as Spark itself takes it
