"""Links -> what is connected, in one task or in rounds over all of them."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.spark.matches import connect

LINKS_OF_A_TASK = 1 << 23


def find_components(links: DataFrame, links_of_a_task: int = LINKS_OF_A_TASK) -> DataFrame:
    """Return node and component, the least node of what is connected, of those that have *links*.

    *links*: one and other, each pair once. Up to *links_of_a_task*, one task connects them.

    Source: Kiveris et al., "Connected Components in MapReduce and Beyond", SOCC 2014 (large-star
    and small-star).
    """
    before = None
    while (state := _state(links))[0] > links_of_a_task and state != before:
        before = state
        both = links.union(links.select("other", "one"))
        least = both.groupBy("one").agg(F.least("one", F.min("other")).alias("least"))
        large = both.join(least, "one").where("other > one").select("other", "least").distinct()
        large = large.toDF("one", "other")
        small = large.join(large.groupBy("one").agg(F.min("other").alias("least")), "one")
        ends = small.select("one", "least").union(
            small.where("other != least").select("other", "least")
        )
        links = cut(ends.distinct().toDF("one", "other"))
    if state[0] <= links_of_a_task:
        return links.repartition(1).mapInArrow(_connect, "node long, component long")
    stars = links.toDF("node", "component")
    return stars.union(stars.select("component", "component").distinct())


def _state(links: DataFrame) -> tuple[Any, ...]:
    return tuple(links.agg(F.count("*"), F.bit_xor(F.xxhash64("one", "other"))).collect()[0])


def _connect(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = [np.stack([batch["one"].to_numpy(), batch["other"].to_numpy()]) for batch in batches]
    links = np.concatenate([np.empty((2, 0), np.int64), *parts], axis=1)
    columns = [pa.array(column) for column in connect(*links)]
    yield pa.RecordBatch.from_arrays(columns, ["node", "component"])


def cut(frame: DataFrame) -> DataFrame:
    """Return the rows of *frame*, computed once and for all.

    On one machine the rows are in memory or on its disk. On a cluster there are two copies of them,
    on two executors, so that one may be lost. If both are, the job fails.
    """
    is_local = (frame.sparkSession.sparkContext.master or "").startswith("local")
    level = StorageLevel.MEMORY_AND_DISK if is_local else StorageLevel.MEMORY_AND_DISK_2
    return frame.localCheckpoint(storageLevel=level)
