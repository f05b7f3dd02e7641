"""The SQLite file of a ledger: lock it, create it, replace it, open it, check its kind."""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

_SQLITE = b"SQLite format 3\0"
_SECONDS_TO_WAIT = 10.0
_APPLICATION_ID = 0x64656475  # "dedu"
_VERSION = 11
_SCHEMA = Path(__file__).with_name("schema.sql")
# SQL that makes a file of an earlier version one of the next.
_UPGRADES = {
    # Nobody knows what the items of its pages say: so each is stored once more. Nor what else the
    # pages were made of that had such a scope.
    7: f"""
        ALTER TABLE pages ADD COLUMN items BLOB NOT NULL DEFAULT x'';
        UPDATE pages SET ended = unixepoch() WHERE ended IS NULL AND instr(scope, char(31));
        DROP VIEW duplicates;
        CREATE VIEW {_SCHEMA.read_text("utf-8").partition("CREATE VIEW")[2]}
    """,
    # Of a title that was one digest, nobody knows the segments: it is one of no others.
    8: """
        UPDATE pages SET evidence =
            CAST(substr(evidence, 1, 25) || zeroblob(8) || substr(evidence, 26) AS BLOB);
    """,
    # Half of the values of its items would be taken for marks.
    9: "UPDATE pages SET items = x'';",
    # Of the words of its URL, nobody knows with which a page begins.
    10: """
        UPDATE pages SET evidence =
            CAST(substr(evidence, 1, 9) || zeroblob(8) || substr(evidence, 18) AS BLOB);
    """,
}
REMEDY = "use another file (DEDUP_INDEX)"
# The files that SQLite keeps beside a database. It takes any files of these names for its own.
_SIDE_FILES = ("-journal", "-wal", "-shm")


class LedgerError(ValueError):
    """A ledger cannot be used; the message names the file and says what to do."""


class LedgerInUseError(LedgerError):
    """Other processes use the ledger."""


def is_sqlite(path: Path) -> bool:
    """Return whether a file starts like a SQLite file; raises OSError if it cannot be read.

    Do not call this for a file that this process has open: closing it here would release its POSIX
    locks.
    """
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


