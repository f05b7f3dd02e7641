"""The ledger of a scan: what was read, in an SQLite file, to go on after an interruption.

It is a file of its own kind: a crawl refuses it, as a scan does that of a crawl.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from dedup.evidence import SIZE_OF_EVIDENCE
from dedup.ledger_lock import open_alone
from dedup.lost_text import Sequences
from dedup.record import PageRecord
from dedup.scan.reader import ReadRecord
from dedup.sqlite_file import LedgerError, LedgerType, SqliteFile, differences
from dedup.text import from_utf8, to_utf8

_KIND = LedgerType(
    name="ledger of a scan",
    application_id=0x7363616E,  # "scan"
    version=7,
    schema=Path(__file__).with_name("schema.sql"),
    user="scan",
    memory="read",
    remedy="name another file",
)
_ROWS_AT_ONCE = 256
# So much work may have to be done again.
_SECONDS_BETWEEN_COMMITS = 2.0
_COLUMN_TYPES: tuple[set[Any], ...] = (
    {bytes, type(None)}, {float, type(None)}, {int}, {int}, {int}, {bytes, type(None)},
    {bytes, type(None)}, {bytes, type(None)}, {bytes, type(None)}, {str, type(None)},
    {str, type(None)}, {str, type(None)}, {bytes, type(None)},
)  # fmt: skip


class ScanLedger:
    """What was read of the records of a scan, in their order, in an SQLite file.

    What is added is committed every two seconds, and at the end. A process that is killed leaves
    the records up to some number.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        """Open or create the file *path*, and lock it.

        *identity*: what the records depend on, an object of JSON; its "inputs" are a list of lists
        of a path and what tells its state.

        `count_before` tells how many records it has then, `is_whole` whether that is all of them.

        Raises LedgerError if the file is in use, is damaged, is no ledger of a scan, or has another
        identity; OSError if it cannot be made.
        """
        self._file = SqliteFile(path, _KIND)
        self._identity = json.loads(json.dumps(identity))
        self._new: list[tuple[Any, ...]] = []
        self._last_commit = time.monotonic()
        with ExitStack() as closing_on_failure:
            self._records = closing_on_failure.enter_context(open_alone(self._file, self._identity))
            self._check_identity()
            with self._file.errors():
                [self.count_before], [self.is_whole] = (
                    self._records.execute(query).fetchone()
                    for query in (
                        "SELECT coalesce(max(number) + 1, 0) FROM records",
                        "SELECT EXISTS (SELECT 1 FROM about WHERE name = 'whole')",
                    )
                )
            self._count = self.count_before
            self._closing = closing_on_failure.pop_all()

    def _check_identity(self) -> None:
        stored = self._file.identity(self._records)
        if stored != self._identity:
            told = "; ".join(_describe(stored, self._identity))
            raise LedgerError(
                f"{self._file.path} is of another scan: {told}. Name another file, or "
                "remove this one if it is of no use any more"
            )

    def read_records(self) -> Iterator[list[ReadRecord]]:
        """Yield the records that are there, in order, in pieces."""
        number = 0
        with self._file.errors():
            rows = self._records.execute("SELECT * FROM records ORDER BY number")
            while piece := rows.fetchmany(_ROWS_AT_ONCE):
                _check_rows(piece, number)
                number += len(piece)
                try:
                    records = [_record(*row) for _, *row in piece]
                except ValueError as error:
                    raise sqlite3.DatabaseError(str(error)) from error
                yield records

    def add(self, records: Sequence[ReadRecord]) -> None:
        """Keep the next *records*."""
        self._new += (_row(self._count + place, record) for place, record in enumerate(records))
        self._count += len(records)
        if time.monotonic() > self._last_commit + _SECONDS_BETWEEN_COMMITS:
            self._commit()

    def end(self) -> None:
        """Note that there are no more records."""
        self._commit()
        with self._file.errors(), self._records as file:
            file.execute("INSERT INTO about VALUES ('whole', 'true')")
        self.is_whole = True

    def _commit(self) -> None:
        with self._file.errors(), self._records as file:
            file.executemany(
                "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._new
            )
        self._new = []
        self._last_commit = time.monotonic()

    def close(self) -> None:
        """Write what is new, and close and unlock the file."""
        with self._closing, suppress(LedgerError):  # it is only missing the next time
            self._commit()


def _check_rows(rows: Sequence[tuple[Any, ...]], first: int) -> None:
    """Raise sqlite3.DatabaseError if *rows* cannot be the records from number *first* on."""
    numbers, *columns = zip(*rows, strict=True)
    is_right = list(numbers) == list(range(first, first + len(rows)))
    for column, types in zip(columns, _COLUMN_TYPES, strict=True):
        is_right = is_right and set(map(type, column)) <= types
    for place, size in ((6, 16), (8, SIZE_OF_EVIDENCE)):  # digest, evidence
        sizes = {len(row[place]) for row in rows if isinstance(row[place], bytes)}
        is_right = is_right and sizes <= {size}
    if not is_right:
        raise sqlite3.DatabaseError(f"record {first + 1} or one after it is not as it must be")


def _describe(stored: dict[str, Any], own: dict[str, Any]) -> Iterator[str]:
    yield from differences(stored, own, sorted({*stored, *own} - {"inputs"}))
    there, here = ({path: state for path, *state in of["inputs"]} for of in (stored, own))
    if list(there) != list(here):
        yield "the inputs are others, or in another order"
    elif changed := [path for path in here if here[path] != there[path]]:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"{changed[0]}{more} changed since"


def _row(number: int, record: ReadRecord) -> tuple[Any, ...]:
    page = record.page
    key = to_utf8(page.key) if record.has_key else None
    error, unread = (
        text and text.encode("utf-8", "backslashreplace").decode()
        for text in (record.error, record.unread)
    )
    read = record.date, record.has_field, record.length
    content = page.tokens, page.digest, page.sketch, page.evidence
    sequences = record.sequences.to_bytes() if record.sequences else None
    scope = page.scope if record.has_scope else None
    canonical = record.canonical and to_utf8(record.canonical)
    return number, key, *read, *content, sequences, error, unread, scope, canonical


def _record(
    key: bytes | None,
    date: float | None,
    has_field: int,
    length: int,
    tokens: int,
    digest: bytes | None,
    sketch: bytes | None,
    evidence: bytes | None,
    sequences: bytes | None,
    error: str | None,
    unread: str | None,
    scope: str | None,
    canonical: bytes | None,
) -> ReadRecord:
    text = "" if key is None else from_utf8(key)
    return ReadRecord(
        PageRecord(text, scope or "", tokens, digest, sketch, evidence),
        key is not None,
        date,
        bool(has_field),
        length,
        error,
        unread,
        has_scope=scope is not None,
        sequences=None if sequences is None else Sequences.from_bytes(sequences),
        canonical=None if canonical is None else from_utf8(canonical),
    )
