"""Pages whose items were dropped and are stored after all: a ledger learns of them."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from dedup.ledger_lock import lock
from dedup.methods import Method
from dedup.record import unpack_items, with_digest
from dedup.record_field import FieldReader, FieldRecord, MadeWith, digest_of_identity
from dedup.scopes import are_versions
from dedup.sqlite_file import LedgerError, SqliteFile
from dedup.stores import tables
from dedup.stores.identity import parts_of_identity
from dedup.stores.rebuild import NewPage, add_crawl
from dedup.stores.sqlite import KIND


class Restoration:
    """Writes restored pages into a ledger, as stored by a crawl of their own."""

    def __init__(self, file: sqlite3.Connection, method: Method, name: str) -> None:
        self._file = file
        self._method = method
        self._name = name
        self._at = time.time()
        self._crawl = 0

    def has(self, found: FieldRecord) -> bool:
        """Return whether the ledger knows that page, text and item, as stored by a crawl."""
        record = with_digest(found.record)
        rows = self._file.execute(
            "SELECT scope, items FROM pages "
            "WHERE url = ? AND digest = ? AND ended IS NULL AND crawl <> ?",
            (record.key, record.digest, self._crawl),
        )
        return any(
            are_versions(record.scope, scope) and record.item in unpack_items(items)
            for scope, items in rows
        )

    def add(self, found: FieldRecord) -> None:
        """Have the page of *found* count as stored, and as no duplicate of another."""
        self._crawl = self._crawl or add_crawl(self._file, self._name, self._at, "restored")
        # An item that was dropped for another one of its URL does not take the place of that.
        is_page = found.made_with.item_field is None
        NewPage(self._file, self._method, found, self._at, self._crawl).store(replaces=is_page)
        self._file.execute("DELETE FROM matches WHERE url = ?", (found.record.key,))


@contextmanager
def restoring(
    path: str | os.PathLike[str],
    method_of: Callable[[dict[str, Any]], Method | None],
    name: str,
) -> Iterator[tuple[Restoration, Callable[[Any], FieldRecord | ValueError]]]:
    """Lock the ledger at *path*, and write what the block adds when it ends without an error.

    Yields what adds pages, and what reads the record of a dropped item for this ledger.
    *method_of* makes the method of the ledger of its identity, ``None`` if it cannot; *name* stands
    for the spider in the list of crawls. Raises LedgerError if the ledger is in use, damaged or of
    an unknown method, OSError if it is missing.
    """
    ledger = SqliteFile(path, KIND)
    if not ledger.path.is_file():
        raise FileNotFoundError(f"{path} is no file")
    with lock(ledger), ledger.errors(), closing(ledger.connect()) as file, file:
        tables.end_sharing(file)
        identity = ledger.identity(file)
        method = method_of(identity)
        if method is None:
            raise LedgerError(
                f"{path} is of a method that is none of scrapy-dedup, or of another version of it "
                f"({identity.get('method')!r}): its sketches cannot be checked"
            )
        own, others = parts_of_identity(identity)
        made_with = MadeWith(method.name, digest_of_identity(own), **others)
        reader = FieldReader(method, own)

        def read(values: Any) -> FieldRecord | ValueError:
            [found] = reader.read([values])
            if isinstance(found, FieldRecord) and found.made_with != made_with:
                return ValueError("its page was judged with another extractor, field or scope")
            return found

        yield Restoration(file, method, name), read
