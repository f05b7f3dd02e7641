"""The tables of a ledger: what is written into them, and read from them."""

import json
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from time import time
from typing import Any

from dedup.limits import shorten
from dedup.record import PageRecord, Stored, StoredBatch
from dedup.stores.base import Commit, News, Texts
from dedup.text import writable

_ROWS_AT_ONCE = 10_000
_COUNTS = "ended IS NULL AND stored >= ?"
LISTED = "(SELECT value FROM json_each(?))"
RECORD = "url, scope, tokens, digest, sketch, evidence"
"""The columns of a `PageRecord` that a page has."""
# What was stored before a crawl: by other runs, and by others of its own run until it began.
_EARLIER = (
    "(crawl NOT IN (SELECT id FROM crawls WHERE run = (SELECT run FROM crawls WHERE id = ?1)) "
    "OR id <= (SELECT position FROM crawls WHERE id = ?1))"
)

_REQUESTS = Path(__file__).with_name("requests.sql")


def value(file: sqlite3.Connection, query: str, *arguments: Any) -> Any:
    """Return the one value that *query* selects, ``None`` if there is none."""
    row = file.execute(query, arguments).fetchone()
    return row and row[0]


def last_page(file: sqlite3.Connection) -> int:
    """Return the highest number of a page, 0 if there is none."""
    return int(value(file, "SELECT coalesce(max(id), 0) FROM pages"))


def unfinished_crawl(file: sqlite3.Connection, job: str | None) -> tuple[int, int, int] | None:
    """Return the last crawl of *job*, its run, and where it began, unless it has finished."""
    row = file.execute(
        "SELECT id, run, position, reason FROM crawls WHERE job = ? ORDER BY id DESC LIMIT 1",
        (job,),
    ).fetchone()
    return row[:3] if row and row[3] != "finished" else None


def clear(file: sqlite3.Connection) -> None:
    """Forget all pages and crawls."""
    make_request_tables(file)
    for table in ("matches", "pages", "crawls", "texts", "leaves", "url_rules"):
        file.execute(f"DELETE FROM {table}")
    end_sharing(file)


def end_sharing(file: sqlite3.Connection) -> None:
    """Forget who shared the file, and what they told each other: pages alone tell what is there.

    For whoever adds pages, or changes them, without telling them.
    """
    for table in ("owners", "claims", "events"):
        file.execute(f"DELETE FROM {table}")
    # The next page has the next number of a page, which an event may have had.
    file.execute(
        "UPDATE crawls SET position = min(position, (SELECT coalesce(max(id), 0) FROM pages))"
    )


def count_pages(file: sqlite3.Connection) -> int:
    """Return how many pages are compared with new ones."""
    return int(value(file, "SELECT count(*) FROM pages WHERE ended IS NULL"))


def set_identity(file: sqlite3.Connection, identity: Mapping[str, Any]) -> None:
    """Write down what the sketches depend on, as JSON."""
    text = json.dumps(identity, default=str)
    file.execute("UPDATE about SET value = ? WHERE name = 'identity'", (text,))


def new_run(file: sqlite3.Connection) -> int:
    """Return the number of the next run."""
    return int(value(file, "SELECT coalesce(max(run), 0) + 1 FROM crawls"))


def insert_crawl(
    file: sqlite3.Connection,
    spider: str,
    job: str | None,
    *,
    run: int | None = None,
    position: int = 0,
    started: float | None = None,
    number: int | None = None,
) -> int:
    """Write down that a crawl of *spider* begins, for *job* if it can go on; return its number.

    *run*: by default a new one, all of which is its own; else pages with numbers up to *position*
    were stored before. *started*: by default now. *number*: of the crawl whose place it takes, if
    any.
    """
    run = new_run(file) if run is None else run
    row = file.execute(
        "REPLACE INTO crawls (id, run, position, spider, job, started) VALUES (?, ?, ?, ?, ?, ?)",
        (
            number, run, position, writable(shorten(spider)), job,
            time() if started is None else started,
        ),
    )  # fmt: skip
    return row.lastrowid or 0


def insert_news(file: sqlite3.Connection, news: News, crawl: int) -> None:
    """Write *news* of a *crawl*."""
    insert_pages(file, news.commits.values(), crawl)
    file.executemany(
        "INSERT INTO matches (page, kind, distance, found, url, crawl) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET kind = excluded.kind, "
        "distance = excluded.distance, found = excluded.found, crawl = excluded.crawl",
        (
            (note.number, note.kind, note.distance, note.at, writable(note.key), crawl)
            for note in news.duplicates.values()
        ),
    )
    file.executemany(
        "UPDATE pages SET seen = ? WHERE id = ?", ((at, n) for n, at in news.seen.items())
    )
    for request, found in news.leaves.items():
        if found is None:
            file.execute("DELETE FROM leaves WHERE request = ?", (request,))
        else:
            file.execute("REPLACE INTO leaves VALUES (?, ?, ?, ?)", (request, *found))
    if news.url_rules:  # else there may be no such table
        query = "REPLACE INTO url_rules VALUES (?, ?, ?, ?, ?, ?, ?)"
        file.executemany(query, news.url_rules.values())


