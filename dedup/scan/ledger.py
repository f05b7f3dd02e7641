"""The ledger of a scan: what was read, in an SQLite file, to go on after an interruption.

It is a file of its own kind: a crawl refuses it, as a scan does that of a crawl.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from dedup.ledger import LedgerError
from dedup.ledger.file import differences
from dedup.scan.reading import Sketched

# "scan", and the version of the schema.
_APPLICATION_ID = 0x7363616E
_SCHEMA_VERSION = 2
_ROWS_AT_ONCE = 256
# So much work may have to be done again.
_SECONDS_BETWEEN_COMMITS = 2.0
_SCHEMA = """
-- As JSON: 'identity' is what the records depend on, 'whole' whether they are all.
CREATE TABLE about (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
-- What was read of each record: see dedup.scan.reading.Sketched. They are numbered 0, 1, 2, ...
-- over all inputs.
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    key BLOB,                 -- UTF-8
    date REAL,                -- seconds since 1970-01-01 UTC
    has_field INTEGER NOT NULL,
    length INTEGER NOT NULL,  -- characters of main text
    tokens INTEGER NOT NULL,  -- words of it
    digest BLOB,              -- BLAKE2b of the normalised text; NULL without text
    sketch BLOB,              -- NULL for a text with too little content
    error TEXT,               -- why the record is a bad one
    unread TEXT               -- why its text could not be found out
);
"""
_COLUMN_TYPES: tuple[set[Any], ...] = (
    {bytes, type(None)}, {float, type(None)}, {int}, {int}, {int}, {bytes, type(None)},
    {bytes, type(None)}, {str, type(None)}, {str, type(None)},
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

        `found` tells how many records it has then, `is_whole` whether that is all of them.

        Raises LedgerError if the file is in use, is damaged, is no ledger of a scan, or has another
        identity; OSError if it cannot be made.
        """
        self.path = path.absolute()
        self._identity = json.loads(json.dumps(identity))
        self._new: list[tuple[Any, ...]] = []
        self._last_commit = time.monotonic()
        self._file: sqlite3.Connection | None = None
        self._lock = FileLock(f"{self.path}.lock", thread_local=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise LedgerError(f"{path} is in use by another scan; name another file") from error
        try:
            with self._told():
                if not self.path.exists():
                    self._create()
                self._file = sqlite3.connect(f"{self.path.as_uri()}?mode=rw", uri=True, timeout=30)
                self._check()
                [self.found], [self.is_whole] = (
                    self._file.execute(query).fetchone()
                    for query in (
                        "SELECT coalesce(max(number) + 1, 0) FROM records",
                        "SELECT EXISTS (SELECT 1 FROM about WHERE name = 'whole')",
                    )
                )
                self._count = self.found
        except BaseException:
            self.close()
            raise

    def _create(self) -> None:
        """Make an empty ledger; the file is not there before it is whole."""
        aside = self.path.with_name(f".{self.path.name}.part")
        aside.unlink(missing_ok=True)
        with closing(sqlite3.connect(aside)) as file, file:
            file.executescript(_SCHEMA)
            file.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            file.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
            file.execute("INSERT INTO about VALUES ('identity', ?)", (json.dumps(self._identity),))
        # What a killed scan has left beside a file that was removed would be taken for this one's.
        for end in ("-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)
        os.replace(aside, self.path)

    def _check(self) -> None:
        assert self._file
        [application_id] = self._file.execute("PRAGMA application_id").fetchone()
        [version] = self._file.execute("PRAGMA user_version").fetchone()
        if application_id != _APPLICATION_ID:
            raise LedgerError(f"{self.path} is no ledger of a scan; name another file")
        if version != _SCHEMA_VERSION:
            raise LedgerError(
                f"{self.path} has version {version} of the ledger, this scrapy-dedup needs "
                f"{_SCHEMA_VERSION}; name another file"
            )
        # In the file from here on, which is one of ours.
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = NORMAL")
        row = self._file.execute("SELECT value FROM about WHERE name = 'identity'").fetchone()
        if row is None:
            raise sqlite3.DatabaseError("it does not say what it is of")
        stored = json.loads(row[0])
        if stored != self._identity:
            told = "; ".join(_told(stored, self._identity))
            raise LedgerError(
                f"{self.path} is of another scan: {told}. Name another file, or remove this "
                "one if it is of no use any more"
            )

    def stored(self) -> Iterator[list[Sketched]]:
        """Yield the records that are there, in order, in pieces."""
        assert self._file
        number = 0
        with self._told():
            rows = self._file.execute("SELECT * FROM records ORDER BY number")
            while piece := rows.fetchmany(_ROWS_AT_ONCE):
                _check_rows(piece, number)
                number += len(piece)
                yield [_record(*row) for _, *row in piece]

    def add(self, records: Sequence[Sketched]) -> None:
        """Keep the next *records*."""
        self._new += (_row(self._count + place, record) for place, record in enumerate(records))
        self._count += len(records)
        if time.monotonic() > self._last_commit + _SECONDS_BETWEEN_COMMITS:
            self._commit()

    def end(self) -> None:
        """Note that there are no more records."""
        self._commit()
        with self._told():
            assert self._file
            with self._file as file:
                file.execute("INSERT INTO about VALUES ('whole', 'true')")
        self.is_whole = True

    def _commit(self) -> None:
        assert self._file
        with self._told(), self._file as file:
            file.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", self._new)
        self._new = []
        self._last_commit = time.monotonic()

    def close(self) -> None:
        """Write what is new, and close and unlock the file."""
        try:
            if self._file:
                with suppress(LedgerError):  # it is only missing the next time
                    self._commit()
                self._file.close()
                self._file = None
        finally:
            self._lock.release()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn errors of SQLite within the block into a LedgerError that names the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise LedgerError(f"{self.path} cannot be used as a ledger: {error}") from error
        except (sqlite3.Error, ValueError) as error:
            if isinstance(error, LedgerError):
                raise
            raise LedgerError(
                f"{self.path} is damaged, or no ledger of a scan ({error}); name another file"
            ) from error


def _check_rows(rows: Sequence[tuple[Any, ...]], first: int) -> None:
    """Raise sqlite3.DatabaseError if *rows* cannot be the records from number *first* on."""
    numbers, *columns = zip(*rows, strict=True)
    is_right = list(numbers) == list(range(first, first + len(rows)))
    for column, types in zip(columns, _COLUMN_TYPES, strict=True):
        is_right = is_right and set(map(type, column)) <= types
    if not is_right or {len(row[6]) for row in rows if row[6] is not None} - {16}:
        raise sqlite3.DatabaseError(f"record {first + 1} or one after it is not as it must be")


def _told(stored: dict[str, Any], own: dict[str, Any]) -> Iterator[str]:
    yield from differences(stored, own, sorted({*stored, *own} - {"inputs"}))
    there, here = ({path: state for path, *state in of["inputs"]} for of in (stored, own))
    if list(there) != list(here):
        yield "the inputs are others, or in another order"
    elif changed := [path for path in here if here[path] != there[path]]:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        yield f"{changed[0]}{more} changed since"


def _row(number: int, record: Sketched) -> tuple[Any, ...]:
    key = None if record.key is None else record.key.encode("utf-8", "surrogatepass")
    texts = (text and text.encode("utf-8", "backslashreplace").decode() for text in record[7:])
    return number, key, *record[1:7], *texts


def _record(key: bytes | None, date: float | None, has_field: int, *others: Any) -> Sketched:
    text = None if key is None else key.decode("utf-8", "surrogatepass")
    return Sketched(text, date, bool(has_field), *others)
