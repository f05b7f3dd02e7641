"""Where restored items go: a feed on the standard output, or a file of JSONL or CSV."""

import csv
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dedup.atomic_file import replacing
from dedup.cli.errors import CommandError
from dedup.records import Format, format_of_name
from dedup.records.compressed import writing
from dedup.records.delimited import Delimited
from dedup.records.lines import JsonLines

ItemWriter = Callable[[dict[str, Any]], object]


@contextmanager
def item_writer(
    path: Path | None, fields: Callable[[], Sequence[str]], *, is_new: bool
) -> Iterator[ItemWriter]:
    """Yield what writes an item to *path*, or to the standard output for ``None``.

    *fields* gives the columns of a table. *is_new*: no file that is there is replaced. Raises
    CommandError for a format that cannot be written.
    """
    if path is None:
        sys.stdout.flush()
        output = sys.stdout.buffer
        if _ends_torn(output):
            output.write(b"\n")
        yield lambda item: output.write(_line(item))
        return
    form = _format(path)
    with replacing(path, is_new=is_new) as file, writing(file, path) as output:
        if form is JsonLines:
            yield lambda item: output.write(_line(item))
        else:
            yield _rows(output, path, fields())


def _format(path: Path) -> type[Format]:
    form = format_of_name(path)
    if form not in (JsonLines, Delimited):
        raise CommandError(f"{path} must end in .jsonl or .csv; a {form.name} cannot be written")
    return form


def _line(item: dict[str, Any]) -> bytes:
    # Halves of characters stay as they stood in the file: escaped.
    return json.dumps(item, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _rows(output: BinaryIO, path: Path, fields: Sequence[str]) -> ItemWriter:
    """Return what writes items as rows below the *fields*, objects and lists as JSON."""
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    row = io.StringIO(newline="")
    rows = csv.DictWriter(row, fields, delimiter=delimiter)

    def put() -> None:
        output.write(row.getvalue().encode("utf-8", "backslashreplace"))
        row.seek(0)
        row.truncate()

    def write(item: dict[str, Any]) -> None:
        rows.writerow({name: _cell(value) for name, value in item.items()})
        put()

    rows.writeheader()
    put()
    return write


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


def _ends_torn(output: BinaryIO) -> bool:
    """Return whether *output* appends to a file whose last line has no end."""
    try:
        import fcntl

        if not fcntl.fcntl(output.fileno(), fcntl.F_GETFL) & os.O_APPEND:
            return False
        with open(f"/dev/fd/{output.fileno()}", "rb") as file:
            if not file.seek(0, os.SEEK_END):
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"
    except (ImportError, OSError):  # a pipe, a terminal, or a system without such files
        return False
