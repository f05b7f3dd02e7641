"""Small files that people write: objects in JSON lines, and rows of tables, with their places."""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dedup.records.base import RecordError


def json_objects(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each object of a JSONL file after its file and line, for messages.

    Raises RecordError for a line that is not an object, and for a file that cannot be read.
    """
    with _naming(path), path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            where = f"{path}, line {number}"
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise RecordError(f"{where}: not a JSON object") from error
            if not isinstance(value, dict):
                raise RecordError(f"{where}: not a JSON object")
            yield where, value


def texts_of(path: Path, field: str) -> Iterator[tuple[str, dict[str, Any], str | None]]:
    """Yield `json_objects` with their texts in *field*; raises RecordError if one is no string."""
    for where, item in json_objects(path):
        text = item.get(field)
        if not (text is None or isinstance(text, str)):
            raise RecordError(f"{where}: the field {field!r} must be a string")
        yield where, item, text


def table_rows(
    path: Path, *columns: str, quoting: Any = csv.QUOTE_MINIMAL
) -> Iterator[tuple[str, list[str]]]:
    """Yield the *columns* of each row of a table with tabs after its file and line, for messages.

    Missing cells are empty. Raises RecordError for a file that lacks columns or cannot be read.
    """
    with _naming(path), path.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=quoting)
        if missing := set(columns) - set(rows.fieldnames or ()):
            raise RecordError(f"{path} lacks the columns {', '.join(sorted(missing))}")
        for row in rows:
            yield f"{path}, line {rows.line_num}", [row[column] or "" for column in columns]


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordError(f"{path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is not UTF-8 ({error})") from error
    except csv.Error as error:
        raise RecordError(f"{path} is not a table ({error})") from error
