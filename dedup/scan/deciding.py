"""Which records of a collection are kept: the first pass over it."""

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice

from dedup.detector import Detector, Kind
from dedup.methods import Method
from dedup.packed import Packed
from dedup.page import Page
from dedup.records import Item, RecordError
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


class Found(IntEnum):
    """What became of a record; those from `NEW` on are kept."""

    BAD = 0
    EXACT = 1
    NEAR = 2
    NEW = 3
    EMPTY = 4
    UNREAD = 5


_KINDS = {
    Kind.EXACT: Found.EXACT,
    Kind.NEAR: Found.NEAR,
    Kind.NEW: Found.NEW,
    Kind.SKIPPED: Found.EMPTY,
}
# The record that is kept is the first of its content in this order.
KEEP: dict[str, Callable[[Sketches], list[int]] | None] = {
    "first": None,
    "longest": Sketches.longest_first,
    "newest": Sketches.newest_first,
}


@dataclass
class Outcome:
    """What a scan found, by the numbers of the records, 0, 1, ... over all inputs.

    *found* has a `Found` for each; *duplicates*, *originals* and *distances* tell which repeats
    which kept one, in the order in which they were judged. *keys* is empty unless asked for.
    """

    found: bytearray = field(default_factory=bytearray)
    duplicates: "array[int]" = field(default_factory=lambda: array("Q"))
    originals: "array[int]" = field(default_factory=lambda: array("Q"))
    distances: "array[float]" = field(default_factory=lambda: array("d"))
    keys: Packed = field(default_factory=Packed)
    short: int = 0
    first_bad: str | None = None
    first_unread: str | None = None

    @property
    def keep(self) -> list[int]:
        """Whether each record is kept, as 0 or 1."""
        return [found >= Found.NEW for found in self.found]

    def count(self, found: Found) -> int:
        return self.found.count(found)

    def key(self, number: int) -> str | None:
        key = self.keys[number]
        return key[1:].decode("utf-8", "surrogatepass") if key else None


def scan(
    reader: RecordReader,
    method: Method,
    *,
    workers: int,
    keep: str = "first",
    min_tokens: int = 20,
    skip_bad: bool = False,
    with_keys: bool = False,
    advance: Callable[[int], object] = lambda count: None,
) -> Outcome:
    """Judge the records that *reader* reads, and return which are kept.

    A record is compared with kept ones only. They are judged in their order, or with *keep*
    "longest" or "newest" in that order, after all have been read. *workers*: how many processes
    read, 1 or more; *advance* is told how many records have been read since it was called last.

    Raises RecordError, naming the record, for the first bad one, unless *skip_bad* leaves it out;
    and if there is no record, or none has the fields that were asked for.
    """
    judge = _Judge(method, min_tokens)
    outcome = judge.outcome
    order = KEEP[keep]
    sketches = Sketches(method)
    fields = _FieldsSeen(reader)
    pool, tasks = _pool(reader, workers)
    try:
        for number, (item, record) in enumerate(_read(reader, pool, tasks, advance)):
            found = Found.NEW
            if record.error is not None:
                message = f"{item.source}, record {item.number}: {record.error}"
                if not skip_bad:
                    raise RecordError(message)
                outcome.first_bad = outcome.first_bad or message
                found = Found.BAD
            elif record.unread is not None:
                message = f"{item.source}, record {item.number}: {record.unread}"
                outcome.first_unread = outcome.first_unread or message
                found = Found.UNREAD
            else:
                fields.see(record)
            outcome.found.append(found)
            if with_keys:
                key = "" if record.key is None else f"={record.key}"
                outcome.keys.append(key.encode("utf-8", "surrogatepass"))
            if order:
                sketches.append(record)
            elif found is Found.NEW:
                judge.judge(number, record.page())
    finally:
        pool.close()
    fields.check()
    for number in order(sketches) if order else ():
        if outcome.found[number] == Found.NEW:
            judge.judge(number, sketches.page(number))
    return outcome


