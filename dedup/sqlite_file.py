"""A file of SQLite that one process uses at a time: locked, made, opened, told from others."""

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

_SQLITE = b"SQLite format 3\0"
_SECONDS_TO_WAIT = 10.0
# What SQLite keeps beside a file and, by their names, believes to belong to it.
_BESIDE = ("-journal", "-wal", "-shm")


class LedgerError(ValueError):
    """A ledger cannot be used; the message names the file and says what to do."""


class LedgerInUseError(LedgerError):
    """Somebody else uses a ledger."""


@dataclass(frozen=True)
class Kind:
    """What tells a kind of ledgers from other SQLite files, and what messages say of it.

    *schema*: a file of SQL, with a table `about` (name, value as JSON); *user*: what uses it, a
    noun and verb; *memory*: what was done with what is in it; *remedy*: how to use another file.
    """

    name: str
    application_id: int
    version: int
    schema: Path
    user: str
    memory: str
    remedy: str


def is_sqlite(path: Path) -> bool:
    """Return whether a file begins like one of SQLite; raises OSError if it cannot be read.

    Not for a file that this process has open: POSIX gives its locks back when it is closed here.
    """
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


class SqliteFile:
    """A ledger's file of some *kind*, which need not exist yet."""

    def __init__(self, path: str | os.PathLike[str], kind: Kind) -> None:
        """Find the file behind a link; raises LedgerError for a link to nothing."""
        if Path(path).is_symlink() and not Path(path).exists():
            raise LedgerError(f"{path} is a link to nothing; is its disk there?")
        self.path = Path(path).resolve()
        self._kind = kind

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, which all who write the file, or put one in its place, have to hold.

        Its folder is made if need be. Raises LedgerInUseError if another holds it, LedgerError if
        it cannot be had at all.
        """
        lock = FileLock(f"{self.path}.lock", thread_local=False)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout as error:
            if not Path(lock.lock_file).exists():
                raise self._not_made("its folder takes no files") from error
            raise LedgerInUseError(
                f"{self.path} is in use{self._holder()}: one {self._kind.user} at a time; wait for "
                f"it, or {self._kind.remedy}"
            ) from error
        except OSError as error:
            raise self._not_made(error.strerror or str(error)) from error
        try:
            yield
        finally:
            if not self.path.exists():  # nothing was made, and nothing shall be left of it
                with suppress(OSError):
                    os.unlink(lock.lock_file)
            lock.release()

    def _not_made(self, reason: str) -> LedgerError:
        return LedgerError(f"{self.path} cannot be made or locked ({reason}); {self._kind.remedy}")

    def _holder(self) -> str:
        """Return which process uses the file, as far as it has written that."""
        with suppress(sqlite3.Error), closing(self._connect("mode=ro")) as file:
            row = file.execute("SELECT value FROM about WHERE name = 'used by'").fetchone()
            if row:
                return " by process {process} on {host}".format(**json.loads(row[0]))
        return ""

    def create(self, identity: Mapping[str, Any]) -> None:
        """Make the file, without records; the lock must be held."""
        with self.replaced() as file, file:
            file.executescript(self._kind.schema.read_text("utf-8"))
            file.execute("INSERT INTO about VALUES ('identity', ?)", (json.dumps(identity),))
            file.execute(f"PRAGMA application_id = {self._kind.application_id}")
            file.execute(f"PRAGMA user_version = {self._kind.version}")

    @contextmanager
    def replaced(self) -> Iterator[sqlite3.Connection]:
        """Yield an empty database, which takes the place of the file when the block ends.

        If the block fails, the file stays as it was, or missing. The lock must be held.
        """
        aside = self.path.with_name(f".{self.path.name}.part")
        _remove(aside, "", *_BESIDE)  # of a process that was killed
        try:
            with self.errors(), closing(sqlite3.connect(aside)) as file:
                yield file
                # A log is whole with its file only, and this one is going to be renamed.
                file.execute("PRAGMA journal_mode = DELETE")
            self._clear_place()
            os.replace(aside, self.path)
        finally:
            _remove(aside, "", *_BESIDE)

    def _clear_place(self) -> None:
        """Remove what would be taken for the log of a file that is put here.

        A crawl that was killed leaves its log, which has pages of its own; whoever removes the file
        then may not think of it.
        """
        with suppress(sqlite3.Error), closing(self._connect("mode=rw")) as file:
            # What is there stays whole without its log, should this process be killed before it
            # is replaced.
            file.execute("PRAGMA journal_mode = DELETE")
        _remove(self.path, *_BESIDE)

    def connect(self, *, fsync: bool = False) -> sqlite3.Connection:
        """Open the file, which must exist; another thread than this one may use it later.

        *fsync*: what is written shall survive a power failure, too. Raises LedgerError if it is
        none of its kind.
        """
        with self.errors():
            file = self._connect("mode=rw")
            try:
                self._check(file)
                file.execute("PRAGMA journal_mode = WAL")
                file.execute(f"PRAGMA synchronous = {'FULL' if fsync else 'NORMAL'}")
                # No temporary files: the disk that they are on may be full while this one is not.
                file.execute("PRAGMA temp_store = MEMORY")
            except BaseException:
                file.close()
                raise
            return file

    def read_only(self) -> sqlite3.Connection:
        """Open the file, to read one state of it, whatever a crawl writes meanwhile.

        Raises LedgerError if it is none of its kind.
        """
        # To read a file in WAL mode, SQLite makes two more beside it, and takes them away if it may
        # write. If it may not, they are there while a crawl runs; else nobody changes the file.
        if os.access(self.path.parent, os.W_OK) and os.access(self.path, os.W_OK):
            mode = "mode=rw"
        else:
            mode = "mode=ro" if Path(f"{self.path}-shm").exists() else "immutable=1"
        with self.errors():
            file = self._connect(mode)
            try:
                file.execute("PRAGMA query_only = 1")
                file.isolation_level = None
                file.execute("BEGIN")
                self._check(file)  # the first that is read: from here on, it is as it is now
            except BaseException:
                file.close()
                raise
            return file

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?{mode}",
            uri=True,
            timeout=_SECONDS_TO_WAIT,
            check_same_thread=False,
        )

    def _check(self, file: sqlite3.Connection) -> None:
        """Raise LedgerError if *file* is none of its kind; it is not changed."""
        if not self.path.stat().st_size:
            raise self.damaged(sqlite3.DatabaseError("it is empty"))
        [application_id] = file.execute("PRAGMA application_id").fetchone()
        if application_id != self._kind.application_id:
            raise LedgerError(f"{self.path} is no {self._kind.name}; {self._kind.remedy}")
        [version] = file.execute("PRAGMA user_version").fetchone()
        if version != self._kind.version:
            raise LedgerError(
                f"{self.path} has version {version} of the ledger, this scrapy-dedup needs "
                f"{self._kind.version}; {self._kind.remedy}, or remove this one"
            )

    def identity(self, file: sqlite3.Connection) -> dict[str, Any]:
        """Return what *file*, which is this one, was made with."""
        with self.errors():
            row = file.execute("SELECT value FROM about WHERE name = 'identity'").fetchone()
            identity = json.loads(row[0]) if row else None
            if not isinstance(identity, dict):
                raise sqlite3.DatabaseError("it does not say what it was made with")
            return identity

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn what is wrong with the file within the block into a LedgerError that names it."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise LedgerError(f"{self.path} cannot be used as a ledger: {error}") from error
        except (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self.damaged(error) from error

    def damaged(self, error: Exception) -> LedgerError:
        """Return the error that says that the file is damaged, and what to do."""
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            return LedgerError(
                f"{self.path} is no {self._kind.name}: it is no SQLite file, or damaged at its "
                f"beginning; {self._kind.remedy}"
            )
        return LedgerError(
            f"{self.path} is damaged ({error}). Put a copy of it back, or move it away and "
            f"{self._kind.user} anew: nothing but the memory of what was {self._kind.memory} is "
            "lost with it"
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


def _remove(path: Path, *ends: str) -> None:
    for end in ends:
        path.with_name(path.name + end).unlink(missing_ok=True)
