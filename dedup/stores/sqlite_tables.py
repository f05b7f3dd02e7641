"""The log in a ledger: what processes that share it write into its tables, and read from them."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from dedup.record import Claimed, Committed, PageRecord, Released, Stored, unpack_items
from dedup.stores import tables
from dedup.stores.entries import Entry, from_bytes, to_bytes
from dedup.stores.log import MOST_ENTRIES

KEPT_EVENTS = 2 * MOST_ENTRIES
"""How many events stay although all know them: for those who load what is there meanwhile."""
NOBODY = bytes(8)
"""The owner of claims that a crawl alone has made, or of which no event is there any more."""
EVENTS_BETWEEN_PRUNES = 1_000
_ROWS_AT_ONCE = 1_000


# Writing.


def runs_under_way(file: sqlite3.Connection, now: float) -> list[int | None]:
    """Return the runs of those who have a lease, ``None`` for a forgotten one; the last first."""
    query = (
        "SELECT run FROM owners LEFT JOIN crawls ON crawls.id = crawl WHERE lease > ? "
        "ORDER BY crawls.id DESC"
    )
    return [run for (run,) in file.execute(query, (now,))]


def crawl_and_turn(file: sqlite3.Connection, owner: bytes) -> tuple[int | None, int]:
    """Return the crawl of *owner*, ``None`` if that is forgotten, and its last turn."""
    row = file.execute("SELECT crawl, turn FROM owners WHERE owner = ?", (owner,)).fetchone()
    return row or (None, 0)


def last_position(file: sqlite3.Connection) -> int:
    """Return the highest number of an event or a page, 0 if there is none."""
    query = "SELECT max(coalesce((SELECT max(id) FROM events), 0), coalesce(max(id), 0)) FROM pages"
    return int(tables.value(file, query))


def claims(file: sqlite3.Connection, condition: str = "1", *arguments: Any) -> list[Entry]:
    """Return the open claims for which *condition* holds, by number."""
    query = f"SELECT id, entry FROM claims WHERE {condition} ORDER BY id"
    return [entry_of(*row) for row in file.execute(query, arguments)]


def release(file: sqlite3.Connection, claims: Iterable[Entry], now: float) -> None:
    """Append that *claims* are released."""
    append(file, [end(claim, now, Released(claim.position)) for claim in claims])


def end(claim: Entry, now: float, event: Committed | Released) -> Entry:
    """Return the entry that ends *claim*."""
    return claim._replace(position=0, at=now, event=event)


def append(file: sqlite3.Connection, entries: Sequence[Entry]) -> int:
    """Append *entries*; return the next position.

    Claims are open from now on; the others end those claims that they name.
    """
    first = last_position(file) + 1
    rows = [(position, to_bytes(entry)) for position, entry in enumerate(entries, first)]
    file.executemany("INSERT INTO events VALUES (?, ?)", rows)
    file.executemany(
        "INSERT INTO claims VALUES (?, ?, ?, ?)",
        (
            (position, entry.owner, entry.serial, data)
            for (position, data), entry in zip(rows, entries, strict=True)
            if isinstance(entry.event, Claimed)
        ),
    )
    file.executemany(
        "DELETE FROM claims WHERE id = ?",
        (
            (entry.event.number,)
            for entry in entries
            if isinstance(entry.event, Committed | Released)
        ),
    )
    return first + len(rows)


def prune(file: sqlite3.Connection, now: float) -> None:
    """Remove events that all know who have a lease, but for the last ones."""
    seen = tables.value(file, "SELECT min(seen) FROM owners WHERE lease > ?", now)
    first = last_position(file) + 1 - KEPT_EVENTS
    if seen is not None:
        first = min(first, seen)
    file.execute("DELETE FROM events WHERE id < ?", (first,))


# Reading.


def entries_from(file: sqlite3.Connection, position: int) -> list[Entry]:
    """Return the entries from *position* on, that one first, `MOST_ENTRIES` at most.

    None, if not all of them are there. A page stands for its event where that is forgotten.
    """
    entries = _events(file, max(position, 1))
    if entries and entries[0].position <= max(position, 1):
        return entries
    page = _entry_of_page(file, position)
    following = entries[0].position if entries else last_position(file) + 1
    return [page, *entries[: MOST_ENTRIES - 1]] if page and following == position + 1 else []


def entries_after(file: sqlite3.Connection, position: int) -> list[Entry]:
    """Return the entries after *position*, `MOST_ENTRIES` at most; none, if not all are there."""
    entries = _events(file, position + 1)
    return entries if entries and entries[0].position == position + 1 else []


def _events(file: sqlite3.Connection, first: int) -> list[Entry]:
    query = "SELECT id, entry FROM events WHERE id >= ? ORDER BY id LIMIT ?"
    return [entry_of(*row) for row in file.execute(query, (first, MOST_ENTRIES))]


def _entry_of_page(file: sqlite3.Connection, number: int) -> Entry | None:
    """Return what stands for the event at *number* if no event is there but a page."""
    row = file.execute(
        "SELECT coalesce(run, crawl), stored FROM pages LEFT JOIN crawls ON crawls.id = crawl "
        "WHERE pages.id = ?",
        (number,),
    ).fetchone()
    if row is None:
        return None
    run, stored = row
    return Entry(number, NOBODY, 0, run, stored, Committed(number))


def snapshot(file: sqlite3.Connection) -> Iterator[list[Entry]]:
    """Yield what counts, in pieces: pages, then the claims that are open, and the last entry.

    Raises sqlite3.DatabaseError for a value that cannot be right.
    """
    which = "LEFT JOIN crawls ON crawls.id = crawl WHERE ended IS NULL ORDER BY pages.id"
    pages = tables.stored_pages(file, which, columns=("coalesce(run, crawl)", "stored"))
    while some := list(islice(pages, _ROWS_AT_ONCE)):
        yield [entry for page, others in some for entry in _entries_of_page(page, *others)]
    if rest := claims(file) + entries_from(file, last_position(file)):
        yield rest


def _entries_of_page(page: Stored, run: int, stored: float) -> Iterator[Entry]:
    """Yield what stands for the events of a page: it was stored at once when it was claimed."""
    number, record, items = page
    yield Entry(number, NOBODY, 0, run, stored, Claimed(record, number))
    yield Entry(number, NOBODY, 0, run, stored, Committed(number, tuple(unpack_items(items))))


def pages(file: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, PageRecord]:
    """Return the records of pages and claims by their *numbers*, of those that are there."""
    wanted = list(numbers)
    listed = claims(file, f"id IN {tables.LISTED}", json.dumps(wanted))
    return {claim.position: claim.record for claim in listed} | tables.pages(file, wanted)


def entry_of(position: int, data: Any) -> Entry:
    """Return the entry at *position*; raises sqlite3.DatabaseError if *data* cannot be one."""
    try:
        return from_bytes(position, data)
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"event {position} is none") from error
