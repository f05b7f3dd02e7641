"""Who may use a ledger: one process alone, or those that share it."""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from dedup.stores.ledger_file import REMEDY, LedgerError, LedgerFile, LedgerInUseError

_SECONDS_TO_WAIT = 10.0


@contextmanager
def lock(file: LedgerFile) -> Iterator[None]:
    """Hold the lock that is required to write or replace *file*: nobody else uses it.

    Creates the folder if it is missing. Raises LedgerInUseError if others use the file, alone or
    together; LedgerError if the lock cannot be created.
    """
    try:
        with _locked(file, "BEGIN EXCLUSIVE", 0.0) as path:
            try:
                yield
            finally:
                if not file.path.exists():  # no ledger was created, so remove the lock too
                    with suppress(OSError):
                        os.unlink(path)
    except _HeldError as error:
        rest = f"one crawl at a time; wait for it, or {REMEDY}"
        raise LedgerInUseError(f"{file.path} is in use{_holder(file)}: {rest}") from error


@contextmanager
def lock_to_share(file: LedgerFile, identity: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Hold the lock of those who share *file*: meanwhile, nobody uses it alone.

    A file that is missing is made with *identity*, if that is given. Waits for others who make it.
    Raises LedgerInUseError if it is used alone, LedgerError as `lock` does.
    """
    until = time.monotonic() + _SECONDS_TO_WAIT
    while identity is not None and not file.path.exists() and time.monotonic() < until:
        with suppress(LedgerInUseError), lock(file):
            file.make(identity)
            break
        time.sleep(0.05)
    try:
        with _locked(file, "BEGIN", _SECONDS_TO_WAIT):
            yield
    except _HeldError as error:
        raise LedgerInUseError(
            f"{file.path} is in use{_holder(file)}: that crawl does not share it; wait "
            f"for it, have it share the file, or {REMEDY}"
        ) from error


class _HeldError(Exception):
    """Others have the lock."""


@contextmanager
def _locked(file: LedgerFile, begin: str, seconds: float) -> Iterator[Path]:
    """Hold the lock, waiting for it at most *seconds*, and yield its file.

    Raises _HeldError or LedgerError.

    It is that of a transaction in an empty database beside *file*, so that it ends with the
    process, and that several may read at a time.
    """
    path = Path(f"{file.path}.lock")
    try:
        while (held := _take(path, begin, seconds)) is None:
            pass
    except (OSError, sqlite3.Error) as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            raise _HeldError from error
        reason = getattr(error, "strerror", None) or error
        raise LedgerError(
            f"{file.path} cannot be created or locked ({reason}); {REMEDY}"
        ) from error
    with closing(held):
        yield path


def _take(path: Path, begin: str, seconds: float) -> sqlite3.Connection | None:
    """Return the connection that has the lock; ``None`` if its file was removed meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    before = path.stat()
    held = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    try:
        held.execute("PRAGMA journal_mode = MEMORY")  # no file of its own
        held.execute(begin)
        held.execute("SELECT * FROM sqlite_master").fetchall()
        with suppress(FileNotFoundError):
            if os.path.samestat(before, path.stat()):
                return held
    except BaseException:
        held.close()
        raise
    held.close()
    return None


def _holder(file: LedgerFile) -> str:
    """Return the words for whoever uses *file*, "" if it is not known."""
    with suppress(_HeldError), _locked(file, "BEGIN", 0.0):
        return " by processes that share it"
    with suppress(sqlite3.Error), closing(file.open("mode=ro")) as connection:
        row = connection.execute("SELECT value FROM about WHERE name = 'used by'").fetchone()
        if row:
            return " by process {process} on {host}".format(**json.loads(row[0]))
    return ""