class _Judge:
    """Writes down what the detector says of records by number."""

    def __init__(self, method: Method, min_tokens: int) -> None:
        self.outcome = Outcome()
        self._min_tokens = min_tokens
        self._detector = Detector(method, min_tokens=min_tokens)

    def judge(self, number: int, page: Page) -> None:
        verdict = self._detector.judge(str(number), page)
        outcome = self.outcome
        outcome.found[number] = _KINDS[verdict.kind]
        if verdict.is_duplicate:
            assert verdict.original is not None
            assert verdict.distance is not None
            outcome.duplicates.append(number)
            outcome.originals.append(int(verdict.original))
            outcome.distances.append(verdict.distance)
        elif verdict.kind is Kind.NEW and (page.tokens < self._min_tokens or page.sketch is None):
            outcome.short += 1


class _FieldsSeen:
    """Whether the fields that were asked for are there at all."""

    def __init__(self, reader: RecordReader) -> None:
        self._form = reader.form
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
            names = ", ".join(map(str, self._form.paths))
            raise RecordError(f"there is no record in {names}")
        fields = self._form.fields
        names_of = {"text": fields.content, "key": fields.key, "date": fields.date}
        for kind, name in names_of.items():
            if name is not None and not self._wanted[kind]:
                option = f"--{'html' if kind == 'text' and fields.is_html else kind}-field"
                raise RecordError(
                    f"none of the first {self._records:,} records has the field {name!r}; "
                    f"{option} names another"
                )


def _pool(reader: RecordReader, workers: int) -> tuple[Pool, int]:
    """Return a pool that is started, and how many tasks it shall have at a time.

    Texts are read in this process if one is enough for them; HTML is always read in others, which
    may crash, hang or be killed.
    """
    has_html = reader.form.has_html
    if not has_html:
        workers = min(workers, 1 + reader.form.nbytes // _BYTES_OF_A_WORKER)
    if workers == 1 and not has_html:
        pool: Pool = InlinePool(reader)
        tasks = 1
    else:
        limit = _SECONDS_OF_A_PAGE if has_html else _SECONDS_OF_TEXTS
        pool = WorkerPool(reader, workers=workers, page_timeout=limit)
        tasks = _TASKS_UNDER_WAY * workers
    pool.start()
    return pool, tasks


def _read(
    reader: RecordReader, pool: Pool, tasks: int, advance: Callable[[int], object]
) -> Iterator[tuple[Item, Sketched]]:
    """Yield the records in order while others are being read."""
    under_way: deque[tuple[list[Item], Future[list[Sketched]]]] = deque()
    batches = _batches(reader.form.items(), 1 if reader.form.has_html else _RECORDS_OF_A_TASK)
    while True:
        for batch in islice(batches, tasks - len(under_way)):
            raws = [item.raw for item in batch if item.error is None]
            under_way.append((batch, pool.submit(ReadRecords(raws))))
        if not under_way:
            return
        batch, future = under_way.popleft()
        read = iter(_result(future, batch, pool))
        for item in batch:
            yield item, next(read) if item.error is None else Sketched(error=item.error)
        advance(len(batch))


def _batches(items: Iterator[Item], most: int) -> Iterator[list[Item]]:
    batch: list[Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += item.size
        if len(batch) == most or size >= _SIZE_OF_A_TASK:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _result(future: Future[list[Sketched]], batch: list[Item], pool: Pool) -> list[Sketched]:
    """Return what was read of *batch*: one by one where reading all of it at once fails."""
    try:
        return future.result()
    except ReadError as error:
        if error.cause in ("start", "closed"):
            raise RecordError(str(error)) from error
        if len(batch) == 1:
            return [Sketched(has_field=True, unread=f"{error.cause}: {error}")]
    return [
        result
        for item in batch
        if item.error is None
        for result in _result(pool.submit(ReadRecords([item.raw])), [item], pool)
    ]
