"""Matches of nodes -> who is dropped, decided in rounds over all of them, or in one task."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.spark.cut import cut
from dedup.spark.greedy import Standing, decide

_PAIRS_OF_A_TASK = 1 << 20


def standings(links: DataFrame, most: int = _PAIRS_OF_A_TASK) -> DataFrame:
    """Return node and `Standing` of those that have *links*; a node may be missing that is kept.

    *links*: those of `runs.LINKS`. In a round, what has no undecided earlier match is kept, and all
    that match it are dropped. As soon as the pairs that are left are no more than *most*, one task
    decides them, so that a chain of any length needs no more rounds.
    """
    # Who has no earlier one waits for its next comparison.
    pairs = links.where("original is null or original < page").select(
        F.col("original").alias("earlier"), F.col("page").alias("later")
    )
    parts = []
    while (left := pairs.count()) > most:
        kept, dropped = _round(pairs)
        parts.append(dropped.select("node", F.lit(int(Standing.DROPPED)).alias("standing")))
        gone = dropped.select(F.col("node").alias("later"))
        done = kept.union(dropped).select(F.col("node").alias("earlier"))
        pairs = cut(pairs.join(done, "earlier", "left_anti").join(gone, "later", "left_anti"))
        pairs = pairs.select("earlier", "later")
        if pairs.count() == left:  # all wait for some that are incomplete
            ends = pairs.select(F.explode(F.array("earlier", "later")).alias("node"))
            open_ = ends.where("node is not null").distinct()
            parts.append(open_.select("node", F.lit(int(Standing.OPEN)).alias("standing")))
            break
    else:
        parts.append(pairs.repartition(1).mapInArrow(_decide, "node long, standing int"))
    result = parts[0]
    for part in parts[1:]:
        result = result.union(part)
    return cut(result)


def _round(pairs: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return the nodes that are kept now, and those that are dropped for them."""
    ends = pairs.where("earlier is not null").select(
        F.col("earlier").alias("node"), F.lit(False).alias("waits")
    )
    ends = ends.union(pairs.select(F.col("later").alias("node"), F.lit(True).alias("waits")))
    kept = ends.groupBy("node").agg(F.max("waits").alias("waits")).where("not waits").select("node")
    kept = cut(kept)
    of_kept = pairs.join(kept.select(F.col("node").alias("earlier")), "earlier", "left_semi")
    return kept, cut(of_kept.select(F.col("later").alias("node")).distinct())


def _decide(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))]
    for batch in batches:
        is_pair = batch.column("earlier").is_valid()
        later = batch.column("later")
        parts.append(
            (
                batch.column("earlier").drop_null().to_numpy(),
                later.filter(is_pair).to_numpy(),
                later.filter(pa.compute.invert(is_pair)).to_numpy(),
            )
        )
    decided = decide(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    columns = [pa.array(decided.nodes), pa.array(decided.standings.astype(np.int32))]
    yield pa.RecordBatch.from_arrays(columns, ["node", "standing"])
