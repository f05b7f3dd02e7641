"""Records -> what becomes of each: Spark finds out what must meet, the judge of a scan the rest."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from dedup.evidence import Evidence, KnownNames, Names
from dedup.methods.base import Method
from dedup.methods.hashing import PLAIN
from dedup.record import PageRecord
from dedup.rule import SHORT, Kind, Rule
from dedup.scan.reader import Fate
from dedup.scan.record_judge import RecordJudge
from dedup.scopes import host
from dedup.spark.matches import connect, find_links

RECORDS_OF_A_TASK = 1 << 18
LINKS_OF_A_TASK = 1 << 23

Batches = Iterable[pa.RecordBatch]
Step = Callable[[Batches], Iterator[pa.RecordBatch]]

_JUDGED_AT_ONCE = 256
_BYTES_AT_ONCE = 1 << 26
_VERDICT = pa.schema([
    ("row", pa.int64()), ("verdict", pa.string()), ("original", pa.int64()),
    ("distance", pa.float64()), ("objection", pa.string()),
])  # fmt: skip


def judge(
    records: DataFrame,
    method: Method,
    rule: Rule,
    order: Sequence[str] = ("row",),
    *,
    has_pages: bool = True,
    records_of_a_task: int = RECORDS_OF_A_TASK,
    links_of_a_task: int = LINKS_OF_A_TASK,
) -> DataFrame:
    """Return row, verdict, original, distance and objection of each of *records*.

    *records* have a number *row* of their own, the columns *order* by which they are judged (whose
    last one is *row*), and those of `PageRecord`; they are read several times. The verdict is a
    value of `Kind`, the original the row of the kept record that a duplicate repeats. The objection
    is why a new record is kept that matches another. *has_pages*: as `RecordJudge` has it; without,
    all have one scope.

    Up to *records_of_a_task*, one task judges all records of a scope. Of more, tasks find out which
    match, and what matches, directly or over others, is judged by one task, in order. It has the
    judge of `dedup scan`: so this is what a scan of these records in this order says. They may
    differ only where a scan has limits: a method may look at some candidates of a key only
    (`Method.candidates_per_key`), and a scan forgets the names that it did not meet for long.

    What shares one key is in the memory of one task.
    """
    records = _with_known_names(records, rule, order) if has_pages else records
    if records.count() <= records_of_a_task:
        return _judge_components(records.withColumn("component", F.xxhash64("scope")), order,
            method, rule, has_pages=has_pages)  # fmt: skip
    nodes = cut(_with_nodes(records, rule))
    compared = nodes.where("is_compared").select("scope", "node", "sketch")
    keyed = compared.mapInArrow(_expand_keys(method), "key long, node long, payload binary")
    runs = keyed.repartition("key").sortWithinPartitions("key")
    links = cut(runs.mapInArrow(_link_runs(method), "one long, other long").distinct())
    placed = nodes.join(find_components(links, links_of_a_task), "node", "left")
    is_alone = F.col("is_long") & F.col("component").isNull() & (F.col("copies") == 1)
    nothing = (F.lit(None).cast(kind) for kind in ("long", "double", "string"))
    alone = placed.where(is_alone).select("row", F.lit(Kind.NEW.value), *nothing)
    together = placed.where(~is_alone).withColumn("component", F.coalesce("component", "node"))
    return _judge_components(together, order, method, rule, has_pages=has_pages).union(alone)


def _with_nodes(records: DataFrame, rule: Rule) -> DataFrame:
    """Return *records* with the node of each: the first of those with an equal text.

    Of the sketches of a node, each is compared once. What has no text is alone.
    """
    textless = F.when(F.col("digest").isNull(), F.col("row"))
    is_long = F.col("sketch").isNotNull() & (F.col("tokens") >= (rule.min_tokens or SHORT))
    equal = Window.partitionBy("scope", "digest", "textless")
    same = Window.partitionBy("scope", "digest", "textless", "sketch", "is_long")
    return (
        records.withColumns(
            {"textless": textless, "is_long": is_long & F.col("digest").isNotNull()}
        )
        .withColumn("node", F.min("row").over(equal))
        .withColumn("copies", F.count("*").over(equal))
        .withColumn("is_compared", F.col("is_long") & (F.min("row").over(same) == F.col("row")))
        .drop("textless")
    )


def _expand_keys(method: Method) -> Step:
    def expand(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            keys, counts, payloads = method.keys_of_many(batch["sketch"].to_pylist())
            names = batch["scope"].to_pylist()
            scopes = np.array([PLAIN.part_digest(name) if name else 0 for name in names], np.uint64)
            # A scan takes keys for equal that agree in their lowest 32 bits.
            keys = (keys & np.uint64(0xFFFFFFFF)) ^ np.repeat(scopes, counts)
            owners = pa.array(np.repeat(np.arange(len(counts)), counts))
            columns = [pa.array(keys.view(np.int64)), batch["node"].take(owners)]
            columns.append(pa.array(list(payloads), pa.binary()).take(owners))
            yield pa.RecordBatch.from_arrays(columns, ["key", "node", "payload"])

    return expand


def _link_runs(method: Method) -> Step:
    def link(batches: Batches) -> Iterator[pa.RecordBatch]:
        for runs in _whole_runs(batches):
            keys, nodes = (runs[name].to_numpy() for name in ("key", "node"))
            columns = find_links(method, keys, nodes, runs["payload"].to_pylist())
            yield pa.RecordBatch.from_arrays(list(map(pa.array, columns)), ["one", "other"])

    return link


def _whole_runs(batches: Batches) -> Iterator[pa.Table]:
    """Yield the rows of some whole runs at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if sum(part.nbytes for part in waiting) > _BYTES_AT_ONCE:
            is_other = batch["key"].to_numpy() != waiting[-1]["key"][-1].as_py()
            if is_other.any():
                start = int(is_other.argmax())
                yield pa.Table.from_batches([*waiting, batch.slice(0, start)])
                waiting, batch = [], batch.slice(start)
        if len(batch):
            waiting.append(batch)
    if waiting:
        yield pa.Table.from_batches(waiting)


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


