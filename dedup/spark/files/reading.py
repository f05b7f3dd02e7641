"""The first pass over files, in tasks of Spark: what is left of each record without its text."""

import os
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyspark import SparkFiles, TaskContext

from dedup.evidence import Evidence
from dedup.extraction import Extractor
from dedup.lost_text import SampleSize
from dedup.methods.base import Method
from dedup.preference import Copy, Preference, first
from dedup.records import Fields, Folder, Format, RawRecord, RecordError
from dedup.records.lines import LONGEST_LINE, TOO_LONG, JsonLines
from dedup.records.parquet import Parquet
from dedup.scan.fields_seen import FieldsSeen
from dedup.scan.reader import ReadRecord, RecordReader
from dedup.scan.record_stream import pool_for, read_raws
from dedup.scopes import Scope, host
from dedup.spark.files.inputs import InputFile, Inputs
from dedup.spark.files.splits import PATH, ROW, START, Place
from dedup.spark.files.storage import as_listed, local_path
from dedup.text import to_utf8

READ = pa.schema([
    ("file", pa.int32()), ("start", pa.int64()), ("place", pa.int64()),
    ("error", pa.string()), ("unread", pa.string()),
    ("has_field", pa.bool_()), ("has_key", pa.bool_()), ("has_date", pa.bool_()),
    ("has_canonical", pa.bool_()), ("has_scope", pa.bool_()),
    ("name", pa.binary()), ("preference", pa.binary()), ("weakness", pa.string()),
    ("key", pa.string()), ("scope", pa.string()), ("tokens", pa.int64()),
    ("digest", pa.binary()), ("sketch", pa.binary()), ("evidence", pa.binary()),
    ("is_binary", pa.bool_()), ("different", pa.int64()), ("sample", pa.binary()),
])  # fmt: skip
"""A record as it was read: where it is, what is wrong with it, and what is judged.

*name* is its key for the clusters, *preference* sorts as its ranks do, *different* and *sample* are
those of its `Sequences`: of a sample of all that its task had read by then, or of a larger one.
"""
_ROWS = 256
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Plan:
    """What tasks need to read files; sent to each."""

    inputs: Inputs
    fields: Fields
    method: Method
    extractor: Extractor
    scope: Scope | None
    keep: Preference
    with_keys: bool
    page_timeout: float
    columns: tuple[str, ...] = ()
    """All columns, of Parquet."""

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each file, by its path."""
        return {file.path: number for number, file in enumerate(self.inputs.files)}

    @cached_property
    def format(self) -> Format:
        """What parses the records of files that are not read as a whole."""
        if self.inputs.kind is Parquet:
            return Parquet.with_columns(self.columns, self.inputs.files[0].name, self.fields)
        return self.inputs.kind([], self.fields)

    @property
    def has_html(self) -> bool:
        return self.fields.is_html or self.inputs.kind.name == "warc" or self.inputs.has_html

    def file(self, number: int) -> InputFile:
        return self.inputs.files[number]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def read_records(
    plan: Plan, told: Any, headers: Any
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """Return what turns rows of files, as `rows_of` has them, into `READ`.

    *told* and *headers* are accumulators: of how many there are, with the
    `SampleSize.sizes` of all that are judged, by the number of the task, and of the columns of each
    file that is read as a whole, by its number.
    """

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = FieldsSeen(plan.fields, plan.scope, ())
        count = 0
        texts = SampleSize()
        rows: list[tuple[Any, ...]] = []
        for piece, place, record in _read(plan, batches, headers, lambda: texts.halvings):
            if piece == (0, 0) and record.error is None:
                seen.see(record)
            rows.append(_row(plan, piece, place, record, texts))
            count += 1
            if len(rows) == _ROWS:
                yield _batch(rows)
                rows = []
        yield _batch(rows)
        told.add({task(): (count, texts.sizes())})

    return read


def task() -> int:
    """Return the number of the task that this process is at."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _batch(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(READ)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, READ, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=READ)


