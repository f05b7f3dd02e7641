"""Which records were kept for which, as `dedup scan` writes it, from rows."""

import json
from collections.abc import Iterator
from itertools import chain, groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.spark.files.lines import LINES, as_lines
from dedup.text import from_utf8

_CLUSTERS_OF_A_BATCH = 64


def lines_of_clusters(duplicates: DataFrame, names: DataFrame) -> DataFrame:
    """Return the lines of the clusters, in order over the partitions.

    *duplicates*: number, original (a number), distance and is_exact; *names*: number and name.
    """
    of_original = names.select(F.col("number").alias("original"), F.col("name").alias("of"))
    rows = duplicates.join(names, "number").join(of_original, "original")
    columns = "original", "of", "number", "name", "distance", "is_exact"
    ordered = rows.select(*columns).repartitionByRange("original")
    return ordered.sortWithinPartitions("original", "number").mapInArrow(_lines, LINES)


def _lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = chain.from_iterable(
        zip(*(column.to_pylist() for column in batch.columns), strict=True) for batch in batches
    )
    lines: list[bytes] = []
    for (original, of), members in groupby(rows, itemgetter(0, 1)):
        duplicates = [
            {**_name(number, name), "distance": round(distance, 4), "exact": is_exact}
            for _, _, number, name, distance, is_exact in members
        ]
        line = {**_name(original, of), "duplicates": duplicates}
        lines.append(json.dumps(line, ensure_ascii=False).encode("utf-8", "backslashreplace"))
        if len(lines) == _CLUSTERS_OF_A_BATCH:
            yield as_lines(lines)
            lines = []
    yield as_lines(lines)


def _name(number: int, name: bytes | None) -> dict[str, Any]:
    key = None if name is None else from_utf8(name)
    return {"number": number + 1, "key": key}