class LedgerFile:
    """The file of a ledger; it need not exist yet."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Resolve links in *path*; raises LedgerError for a broken link."""
        if Path(path).is_symlink() and not Path(path).exists():
            raise LedgerError(f"{path} is a broken link; is its disk mounted?")
        self.path = Path(path).resolve()
        self._inode: tuple[int, int] | None = None

    def make(self, identity: Mapping[str, Any]) -> None:
        """Make the file with *identity* if it is missing; the caller must hold the lock."""
        if not self.path.exists():
            with self.replacement() as empty:
                self.lay_out(empty, identity)

    def lay_out(self, file: sqlite3.Connection, identity: Mapping[str, Any]) -> None:
        """Make the tables in *file*, an empty database."""
        with file:
            # In one transaction: each of its own would wait for the disk.
            file.executescript(f"BEGIN;\n{_SCHEMA.read_text('utf-8')}")
            file.execute("INSERT INTO about VALUES ('identity', ?)", (json.dumps(identity),))
            file.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            file.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def replacement(self) -> Iterator[sqlite3.Connection]:
        """Yield an empty database, which replaces the file when the block ends.

        Its mode stays. If the block fails, the file stays as it was, or missing. The caller must
        hold the lock.
        """
        aside = self.path.with_name(f".{self.path.name}.part")
        _remove(aside, "", *_SIDE_FILES)  # left by a killed process
        try:
            with self.errors(), closing(sqlite3.connect(aside)) as file:
                yield file
                # A log belongs to its file by name, and this file is going to be renamed.
                file.execute("PRAGMA journal_mode = DELETE")
            self._clear_place()
            if self.path.exists():
                os.chmod(aside, self.path.stat().st_mode & 0o7777)
            os.replace(aside, self.path)
        finally:
            _remove(aside, "", *_SIDE_FILES)

    def _clear_place(self) -> None:
        """Remove the side files that SQLite would take for those of the new file.

        A killed crawl leaves its log, which holds pages. Somebody who then removes the file may
        overlook the log.
        """
        with suppress(sqlite3.Error), closing(self.open("mode=rw")) as file:
            # The old file becomes complete without its log, in case this process is killed before
            # it replaces the file.
            file.execute("PRAGMA journal_mode = DELETE")
        _remove(self.path, *_SIDE_FILES)

    def connect(self) -> sqlite3.Connection:
        """Open the file, which must exist; any thread may use the connection.

        Commits survive the death of processes. Raises LedgerError if the file is of another kind or
        version.
        """
        with self._opened("mode=rw") as file:
            self._check(file)
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            # No temporary files: they may be on another disk, which may be full.
            file.execute("PRAGMA temp_store = MEMORY")
        return file

    def read_only(self, *, accepts_earlier: bool = False) -> sqlite3.Connection:
        """Open a snapshot of the file; what a crawl writes meanwhile does not show.

        Raises LedgerError if the file is of another kind or version; *accepts_earlier*: it may
        be of one that can be upgraded.
        """
        # To read a file in WAL mode, SQLite needs two side files, which it creates and removes if
        # it may write. If it may not, they exist while a crawl runs; otherwise nobody changes the
        # file.
        if os.access(self.path.parent, os.W_OK) and os.access(self.path, os.W_OK):
            mode = "mode=rw"
        else:
            mode = "mode=ro" if Path(f"{self.path}-shm").exists() else "immutable=1"
        with self._opened(mode) as file:
            file.execute("PRAGMA query_only = 1")
            file.isolation_level = None
            file.execute("BEGIN")
            # The first read, which fixes the snapshot.
            self._check(file, accepts_earlier=accepts_earlier)
        return file

    @contextmanager
    def _opened(self, mode: str) -> Iterator[sqlite3.Connection]:
        """Yield a connection, which is closed only if the block fails."""
        with self.errors(), ExitStack() as closing_on_failure:
            yield closing_on_failure.enter_context(closing(self.open(mode)))
            closing_on_failure.pop_all()

    def check_place(self) -> None:
        """Raise LedgerError if the file is not the one of the first call any more."""
        try:
            status = self.path.stat()
        except OSError as error:
            raise self.moved_error() from error
        inode = status.st_dev, status.st_ino
        self._inode = self._inode or inode
        if self._inode != inode:
            raise self.moved_error()

    def moved_error(self) -> LedgerError:
        """Return the error that says that another file is there than before, or none."""
        return LedgerError(f"{self.path} was moved or removed while it was in use")

    def open(self, mode: str) -> sqlite3.Connection:
        """Open the file in a *mode* of SQLite's URIs, whatever it is; any thread may use it."""
        return sqlite3.connect(
            f"{self.path.as_uri()}?{mode}",
            uri=True,
            timeout=_SECONDS_TO_WAIT,
            check_same_thread=False,
        )

    def _check(self, file: sqlite3.Connection, *, accepts_earlier: bool = False) -> None:
        """Raise LedgerError if *file* is of another kind or version; does not change it."""
        if not self.path.stat().st_size:
            raise self.damage_error(sqlite3.DatabaseError("it is empty"))
        [application_id] = file.execute("PRAGMA application_id").fetchone()
        if application_id != _APPLICATION_ID:
            raise LedgerError(f"{self.path} is not a ledger of scrapy-dedup; {REMEDY}")
        [version] = file.execute("PRAGMA user_version").fetchone()
        is_earlier = version in _UPGRADES
        if version != _VERSION and not (is_earlier and accepts_earlier):
            remedy = f"{REMEDY}, or remove this one"
            if is_earlier:
                remedy = f"dedup ledger {self.path} -o NEW makes one of it; or {remedy}"
            raise LedgerError(
                f"{self.path} is a ledger of version {version}, this scrapy-dedup needs version "
                f"{_VERSION}; {remedy}"
            )

    def upgrade(self, file: sqlite3.Connection) -> None:
        """Make *file* one of this version, if it is of an earlier one."""
        [version] = file.execute("PRAGMA user_version").fetchone()
        for earlier in range(version, _VERSION):
            file.executescript(_UPGRADES[earlier])
        file.execute(f"PRAGMA user_version = {_VERSION}")

    def identity(self, file: sqlite3.Connection) -> dict[str, Any]:
        """Return the settings that the ledger was made with; *file* is a connection to it."""
        with self.errors():
            row = file.execute("SELECT value FROM about WHERE name = 'identity'").fetchone()
            identity = json.loads(row[0]) if row else None
            if not isinstance(identity, dict):
                raise sqlite3.DatabaseError("it does not say what it was made with")
            return identity

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn SQLite and JSON errors within the block into a LedgerError that names the file."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise LedgerError(f"{self.path} cannot be used as a ledger: {error}") from error
        except (sqlite3.Error, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise self.damage_error(error) from error

    def damage_error(self, error: Exception) -> LedgerError:
        """Return the error that says that the file is damaged and what to do."""
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_NOTADB:
            return LedgerError(
                f"{self.path} is not a ledger of scrapy-dedup: it is not a SQLite file, or its "
                f"beginning is damaged; {REMEDY}"
            )
        return LedgerError(
            f"{self.path} is damaged ({error}). Put a copy of it back, or move it away and "
            "crawl anew: nothing but the memory of what was stored is lost with it"
        )


def _remove(path: Path, *ends: str) -> None:
    for end in ends:
        path.with_name(path.name + end).unlink(missing_ok=True)


@contextmanager
def lock(file: LedgerFile, *, is_shared: bool = False) -> Iterator[None]:
    """Hold the lock that is required to write or replace *file*: nobody else uses it.

    *is_shared*: that of processes that share it; who uses it alone is waited for, for a while.
    Creates the folder if it is missing. Raises LedgerInUseError if others use the file, LedgerError
    if the lock cannot be created.

    It is that of a transaction in an empty database beside *file*, so that it ends with the
    process, and that several may read at a time.
    """
    path = Path(f"{file.path}.lock")
    with ExitStack() as closing_at_end:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            timeout = _SECONDS_TO_WAIT if is_shared else 0.0
            held = sqlite3.connect(path, timeout, isolation_level=None, check_same_thread=False)
            closing_at_end.enter_context(closing(held))
            held.execute("PRAGMA journal_mode = MEMORY")  # no file of its own
            held.execute("BEGIN" if is_shared else "BEGIN EXCLUSIVE")
            held.execute("SELECT * FROM sqlite_master").fetchall()
        except (OSError, sqlite3.Error) as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise LedgerInUseError(
                    f"{file.path} is in use by another crawl; wait for its end, or {REMEDY}"
                ) from None
            reason = getattr(error, "strerror", None) or error
            raise LedgerError(
                f"{file.path} cannot be created or locked ({reason}); {REMEDY}"
            ) from error
        yield


@contextmanager
def lock_to_share(file: LedgerFile, identity: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Hold the lock of those who share *file*, which is made with *identity* if it is missing.

    Not without an *identity*. Waits for others who make it. Raises as `lock` does.
    """
    until = time.monotonic() + _SECONDS_TO_WAIT
    while identity is not None and not file.path.exists() and time.monotonic() < until:
        with suppress(LedgerInUseError), lock(file):
            file.make(identity)
            break
        time.sleep(0.05)
    with lock(file, is_shared=True):
        yield