def _read(
    plan: Plan, batches: Iterator[pa.RecordBatch], headers: Any, halvings: Callable[[], int]
) -> Iterator[tuple[Place, int, ReadRecord]]:
    """Yield all records of the rows of a task, with their pieces and places in these.

    *halvings* tells which sample of the `Sequences` is wanted of the next ones.
    """
    if plan.inputs.kind is Folder:
        with _folder_of_task() as folder:
            raws = _raws_of_folder(plan, batches, folder)
            yield from _read_raws(plan, plan.format, raws, halvings)
    elif plan.inputs.is_split and plan.inputs.kind is JsonLines:
        yield from _read_raws(plan, plan.format, _raws_of_lines(plan, batches), halvings)
    elif plan.inputs.is_split:
        yield from _read_raws(plan, plan.format, _raws_of_table(plan, batches), halvings)
    else:
        for number, path in whole_files(plan, batches):
            format_ = open_format(plan, number, path)
            headers.add({number: getattr(format_, "columns", None)})
            raws = (((number, 0), place, raw) for place, raw in enumerate(format_.raw_records()))
            yield from _read_raws(plan, format_, raws, halvings)


def _read_raws(
    plan: Plan,
    format_: Format,
    raws: Iterable[tuple[Place, int, RawRecord]],
    halvings: Callable[[], int],
) -> Iterator[tuple[Place, int, ReadRecord]]:
    under_way: deque[tuple[Place, int]] = deque()

    def noted() -> Iterator[RawRecord]:
        for piece, place, raw in raws:
            under_way.append((piece, place))
            yield raw

    reader = RecordReader(
        format_, plan.method, plan.extractor, plan.scope, page_timeout=plan.page_timeout
    )
    has_html = plan.has_html
    with pool_for(reader, 1, has_html=has_html) as pool:
        for pairs in read_raws(noted(), pool, 1, halvings, has_html=has_html):
            for _, record in pairs:
                yield *under_way.popleft(), record


def lines_of(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Place, int, bytes]]:
    """Yield the lines of a task that are records, with their piece and places in that."""
    only: Place | None = None
    place = 0
    for batch in batches:
        only = piece_of(plan, batch, only)
        for line in batch.column("value").to_pylist():
            if only[1] == 0 and place == 0:
                line = line.removeprefix(_BOM)
            if line and not line.isspace():
                yield only, place, line
                place += 1


def piece_of(plan: Plan, batch: pa.RecordBatch, only: Place | None) -> Place:
    """Return the one piece that the rows of *batch* are of, which must be *only*, if any."""
    [path, *paths] = pa.compute.unique(batch.column(PATH)).to_pylist()
    [start, *starts] = pa.compute.unique(batch.column(START)).to_pylist()
    piece = plan.numbers[as_listed(path)], start
    if paths or starts or only not in (None, piece):
        raise RuntimeError("a task has several pieces of files: spark.sql.files.* is not as set")
    return piece


def _raws_of_lines(
    plan: Plan, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[Place, int, RawRecord]]:
    for piece, place, line in lines_of(plan, batches):
        if len(line) >= LONGEST_LINE:
            yield piece, place, RawRecord("", place, 0, None, TOO_LONG)
        else:
            yield piece, place, RawRecord("", place, len(line), line + b"\n")


def _raws_of_table(
    plan: Plan, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[Place, int, RawRecord]]:
    assert isinstance(plan.format, Parquet)
    only: Place | None = None
    for batch in batches:
        if not len(batch):
            continue
        only = piece_of(plan, batch, only)
        values = batch.to_pydict()
        columns = (values[name] if name else [None] * len(batch) for name in plan.format.columns)
        for place, *row in zip(values[ROW], *columns, strict=True):
            size = len(row[0]) if isinstance(row[0], str | bytes) else 0
            yield only, place, RawRecord("", place, size, tuple(row))


