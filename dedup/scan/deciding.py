"""Which records of a collection are kept: the first pass over it."""

from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice

from dedup.preference import Preference, first
from dedup.records import RecordError
from dedup.rule import Rule
from dedup.scan.fields_seen import FieldsSeen
from dedup.scan.left_out import ScanLosses
from dedup.scan.outcome import Fate, Outcome
from dedup.scan.reader import ReadRecord, RecordReader
from dedup.scan.record_judge import RecordJudge
from dedup.scan.record_stream import all_records
from dedup.scan.sketches import Sketches
from dedup.scan.sketches_file import SketchesFile
from dedup.text import to_utf8

_JUDGED_AT_ONCE = 256
_RULE = Rule()
_AS_THEY_COME = Preference([("first", first)])


def scan(
    reader: RecordReader,
    *,
    workers: int,
    keep: Preference = _AS_THEY_COME,
    rule: Rule = _RULE,
    skip_bad: bool = False,
    with_keys: bool = False,
    saved: SketchesFile | None = None,
    advance: Callable[[int], object] = lambda count: None,
) -> Outcome:
    """Judge the records that *reader* reads, and return which are kept.

    A record is compared with kept ones only. They are judged in their order, or by
    the criteria of *keep* the best first, after all have been read. *workers*: how many processes
    read, 1 or more; *saved*: what it has is not read again, and it is given what is; *advance* is
    told how many records have been read since it was called last.

    Raises RecordError, naming the record, for the first bad one, unless *skip_bad* leaves it out;
    and if there is no record, or none has the fields that were asked for.
    """
    fields_of_crawls = reader.format.fields.is_object
    has_pages = reader.format.has_html or fields_of_crawls or reader.scope is not None
    judge = RecordJudge(reader.method, rule, has_pages=has_pages)
    outcome = judge.outcome
    losses = ScanLosses(outcome)
    is_sorted = keep.changes_order
    sketches = Sketches(keep)
    format_ = reader.format
    fields = FieldsSeen(format_.fields, reader.scope, format_.paths, format_.links_left_out)
    with closing(all_records(reader, workers, saved, lambda: losses.halvings)) as batches:
        for records in batches:
            numbers, read = _take_in(records, outcome, fields, skip_bad=skip_bad)
            if with_keys:
                for record in records:
                    key = f"={record.page.key}" if record.has_key else ""
                    outcome.keys.append(to_utf8(key))
            if is_sorted:
                for record in records:
                    _append(sketches, record)
                for record in read:
                    losses.expect(record.sequences)
            else:
                judge.judge(numbers, [record.page for record in read])
                losses.add(numbers, [record.sequences for record in read])
            advance(len(records))
    fields.check()
    if is_sorted:
        _judge_best_first(sketches, judge, losses)
    losses.finish()
    return outcome


def _judge_best_first(sketches: Sketches, judge: RecordJudge, losses: ScanLosses) -> None:
    fates = judge.outcome.fates
    wanted = (number for number in sketches.best_first() if fates[number] == Fate.NEW)
    while numbers := list(islice(wanted, _JUDGED_AT_ONCE)):
        judge.judge(numbers, [sketches.record(number) for number in numbers])
        losses.add(numbers, [sketches.sequences(number) for number in numbers])


def _append(sketches: Sketches, record: ReadRecord) -> None:
    try:
        sketches.append(record)
    except Exception as error:  # of a criterion of somebody else's
        what = f"the preference of {record.page.key!r:.200}"
        raise RecordError(f"{what}: {type(error).__name__}: {error}") from error


def _take_in(
    records: Sequence[ReadRecord], outcome: Outcome, fields: FieldsSeen, *, skip_bad: bool
) -> tuple[list[int], list[ReadRecord]]:
    """Add the next *records* to *outcome*, as new ones; return those to judge, with their numbers.

    Raises RecordError for a bad one, unless *skip_bad*.
    """
    numbers, read = [], []
    for record in records:
        fate = Fate.NEW
        if record.error is not None:
            if not skip_bad:
                raise RecordError(record.error)
            outcome.first_bad = outcome.first_bad or record.error
            fate = Fate.BAD
        else:
            fields.see(record)
        if record.unread is not None:
            outcome.first_unread = outcome.first_unread or record.unread
            fate = Fate.UNREAD
        elif not record.has_scope:
            fate = Fate.NO_SCOPE
        if fate is Fate.NEW:
            outcome.with_evidence += record.page.evidence is not None
            numbers.append(len(outcome.fates))
            read.append(record)
        outcome.fates.append(fate)
    return numbers, read
