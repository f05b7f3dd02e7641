"""``dedup scan --spark``: files of JSON lines and of Parquet, by Spark's own readers."""

from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from dedup.preference import Preference
from dedup.records import Format, RecordError, format_of_name
from dedup.records.base import columns_of
from dedup.records.lines import JsonLines, without_verdict
from dedup.records.parquet import Parquet
from dedup.rule import SHORT, Kind, Rule
from dedup.scan.deciding import check_fields
from dedup.scan.reader import COUNTED, RecordReader
from dedup.spark.judge import Batches, cut
from dedup.spark.reading import BAD, READ, UNREAD, RowReader, column, judge_read
from dedup.spark.session import clear_errors

_NUMBER = "__dedup_number"
_PIECE = ["__dedup_input", "__dedup_file", "__dedup_start"]
_PIECES = (
    "__dedup_input int, __dedup_file string, __dedup_start long, __dedup_shift long, "
    "__dedup_first long"
)
_FROM = ["__dedup_file", "__dedup_first"]
_BLANKS = " \t\n\r\x0b\x0c"
_DROPPED = Kind.EXACT.value, Kind.NEAR.value
_SETTINGS = {
    # A file that cannot be read, or is gone, must end the scan: its pages would be gone, too.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # Pages of a megabyte are no rarity.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "256",
}


class Inputs(NamedTuple):
    """Files of one format that Spark reads, and what was named: files, folders and globs."""

    kind: type[Format]
    named: Sequence[str]
    files: Sequence[str]
    nbytes: int


def find_inputs(session: SparkSession, named: Sequence[str]) -> Inputs:
    """Return the files that are *named*; raises RecordError if Spark does not read their format."""
    if hidden := [name for name in named if Path(name).name[:1] in ("_", ".")]:
        raise RecordError(f"{hidden[0]}: Spark reads no files whose names begin with . or _")
    files, in_depth = (_list_files(session, named, is_recursive) for is_recursive in (False, True))
    if nested := sorted(in_depth.keys() - files.keys()):
        raise RecordError(f"{nested[0]} is in a folder within a folder: name the inner one, too")
    kinds = {format_of_name(Path(file)) for file in files}
    if len(kinds) != 1:
        problem = "all inputs must have one format" if files else "there is no file"
        raise RecordError(f"{problem} in {', '.join(named)}")
    [kind] = kinds
    # For .zst, Spark needs a library of the system's.
    if kind not in (JsonLines, Parquet) or any(file.endswith(".zst") for file in files):
        raise RecordError(
            f"{named[0]}: Spark reads JSON lines (.jsonl, .jsonl.gz) and Parquet; without --spark, "
            "dedup scan reads all formats, on one machine"
        )
    return Inputs(kind, named, list(files), sum(files.values()))


def _list_files(session: SparkSession, named: Sequence[str], is_recursive: bool) -> dict[str, int]:
    listed = session.read.option("recursiveFileLookup", is_recursive).format("binaryFile")
    with clear_errors():
        rows = listed.load(list(named)).select("path", "length").collect()
    return {row.path: row.length for row in rows}


def scan_files(
    session: SparkSession,
    inputs: Inputs,
    reader: RecordReader,
    keep: Preference,
    rule: Rule,
    output: str,
    clusters: str | None = None,
    *,
    skip_bad: bool = False,
) -> dict[str, Any]:
    """Write what is kept of *inputs*, and the clusters, to folders; return the figures.

    Raises RecordError for what is wrong with the records, as a scan does, SparkError for what is
    wrong with the cluster.
    """
    for setting in _SETTINGS.items():
        session.conf.set(*setting)
    with clear_errors():
        outputs = [_Output(session, name) for name in (output, clusters) if name]
        rows = _number_rows(session, cut(_read_files(session, inputs)))
        beside = [_NUMBER, *_FROM]
        data = names = [name for name in rows.columns if name not in beside]
        if inputs.kind is Parquet:
            names = columns_of(reader.format.fields, data, inputs.named[0])
        wanted = rows.select(*beside, *map(column, names))
        read = cut(RowReader(reader, names, keep).read(wanted, beside))
        read = read.withColumnRenamed(_NUMBER, "row")
        first_bad = _check_records(read, inputs, reader, skip_bad=skip_bad)
        judged = cut(judge_read(read, reader, rule, ["rank", "row"]))
        left_out = judged.where(F.col("verdict").isin(*_DROPPED, BAD))
        kept = rows.join(left_out.select(F.col("row").alias(_NUMBER)), _NUMBER, "left_anti")
        in_order = kept.repartitionByRange(_NUMBER).sortWithinPartitions(_NUMBER)
        _write(inputs, output, in_order.select(*map(column, data)))
        if clusters:
            _write_clusters(judged, clusters)
        for folder in outputs:
            folder.name_lines()
        return {
            **_figures(judged, rule),
            "first_bad": first_bad,
            "bytes_read": inputs.nbytes,
            "bytes_written": outputs[0].nbytes(),
        }


class _Output:
    """A folder that does not exist yet, on any file system; raises RecordError if it does."""

    def __init__(self, session: SparkSession, name: str) -> None:
        java: Any = session._jvm
        self._path = java.org.apache.hadoop.fs.Path(name)
        self._system = self._path.getFileSystem(session._jsc.hadoopConfiguration())
        if self._system.exists(self._path):
            raise RecordError(f"{name} exists: remove it, or choose another name")

    def name_lines(self) -> None:
        """Rename parts of text: their names say what is in them."""
        for status in self._system.listStatus(self._path):
            path = status.getPath()
            if ".txt" in path.getName():
                name = path.getName().replace(".txt", ".jsonl")
                self._system.rename(path, self._path.suffix(f"/{name}"))

    def nbytes(self) -> int:
        return int(self._system.getContentSummary(self._path).getLength())