def insert_pages(file: sqlite3.Connection, pages: Collection[Commit], crawl: int) -> None:
    """Write *pages* that a *crawl* has stored, and when; what they replace has ended."""
    file.executemany(
        "INSERT INTO pages (id, crawl, tokens, digest, sketch, evidence, items, scope, stored, "
        "seen, url) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            (
                number, crawl, record.tokens, record.digest, record.sketch, record.evidence,
                event.packed_items(record), writable(record.scope), at, at, writable(record.key),
            )
            for (record, number), event, at in pages
        ),
    )  # fmt: skip
    file.executemany(
        "UPDATE pages SET ended = ?, replaced_by = ? WHERE id = ?",
        (
            (page.at, page.event.number, replaced)
            for page in pages
            for replaced in page.event.replaces
        ),
    )


def pages(file: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, PageRecord]:
    """Return the records of pages by their *numbers*, of those that are there."""
    query = f"SELECT id, {RECORD} FROM pages WHERE id IN {LISTED}"
    rows = file.execute(query, (json.dumps(list(numbers)),))
    return {number: PageRecord(*values) for number, *values in rows}


def pages_of_key(file: sqlite3.Connection, key: str, crawl: int, expired: float) -> list[Stored]:
    """Return the pages of *key* that count and were stored before *crawl*."""
    rows = file.execute(
        f"SELECT id, {RECORD} FROM pages WHERE {_EARLIER} AND url = ?2 AND {_COUNTS}",
        (crawl, writable(key), expired),
    )
    return [Stored(number, PageRecord(key, *values)) for number, _, *values in rows]


def stored_pages(
    file: sqlite3.Connection, which: str, *arguments: Any, columns: Iterable[str] = ()
) -> Iterator[tuple[Stored, tuple[Any, ...]]]:
    """Yield the pages that SQL tells from others, each with the values of some more *columns*.

    Raises sqlite3.DataError for a value that cannot be right.
    """
    selected = ", ".join(("pages.id, items", RECORD, *columns))
    for row in file.execute(f"SELECT {selected} FROM pages {which}", arguments):
        page = Stored(row[0], PageRecord(*row[2:8]), row[1])
        try:
            page.check()
        except ValueError as error:
            raise sqlite3.DataError(str(error)) from error
        yield page, row[8:]


def pages_that_count(file: sqlite3.Connection, expired: float = 0.0) -> Iterator[StoredBatch]:
    """Yield the pages that count, in pieces, by number; raises as `stored_pages`."""
    which, last = f"WHERE {_COUNTS} AND id > ? ORDER BY id LIMIT ?", 0
    while found := [page for page, _ in stored_pages(file, which, expired, last, _ROWS_AT_ONCE)]:
        yield StoredBatch(found)
        last = found[-1].number


def note_end(
    file: sqlite3.Connection,
    crawl: int,
    reason: str,
    report: Mapping[str, Any] | None = None,
    at: float | None = None,
) -> None:
    """Write why the *crawl* has ended, its JSON *report*, and when: by default now."""
    text = None if report is None else json.dumps(report, ensure_ascii=True, default=str)
    file.execute(
        "UPDATE crawls SET finished = ?, reason = ?, report = coalesce(?, report) WHERE id = ?",
        (time() if at is None else at, writable(shorten(reason)), text, crawl),
    )


def insert_texts(file: sqlite3.Connection, texts: Texts) -> None:
    """Write *texts* of pages."""
    rows = (
        (writable(url), title and writable(title), zlib.compress(writable(text).encode()))
        for url, title, text in texts
    )
    file.executemany("REPLACE INTO texts VALUES (?, ?, ?)", rows)


def text_of(data: bytes) -> str:
    """Return a text as it was written; raises sqlite3.DatabaseError if it cannot be one."""
    try:
        return zlib.decompress(data).decode("utf-8", "replace")
    except zlib.error as error:
        raise sqlite3.DatabaseError(f"a text is no text ({error})") from error


def make_request_tables(file: sqlite3.Connection) -> None:
    """Make the tables of leaves and of rules over URLs, unless they are there."""
    for statement in _REQUESTS.read_text("utf-8").split(";")[:-1]:
        file.execute(statement)
