"""A scan of files on Spark: read, judge, write aside, put in place."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    contextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.pandas.types import from_arrow_schema

from dedup.extraction import Extractor
from dedup.methods.base import Method
from dedup.preference import Preference
from dedup.records import Fields, Folder, RecordError
from dedup.records.parquet import Parquet
from dedup.records.warc import Warc
from dedup.rule import Kind, Rule
from dedup.scan.fields_seen import FieldsSeen
from dedup.scopes import Scope
from dedup.spark.files.clusters import lines_of_clusters
from dedup.spark.files.inputs import Inputs, check_unchanged
from dedup.spark.files.reading import READ, Plan, read_records
from dedup.spark.files.splits import (
    Noted,
    Place,
    piece_by_piece,
    rows_of,
    settings,
    size_of_pieces,
)
from dedup.spark.files.storage import Storage, local_path
from dedup.spark.files.writing import (
    LINES,
    Flags,
    Kept,
    copied_archives,
    copied_pages,
    kept_lines,
    kept_of_files,
    kept_rows,
)
from dedup.spark.judge import judge
from dedup.spark.session import SparkError, clear_errors

# The flags of so many records are in the memory of the driver, and of each task, at a time: 64 MB.
_RECORDS_AT_ONCE = 1 << 29
_ROWS_OF_A_PARTITION = 33  # bits, as monotonically_increasing_id has them
_SETTINGS = {
    # A file that cannot be read, or is gone, must end the scan: its pages would be gone, too.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # Each task writes one file, whose name says which.
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.caseSensitive": "true",
    "spark.sql.session.timeZone": "UTC",
    # Pages of a megabyte are no rarity.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "256",
}
_JUDGED = "key", "scope", "tokens", "digest", "sketch", "evidence", "is_binary"


@dataclass(frozen=True)
class Job:
    """What to do: which files to read and how, and where the results go."""

    inputs: Inputs
    fields: Fields
    method: Method
    extractor: Extractor
    output: str
    scope: Scope | None = None
    keep: Preference = field(default_factory=lambda: Preference([]))
    rule: Rule = field(default_factory=Rule)
    skip_bad: bool = False
    clusters: str | None = None
    partitions: int | None = None


@dataclass
class Figures:
    """How many records there are, and what became of them."""

    records: int = 0
    kept: int = 0
    exact_duplicates: int = 0
    near_duplicates: int = 0
    clusters: int = 0
    kept_empty: int = 0
    kept_short: int = 0
    kept_unread: int = 0
    kept_without_scope: int = 0
    with_evidence: int = 0
    weak: dict[str, int] = field(default_factory=dict)
    bad: int = 0
    first_bad: str | None = None
    first_unread: str | None = None
    bytes_read: int = 0
    bytes_written: int = 0


def check_outputs(storage: Storage, job: Job) -> None:
    """Raise RecordError if an output exists, or cannot be where it is named."""
    outputs = [name for name in (job.output, job.clusters) if name]
    for name in outputs:
        if storage.exists(name):
            raise RecordError(f"{name} exists; name a folder that does not")
    if len(set(map(storage.full, outputs))) < len(outputs):
        raise RecordError(f"{job.output} is named for two outputs")
    is_local = local_path(storage.full(job.output)) is not None
    if job.inputs.kind in (Warc, Folder) and not is_local:
        raise RecordError(
            f"{job.output} must be a local or a mounted folder: records of WARC and files of "
            "folders are copied there by the tasks themselves"
        )


def scan_files(session: SparkSession, job: Job) -> Figures:
    """Scan the files of *job*, as `dedup.scan.scan` does, and write folders of what is kept.

    Raises RecordError for what is wrong with the records, as a scan does, SparkError for what is
    wrong with the cluster. Then there is no output.
    """
    storage = Storage(session)
    check_outputs(storage, job)
    size = size_of_pieces(session, job.inputs, job.partitions)
    # What is shuffled is a small part of what is read.
    parts = max(-(-job.inputs.nbytes // size), session.sparkContext.defaultParallelism)
    own = {**_SETTINGS, "spark.sql.shuffle.partitions": str(job.partitions or parts)}
    with ExitStack() as stack:
        stack.enter_context(settings(session, own))
        stack.enter_context(clear_errors())
        aside = stack.enter_context(_folder_aside(storage, job.output))
        # Beside where they will be: a rename may not lead to another file system.
        clusters = stack.enter_context(_folder_aside(storage, job.clusters or job.output))
        context = session.sparkContext
        if not (context.master or "").startswith("local") and context.getCheckpointDir() is None:
            # Executors may be lost in numbers: nothing shall be with them alone.
            context.setCheckpointDir(f"{aside}/rounds")
        scan = _Scan(session, storage, job, aside, clusters)
        scan.read()
        scan.judge()
        scan.write()
        check_unchanged(storage, job.inputs)
        scan.put_in_place()
        return scan.figures


def _remove_leavings(folder: Path) -> None:
    """Remove what tasks that were killed have begun to write; what is whole has another name."""
    for path in folder.rglob(".*.part"):
        path.unlink(missing_ok=True)


@contextmanager
def _folder_aside(storage: Storage, output: str) -> Iterator[str]:
    try:
        folder = storage.make_aside(output)
    except OSError as error:
        raise RecordError(str(error)) from error
    try:
        yield folder
    finally:
        with suppress(Exception):  # what went wrong before is more important
            storage.delete(folder)


class _Scan:
    """The steps of a scan, each of which leaves its result in files in a folder *aside*."""

    def __init__(
        self, session: SparkSession, storage: Storage, job: Job, aside: str, clusters: str
    ) -> None:
        self.figures = Figures(bytes_read=job.inputs.nbytes)
        self._session = session
        self._storage = storage
        self._job = job
        self._aside = aside
        self._aside_of_clusters = clusters
        self._size = size_of_pieces(session, job.inputs, job.partitions)
        self._columns, self._compression = self._describe_tables()
        self._plan = Plan(
            job.inputs,
            job.fields,
            job.method,
            job.extractor,
            job.scope,
            job.keep,
            job.clusters is not None,
            self._columns,
        )
        # The first number and the count of each piece of a file.
        self._bases: dict[Place, int] = {}
        self._counts: dict[Place, int] = {}
        self._parts = 0
        self._has_short = False
        self._is_short = F.col("sketch").isNull() | (F.col("tokens") < job.rule.min_tokens)
        self._duplicates: DataFrame

    def _describe_tables(self) -> tuple[tuple[str, ...], str]:
        """Return the columns and the compression of Parquet; raises RecordError if schemas differ.

        Spark would take nothing for the columns that a file has not, and leave out others.
        """
        columns: list[str] = []
        compression, first_schema = "none", None
        if self._job.inputs.kind is not Parquet:
            return (), compression
        for file in self._job.inputs.files:
            try:
                reader = self._storage.parquet(file.path)
            except Exception as error:
                raise RecordError(f"{file.name} is not a Parquet file") from error
            try:
                schema = reader.getFileMetaData().getSchema()
                if first_schema is None:
                    first_schema = str(schema)
                    columns = [str(part.getName()) for part in schema.getFields()]
                    blocks = reader.getFooter().getBlocks()
                    if len(blocks):
                        codec = blocks[0].getColumns()[0].getCodec()
                        compression = str(codec.name()).lower()
                elif str(schema) != first_schema:
                    first = self._job.inputs.files[0].name
                    raise RecordError(f"the schemas of {file.name} and {first} differ")
            finally:
                reader.close()
        return tuple(columns), compression.replace("uncompressed", "none")

    # The first pass.

    def read(self) -> None:
        """Read all records; raises RecordError for a bad one, and for fields that are nowhere."""
        job, plan = self._job, self._plan
        told, headers = self._noted(), self._noted()
        columns = None
        if job.inputs.kind is Parquet:
            assert isinstance(plan.format, Parquet)
            columns = list(dict.fromkeys(filter(None, plan.format.columns)))
        with self._pieces():
            if job.inputs.files:
                rows = rows_of(self._session, job.inputs, job.inputs.files, columns)
                read = rows.mapInArrow(read_records(plan, told, headers), from_arrow_schema(READ))
            else:
                read = self._session.createDataFrame([], from_arrow_schema(READ))
            read.write.parquet(self._of("read"))
        self._check_files(headers.value)
        self._number_records(sum(told.value.values()))
        self._check_records()

    def _check_files(self, columns: Mapping[int, Any]) -> None:
        """Raise RecordError if the *columns* of files differ, SparkError if one was not read."""
        files = self._job.inputs.files
        if self._job.inputs.is_split or self._job.inputs.kind is Folder:
            return
        for number, file in enumerate(files):
            if number not in columns:
                raise SparkError(f"Spark has not read {file.name}")
            if columns[number] != columns[0]:
                raise RecordError(f"the columns of {file.name} and {files[0].name} differ")

    def _number_records(self, expected: int) -> None:
        """Find out the number of the first record of each piece; each has a count of its own."""
        is_table = self._job.inputs.kind is Parquet
        rows = self._staged("read").groupBy("file", "start").agg(F.count("*").alias("count"))
        base, base_of_file, last = 0, 0, -1
        for file, start, count in sorted(map(tuple, rows.collect())):
            if file != last:
                base_of_file, last = base, file
            # The rows of a table are numbered within their file.
            self._bases[file, start] = base_of_file if is_table else base
            self._counts[file, start] = count
            base += count
        if base != expected:
            raise SparkError(
                f"the executors have read {expected:,} records, and {base:,} of them are in "
                f"{self._aside}: {self._job.output} must be where all executors and this machine "
                "see the same"
            )
        if self._job.inputs.kind is Folder and base != len(self._job.inputs.files):
            raise SparkError(f"Spark has read {base:,} of {len(self._job.inputs.files):,} files")
        self.figures.records = base

    def _numbered(self) -> DataFrame:
        """Return what was read, with numbers over all files."""
        bases = [(*piece, base) for piece, base in self._bases.items()]
        table = self._session.createDataFrame(bases, "file int, start long, base long")
        read = self._staged("read").join(F.broadcast(table), ["file", "start"])
        return read.withColumn("number", F.col("base") + F.col("place"))

    def _check_records(self) -> None:
        figures, job = self.figures, self._job
        if not figures.records:
            self._fields_seen().check()
        is_bad = F.col("error").isNotNull()
        is_unread = ~is_bad & F.col("unread").isNotNull()
        is_without = ~is_bad & ~is_unread & ~F.col("has_scope")
        is_seen = ~is_bad
        [row] = (
            self._staged("read")
            .agg(
                F.count_if(is_bad).alias("bad"),
                F.count_if(is_unread).alias("unread"),
                F.count_if(is_without).alias("without"),
                F.count_if(F.col("evidence").isNotNull()).alias("with_evidence"),
                F.count_if(is_seen & self._is_short).alias("short"),
                *(
                    F.count_if(is_seen & F.col(name)).alias(name)
                    for name in ("has_field", "has_key", "has_date", "has_canonical", "has_scope")
                ),
            )
            .collect()
        )
        figures.bad, figures.kept_unread = row.bad, row.unread
        figures.kept_without_scope = row.without
        figures.with_evidence = row.with_evidence
        self._has_short = row.short > 0
        if row.with_evidence:
            weak = self._staged("read").where("weakness <> ''").groupBy("weakness").count()
            figures.weak = {found.weakness: found["count"] for found in weak.collect()}
        if row.bad:
            figures.first_bad = self._first(is_bad, "error")
            if not job.skip_bad:
                raise RecordError(figures.first_bad)
        if row.unread:
            figures.first_unread = self._first(is_unread, "unread")
        seen = self._fields_seen()
        if figures.records > row.bad:
            seen.note(
                figures.records - row.bad,
                text=row.has_field > 0,
                key=row.has_key > 0,
                date=row.has_date > 0,
                canonical=row.has_canonical > 0,
                has_scope=row.has_scope > 0,
            )
        seen.check()

    def _fields_seen(self) -> FieldsSeen:
        job = self._job
        names = dict.fromkeys(file.name for file in job.inputs.files)
        return FieldsSeen(job.fields, job.scope, names, job.inputs.links_left_out)

    def _first(self, condition: Any, column: str) -> str:
        """Return the message of the first record that meets a *condition*, with its place."""
        [row] = self._numbered().where(condition).orderBy("number").limit(1).collect()
        if self._job.inputs.kind is Folder:
            name, number = self._job.inputs.files[row.place].name, row.number
        else:
            name = self._job.inputs.files[row.file].name
            first = min(base for (file, _), base in self._bases.items() if file == row.file)
            number = row.number - first
        return f"{name}, record {number + 1}: {row[column]}"

    # What becomes of the records.

    def judge(self) -> None:
        """Judge all records, and note who repeats whom."""
        is_judged = "error is null and unread is null and has_scope"
        records = self._numbered().where(is_judged)
        is_ordered = any(name != "first" for name in self._job.keep.names)
        ranks = self._ranks(records) if is_ordered else None
        if ranks is None:
            records = records.withColumn("rank", F.col("number"))
        else:
            records = records.join(ranks, "number")
        judged = judge(
            records.select("rank", *_JUDGED),
            self._job.method,
            self._job.rule,
            partitions=self._job.partitions,
        )
        judged.write.parquet(self._of("verdicts"))
        verdicts = self._staged("verdicts")
        figures = self.figures
        [counts] = verdicts.agg(
            *(
                F.count_if(F.col("verdict") == kind.value).alias(kind.name)
                for kind in (Kind.NEW, Kind.EXACT, Kind.NEAR, Kind.SKIPPED)
            ),
            F.count_distinct("original").alias("originals"),
        ).collect()
        figures.exact_duplicates = counts.EXACT
        figures.near_duplicates = counts.NEAR
        figures.kept_empty = counts.SKIPPED
        figures.clusters = counts.originals
        expected = figures.records - figures.bad - figures.kept_unread - figures.kept_without_scope
        found = counts.NEW + counts.EXACT + counts.NEAR + counts.SKIPPED
        if found != expected:
            raise SparkError(f"{expected:,} records were judged, and {found:,} have a verdict")
        figures.kept = figures.records - figures.bad - counts.EXACT - counts.NEAR
        if self._has_short:
            new = verdicts.where(F.col("verdict") == Kind.NEW.value).select("rank")
            short = records.where(self._is_short).join(new, "rank", "left_semi")
            figures.kept_short = short.count()
        self._note_duplicates(verdicts, ranks)

    def _ranks(self, records: DataFrame) -> DataFrame:
        """Return the number of each of *records*, and its rank in the order of the preference."""
        order = records.select("number", "preference").orderBy("preference", "number")
        order.select("number", F.monotonically_increasing_id().alias("place")).write.parquet(
            self._of("order")
        )
        order = self._staged("order")
        part = F.shiftright("place", _ROWS_OF_A_PARTITION).cast("int").alias("part")
        counts = order.groupBy(part).count().collect()
        bases, base = [], 0
        for row in sorted(counts):
            bases.append((row.part, base - (row.part << _ROWS_OF_A_PARTITION)))
            base += row["count"]
        table = self._session.createDataFrame(bases, "part int, base long")
        placed = order.withColumn("part", part).join(F.broadcast(table), "part")
        return placed.select("number", (F.col("base") + F.col("place")).alias("rank"))

    def _note_duplicates(self, verdicts: DataFrame, ranks: DataFrame | None) -> None:
        """Find the number, the original's number and the distance of each duplicate."""
        is_exact = (F.col("verdict") == Kind.EXACT.value).alias("is_exact")
        found = verdicts.where("original is not null").select(
            "rank", "original", "distance", is_exact
        )
        if ranks is None:
            self._duplicates = found.withColumnRenamed("rank", "number")
            return
        of_original = ranks.select(
            F.col("rank").alias("original"), F.col("number").alias("number_of_original")
        )
        found = found.join(ranks, "rank").join(of_original, "original").drop("rank", "original")
        found = found.withColumnRenamed("number_of_original", "original")
        found.write.parquet(self._of("duplicates"))
        self._duplicates = self._staged("duplicates")
        if self._duplicates.count() != self.figures.exact_duplicates + self.figures.near_duplicates:
            raise SparkError("not all duplicates are there any more")

    # The second pass.

    def write(self) -> None:
        """Write what is kept into files aside, and the clusters."""
        is_bad = F.col("error").isNotNull()
        left_out = self._duplicates.select("number")
        if self.figures.bad:
            left_out = left_out.union(self._numbered().where(is_bad).select("number"))
        self._storage.make_folder(self._of("new"))
        is_folder = self._job.inputs.kind is Folder
        for group, files in enumerate(self._groups()):
            pieces = [piece for piece in self._bases if is_folder or piece[0] in files]
            if pieces:
                self._write_group(group, files, pieces, left_out)
        self._write_clusters()
        size = sum(entry.size for entry in self._storage.files_below(self._of("new")))
        self.figures.bytes_written = size

    def _groups(self) -> Iterator[range]:
        """Yield the numbers of files that are written in one job."""
        first, records = 0, 0
        count_of: dict[int, int] = {}
        for (file, _), count in self._counts.items():
            count_of[file] = count_of.get(file, 0) + count
        files = len(self._job.inputs.files)
        if self._job.inputs.kind is not Folder:
            for file in range(files):
                if records + count_of.get(file, 0) > _RECORDS_AT_ONCE and file > first:
                    yield range(first, file)
                    first, records = file, 0
                records += count_of.get(file, 0)
        yield range(first, files)

    def _write_group(
        self, group: int, files: range, pieces: Sequence[Place], left_out: DataFrame
    ) -> None:
        job, plan = self._job, self._plan
        first = min(self._bases[piece] for piece in pieces)
        count = sum(self._counts[piece] for piece in pieces)
        context = self._session.sparkContext
        flags = context.broadcast(self._flags(left_out, first, count))
        expected = count - flags.value.count
        kept = Kept(plan, self._bases, self._counts, flags)
        told = self._noted()
        new = self._of("new")
        here = local_path(self._storage.full(new))
        with self._pieces():
            rows = rows_of(
                self._session, job.inputs, [job.inputs.files[file] for file in files], None
            )
            target = self._of(f"written{group}")
            if job.inputs.kind is Warc:
                assert here is not None
                rows.mapInArrow(copied_archives(kept, told, here), LINES).collect()
                _remove_leavings(here)
                names = [name for name in here.iterdir() if name.name.startswith("part-")]
                self._check_written(len(names), len(told.value))
            elif job.inputs.kind is Folder:
                assert here is not None
                rows.mapInArrow(copied_pages(kept, told, here), LINES).collect()
                _remove_leavings(here)
                found = sum(name.is_file() for name in here.rglob("*"))
                self._check_written(found, sum(told.value.values()))
            elif job.inputs.kind is Parquet:
                schema = rows.drop("_path", "_start", "_row").schema
                table = rows.mapInArrow(kept_rows(kept, told), schema)
                table.write.option("compression", self._compression).parquet(target)
                self._name_parts(target, told.value)
            else:
                tasks = kept_lines if job.inputs.is_split else kept_of_files
                compression = "gzip" if job.inputs.suffix.endswith(".gz") else "none"
                text = rows.mapInArrow(tasks(kept, told), LINES)
                text.write.text(target, compression=compression, lineSep="\n")
                self._name_parts(target, told.value)
        flags.destroy()
        # Of lines and rows, a task tells the piece, too.
        counts = (own[1] if isinstance(own, tuple) else own for own in told.value.values())
        if (written := sum(counts)) != expected:
            raise SparkError(f"{expected:,} records are to be kept, and {written:,} were written")

    def _flags(self, left_out: DataFrame, first: int, count: int) -> Flags:
        flags = Flags(first, count)
        one = F.col("number") + 1  # Spark counts from 1
        rows = (
            left_out.where(F.col("number").between(first, first + count - 1))
            .select(
                F.bitmap_bucket_number(one).alias("bucket"),
                F.bitmap_bit_position(one).alias("bit"),
            )
            .groupBy("bucket")
            .agg(F.bitmap_construct_agg("bit").alias("bits"))
        )
        for row in rows.toLocalIterator():
            flags.add(row.bucket - 1, bytes(row.bits))
        return flags

    def _name_parts(self, folder: str, told: Mapping[int, tuple[Place, int]]) -> None:
        """Give the files that Spark has written to *folder* names in the order of the records."""
        files = {}
        for entry in self._storage.files_below(folder):
            name = entry.path.rpartition("/")[2]
            if name.startswith("part-"):
                number = int(name.split("-")[1])
                if number in files:
                    raise SparkError(f"task {number} has written several files, not one")
                files[number] = entry.path
        with_records = {task: piece for task, (piece, count) in told.items() if count}
        self._check_written(len(files.keys() & with_records), len(with_records))
        for task in sorted(with_records, key=with_records.__getitem__):
            name = f"part-{self._parts:05d}{self._job.inputs.suffix}"
            self._storage.rename(files[task], f"{self._of('new')}/{name}")
            self._parts += 1

    def _check_written(self, found: int, expected: int) -> None:
        if found != expected:
            raise SparkError(
                f"of {expected:,} files that the executors have written, {found:,} are there: "
                f"{self._job.output} must be where all executors and this machine see the same"
            )

    def _write_clusters(self) -> None:
        if self._job.clusters is None:
            return
        names = self._numbered().select("number", "name")
        lines = lines_of_clusters(self._duplicates, names)
        aside = self._aside_of_clusters
        lines.write.text(f"{aside}/clusters", lineSep="\n")
        self._storage.make_folder(f"{aside}/lines")
        entries = self._storage.files_below(f"{aside}/clusters")
        paths = (entry.path for entry in entries if "/part-" in entry.path and entry.size)
        for number, path in enumerate(sorted(paths)):
            self._storage.rename(path, f"{aside}/lines/part-{number:05d}.jsonl")

    def put_in_place(self) -> None:
        """Rename what is written to what it was asked to be."""
        job = self._job
        self._storage.rename(self._of("new"), job.output)
        if job.clusters is not None:
            self._storage.rename(f"{self._aside_of_clusters}/lines", job.clusters)
        if local_path(self._storage.full(job.output)) is None:
            # Where a rename is a copy of one file after the other, this one tells that it is whole.
            self._storage.touch(f"{job.output.rstrip('/')}/_SUCCESS")

    def _pieces(self) -> AbstractContextManager[None]:
        if self._job.inputs.kind is Folder:  # small files, each with its number
            return nullcontext()
        return piece_by_piece(self._session, self._size)

    def _noted(self) -> Any:
        return self._session.sparkContext.accumulator({}, Noted())

    def _of(self, name: str) -> str:
        return f"{self._aside}/{name}"

    def _staged(self, name: str) -> DataFrame:
        return self._session.read.parquet(self._of(name))
