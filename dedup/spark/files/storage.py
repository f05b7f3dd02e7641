"""The file systems that Spark reads and writes, as the driver sees them."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from uuid import uuid4

from pyspark.sql import SparkSession

_SPECIAL = str.maketrans({letter: f"\\{letter}" for letter in "\\{}[]*?"})


class Entry(NamedTuple):
    """A file or folder: *path* with its scheme, *size* in bytes, *modified* in ms since 1970."""

    path: str
    is_folder: bool
    size: int
    modified: int


class Storage:
    """Finds, renames and deletes; a path is whatever Spark takes, `find` also takes globs."""

    def __init__(self, session: SparkSession) -> None:
        self._jvm: Any = session._jvm
        self._configuration = session._jsc.hadoopConfiguration()

    def full(self, name: str) -> str:
        """Return the whole path of *name*, with its scheme."""
        path = self._path(name)
        return _with_one_slash(
            path.getFileSystem(self._configuration).makeQualified(path).toString()
        )

    def find(self, name: str) -> list[Entry]:
        """Return what has this name, or matches it as a glob, sorted by path."""
        path = self._path(name)
        system = path.getFileSystem(self._configuration)
        if system.exists(path):
            return [_entry(system.getFileStatus(path))]
        found = [_entry(status) for status in system.globStatus(path) or ()]
        return sorted(found, key=lambda entry: entry.path)

    def files_below(self, folder: str) -> Iterator[Entry]:
        """Yield all files in *folder* and its subfolders, in no order."""
        path = self._path(folder)
        files = path.getFileSystem(self._configuration).listFiles(path, True)
        while files.hasNext():
            yield _entry(files.next())

    def exists(self, name: str) -> bool:
        path = self._path(name)
        return bool(path.getFileSystem(self._configuration).exists(path))

    def make_aside(self, name: str) -> str:
        """Make a hidden folder beside *name*, which may not exist; return its path.

        Raises OSError if it cannot be made.
        """
        path = self._path(self.full(name))
        parent = path.getParent()
        system = path.getFileSystem(self._configuration)
        if parent is None or not system.exists(parent):
            raise FileNotFoundError(f"{name} must be in a folder that exists")
        aside = f"{parent.toString()}/.{path.getName()}.{uuid4().hex[:12]}"
        if not system.mkdirs(self._path(aside)):
            raise PermissionError(f"{name}: its folder is not writable")
        return aside

    def make_folder(self, name: str) -> None:
        path = self._path(name)
        path.getFileSystem(self._configuration).mkdirs(path)

    def rename(self, name: str, target: str) -> None:
        """Rename a file or folder; raises OSError if *target* exists, or it cannot be done."""
        if self.exists(target):
            raise FileExistsError(f"{target} was created by another process meanwhile")
        here, there = local_path(self.full(name)), local_path(self.full(target))
        if here and there:  # checksums stay behind
            os.rename(here, there)
            return
        source, path = self._path(name), self._path(target)
        if not source.getFileSystem(self._configuration).rename(source, path):
            raise OSError(f"{name} cannot be renamed to {target}")

    def touch(self, name: str) -> None:
        """Make an empty file."""
        path = self._path(name)
        path.getFileSystem(self._configuration).create(path).close()

    def delete(self, name: str) -> None:
        """Delete a folder; on this machine, Java need not be there any more."""
        if here := local_path(name):
            shutil.rmtree(here)
            return
        path = self._path(name)
        path.getFileSystem(self._configuration).delete(path, True)

    def parquet(self, name: str) -> Any:
        """Open a Parquet file, to read what its footer says."""
        package = self._jvm.org.apache.parquet.hadoop
        file = package.util.HadoopInputFile.fromPath(self._path(name), self._configuration)
        return package.ParquetFileReader.open(file)

    def _path(self, name: str) -> Any:
        """Return the path that Java has for *name*; one without a scheme may have colons."""
        default = self._configuration.get("fs.defaultFS", "file:///")
        if default.startswith("file:") and "://" not in name and not name.startswith("file:/"):
            name = f"file:{os.path.abspath(name)}"
        return self._jvm.org.apache.hadoop.fs.Path(name)


def local_path(path: str) -> Path | None:
    """Return a whole *path* as one of this machine; ``None`` if it is elsewhere."""
    if not path.startswith("file:/"):
        return None
    return Path("/" + path.removeprefix("file:").lstrip("/"))


def as_listed(url: str) -> str:
    """Return the path that a row's metadata has, in the form in which files are listed.

    >>> as_listed("file:///tmp/a%20b.jsonl")
    'file:/tmp/a b.jsonl'
    """
    return _with_one_slash(unquote(url))


def literal(path: str) -> str:
    """Return the glob that matches *path* only."""
    return path.translate(_SPECIAL)


def _entry(status: Any) -> Entry:
    return Entry(
        _with_one_slash(status.getPath().toString()),
        bool(status.isDirectory()),
        int(status.getLen()),
        int(status.getModificationTime()),
    )


def _with_one_slash(path: str) -> str:
    """Return a whole path with one slash after ``file:``: Java writes one or three."""
    return f"file:/{path.removeprefix('file:').lstrip('/')}" if path.startswith("file:/") else path
