"""Which titles and headlines are those of a site, found out for each page in its turn."""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.evidence import Evidence, Names
from dedup.scopes import host
from dedup.spark.witnesses import flags_of


def with_common_names(records: DataFrame) -> DataFrame:
    """Return *records* with a column *common*: which names of each its host gave to many before."""
    pages = records.where("evidence is not null").select("rank", "key", "evidence")
    hosts = pages.mapInArrow(_hosts, "rank long, host string, evidence binary")
    in_order = hosts.repartition("host").sortWithinPartitions("host", "rank")
    flags = in_order.mapInArrow(_flags, "rank long, common int")
    joined = records.join(flags, "rank", "left")
    return joined.withColumn("common", F.coalesce("common", F.lit(0)))


def _hosts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        hosts = pa.array([host(key or "") for key in batch.column("key").to_pylist()])
        columns = [batch.column("rank"), hosts.cast(pa.string()), batch.column("evidence")]
        yield pa.RecordBatch.from_arrays(columns, ["rank", "host", "evidence"])


def _flags(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the flags of pages, which come by host, in their order; those that have any."""
    names, current = Names(), None
    for batch in batches:
        ranks, flags = [], []
        for rank, own, data in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if own != current:
                names, current = Names(), own
            page = Evidence.from_bytes(data)
            if common := flags_of(names, own, page):
                ranks.append(rank)
                flags.append(common)
            names.learn(own, page)
        columns = [pa.array(ranks, pa.int64()), pa.array(flags, pa.int32())]
        yield pa.RecordBatch.from_arrays(columns, ["rank", "common"])