def _read_files(session: SparkSession, inputs: Inputs) -> DataFrame:
    """Return what Spark reads, and where each row is from; lines without those that are empty."""
    parts = []
    for number, name in enumerate(inputs.named):
        if inputs.kind is JsonLines:
            lines = session.read.option("lineSep", "\n").text(name)
            rows = lines.where(F.length(F.btrim("value", F.lit(_BLANKS))) > 0)
            own = [F.col("value").cast("binary").alias("value")]
        else:
            rows = session.read.option("mergeSchema", "true").parquet(name)
            own = [column(one) for one in rows.columns]
        source = rows.metadataColumn("_metadata")
        piece = [F.lit(number), source["file_path"], source["file_block_start"]]
        named = [value.alias(own_name) for value, own_name in zip(piece, _PIECE, strict=True)]
        parts.append(rows.select(*named, *own))
    rows = reduce(DataFrame.unionByName, parts)
    return rows.withColumn(_NUMBER, F.monotonically_increasing_id())


def _number_rows(session: SparkSession, rows: DataFrame) -> DataFrame:
    """Number *rows* in the order of a scan, from 0: by input, file, piece of it, and place in that.

    Beside is the file, and the number of its first record.
    """
    counts = rows.groupBy(*_PIECE).agg(F.min(_NUMBER), F.count("*")).collect()
    table, number, first, last = [], 0, 0, None
    for *piece, least, count in sorted(map(tuple, counts)):
        if piece[:2] != last:
            first, last = number, piece[:2]
        table.append((*piece, number - least, first))
        number += count
    joined = rows.join(F.broadcast(session.createDataFrame(table, _PIECES)), _PIECE)
    shifted = joined.withColumn(_NUMBER, F.col(_NUMBER) + F.col("__dedup_shift"))
    return shifted.drop(_PIECE[0], _PIECE[2], "__dedup_shift")


def _check_records(
    read: DataFrame, inputs: Inputs, reader: RecordReader, *, skip_bad: bool
) -> str | None:
    """Return what is wrong with the first bad record; raises RecordError as a scan does."""
    is_bad = F.col("state") == BAD
    [row] = read.agg(
        F.count_if(is_bad).alias("bad"),
        F.count_if(~is_bad).alias("records"),
        F.flatten(F.collect_set(F.when(~is_bad, F.col("fields")))).alias("fields"),
    ).collect()
    first_bad = _first_message(read, BAD) if row.bad else None
    if first_bad and not skip_bad:
        raise RecordError(first_bad)
    check_fields(reader, inputs.files, row.records, row.fields, first_bad)
    return first_bad


def _first_message(read: DataFrame, state: str) -> str | None:
    rows = read.where(F.col("state") == state).orderBy("row").limit(1).collect()
    for row in rows:
        name = unquote(row[_FROM[0]]).removeprefix("file://").removeprefix("file:")
        return f"{name}, record {row.row - row[_FROM[1]] + 1}: {row.message}"
    return None


def _figures(judged: DataFrame, rule: Rule) -> dict[str, Any]:
    verdict, is_read = F.col("verdict"), F.col("state") == READ
    is_short = F.col("sketch").isNull() | (F.col("tokens") < (rule.min_tokens or SHORT))
    counts = {
        "records": F.count("*"),
        "kept": F.count_if(~verdict.isin(*_DROPPED, BAD)),
        **{name: F.count_if(verdict == fate.verdict) for name, fate in COUNTED.items()},
        "clusters": F.count_distinct("original"),
        "kept_short": F.count_if((verdict == READ) & is_short),
        "with_evidence": F.count_if(is_read & F.col("evidence").isNotNull()),
    }
    [row] = judged.agg(*(count.alias(name) for name, count in counts.items())).collect()
    figures: dict[str, Any] = {**row.asDict(), "lost_text": None}
    for name, what in (("kept_by_evidence", "objection"), ("weak", "weakness")):
        rows = judged.where(F.col(what).isNotNull()).groupBy(what).count().collect()
        figures[name] = dict(sorted(map(tuple, rows)))
    figures["first_unread"] = _first_message(judged, UNREAD) if row.kept_unread else None
    return figures


def _write(inputs: Inputs, output: str, kept: DataFrame) -> None:
    if inputs.kind is Parquet:
        kept.write.parquet(output)
        return
    is_packed = all(name.lower().endswith(".gz") for name in inputs.files)
    items = kept.mapInArrow(_items_of_lines, kept.schema)
    lines = items.select(F.col("value").cast("string"))
    lines.write.text(output, compression="gzip" if is_packed else "none", lineSep="\n")


def _items_of_lines(batches: Batches) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        lines = [
            without_verdict(line.removeprefix(BOM_UTF8)) for line in batch["value"].to_pylist()
        ]
        yield pa.RecordBatch.from_arrays([pa.array(lines, pa.binary())], ["value"])


def _write_clusters(judged: DataFrame, folder: str) -> None:
    """Write a line for each kept record that others repeat, as `write_clusters` of a scan does."""
    key = F.when(F.array_contains("fields", "key"), F.col("key"))
    named = [(F.col("row") + 1).alias("number"), key.alias("key")]
    is_exact = (F.col("verdict") == Kind.EXACT.value).alias("exact")
    members = F.sort_array(F.collect_list(F.struct(*named, "distance", is_exact)))
    found = judged.where("original is not null").groupBy("original")
    duplicates = found.agg(members.alias("duplicates"))
    clusters = judged.select(F.col("row").alias("original"), *named).join(duplicates, "original")
    line = F.to_json(F.struct("number", "key", "duplicates"), {"ignoreNullFields": "false"})
    clusters.orderBy("number").select(line).write.text(folder)
