"""Calls of the system that kill the process or fail, planted into a crawl from outside."""

import builtins
import errno
import io
import os
import signal
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Fault:
    """What happens at a call: the process is killed, or it fails with an error."""

    call: str
    nth: int
    does: str
    """``kill``, ``tear`` (half of it is written before) or the name of an error number."""
    times: int = 1
    under: str = ""
    """What the path of the file begins with."""


class Planted:
    """Counts calls; fails the chosen ones, and notes that in a file."""

    def __init__(self, fault: Fault | None, notes: Path) -> None:
        self._fault = fault
        self._notes = notes
        self._count = 0
        self._write, self._open = os.write, os.open

    def plant(self) -> None:
        """Replace the calls in this process."""
        planted, open_, replace, connect = self, io.open, os.replace, sqlite3.connect

        class Raw(io.FileIO):
            def write(self, data: Any) -> int | None:
                half = bytes(data)[: len(data) // 2]
                planted.at("write", os.fsdecode(self.name), lambda: super(Raw, self).write(half))
                return super().write(data)

        def opens(file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None,
                  errors: str | None = None, newline: str | None = None, closefd: bool = True,
                  opener: Any = None) -> Any:  # fmt: skip
            if isinstance(file, int) or not set(mode) & set("wax+"):
                return open_(file, mode, buffering, encoding, errors, newline, closefd, opener)
            raw = Raw(os.fspath(file), mode.replace("b", "").replace("t", ""), opener=opener)
            if buffering == 0:
                return raw
            binary: Any = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return binary if "b" in mode else io.TextIOWrapper(binary, encoding, errors, newline)

        def writes(descriptor: int, data: Any) -> int:
            half = bytes(data)[: len(data) // 2]
            self.at("write", _path(descriptor), lambda: self._write(descriptor, half))
            return self._write(descriptor, data)

        def replaces(source: Any, target: Any, **options: Any) -> None:
            self.at("replace", os.fsdecode(target))
            replace(source, target, **options)

        def connects(database: Any, *arguments: Any, **options: Any) -> Any:
            connection = connect(database, *arguments, factory=Connection, **options)
            connection.path = os.fsdecode(database).removeprefix("file://")
            return connection

        class Connection(sqlite3.Connection):
            path = ""

            def execute(self, *arguments: Any) -> Any:
                planted.at("sql", self.path, sql=True)
                return super().execute(*arguments)

            def executemany(self, *arguments: Any) -> Any:
                planted.at("sql", self.path, sql=True)
                return super().executemany(*arguments)

            def __exit__(self, *error: Any) -> Any:
                if error[0] is None:
                    try:
                        planted.at("commit", self.path, sql=True)
                    except sqlite3.Error:
                        self.rollback()
                        raise
                result = super().__exit__(*error)
                planted.at("committed", self.path)
                return result

        builtins.open = io.open = opens  # type: ignore[assignment]
        os.write, os.replace = writes, replaces  # type: ignore[assignment]
        sqlite3.connect = connects  # type: ignore[assignment]

    def at(self, call: str, path: str, tear: Any = None, *, sql: bool = False) -> None:
        """Do what is planned at this call; raises OSError or sqlite3.OperationalError."""
        fault = self._fault
        if fault is None or call != fault.call or not path.startswith(fault.under):
            return
        self._count += 1
        if not fault.nth <= self._count < fault.nth + fault.times:
            return
        descriptor = self._open(self._notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._write(descriptor, f"{fault.does} {path}\n".encode())
        os.close(descriptor)
        if fault.does == "tear" and tear:
            tear()
        if fault.does in ("kill", "tear"):
            os.kill(os.getpid(), signal.SIGKILL)
        if sql:
            full = fault.does == "ENOSPC"
            raise sqlite3.OperationalError("database or disk is full" if full else "disk I/O error")
        number = getattr(errno, fault.does)
        raise OSError(number, os.strerror(number), path)


def _path(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
