"""Which records of a collection are kept: the first pass over it."""

import pickle
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice

from dedup.arrays import Packed
from dedup.lost_text import Sequences
from dedup.preference import CRITERIA, Copy, Preference, first, newest
from dedup.record import PageRecord
from dedup.records import Fields, Folder, Format, RecordError
from dedup.rule import Rule
from dedup.scan.reader import Fate, ReadRecord, RecordReader
from dedup.scan.record_judge import Judged, Outcome, RecordJudge
from dedup.scan.record_stream import all_records
from dedup.scan.sketches_file import SketchesFile
from dedup.scopes import Scope
from dedup.units import Count

_JUDGED_AT_ONCE = 256
_RULE = Rule()
_AS_THEY_COME = Preference([("first", first)])
# A wrong name of a field shall not cost hours.
_RECORDS_WITHOUT_FIELD = 1_000


def scan(
    reader: RecordReader,
    *,
    workers: int,
    keep: Preference = _AS_THEY_COME,
    rule: Rule = _RULE,
    skip_bad: bool = False,
    with_keys: bool = False,
    saved: SketchesFile | None = None,
) -> Outcome:
    """Judge the records that *reader* reads, and return which are kept.

    A record is compared with kept ones only. They are judged in their order, or by
    the criteria of *keep* the best first, after all have been read. *workers*: how many processes
    read, 1 or more; *saved*: what it has is not read again, and it is given what is.

    Raises RecordError, naming the record, for the first bad one, unless *skip_bad* leaves it out;
    and if there is no record, or none has the fields that were asked for.
    """
    judge = RecordJudge(reader.method, rule, has_pages=reader.has_pages)
    outcome = judge.outcome
    waiting = _Waiting(keep) if keep.changes_order else None
    good = sequences = 0
    seen: set[str] = set()
    with closing(all_records(reader, workers, saved)) as batches:
        for records in batches:
            new = _note(records, outcome, skip_bad=skip_bad, with_keys=with_keys)
            sequences += sum(record.sequences.different for record in records if record.sequences)
            if good < _RECORDS_WITHOUT_FIELD:
                fields = [record.fields for record in records if record.error is None]
                good += len(fields)
                seen.update(*fields)
                if good >= _RECORDS_WITHOUT_FIELD:
                    check_fields(reader, reader.format.paths, good, seen)
            if waiting is None:
                judge.judge([(number, record.page, record.sequences) for number, record in new])
            else:
                for number, record in new:
                    waiting.append(number, record)
    check_fields(reader, reader.format.paths, good, seen, outcome.first_bad)
    if waiting:
        in_order = waiting.best_first()
        while batch := list(islice(in_order, _JUDGED_AT_ONCE)):
            judge.judge(batch)
    judge.finish(sequences)
    return outcome


def _note(
    records: Sequence[ReadRecord], outcome: Outcome, *, skip_bad: bool, with_keys: bool
) -> list[tuple[int, ReadRecord]]:
    """Note the next *records* in *outcome*; return those that are to be judged, by number."""
    new = []
    for number, record in enumerate(records, len(outcome.fates)):
        if record.error is not None and not skip_bad:
            raise RecordError(record.error)
        if outcome.note(record, with_key=with_keys) is Fate.NEW:
            new.append((number, record))
    return new


class _Waiting:
    """Records that are judged once all have been read: without their texts, in few bytes."""

    def __init__(self, preference: Preference) -> None:
        self._preference = preference
        self._ranks, self._records = Packed(), Packed()

    def append(self, number: int, record: ReadRecord) -> None:
        """Add the next record; raises RecordError if a criterion of the user's own fails."""
        page = record.page
        # Names of pages are compared with those of their host; of texts, nothing needs the key.
        page = page if page.evidence else page.under("", page.scope)
        sequences = record.sequences and record.sequences.to_bytes()
        self._ranks.append(rank_of(self._preference, record))
        self._records.append(pickle.dumps((number, tuple(page), sequences)))

    def best_first(self) -> Iterator[Judged]:
        """Yield the records from the best on, equally good ones in their order."""
        for place in sorted(range(len(self._ranks)), key=self._ranks.__getitem__):
            number, page, sequences = pickle.loads(self._records[place])
            yield number, PageRecord(*page), sequences and Sequences.from_bytes(sequences)


def rank_of(preference: Preference, record: ReadRecord) -> bytes:
    """Return what sorts as the ranks of *record*; raises RecordError if a criterion fails."""
    copy = Copy(record.page.key, record.canonical, record.length, record.date)
    try:
        return preference.rank(copy)
    except Exception as error:  # of a criterion of somebody else's
        what = f"the preference of {copy.url!r:.200}"
        raise RecordError(f"{what}: {type(error).__name__}: {error}") from error


def check_together(
    kind: type[Format], fields: Fields, scope: Scope | None, keep: Preference
) -> None:
    """Raise ValueError, which begins with the name of an option, for what does not go together."""
    if not keep.criteria:
        raise ValueError(f"keep must name a criterion, one of {', '.join(CRITERIA)}")
    if first in keep.criteria[:-1]:
        raise ValueError("keep: after first, nothing is left to decide")
    where = scope or Scope.of("crawl")
    if newest in keep.criteria and kind is not Folder and not fields.date:
        raise ValueError("keep newest needs the name of the field with the date")
    if where.needs_language and fields.is_object:
        raise ValueError(f"scope {where.name} needs a language, which no record of a page has")
    has_no_urls = fields.key == "" and not fields.is_object
    has_no_hosts = kind is Folder and where.name in ("host", "domain")
    if has_no_hosts or (has_no_urls and where.needs_url):
        raise ValueError(f"scope {where.name} needs URLs, and nothing that is compared has one")


def check_fields(
    reader: RecordReader,
    sources: Iterable[object],
    records: int,
    seen: Container[str],
    first_bad: str | None = None,
) -> None:
    """Raise RecordError if there is no record, or if none has a field that was asked for.

    *seen* has the `ReadRecord.fields` that so many *records* had, which are not bad; *sources* are
    for messages, and so is what is wrong with the *first_bad* one.
    """
    fields, scope = reader.format.fields, reader.scope
    if not records and first_bad:
        raise RecordError(f"all records are bad; the first one: {first_bad}")
    if not records:
        raise RecordError(f"there is no record in {', '.join(map(str, sources))}")
    content = "record" if fields.is_object else "html" if fields.is_html else "text"
    named = scope and scope.name
    for kind, is_needed, what in (
        ("scope", scope, f"a value for --scope {named}"),
        (
            "key",
            scope and scope.needs_url,
            f"a URL for --scope {named}; --key-field names its field",
        ),
        ("text", True, f"the field {fields.content!r}; --{content}-field names another"),
        ("key", fields.key, f"the field {fields.key!r}; --key-field names another"),
        ("date", fields.date, f"the field {fields.date!r}; --keep newest:FIELD names another"),
    ):
        if is_needed and kind not in seen:
            raise RecordError(f"none of the first {Count(records):record} has {what}")
