"""DataFrames without what they were made of."""

from pyspark import StorageLevel
from pyspark.sql import DataFrame


def cut(frame: DataFrame) -> DataFrame:
    """Return the rows of *frame*, computed once and for all.

    Rounds refer to those before them several times, so their plans would grow without end. On one
    machine the rows are in memory or on its disk. On a cluster there are two copies of them, on two
    executors: what one of them had is there when it is lost. If two are lost at the same time, the
    job fails; where executors are lost in numbers, ``sparkContext.setCheckpointDir`` has the rows
    written to a file system instead.
    """
    context = frame.sparkSession.sparkContext
    if context.getCheckpointDir() is not None:
        once = frame.persist(StorageLevel.MEMORY_AND_DISK)  # else, it would be computed twice
        written = once.checkpoint()
        once.unpersist()
        return written
    is_local = (context.master or "").startswith("local")
    level = StorageLevel.MEMORY_AND_DISK if is_local else StorageLevel.MEMORY_AND_DISK_2
    return frame.localCheckpoint(storageLevel=level)
