"""How much text a scan on Spark leaves out that stands in no record it keeps."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from dedup.arrays import Array
from dedup.lost_text import LostTextSample, Sequences
from dedup.spark.files.first_pass import Records
from dedup.spark.files.job import Figures
from dedup.spark.files.reading import task
from dedup.spark.files.writing import Kept
from dedup.text import from_utf8

_SAMPLED = "number long, is_kept boolean, different long, sample binary"


class Losses:
    """The sample of the texts of kept and of left out records, as a scan on one machine has it.

    Its threshold is known since all were read. So the tasks send the driver no more than what is in
    it, which is bounded.
    """

    def __init__(self, records: Records) -> None:
        """Create it without texts."""
        self._records = records
        self._sample = LostTextSample()

    def add(self, kept: Kept, first: int, count: int) -> None:
        """Take note of *count* records from number *first* on, which the flags of *kept* know."""
        if not self._records.have_texts:
            return
        told = self._records.staging.notes()
        halvings = self._records.halvings
        texts = self._records.numbered().where(F.col("different").isNotNull())
        texts = texts.where(F.col("number").between(first, first + count - 1))
        texts = texts.select("number", "different", "sample")
        rest = 0
        for row in texts.mapInArrow(_sampled(kept, halvings, told), _SAMPLED).collect():
            own = Sequences(row.different, halvings, bytes(row.sample))
            if row.is_kept:
                self._sample.add_kept(own)
            else:
                self._sample.add_dropped(own, str(row.number))
                rest -= row.different
        # Of the others, nothing is in the sample.
        rest += sum(told.value.values())
        self._sample.add_dropped(Sequences(rest, halvings, b""))

    def finish(self, duplicates: DataFrame, figures: Figures) -> None:
        """Put the estimate into *figures*; *duplicates* have number and original.

        There is none if a record came without its words.
        """
        if not self._records.have_texts:
            return
        figures.lost_text = self._sample.result()
        lossiest = self._sample.lossiest()
        if not lossiest:
            return
        is_lossy = F.col("number").isin([int(drop.key) for drop in lossiest])
        found = duplicates.where(is_lossy).select("number", "original").collect()
        of = {row.number: row.original for row in found}
        figures.lossiest = [
            (int(drop.key), of[int(drop.key)], round(drop.lost), drop.sequences)
            for drop in lossiest
        ]
        if self._records.plan.with_keys:
            is_named = F.col("number").isin([*of, *of.values()]) & F.col("name").isNotNull()
            names = self._records.numbered().where(is_named).select("number", "name").collect()
            figures.names = {number: from_utf8(bytes(name)) for number, name in names}


def _sampled(
    kept: Kept, halvings: int, told: Any
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return what turns number, different and sample into the rows of which some is sampled.

    *told* is an accumulator: of how many different sequences the left out ones have, by task.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sequences = 0
        for batch in batches:
            is_kept = kept.flags.value.are_kept(batch.column("number").to_numpy())
            sequences += int(batch.column("different").to_numpy()[~is_kept].sum())
            samples = [sample or b"" for sample in batch.column("sample").to_pylist()]
            counts = _counts_below(samples, halvings)
            [found] = np.nonzero(counts)
            own = [samples[place][: 8 * counts[place]] for place in found.tolist()]
            rows = batch.take(pa.array(found))
            columns = [rows.column("number"), pa.array(is_kept[found]), rows.column("different")]
            columns.append(pa.array(own, pa.binary()))
            yield pa.RecordBatch.from_arrays(columns, _NAMES)
        told.add({task(): sequences})

    return read


def _counts_below(samples: list[bytes], halvings: int) -> Array:
    """Return how many of each of *samples*, whose hashes ascend, are in one halved so often."""
    sizes = np.array([len(sample) for sample in samples], np.int64) // 8
    hashes = np.frombuffer(b"".join(samples), "<u8")
    ends = np.cumsum(sizes)
    below = np.append(0, np.cumsum(hashes <= np.uint64((1 << 64 - halvings) - 1)))
    return below[ends] - below[ends - sizes]  # type: ignore[no-any-return]


_NAMES = [column.split()[0] for column in _SAMPLED.split(", ")]
