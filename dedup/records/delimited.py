"""CSV, with the delimiter that its header uses; and tables that people fill in."""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Piece, Record, RecordError, columns_of, record_of
from dedup.records.lines import LONGEST_LINE, LineFormat, decompressed

_DELIMITERS = ",;\t|"


class Delimited(LineFormat):
    """Tables of text with a header, which is written back, too.

    The delimiter is the most frequent of ``, ; tab |`` in the header. All files must have the same
    one, and the same columns.
    """

    name = "csv"
    suffixes = (".csv", ".tsv")

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        super().__init__(paths, fields)
        # Of the whole process. A quote that is not closed makes one field of what follows it.
        csv.field_size_limit(LONGEST_LINE)
        headers = [_header(path) for path in paths]
        self._header, self._delimiter, self._names = headers[0]
        for path, (_, *shape) in zip(paths, headers, strict=True):
            if shape != [self._delimiter, self._names]:
                raise RecordError(f"the columns or delimiters of {path} and {paths[0]} differ")
        names = columns_of(fields, self._names, paths[0])
        self._places = {name: self._names.index(name) for name in names}

    def _read_lines(self, file: BinaryIO) -> Iterator[Piece]:
        lines: list[bytes] = []
        rows = _rows(file, self._delimiter, lines)
        next(rows)
        lines.clear()
        for row in rows:
            data, error = None, None
            if isinstance(row, csv.Error):
                error = f"not a CSV row ({row})"
            elif len(row) == len(self._names):
                data = [row[place] for place in self._places.values()]
            elif row:  # no empty line
                error = f"{len(row)} columns, where the header has {len(self._names)}"
            if error and len(lines) > 1:
                error += f", in {len(lines):,} lines: is a quote not closed?"
            if data or error:
                line = b"".join(lines)
                yield len(line), data, error, line
            lines.clear()

    def parse(self, data: list[str]) -> Record:
        try:
            "".join(data).encode()
        except UnicodeEncodeError as error:
            raise RecordError("not utf-8") from error
        return record_of(dict(zip(self._places, data, strict=True)), self.fields)


def _rows(
    file: Iterable[bytes], delimiter: str, lines: list[bytes]
) -> Iterator[list[str] | csv.Error]:
    """Yield the rows of *file*, or what is wrong with one; adds its lines to *lines* before."""

    def decode() -> Iterator[str]:
        for number, line in enumerate(file):
            lines.append(line)
            text = line if number else line.removeprefix(BOM_UTF8)
            # `parse` reports invalid bytes, since it knows their record.
            yield text.decode("utf-8", "surrogateescape")

    rows = csv.reader(decode(), delimiter=delimiter, strict=True)
    while True:
        try:
            yield from rows
            return
        except csv.Error as error:
            yield error


def _header(path: Path) -> tuple[bytes, str, list[str]]:
    """Return the header row of a file, which may have several lines, its delimiter and columns."""
    lines: list[bytes] = []
    try:
        with open(path, "rb") as file, decompressed(file, path) as content:
            first = content.readline(LONGEST_LINE)
            delimiter = max(_DELIMITERS, key=lambda sign: first.count(sign.encode()))
            names = next(_rows(chain([first], content), delimiter, lines))
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from error
    if isinstance(names, csv.Error):
        raise RecordError(f"{path}, header: not a CSV row ({names})")
    if not names:
        raise RecordError(f"{path} is empty: it must have a header with the names of the columns")
    return b"".join(lines), delimiter, names


def table_rows(
    path: Path, *columns: str, quoting: Any = csv.QUOTE_MINIMAL
) -> Iterator[tuple[str, list[str]]]:
    """Yield the *columns* of each row of a table with tabs after its file and line, for messages.

    Missing cells are empty. Raises RecordError for a file that is no such table.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines, delimiter="\t", quoting=quoting)
            if missing := set(columns) - set(rows.fieldnames or ()):
                raise RecordError(f"{path} lacks the columns {', '.join(sorted(missing))}")
            for row in rows:
                yield f"{path}, line {rows.line_num}", [row[column] or "" for column in columns]
    except (UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{path} is no table in UTF-8 ({error})") from error
