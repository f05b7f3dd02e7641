"""What readers find in feeds and ledgers, torn or not."""

import bz2
import csv
import gzip
import json
import lzma
import marshal
import pickle
import shutil
import sqlite3
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from io import BytesIO, StringIO
from pathlib import Path
from typing import IO, Any

from oracle.site import Contents, Key, path_of

Row = dict[str, Any]
# What readers raise where a file is torn.
_TORN = (ValueError, EOFError, OSError, TypeError, csv.Error, lzma.LZMAError, zlib.error,
         pickle.UnpicklingError, KeyError, IndexError, AttributeError)  # fmt: skip


def rows_of(path: Path) -> Iterator[Row]:
    """Yield what a reader of the file finds, up to where it cannot go on."""
    data = _unpacked(path)
    kinds = [suffix for suffix in path.suffixes if suffix in _ROWS]
    yield from _ROWS[kinds[-1]](data)


def _unpacked(path: Path) -> bytes:
    opens: dict[str, Callable[[Path], Any]] = {
        ".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open,
    }  # fmt: skip
    if path.suffix not in opens:
        return path.read_bytes()
    data = bytearray()
    with opens[path.suffix](path) as file:
        try:
            # Not read(), which forgets what it has of a stream that ends just before a tear.
            while piece := file.read1():
                data += piece
        except _TORN:
            pass
    return bytes(data)


def json_lines(data: bytes) -> Iterator[Row]:
    for line in data.split(b"\n"):
        try:
            row = json.loads(line)
        except ValueError:
            continue  # readers of this format skip what they cannot read
        if isinstance(row, dict):
            yield row


def _csv(data: bytes) -> Iterator[Row]:
    rows: list[Row] = []
    limit = csv.field_size_limit(sys.maxsize)  # of the whole process
    try:
        rows.extend(csv.DictReader(StringIO(data.decode("utf-8", "replace"), newline="")))
    except csv.Error:
        pass  # what was read up to there is good
    finally:
        csv.field_size_limit(limit)
    yield from rows


def _one_by_one(load: Callable[[IO[bytes]], Any]) -> Callable[[bytes], Iterator[Row]]:
    def rows(data: bytes) -> Iterator[Row]:
        file = BytesIO(data)
        try:
            while file.tell() < len(data):
                yield dict(load(file))
        except _TORN:
            return

    return rows


_ROWS: dict[str, Callable[[bytes], Iterator[Row]]] = {
    ".jsonl": json_lines,
    ".csv": _csv,
    ".pickle": _one_by_one(pickle.load),
    ".marshal": _one_by_one(marshal.load),
}


def stored_in(paths: list[Path], contents: Contents) -> Counter[Key]:
    """Return how often each item is in the files, whole."""
    keys = ((key_of(row), row) for path in paths for row in rows_of(path))
    return Counter(key for key, row in keys if key and contents.texts.get(key) == row.get("text"))


def key_of(row: Row) -> Key | None:
    url, unit = row.get("url"), row.get("unit")
    return (path_of(url), unit) if isinstance(url, str) and isinstance(unit, str) else None


def named_by(ledger: Path) -> set[str]:
    """Return the paths of the pages that a ledger names, whose file is not touched."""
    if not ledger.exists():
        return set()
    with tempfile.TemporaryDirectory() as folder:
        for name in (ledger.name, f"{ledger.name}-wal"):
            if (ledger.parent / name).exists():
                shutil.copy(ledger.parent / name, Path(folder, name))
        with closing(sqlite3.connect(Path(folder, ledger.name))) as file:
            rows = file.execute("SELECT url FROM pages WHERE ended IS NULL").fetchall()
    return {path_of(url) for (url,) in rows}
