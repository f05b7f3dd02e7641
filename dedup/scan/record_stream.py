"""All records of a scan in their order, read by as many processes as are wanted."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from typing import Any

from dedup.limits import shorten
from dedup.records import RawRecord, RecordError
from dedup.scan.reader import ReadRecord, RecordReader
from dedup.scan.sketches_file import SketchesFile
from dedup.workers import InlinePool, Pool, ReadError, WorkerPool

# A task is large enough that pipes and pickles cost little, and what is under way stays small.
_RECORDS_OF_A_TASK = 256
_SIZE_OF_A_TASK = 1 << 20
_TASKS_UNDER_WAY = 3
# Of a text, only the size takes time.
_SECONDS_OF_TEXTS = 600.0
# To start a process takes as long as to read so many bytes of text.
_BYTES_OF_A_WORKER = 2 << 20


def all_records(
    reader: RecordReader,
    workers: int,
    saved: SketchesFile | None,
) -> Generator[list[ReadRecord], None, None]:
    """Yield all records in order: those that *saved* has, then those that are read now."""
    number = 0
    for records in saved.read_records() if saved else ():
        number += len(records)
        yield records
    if saved and saved.is_whole:
        return
    if not reader.format.has_html:
        workers = min(workers, 1 + reader.format.nbytes // _BYTES_OF_A_WORKER)
    raws = islice(reader.format.raw_records(), number, None)
    with pool_for(reader, workers) as pool:
        for records in read_raws(reader, raws, pool, workers):
            if saved:
                saved.add(number + 1, records)
            number += len(records)
            yield records
    if saved:
        saved.end(number)


def _placed(raw: RawRecord, read: ReadRecord) -> ReadRecord:
    """Return what was *read* of *raw*: messages say where that is, unless nobody knows."""
    if not raw.source or (read.error is None and read.unread is None):
        return read
    error, unread = (message and f"{raw.place}: {message}" for message in (read.error, read.unread))
    return read._replace(error=error, unread=unread)


@contextmanager
def pool_for(reader: RecordReader, workers: int) -> Iterator[Pool]:
    """Yield a pool that is started: of so many processes, or of none for texts if one is enough.

    HTML is always read in other processes, which may crash, hang or be killed.
    """
    has_html = reader.format.has_html
    if workers == 1 and not has_html:
        pool: Pool = InlinePool(reader)
    else:
        limit = reader.page_timeout if has_html else _SECONDS_OF_TEXTS
        pool = WorkerPool(reader, workers=workers, page_timeout=limit)
    try:
        pool.start()
        yield pool
    finally:
        pool.close()


def read_raws(
    reader: RecordReader, raws: Iterator[RawRecord], pool: Pool, workers: int
) -> Iterator[list[ReadRecord]]:
    """Yield what was read of *raws*, in order, while others are read.

    A page of HTML is a task of its own.
    """
    under_way: deque[tuple[list[RawRecord], Future[list[ReadRecord]]]] = deque()
    tasks = 1 if isinstance(pool, InlinePool) else _TASKS_UNDER_WAY * workers
    batches = _batches(raws, 1 if reader.format.has_html else _RECORDS_OF_A_TASK)
    while True:
        for batch in islice(batches, tasks - len(under_way)):
            data = [raw.data for raw in batch if raw.error is None]
            under_way.append((batch, pool.submit(RecordReader.read, data)))
        if not under_way:
            return
        batch, future = under_way.popleft()
        read = iter(_result(future, [raw.data for raw in batch if raw.error is None], pool))
        yield [
            _placed(raw, next(read) if raw.error is None else ReadRecord(error=shorten(raw.error)))
            for raw in batch
        ]


def _batches(raws: Iterator[RawRecord], most: int) -> Iterator[list[RawRecord]]:
    batch: list[RawRecord] = []
    size = 0
    for raw in raws:
        batch.append(raw)
        size += raw.size
        if len(batch) == most or size >= _SIZE_OF_A_TASK:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _result(future: Future[list[ReadRecord]], data: list[Any], pool: Pool) -> list[ReadRecord]:
    """Return what was read of *data*: one by one where reading all of it at once fails."""
    try:
        return future.result()
    except ReadError as error:
        if error.cause == "start":
            raise RecordError(str(error)) from error
        if len(data) == 1:
            return [ReadRecord(has_field=True, unread=shorten(f"{error.cause}: {error}"))]
    records = []
    for one in data:
        records += _result(pool.submit(RecordReader.read, [one]), [one], pool)
    return records
