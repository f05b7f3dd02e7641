"""Which records of a collection are kept: the first pass over it."""

from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from itertools import islice

from dedup.limits import cut
from dedup.records import RawRecord, RecordError
from dedup.scan.judging import Found, Judge, Outcome
from dedup.scan.ledger import ScanLedger
from dedup.scan.reading import ReadRecords, RecordReader, Sketched
from dedup.scan.sketches import Sketches
from dedup.workers import InlinePool, Pool, ReadError, WorkerPool

# A task is large enough that pipes and pickles cost little, and what is under way stays small.
_RECORDS_OF_A_TASK = 256
_SIZE_OF_A_TASK = 1 << 20
_TASKS_UNDER_WAY = 3
# A page of HTML may be hostile; of a text, only the size takes time.
_SECONDS_OF_A_PAGE = 30.0
_SECONDS_OF_TEXTS = 600.0
# To start a process takes as long as to read so many bytes of text.
_BYTES_OF_A_WORKER = 2 << 20
# A wrong name of a field shall not cost hours.
_RECORDS_WITHOUT_FIELD = 1_000
_JUDGED_AT_ONCE = 256

# The record that is kept is the first of its content in this order.
KEEP: dict[str, Callable[[Sketches], list[int]] | None] = {
    "first": None,
    "longest": Sketches.longest_first,
    "newest": Sketches.newest_first,
}


def scan(
    reader: RecordReader,
    *,
    workers: int,
    keep: str = "first",
    min_tokens: int = 20,
    skip_bad: bool = False,
    with_keys: bool = False,
    ledger: ScanLedger | None = None,
    advance: Callable[[int], object] = lambda count: None,
) -> Outcome:
    """Judge the records that *reader* reads, and return which are kept.

    A record is compared with kept ones only. They are judged in their order, or with *keep*
    "longest" or "newest" in that order, after all have been read. *workers*: how many processes
    read, 1 or more; *ledger*: what it has is not read again, and it is given what is; *advance* is
    told how many records have been read since it was called last.

    Raises RecordError, naming the record, for the first bad one, unless *skip_bad* leaves it out;
    and if there is no record, or none has the fields that were asked for. Raises LedgerError.
    """
    judge = Judge(reader.method, min_tokens)
    outcome = judge.outcome
    order = KEEP[keep]
    sketches = Sketches()
    fields = _FieldsSeen(reader)
    with closing(_records(reader, workers, ledger)) as batches:
        for records in batches:
            judged, numbers = [], []
            for record in records:
                found = Found.NEW
                if record.error is not None:
                    if not skip_bad:
                        raise RecordError(record.error)
                    outcome.first_bad = outcome.first_bad or record.error
                    found = Found.BAD
                elif record.unread is not None:
                    outcome.first_unread = outcome.first_unread or record.unread
                    found = Found.UNREAD
                else:
                    fields.see(record)
                    numbers.append(len(outcome.found))
                    judged.append(record)
                outcome.found.append(found)
                if with_keys:
                    key = "" if record.key is None else f"={record.key}"
                    outcome.keys.append(key.encode("utf-8", "surrogatepass"))
                if order:
                    sketches.append(record)
            if not order:
                judge.judge(numbers, judged)
            advance(len(records))
    fields.check()
    if order:
        wanted = (number for number in order(sketches) if outcome.found[number] == Found.NEW)
        while numbers := list(islice(wanted, _JUDGED_AT_ONCE)):
            judge.judge(numbers, [sketches.record(number) for number in numbers])
    return outcome


class _FieldsSeen:
    """Whether the fields that were asked for are there at all."""

    def __init__(self, reader: RecordReader) -> None:
        self._format = reader.format
        self._records = 0
        self._wanted = {"text": False, "key": False, "date": False}

    def see(self, record: Sketched) -> None:
        self._records += 1
        seen = self._wanted
        seen["text"] = seen["text"] or record.has_field
        seen["key"] = seen["key"] or record.key is not None
        seen["date"] = seen["date"] or record.date is not None
        if self._records == _RECORDS_WITHOUT_FIELD:
            self.check()

    def check(self) -> None:
        """Raise RecordError if there is no record, or if none so far has a field."""
        if not self._records:
            names = ", ".join(map(str, self._format.paths))
            links = self._format.links_left_out
            but = f", but {links:,} links, which --follow-links follows" if links else ""
            raise RecordError(f"there is no record in {names}{but}")
        fields = self._format.fields
        names_of = {"text": fields.content, "key": fields.key, "date": fields.date}
        for kind, name in names_of.items():
            if name is not None and not self._wanted[kind]:
                option = f"--{'html' if kind == 'text' and fields.is_html else kind}-field"
                raise RecordError(
                    f"none of the first {self._records:,} records has the field {name!r}; "
                    f"{option} names another"
                )


def _records(
    reader: RecordReader, workers: int, ledger: ScanLedger | None
) -> Generator[list[Sketched], None, None]:
    """Yield all records in order: those that the *ledger* has, then those that are read now."""
    number = 0
    for records in ledger.stored() if ledger else ():
        number += len(records)
        yield records
    if ledger and ledger.is_whole:
        return
    with _pool(reader, workers) as (pool, tasks):
        for records in _read(reader, pool, tasks, number):
            if ledger:
                ledger.add(records)
            yield records
    if ledger:
        ledger.end()


@contextmanager
def _pool(reader: RecordReader, workers: int) -> Iterator[tuple[Pool, int]]:
    """Yield a pool that is started, and how many tasks it shall have at a time.

    Texts are read in this process if one is enough for them; HTML is always read in others, which
    may crash, hang or be killed.
    """
    has_html = reader.format.has_html
    if not has_html:
        workers = min(workers, 1 + reader.format.nbytes // _BYTES_OF_A_WORKER)
    if workers == 1 and not has_html:
        pool: Pool = InlinePool(reader)
        tasks = 1
    else:
        limit = _SECONDS_OF_A_PAGE if has_html else _SECONDS_OF_TEXTS
        pool = WorkerPool(reader, workers=workers, page_timeout=limit)
        tasks = _TASKS_UNDER_WAY * workers
    try:
        pool.start()
        yield pool, tasks
    finally:
        pool.close()


def _read(reader: RecordReader, pool: Pool, tasks: int, first: int) -> Iterator[list[Sketched]]:
    """Yield the records from number *first* on, in order, while others are being read."""
    under_way: deque[tuple[list[RawRecord], Future[list[Sketched]]]] = deque()
    raws = islice(reader.format.raw_records(), first, None)
    batches = _batches(raws, 1 if reader.format.has_html else _RECORDS_OF_A_TASK)
    while True:
        for batch in islice(batches, tasks - len(under_way)):
            data = [raw.data for raw in batch if raw.error is None]
            under_way.append((batch, pool.submit(ReadRecords(data))))
        if not under_way:
            return
        batch, future = under_way.popleft()
        read = iter(_result(future, batch, pool))
        yield [
            (next(read) if raw.error is None else Sketched(error=cut(raw.error))).told_of(raw)
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


def _result(future: Future[list[Sketched]], batch: list[RawRecord], pool: Pool) -> list[Sketched]:
    """Return what was read of *batch*: one by one where reading all of it at once fails."""
    try:
        return future.result()
    except ReadError as error:
        if error.cause == "start":
            raise RecordError(str(error)) from error
        if len(batch) == 1:
            return [Sketched(has_field=True, unread=cut(f"{error.cause}: {error}"))]
    return [
        result
        for raw in batch
        if raw.error is None
        for result in _result(pool.submit(ReadRecords([raw.data])), [raw], pool)
    ]