def _raws_of_folder(
    plan: Plan, batches: Iterator[pa.RecordBatch], folder: str
) -> Iterator[tuple[Place, int, RawRecord]]:
    """Yield the files of a folder: all are of one piece, with their numbers as places."""
    for number, content in rows_of_files(plan, batches):
        file = plan.file(number)
        root = root_of(file) if content is None else folder
        if content is not None:
            put(content, file, Path(folder) / file.below)
        yield (0, 0), number, RawRecord("", number, file.size, (root, file.below))


def root_of(file: InputFile) -> str:
    """Return the folder, on this machine, that a file is below of."""
    path = local_path(file.path)
    assert path is not None
    return str(path).removesuffix(file.below)


def rows_of_files(
    plan: Plan, batches: Iterator[pa.RecordBatch]
) -> Iterator[tuple[int, bytes | None]]:
    """Yield the number of each file of a task, and its content if it is not on this machine."""
    for batch in batches:
        for path, content in zip(
            batch.column(PATH).to_pylist(), batch.column("content").to_pylist(), strict=True
        ):
            yield plan.numbers[path if content is None else as_listed(path)], content


def whole_files(plan: Plan, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, Path]]:
    """Yield the number of each file of a task, and where it is on this machine until the next."""
    for number, content in rows_of_files(plan, batches):
        file = plan.file(number)
        if content is None:
            path = local_path(file.path)
            assert path is not None
            yield number, path
            continue
        with _folder_of_task() as folder:
            yield number, put(content, file, Path(folder) / PurePosixPath(file.path).name)


def _folder_of_task() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that goes with the executor, if the task has no time to delete it."""
    return tempfile.TemporaryDirectory(prefix="dedup-", dir=SparkFiles.getRootDirectory())


def put(content: bytes, file: InputFile, path: Path) -> Path:
    """Write the *content* of a file to *path*, with its date."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    os.utime(path, (file.modified / 1000,) * 2)
    return path


def open_format(plan: Plan, number: int, path: Path) -> Format:
    """Return the format of a whole file; raises RecordError with its name if it is not of that."""
    try:
        return plan.inputs.kind([path], plan.fields)
    except RecordError as error:
        raise RecordError(str(error).replace(str(path), plan.file(number).name)) from error


def _row(
    plan: Plan, piece: Place, place: int, read: ReadRecord, texts: SampleSize
) -> tuple[Any, ...]:
    """Return what *read* is in `READ`; if it is judged, its text is one of *texts* from now on."""
    page = read.page
    is_judged = read.error is None and read.unread is None and read.has_scope
    evidence = page.evidence if is_judged else None
    sequences = texts.add(read.sequences) if is_judged and read.sequences else None
    return (
        *piece, place,
        _characters(read.error), _characters(read.unread),
        read.has_field, read.has_key, read.date is not None, read.canonical is not None,
        read.has_scope,
        to_utf8(page.key) if plan.with_keys and read.has_key else None,
        _preference(plan.keep, read) if is_judged else None,
        str(Evidence.from_bytes(evidence).weakness or "") if evidence else "",
        # Only the host of a page counts.
        f"//{_characters(host(page.key))}/" if evidence else "",
        _characters(page.scope), page.tokens, page.digest, page.sketch, evidence, page.is_binary,
        sequences and sequences.different, (sequences and sequences.sample) or None,
    )  # fmt: skip


def _characters(text: str | None) -> str | None:
    """Return *text* with what is no character, but half of one, as an escape of its own."""
    return text and text.encode("utf-8", "backslashreplace").decode()


def _preference(keep: Preference, read: ReadRecord) -> bytes | None:
    """Return what sorts as the ranks do; ``None`` if records are judged as they come."""
    if all(criterion is first for criterion in keep.criteria):
        return None
    try:
        ranks = keep.rank(Copy(read.page.key, read.canonical, read.length, read.date))
    except Exception as error:  # of a criterion of somebody else's
        what = f"the preference of {read.page.key!r:.200}"
        raise RecordError(f"{what}: {type(error).__name__}: {error}") from error
    return b"".join(rank.to_bytes(8, "big") for rank in ranks)
