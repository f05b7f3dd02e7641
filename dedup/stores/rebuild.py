"""A ledger made of the records in the fields of items, when there is no other any more."""

import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dedup.ledger_lock import lock
from dedup.methods import Method
from dedup.record import pack_items, unpack_items, with_digest
from dedup.record_field import FieldRecord, MadeWith
from dedup.scopes import are_versions
from dedup.sqlite_file import LedgerError, SqliteFile
from dedup.stores import tables
from dedup.stores.sqlite import KIND


@dataclass
class Rebuilt:
    """What came of the records: how many pages the new ledger compares, and what was of no use.

    *first_passed_over* is why the first of those *passed_over* was.
    """

    pages: int = 0
    passed_over: int = 0
    first_passed_over: str | None = None


def rebuild(
    target: Path,
    method: Method,
    feeds: Iterable[tuple[Path, Iterable[FieldRecord | ValueError]]],
    advance: Callable[[], object] = lambda: None,
) -> Rebuilt:
    """Write a ledger into *target* that knows the pages of *feeds*.

    It also knows pages that the lost one did not: those of which some items failed.

    Each feed is its file and what its items hold, in order: records of *method*, or why there is
    none. The first record tells the extractor, the item field and the scope; records with others
    are passed over, and such pages are stored again when they are met. Pages count as stored when
    their feed was last written. Of the records of one key, the last text counts, with all of its
    items; with an item field, where a key has several contents, each counts until a later one is
    near it. *advance* is called after each record. An existing *target* is replaced, when all is
    done.

    Raises LedgerError if *target* is in use, or if there is no record at all.
    """
    new = SqliteFile(target, KIND)
    done = Rebuilt()
    made_with: MadeWith | None = None
    with lock(new), new.replacement() as file:
        new.lay_out(file, {})
        with file:
            for path, records in feeds:
                at = min(path.stat().st_mtime, time.time())
                crawl = add_crawl(file, path.name, at, "rebuilt")
                for found in records:
                    if isinstance(found, FieldRecord):
                        made_with = made_with or found.made_with
                        if found.made_with == made_with:
                            NewPage(file, method, found, at, crawl).store()
                        else:
                            found = ValueError(_difference(found.made_with, made_with))
                    if isinstance(found, ValueError):
                        done.passed_over += 1
                        done.first_passed_over = done.first_passed_over or str(found)
                    advance()
            if made_with is None:
                raise LedgerError(
                    f"no item has a record of {method.name}; {done.first_passed_over or 'no item'}"
                )
            others = made_with._asdict()
            del others["method"], others["digest"]
            tables.set_identity(file, {**method.identity, **others})
        done.pages = tables.count_pages(file)
    return done


def add_crawl(file: sqlite3.Connection, name: str, at: float, reason: str) -> int:
    """Write down a crawl that was none; return its number."""
    crawl = tables.insert_crawl(file, name, None, started=at)
    tables.note_end(file, crawl, reason, at)
    return crawl


def _difference(one: MadeWith, other: MadeWith) -> str:
    told = "; ".join(
        f"{name} {value!r} there, {there!r} in the first record"
        for name, value, there in zip(one._fields, one, other, strict=True)
        if value != there
    )
    return f"the record was made with other settings: {told}"


class NewPage:
    """A page that is to be stored in a ledger, where it may take the place of others."""

    def __init__(
        self, file: sqlite3.Connection, method: Method, found: FieldRecord, at: float, crawl: int
    ) -> None:
        self._file = file
        self._method = method
        self._record = with_digest(found.record)
        self._several_a_key = found.made_with.item_field is not None
        self._at = at
        self._crawl = crawl

    def store(self, *, replaces: bool = True) -> None:
        """Store it, unless it is there, or has no text; *replaces*: in the place of others."""
        record, at = self._record, self._at
        if record.digest is None:
            return
        earlier = [
            row
            for row in self._file.execute(
                "SELECT id, digest, sketch, scope FROM pages WHERE url = ? AND ended IS NULL",
                (record.key,),
            )
            if are_versions(record.scope, row[3])
        ]
        for number, digest, _, _ in earlier:
            if digest == record.digest:
                self._add_item(number)
                return
        content = record.tokens, record.digest, record.sketch, record.evidence
        items = pack_items([record.item])
        row = self._crawl, *content, items, record.scope
        added = self._file.execute(
            "INSERT INTO pages (crawl, tokens, digest, sketch, evidence, items, scope, stored, "
            "seen, url) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, at, at, record.key),
        )
        replaced = self._replaced(earlier) if replaces else ()
        self._file.executemany(
            "UPDATE pages SET ended = ?, replaced_by = ? WHERE id = ?",
            ((at, added.lastrowid, number) for number in replaced),
        )

    def _add_item(self, number: int) -> None:
        """Have page *number* be stored with this item, too."""
        [[data]] = self._file.execute("SELECT items FROM pages WHERE id = ?", (number,))
        items = dict.fromkeys([*unpack_items(data), self._record.item])
        self._file.execute(
            "UPDATE pages SET seen = ?, items = ? WHERE id = ?",
            (self._at, pack_items(items), number),
        )

    def _replaced(self, earlier: Sequence[tuple[int, bytes, bytes | None, str]]) -> list[int]:
        record, method = self._record, self._method
        if not self._several_a_key:
            return [number for number, *_ in earlier]
        if record.sketch is None:
            return []
        own = method.from_bytes(record.sketch)
        return [
            number
            for number, _, sketch, _ in earlier
            if sketch is not None
            and method.distance(method.from_bytes(sketch), own) <= method.max_distance
        ]
