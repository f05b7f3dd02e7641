"""Who may use a ledger: one process alone, or those that share it."""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import time
from typing import Any

from filelock import FileLock, Timeout

from dedup.sqlite_file import LedgerError, LedgerInUseError, SqliteFile

_SECONDS_TO_WAIT = 10.0


@contextmanager
def open_alone(file: SqliteFile, identity: Mapping[str, Any]) -> Iterator[sqlite3.Connection]:
    """Lock *file*, make it with *identity* if it is missing, and yield a connection to it.

    Raises LedgerError as `lock` and `SqliteFile.connect` do.
    """
    with lock(file):
        file.make(identity)
        with closing(file.connect()) as connection:
            yield connection


@contextmanager
def lock(file: SqliteFile) -> Iterator[None]:
    """Hold the lock that is required to write or replace *file*.

    Creates the folder if it is missing. Raises LedgerInUseError if another process holds the lock,
    or if some share the file; LedgerError if the lock cannot be created.
    """
    rest = f"one {file.kind.user} at a time; wait for it, or {file.kind.remedy}"
    with _locked(file, 0.0, rest):
        if sharers := _sharers(file):
            processes = (
                "1 process that shares" if sharers == 1 else f"{sharers} processes that share"
            )
            raise LedgerInUseError(
                f"{file.path} is in use by {processes} it; wait for their end, or "
                f"{file.kind.remedy}"
            )
        yield


@contextmanager
def lock_to_share(file: SqliteFile) -> Iterator[None]:
    """Hold the lock for a moment, to begin to share *file*: nobody uses it alone.

    Waits for others who do the same. Raises LedgerInUseError if it is used alone, LedgerError as
    `lock` does.
    """
    rest = (
        f"that {file.kind.user} does not share it; wait for it, have it share the file, or "
        f"{file.kind.remedy}"
    )
    with _locked(file, _SECONDS_TO_WAIT, rest):
        yield


@contextmanager
def _locked(file: SqliteFile, seconds: float, rest: str) -> Iterator[None]:
    """Hold the lock, waiting for it at most *seconds*; *rest* ends the message that it is held.

    Raises LedgerInUseError or LedgerError.
    """
    held = FileLock(f"{file.path}.lock", thread_local=False)
    try:
        file.path.parent.mkdir(parents=True, exist_ok=True)
        held.acquire(timeout=seconds)
    except Timeout as error:
        if not Path(held.lock_file).exists():
            raise _creation_error(file, "its folder is not writable") from error
        raise LedgerInUseError(f"{file.path} is in use{_holder(file)}: {rest}") from error
    except OSError as error:
        raise _creation_error(file, error.strerror or str(error)) from error
    try:
        yield
    finally:
        if not file.path.exists():  # no ledger was created, so remove the lock too
            with suppress(OSError):
                os.unlink(held.lock_file)
        held.release()


def _creation_error(file: SqliteFile, reason: str) -> LedgerError:
    return LedgerError(f"{file.path} cannot be created or locked ({reason}); {file.kind.remedy}")


def _holder(file: SqliteFile) -> str:
    """Return the words for the process that uses *file*, "" if it did not record itself."""
    with suppress(sqlite3.Error), closing(file.open("mode=ro")) as connection:
        row = connection.execute("SELECT value FROM about WHERE name = 'used by'").fetchone()
        if row:
            return " by process {process} on {host}".format(**json.loads(row[0]))
    return ""


def _sharers(file: SqliteFile) -> int:
    """Return how many processes share *file*; 0 for one that is none of its kind.

    Raises LedgerInUseError if somebody writes it for too long.
    """
    if not file.kind.sharers or not file.path.exists():
        return 0
    try:
        with closing(file.open("mode=rw")) as connection:
            # After whoever is about to say that he goes on.
            connection.execute("BEGIN IMMEDIATE")
            [count] = connection.execute(file.kind.sharers, (time(),)).fetchone()
            return int(count)
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise LedgerInUseError(f"{file.path} is in use: {error}") from error
        return 0
