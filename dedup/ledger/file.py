"""The file of a ledger: made, opened, told from others; and what is wrong with it."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

# "dedu" and the version of the schema: what tells a ledger from other SQLite files.
_APPLICATION_ID = 0x64656475
_SCHEMA_VERSION = 2
_SQLITE = b"SQLite format 3\0"


class LedgerError(ValueError):
    """A ledger cannot be used; the message names the file and says what to do."""


class LedgerInUseError(LedgerError):
    """Another crawl has the ledger; it can be used when that has ended."""


def damaged(path: Path, error: Exception) -> LedgerError:
    """Return the error that says that the file is damaged, and what to do."""
    return LedgerError(
        f"{path} is damaged ({error}). Put a copy of it back, or move it away and crawl anew: "
        "nothing but the memory of what was stored is lost with it"
    )


def differences(
    there: Mapping[str, Any], here: Mapping[str, Any], names: Iterable[str]
) -> Iterator[str]:
    """Yield what differs of two identities under *names*; of secrets, only that they do."""
    for name in names:
        one, other = there.get(name), here.get(name)
        if one == other:
            continue
        if name != "secret":
            yield f"{name} {one!r} there, {other!r} here"
        else:
            here_is = "another" if one and other else "one" if other else "none"
            yield f"{'a' if one else 'no'} secret there, {here_is} here (DEDUP_SECRET)"


@contextmanager
def named(path: Path) -> Iterator[None]:
    """Turn errors of SQLite within the block into a LedgerError that names the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise LedgerError(f"{path} cannot be used as a ledger: {error}") from error
    except (sqlite3.Error, json.JSONDecodeError) as error:
        raise damaged(path, error) from error


def is_sqlite(path: Path) -> bool:
    """Return whether a file begins like one of SQLite; raises OSError if it cannot be read."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def check_beginning(path: Path) -> None:
    """Raise LedgerError if *path* is no SQLite file."""
    if not path.stat().st_size:
        raise damaged(path, sqlite3.DatabaseError("it is empty"))
    if not is_sqlite(path):
        raise LedgerError(
            f"{path} is no ledger: it is no SQLite file, or damaged at its beginning; the ledger "
            "is the file of DEDUP_INDEX"
        )


def check_file(file: sqlite3.Connection, path: Path) -> None:
    """Raise LedgerError if *file* is no ledger, or one of another version."""
    [application_id] = file.execute("PRAGMA application_id").fetchone()
    if application_id != _APPLICATION_ID:
        raise LedgerError(f"{path} is no ledger of scrapy-dedup; another file is needed")
    [version] = file.execute("PRAGMA user_version").fetchone()
    if version != _SCHEMA_VERSION:
        raise LedgerError(
            f"{path} has version {version} of the ledger, this scrapy-dedup needs "
            f"{_SCHEMA_VERSION}; use another file (DEDUP_INDEX), or remove this one"
        )


def create(path: Path, identity: Mapping[str, Any]) -> None:
    """Make an empty ledger; the file is not there before it is whole."""
    aside = path.with_name(f".{path.name}.part")
    aside.unlink(missing_ok=True)
    with named(path), closing(sqlite3.connect(aside)) as file, file:
        file.executescript(files("dedup.ledger").joinpath("schema.sql").read_text("utf-8"))
        file.execute("INSERT INTO about VALUES ('identity', ?)", (json.dumps(identity),))
        file.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        file.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
    os.replace(aside, path)


@contextmanager
def opened(path: Path, *, fsync: bool = False) -> Iterator[sqlite3.Connection]:
    """Open a file that exists; another thread than this one may use it later."""
    check_beginning(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=10, check_same_thread=False
    )
    with closing(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
        yield connection


def read_only(path: Path) -> sqlite3.Connection:
    """Open a file that exists, to be read."""
    # To read a file in WAL mode, SQLite makes two more beside it, and takes them away if it may
    # write. If it may not, they are there while a crawl runs; else nobody changes the file.
    if os.access(path.parent, os.W_OK) and os.access(path, os.W_OK):
        mode = "mode=rw"
    else:
        mode = "mode=ro" if path.with_name(f"{path.name}-shm").exists() else "immutable=1"
    file = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)
    file.execute("PRAGMA query_only = 1")
    file.isolation_level = None
    file.execute("BEGIN")  # one state of it, whatever a crawl writes meanwhile
    return file


def holder(path: Path) -> str:
    """Return which process uses the file, as far as it has written that."""
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as file,
    ):
        row = file.execute("SELECT value FROM about WHERE name = 'used by'").fetchone()
        if row:
            return " by process {process} on {host}".format(**json.loads(row[0]))
    return ""