def _judge_components(
    records: DataFrame, order: Sequence[str], method: Method, rule: Rule, *, has_pages: bool
) -> DataFrame:
    names = dict.fromkeys([*order, *PageRecord._fields, *(KnownNames._fields * has_pages)])
    in_order = (
        records.select("component", *names)
        .repartition("component")
        .sortWithinPartitions(*_ascending(order))
    )
    judge_rows = _judge_rows(method, rule, has_pages=has_pages)
    return in_order.mapInArrow(judge_rows, from_arrow_schema(_VERDICT))


def _judge_rows(method: Method, rule: Rule, *, has_pages: bool) -> Step:
    def judge_all(batches: Batches) -> Iterator[pa.RecordBatch]:
        names, rows = _NamesBefore(), array("q")
        record_judge = RecordJudge(method, rule, has_pages=has_pages, names=names)
        outcome = record_judge.outcome
        for part in slices(batches, _JUDGED_AT_ONCE):
            first, repeats = len(rows), len(outcome.duplicates)
            columns = (part[name].to_pylist() for name in PageRecord._fields)
            records = [
                (number, PageRecord(*values), None)
                for number, values in enumerate(zip(*columns, strict=True), first)
            ]
            rows.extend(part["row"].to_pylist())
            outcome.fates.extend([Fate.NEW] * len(records))
            objections: list[str | None] = [None] * len(records)
            if has_pages:
                known = (part[name].to_pylist() for name in KnownNames._fields)
                for place, of_page in enumerate(zip(*known, strict=True)):
                    is_known = None not in of_page
                    names.known = KnownNames(*map(frozenset, of_page)) if is_known else None
                    before = outcome.objections.copy()
                    record_judge.judge(records[place : place + 1])
                    objections[place] = next(map(str, outcome.objections - before), None)
            else:
                record_judge.judge(records)
            originals: list[int | None] = [None] * len(records)
            distances: list[float | None] = [None] * len(records)
            for place in range(repeats, len(outcome.duplicates)):
                at = outcome.duplicates[place] - first
                originals[at] = rows[outcome.originals[place]]
                distances[at] = outcome.distances[place]
            verdicts = [Fate(fate).verdict for fate in outcome.fates[first:]]
            values = rows[first:].tolist(), verdicts, originals, distances, objections
            arrays = [pa.array(*pair) for pair in zip(values, _VERDICT.types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, schema=_VERDICT)

    return judge_all


def _ascending(order: Sequence[str]) -> list[Column]:
    return [F.col(name).asc_nulls_last() for name in order]


def slices(batches: Batches, size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of *batches*, up to *size* at a time."""
    for batch in batches:
        yield from (batch.slice(start, size) for start in range(0, len(batch), size))


# --- the names of sites, which a scan learns of all pages of a host, whatever they match


_NAMES = pa.list_(pa.binary())
_KNOWN_DDL = ", ".join(["row long", *(f"{name} array<binary>" for name in KnownNames._fields)])


class _NamesBefore(Names):
    """What was found out before of the names of the page."""

    known: KnownNames | None = None

    def learn(self, host: str, page: Evidence) -> None: ...

    def of(self, host: str, page: Evidence) -> KnownNames | None:
        return self.known


def _with_known_names(records: DataFrame, rule: Rule, order: Sequence[str]) -> DataFrame:
    """Return *records* with what is known of the names of each, by the records before it."""
    if rule.demands is None:
        return records.withColumns(
            dict.fromkeys(KnownNames._fields, F.lit(None).cast("array<binary>"))
        )
    names = list(dict.fromkeys([*order, "key", "evidence"]))
    pages = records.where("evidence is not null").select(*names)
    hosts = pages.withColumn("host", F.udf(lambda key: host(key))("key"))
    in_order = hosts.repartition("host").sortWithinPartitions("host", *_ascending(order))
    return records.join(in_order.mapInArrow(_find_known_names, _KNOWN_DDL), "row", "left")


def _find_known_names(batches: Batches) -> Iterator[pa.RecordBatch]:
    names, current = Names(), None
    for batch in batches:
        found = []
        for own, data in zip(batch["host"].to_pylist(), batch["evidence"].to_pylist(), strict=True):
            if own != current:
                names, current = Names(), own
            page = Evidence.from_bytes(data)
            known = names.of(own, page)
            found.append(
                [None] * len(KnownNames._fields) if known is None else list(map(list, known))
            )
            names.learn(own, page)
        columns = [pa.array(column, _NAMES) for column in zip(*found, strict=True)]
        yield pa.RecordBatch.from_arrays([batch["row"], *columns], ["row", *KnownNames._fields])
