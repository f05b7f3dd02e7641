"""The log in a ledger: what processes that share it write into its tables, and read from them."""

import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dedup.record import Claimed, Committed, PageRecord, Preferred, Released, unpack_items
from dedup.stores import tables
from dedup.stores.base import Commit, Texts
from dedup.stores.entries import Entry, from_bytes, to_bytes
from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import MOST_ENTRIES, Answer, Joined, Member, Request

KEPT_EVENTS = 2 * MOST_ENTRIES
"""How many events stay although all know them: for those who load what is there meanwhile."""
NOBODY = bytes(8)
"""The owner of claims that a crawl alone has made, or of which no event is there any more."""
_EVENTS_BETWEEN_PRUNES = 1_000
_ROWS_AT_ONCE = 1_000
_LISTED = "(SELECT value FROM json_each(?))"


# Taking part.


def somebody_shares(file: sqlite3.Connection, now: float) -> bool:
    """Return whether some process has a lease."""
    return bool(tables.value(file, "SELECT EXISTS (SELECT 1 FROM owners WHERE lease > ?)", now))


def join(
    file: sqlite3.Connection,
    member: Member,
    identity: Mapping[str, Any],
    *,
    reset: bool,
    now: float,
    lease_end: float,
) -> Joined:
    """Have *member* take part until *lease_end*; *reset*: forget what is there, if that may be."""
    job = member.job and tables.storable(member.job)
    resumed = tables.unfinished_crawl(file, job)
    is_reset = reset and resumed is None and not somebody_shares(file, now)
    if is_reset:
        tables.clear(file)
        tables.set_identity(file, identity)
    if resumed:
        _, run, position = resumed
    else:
        run = _run_of_those_who_share(file, now) or tables.new_run(file)
        position = last_position(file)
    known = file.execute("SELECT crawl, turn FROM owners WHERE owner = ?", (member.owner,))
    before, turn = known.fetchone() or (None, 0)
    file.execute("DELETE FROM crawls WHERE id = ?", (before,))  # whose answer did not come
    crawl = tables.insert_crawl(file, member.spider, job, run=run, position=position, started=now)
    row = member.owner, crawl, lease_end, turn, last_position(file)
    file.execute("REPLACE INTO owners VALUES (?, ?, ?, ?, ?)", row)
    return Joined(run, resumed is not None, is_reset, position)


def _run_of_those_who_share(file: sqlite3.Connection, now: float) -> int | None:
    run: int | None = tables.value(
        file,
        "SELECT run FROM owners JOIN crawls ON crawls.id = crawl WHERE lease > ? "
        "ORDER BY crawls.id DESC LIMIT 1",
        now,
    )
    return run


def leave(
    file: sqlite3.Connection,
    owner: bytes,
    reason: str,
    report: Mapping[str, Any] | None,
    texts: Texts,
    now: float,
) -> None:
    """End the lease of *owner*, release its open claims, and keep its report and *texts*."""
    query = "SELECT id, entry FROM claims WHERE owner = ? ORDER BY id"
    claims = [_entry(*row) for row in file.execute(query, (owner,))]
    _append(file, [_end(claim, now, Released(claim.position)) for claim in claims])
    file.execute("UPDATE owners SET lease = 0 WHERE owner = ?", (owner,))
    crawl = tables.value(file, "SELECT crawl FROM owners WHERE owner = ?", owner)
    if crawl is not None:  # else what it took part in is forgotten
        tables.note_end(file, crawl, reason, now)
        if report is not None:
            tables.insert_report(file, crawl, report)
    tables.insert_texts(file, texts)


# What happens.


def last_position(file: sqlite3.Connection) -> int:
    """Return the highest number of an event or a page, 0 if there is none."""
    query = "SELECT max(coalesce((SELECT max(id) FROM events), 0), coalesce(max(id), 0)) FROM pages"
    return int(tables.value(file, query))


def exchange(file: sqlite3.Connection, request: Request, now: float, lease_end: float) -> Answer:
    """Append the entries of *request*, and renew the lease of its owner until *lease_end*.

    Raises LedgerError if the turn of *request* has passed.
    """
    owner, run = request.owner, request.run
    row = file.execute("SELECT crawl, turn FROM owners WHERE owner = ?", (owner,)).fetchone()
    crawl, turn = row or (None, 0)
    if request.turn <= turn:
        raise LedgerError(f"request {request.turn} came after request {turn}")
    file.execute(
        "REPLACE INTO owners VALUES (?, ?, ?, ?, ?)",
        (owner, crawl, lease_end, request.turn, request.seen),
    )
    if crawl is None:  # what it took part in is forgotten, and it goes on
        crawl = tables.value(file, "SELECT min(id) FROM crawls WHERE run = ?", run) or run
    entries: list[Entry] = []
    stored: list[Commit] = []
    lost: list[int] = []
    ends = [*(event.number for _, event in request.commits), *(n for n, _ in request.releases)]
    claims = _open_claims(file, owner, ends)
    for serial, event in request.commits:
        claim = claims.pop((event.number, serial), None)
        if claim is None:
            lost.append(serial)
            continue
        assert isinstance(claim.event, Claimed)
        stored.append(Commit(claim.event, event, now))
        entries.append(_end(claim, now, event))
    for name in request.releases:
        if claim := claims.pop(name, None):
            entries.append(_end(claim, now, Released(claim.position)))
    entries += (
        Entry(0, owner, 0, run, now, Preferred(number, key))
        for number, key in request.preferred.items()
    )
    tables.insert_pages(file, stored, crawl)
    tables.insert_duplicates(file, request.duplicates, crawl)
    tables.note_seen(file, request.seen_again)
    tables.note_preferred(file, request.preferred)
    entries += (Entry(0, owner, serial, run, now, claim) for serial, claim in request.claims)
    end = _append(file, entries)
    if end % _EVENTS_BETWEEN_PRUNES < len(entries):
        _prune(file, now)
    made = list(range(end - len(request.claims), end))
    return Answer(entries_from(file, request.seen), made, lost)


