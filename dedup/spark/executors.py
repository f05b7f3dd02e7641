"""Whether the executors can run what this process sends them."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Event, Thread
from uuid import uuid4

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from dedup.spark.errors import SparkError, clear_errors


def check_executors(
    spark: SparkSession, work: object = None, *, seconds: float | None = None
) -> None:
    """Have an executor load *work*; raise SparkError if it cannot, or not within *seconds*."""
    with _limit(spark.sparkContext, seconds), clear_errors():
        spark.range(1).mapInArrow(partial(_first_task, work), "id long").collect()


@contextmanager
def _limit(context: SparkContext, seconds: float | None) -> Iterator[None]:
    """Cancel what is begun meanwhile after *seconds*, and raise SparkError then."""
    if seconds is None:
        yield
        return
    tag = f"dedup-{uuid4().hex}"
    is_late, is_over = Event(), Event()

    def cancel() -> None:
        if is_over.wait(seconds):
            return
        is_late.set()
        context.cancelJobsWithTag(tag)
        while not is_over.wait(1):  # it had not been submitted yet
            context.cancelJobsWithTag(tag)

    context.addJobTag(tag)
    Thread(target=cancel, daemon=True).start()
    try:
        yield
    except SparkError as error:
        if not is_late.is_set():
            raise
        raise SparkError(
            f"{context.master} began no task within {seconds:.0f} seconds: does it have "
            "executors, with as much memory and as many cores as were asked for, and are they "
            "free of other jobs?"
        ) from error
    finally:
        is_over.set()
        context.removeJobTag(tag)


def _first_task(work: object, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import dedup.spark.rows  # noqa: F401  # with all that it needs

    yield from batches
