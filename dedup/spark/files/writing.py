"""The second pass over files, in tasks of Spark: what is kept of them, unchanged and in order."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyspark import Broadcast

from dedup.atomic_file import replacing
from dedup.records import Format, RecordError
from dedup.records.lines import without_verdict
from dedup.spark.files.lines import as_lines
from dedup.spark.files.reading import (
    Plan,
    lines_of,
    open_format,
    piece_of,
    put,
    root_of,
    rows_of_files,
    task,
    whole_files,
)
from dedup.spark.files.splits import PLACES, ROW, Place

_LEAST_DIGITS = 5
_BITS = 1 << 15
_BYTES_AT_ONCE = 1 << 20


def part_name(number: int, parts: int, suffix: str) -> str:
    """Return the name of a part, one of up to so many, whose order is that of their numbers.

    >>> part_name(7, 20, ".csv")
    'part-00007.csv'
    """
    width = max(_LEAST_DIGITS, len(str(parts)))
    return f"part-{number:0{width}d}{suffix}"


class Flags:
    """Which of the records with the numbers from *first* on are left out, a bit for each."""

    def __init__(self, first: int, count: int) -> None:
        """Create it for so many records, of which none is left out."""
        # Spark counts from 1, in buckets.
        self._bucket = first // _BITS
        self._bits = np.zeros((first + count) // _BITS + 1 - self._bucket << 12, np.uint8)

    @property
    def count(self) -> int:
        """How many are left out."""
        return int(np.bitwise_count(self._bits).sum())

    def add(self, bucket: int, bits: bytes) -> None:
        """Add what Spark's bitmap_construct_agg has for a *bucket*, numbered from 0."""
        start = (bucket - self._bucket) << 12
        self._bits[start : start + len(bits)] = np.frombuffer(bits, np.uint8)

    def kept(self, first: int, count: int) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Return whether each of the records from number *first* on is kept."""
        return self.are_kept(np.arange(first, first + count))

    def are_kept(
        self, numbers: "np.ndarray[Any, np.dtype[np.int64]]"
    ) -> "np.ndarray[Any, np.dtype[np.bool_]]":
        """Return whether each of the records with these *numbers* is kept."""
        places = numbers - self._bucket * _BITS
        bits = self._bits[places >> 3] >> (places & 7).astype(np.uint8)
        return cast("np.ndarray[Any, np.dtype[np.bool_]]", bits & 1 == 0)


@dataclass(frozen=True)
class Kept:
    """What tasks need to write: the number of the first record of each piece, and the flags."""

    plan: Plan
    bases: Mapping[Place, int]
    counts: Mapping[Place, int]
    flags: "Broadcast[Flags]"

    def check_count(self, piece: Place, count: int) -> None:
        """Raise RecordError unless a *piece* has as many records as in the first pass."""
        if count != self.counts.get(piece, 0):
            name = self.plan.file(piece[0]).name
            raise RecordError(f"{name} has changed while it was read; scan it again")

    def of_file(self, number: int) -> list[int]:
        """Return whether each record of a whole file is kept."""
        piece = (number, 0)
        if piece not in self.bases:  # it has no record
            return []
        return list(map(int, self.flags.value.kept(self.bases[piece], self.counts[piece])))


def kept_lines(kept: Kept, told: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """Return what turns lines of JSON into those that are kept, for Spark to write."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoding = kept.plan.fields.encoding
        written = 0
        piece, count = None, 0
        for lines in _in_pieces(lines_of(kept.plan, batches)):
            piece = lines[0][0]
            flags = kept.flags.value.kept(kept.bases[piece] + count, len(lines))
            count += len(lines)
            left = [
                without_verdict(line, encoding)
                for (_, _, line), is_kept in zip(lines, flags, strict=True)
                if is_kept
            ]
            written += len(left)
            yield as_lines(left)
        if piece is not None:
            kept.check_count(piece, count)
            told.add({task(): (piece, written)})

    return write


def _in_pieces(lines: Iterator[Any]) -> Iterator[list[Any]]:
    piece: list[Any] = []
    for line in lines:
        piece.append(line)
        if len(piece) == 256:
            yield piece
            piece = []
    if piece:
        yield piece


def kept_rows(kept: Kept, told: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """Return what turns rows of Parquet into those that are kept, for Spark to write."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        written = 0
        piece = None
        for batch in batches:
            if not len(batch):
                continue
            piece = piece_of(kept.plan, batch, piece)
            numbers = kept.bases[piece] + batch.column(ROW).to_numpy()
            mask = kept.flags.value.are_kept(numbers)
            written += int(mask.sum())
            yield batch.drop_columns(list(PLACES)).filter(pa.array(mask))
        if piece is not None:
            told.add({task(): (piece, written)})

    return write


def kept_of_files(kept: Kept, told: Any) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """Return what turns whole files of lines or rows of CSV into those that are kept."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, path in whole_files(kept.plan, batches):
            with tempfile.TemporaryFile() as file:
                flags = kept.of_file(number)
                if any(flags):
                    _write(kept.plan, number, path, file, f"{number}.plain", flags)
                    file.seek(0)
                    yield from _read_lines(file)
                    told.add({task(): ((number, 0), sum(flags))})

    return write


def _write(plan: Plan, number: int, path: Path, file: Any, name: str, flags: list[int]) -> None:
    format_: Format = open_format(plan, number, path)
    try:
        format_.write(file, Path(name), flags)
    except (ValueError, StopIteration, RuntimeError) as error:  # more or fewer records than flags
        name = plan.file(number).name
        raise RecordError(f"{name} has changed while it was read; scan it again") from error


def _read_lines(file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    while lines := file.readlines(_BYTES_AT_ONCE):
        yield as_lines([line.removesuffix(b"\n") for line in lines])


def copied_archives(
    kept: Kept, told: Any, folder: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """Return what writes what is kept of archives into files in *folder*, which all tasks see."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, path in whole_files(kept.plan, batches):
            suffix = ".warc.gz" if path.suffix.lower() == ".gz" else ".warc"
            target = folder / part_name(number, len(kept.plan.inputs.files), suffix)
            flags = kept.of_file(number)
            with replacing(target) as file:
                _write(kept.plan, number, path, file, target.name, flags)
            told.add({(number, 0): sum(flags)})
        yield as_lines([])

    return write


def copied_pages(
    kept: Kept, told: Any, folder: Path
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[Any]]:
    """Return what copies the kept files of a folder into *folder*, which all tasks see."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        count = 0
        for number, content in rows_of_files(kept.plan, batches):
            if not kept.flags.value.kept(number, 1)[0]:
                continue
            file = kept.plan.file(number)
            target = folder / file.below
            target.parent.mkdir(parents=True, exist_ok=True)
            # Two attempts of a task may copy the same file at a time.
            aside = target.with_name(f".{uuid4().hex}.part")
            if content is None:
                shutil.copy2(Path(root_of(file), file.below), aside)
            else:
                put(content, file, aside)
            os.replace(aside, target)
            count += 1
        told.add({task(): count})
        yield as_lines([])

    return write