def _open_claims(
    file: sqlite3.Connection, owner: bytes, numbers: Iterable[int]
) -> dict[tuple[int, int], Entry]:
    """Return the open claims of *owner* among *numbers*, by number and serial."""
    query = f"SELECT id, serial, entry FROM claims WHERE id IN {_LISTED} AND owner = ?"
    rows = file.execute(query, (json.dumps(list(numbers)), owner))
    return {(number, serial): _entry(number, data) for number, serial, data in rows}


def _end(claim: Entry, now: float, event: Committed | Released) -> Entry:
    """Return the entry that ends *claim*."""
    return claim._replace(position=0, at=now, event=event)


def _append(file: sqlite3.Connection, entries: Sequence[Entry]) -> int:
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


def expire(file: sqlite3.Connection, claims: Iterable[tuple[int, bytes, int]], now: float) -> float:
    """Release those *claims* whose owners have no lease; return the seconds until the next may."""
    ends, released = [], {}
    for number, owner, serial in claims:
        row = file.execute(
            "SELECT entry, coalesce(lease, 0) - ? FROM claims "
            "LEFT JOIN owners ON owners.owner = claims.owner "
            "WHERE id = ? AND claims.owner = ? AND serial = ?",
            (now, number, owner, serial),
        ).fetchone()
        if row is None:
            continue
        data, left = row
        if left > 0:
            ends.append(left)
        else:
            released[number] = _end(_entry(number, data), now, Released(number))
    _append(file, list(released.values()))
    return min(ends, default=math.inf)


def _prune(file: sqlite3.Connection, now: float) -> None:
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
    return [_entry(*row) for row in file.execute(query, (first, MOST_ENTRIES))]


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


def snapshot(file: sqlite3.Connection, since: float) -> Iterator[list[Entry]]:
    """Yield what counts, in pieces: pages, then the claims that are open, and the last entry.

    Pages are those that were stored since a time. Raises sqlite3.DatabaseError for a value that
    cannot be right.
    """
    pages = file.execute(
        "SELECT pages.id, coalesce(run, crawl), stored, items, preferred, url, scope, tokens, "
        "digest, sketch, evidence FROM pages LEFT JOIN crawls ON crawls.id = crawl "
        "WHERE ended IS NULL AND stored >= ? ORDER BY pages.id",
        (since,),
    )
    while rows := pages.fetchmany(_ROWS_AT_ONCE):
        yield [entry for row in rows for entry in _entries_of_page(*row)]
    rest = [_entry(*row) for row in file.execute("SELECT id, entry FROM claims ORDER BY id")]
    rest += entries_from(file, last_position(file))
    if rest:
        yield rest


def _entries_of_page(
    number: int, run: int, stored: float, items: bytes, preferred: str | None, *values: Any
) -> Iterator[Entry]:
    """Yield what stands for the events of a page: it was stored at once when it was claimed.

    Raises sqlite3.DatabaseError for a value that cannot be right.
    """
    record = PageRecord(*values)
    try:
        if not isinstance(record.key, str):
            raise TypeError("a URL is no text")
        of_items = tuple(unpack_items(items))
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"page {number} is none: {error}") from error
    yield Entry(number, NOBODY, 0, run, stored, Claimed(record, number))
    if preferred is not None:
        yield Entry(number, NOBODY, 0, run, stored, Preferred(number, preferred))
    yield Entry(number, NOBODY, 0, run, stored, Committed(number, of_items))


def pages(file: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, PageRecord]:
    """Return the records of pages and claims by their *numbers*, of those that are there."""
    wanted = (json.dumps(list(numbers)),)
    query = (
        f"SELECT id, url, scope, tokens, digest, sketch, evidence FROM pages WHERE id IN {_LISTED}"
    )
    found = {number: PageRecord(*values) for number, *values in file.execute(query, wanted)}
    query = f"SELECT id, entry FROM claims WHERE id IN {_LISTED}"
    claims = file.execute(query, wanted)
    return found | {number: _entry(number, data).record for number, data in claims}


def _entry(position: int, data: Any) -> Entry:
    """Return the entry at *position*; raises sqlite3.DatabaseError if *data* cannot be one."""
    try:
        return from_bytes(position, data)
    except (TypeError, ValueError) as error:
        raise sqlite3.DatabaseError(f"event {position} is none") from error
