"""Whether the executors can run what this process sends them."""

from collections.abc import Iterable, Iterator
from functools import partial
from threading import Timer
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from dedup.spark.errors import SparkError, clear_errors

# Of a cluster that has to start machines first.
_SECONDS_TO_BEGIN = 600.0


def check_executors(spark: SparkSession, work: object = None) -> None:
    """Have an executor load *work*; raise SparkError if it cannot, or does not begin in time."""

    context = spark.sparkContext
    tag = f"dedup-begins-{uuid4().hex}"
    is_late = False

    def cancel() -> None:
        nonlocal is_late
        is_late = True
        context.cancelJobsWithTag(tag)

    timer = Timer(_SECONDS_TO_BEGIN, cancel)
    timer.daemon = True
    context.addJobTag(tag)
    timer.start()
    try:
        with clear_errors():
            spark.range(1).mapInArrow(partial(_first_task, work), "id long").collect()
    except SparkError as error:
        if not is_late:
            raise
        raise SparkError(
            f"{context.master} began no task within {_SECONDS_TO_BEGIN:.0f} seconds: does it "
            "have executors, with as much memory and as many cores as were asked for, and are they "
            "free of other jobs?"
        ) from error
    finally:
        timer.cancel()
        context.removeJobTag(tag)


def _first_task(work: object, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import dedup.spark.rows  # noqa: F401  # with all that it needs

    yield from batches
