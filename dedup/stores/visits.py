"""What a ledger keeps of requests that need not be sent: leaves, and rules over URLs.

In tables of their own, which a ledger has once a crawl asks for them.
"""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

_SCHEMA = """
-- Pages that gave items at their last visit, and led to no further request.
CREATE TABLE IF NOT EXISTS leaves (
    request BLOB PRIMARY KEY,  -- what stands for the request, 16 bytes
    visited REAL NOT NULL,
    etag TEXT,                 -- the validators of the response, NULL where it had none
    modified TEXT
) WITHOUT ROWID;
-- Parts of URLs that change nothing, and (kind 'not-modified') hosts with a 304 that was wrong.
CREATE TABLE IF NOT EXISTS url_rules (
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    name TEXT NOT NULL,
    agreed INTEGER NOT NULL,   -- comparisons without a counterexample
    spared INTEGER NOT NULL,   -- requests that were not sent for it
    tests INTEGER NOT NULL,    -- requests that were, to test it
    broken INTEGER NOT NULL,   -- 1 after a counterexample
    PRIMARY KEY (kind, host, name)
) WITHOUT ROWID;
"""


class Leaf(NamedTuple):
    """A page that led to no further request: when it was visited, and its validators."""

    visited: float
    etag: str | None = None
    modified: str | None = None


class UrlRule(NamedTuple):
    """What is known of a part of URLs; the fields are those of the table."""

    kind: str
    host: str
    name: str
    agreed: int = 0
    spared: int = 0
    tests: int = 0
    broken: int = 0


def make_tables(file: sqlite3.Connection) -> None:
    """Make the tables, unless they are there."""
    for statement in _SCHEMA.split(";")[:-1]:
        file.execute(statement)


def leaf(file: sqlite3.Connection, request: bytes) -> Leaf | None:
    """Return the leaf that *request* stands for, ``None`` if it is none."""
    query = "SELECT visited, etag, modified FROM leaves WHERE request = ?"
    row = file.execute(query, (request,)).fetchone()
    return row and Leaf(*row)


def url_rules(file: sqlite3.Connection) -> list[UrlRule]:
    """Return all rules."""
    query = "SELECT kind, host, name, agreed, spared, tests, broken FROM url_rules"
    return [UrlRule(*row) for row in file.execute(query)]


def write(
    file: sqlite3.Connection,
    leaves: Iterable[tuple[bytes, Leaf | None]],
    rules: Iterable[UrlRule],
) -> None:
    """Write *leaves*, ``None`` for a page that is none any more, and *rules* over URLs."""
    for request, found in leaves:
        if found is None:
            file.execute("DELETE FROM leaves WHERE request = ?", (request,))
        else:
            file.execute("REPLACE INTO leaves VALUES (?, ?, ?, ?)", (request, *found))
    file.executemany("REPLACE INTO url_rules VALUES (?, ?, ?, ?, ?, ?, ?)", rules)
