"""Tables in temporary files, for what a crawl gathers and reads at its end."""

import sqlite3
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar

from dedup.text import from_utf8, to_utf8

# To write many at once takes less time; the sequences of some pages are long.
_ROWS_AT_ONCE = 32
_BULK = "bulk."


class TemporaryTables:
    """Tables of SQLite in temporary files, which the process deletes: they take no memory.

    SQLITE_TMPDIR or TMPDIR says where these are. Raises sqlite3.Error if they cannot be used. The
    tables named ``bulk.…``, which take most of the room, have a file of their own: where the disk
    has no room for them, they get no more rows, and nothing is raised.
    """

    columns: ClassVar[dict[str, str]]
    """Those of each table; each also has a ``number``."""
    without_text: ClassVar[tuple[str, ...]]
    """The columns that hold numbers or bytes."""
    indexes: ClassVar[tuple[str, ...]]
    """What queries need."""

    def __init__(self) -> None:
        # Rows that are not in the database yet, by table.
        self._waiting: dict[str, list[tuple[Any, ...]]] = {table: [] for table in self.columns}
        self.failure: sqlite3.Error | None = None
        """Why the bulk tables lack rows."""

    @cached_property
    def _database(self) -> sqlite3.Connection:
        # Another thread may read, once no more rows come.
        database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        database.text_factory = from_utf8
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("ATTACH '' AS bulk")
        # Without a journal, a row for which the disk is too full would damage the others.
        database.execute("PRAGMA bulk.journal_mode = MEMORY")
        for table, columns in self.columns.items():
            database.execute(f"CREATE TABLE {table} (number INTEGER PRIMARY KEY, {columns})")
        return database

    @cached_property
    def _indexed(self) -> sqlite3.Connection:
        """The database with what queries need: to add to an index page by page takes longer."""
        for index in self.indexes:
            self._database.execute(f"CREATE INDEX {index}")
        return self._database

    def _insert(self, table: str, number: int | None, *values: Any) -> None:
        """Add a row, unless it has what is unique; *number*: by default the next one."""
        # Texts as bytes, since a URL may have surrogates, which SQLite refuses.
        row = (to_utf8(value) if isinstance(value, str) else value for value in values)
        self._waiting[table].append((number, *row))
        if len(self._waiting[table]) == _ROWS_AT_ONCE:
            self._write(table)

    def _write(self, table: str) -> None:
        rows, self._waiting[table] = self._waiting[table], []
        is_bulk = table.startswith(_BULK)
        if not rows or (is_bulk and self.failure):
            return
        names = self.columns[table].split(", ")
        marks = ("?" if name in self.without_text else "CAST(? AS TEXT)" for name in names)
        insert = f"INSERT OR IGNORE INTO {table} VALUES (?, {', '.join(marks)})"
        try:
            self._database.executemany(insert, rows)
        except sqlite3.Error as error:
            if not is_bulk:
                raise
            self.failure = error

    def _query(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        for table in self.columns:
            self._write(table)
        return self._indexed.execute(query, values)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return list(self._query(query, *values))

    def close(self) -> None:
        if "_database" in vars(self):
            self._database.close()
