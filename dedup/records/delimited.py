"""CSV, with the delimiter that its header uses; and tables that people fill in."""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from dedup.records.base import Fields, Piece, Record, RecordError, columns_of, record_of
from dedup.records.compressed import LineFormat, decompressed

_DELIMITERS = ",;\t|"
# The csv module limits a field to 128 KB by default; this fits a C long on every platform.
_LONGEST = 2**31 - 1
# An unclosed quote would turn the whole file into a header.
_LONGEST_HEADER = 1 << 20


class Delimited(LineFormat):
    """Tables of text with a header, which is written back, too.

    The delimiter is the most frequent of ``, ; tab |`` in the header. All files must have the same
    one, and the same columns.
    """

    name = "csv"
    suffixes = (".csv", ".tsv")

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        super().__init__(paths, fields)
        headers = [_header(path) for path in paths]
        self._header, self._delimiter, self._names = headers[0]
        for path, (_, delimiter, names) in zip(paths, headers, strict=True):
            if (delimiter, names) != (self._delimiter, self._names):
                what = "columns" if delimiter == self._delimiter else "delimiters"
                raise RecordError(f"the {what} of {path} and {paths[0]} differ")
        names = columns_of(fields, self._names, paths[0])
        self._places = {name: self._names.index(name) for name in names}

    def _read_lines(self, file: BinaryIO) -> Iterator[Piece]:
        lines: list[bytes] = []
        rows = _reader(file, self._delimiter, lines)
        _next(rows)
        while True:
            lines.clear()
            row, error = _next(rows)
            if row is None:
                break
            if not row and error is None:  # an empty line
                continue
            data = None
            if error is None and len(row) != len(self._names):
                error = f"{len(row)} columns, where the header has {len(self._names)}"
            elif error is None:
                data = [row[place] for place in self._places.values()]
            if error and len(lines) > 1:
                error += f", in {len(lines):,} lines: is a quote not closed?"
            line = b"".join(lines)
            yield len(line), data, error, line

    def parse(self, data: list[str]) -> Record:
        for value in data:
            if not value.isascii():
                try:
                    value.encode()
                except UnicodeEncodeError as error:
                    byte = ord(value[error.start]) & 0xFF
                    raise RecordError(f"not utf-8 (byte 0x{byte:02x})") from error
        return record_of(dict(zip(self._places, data, strict=True)), self.fields)


def _reader(file: BinaryIO, delimiter: str, lines: list[bytes]) -> Iterator[list[str]]:
    """Return the rows of *file*; adds the lines of each row to *lines* as it is read."""

    def decode() -> Iterator[str]:
        for number, line in enumerate(file):
            lines.append(line)
            text = line if number else line.removeprefix(BOM_UTF8)
            # `parse` reports invalid bytes, since it knows their record.
            yield text.decode("utf-8", "surrogateescape")

    return csv.reader(decode(), delimiter=delimiter, strict=True)


def _next(
    rows: Iterator[list[str]], longest: int = _LONGEST
) -> tuple[list[str] | None, str | None]:
    """Return the next row (``None`` after the last one), and its error, if any."""
    limit = csv.field_size_limit(longest)  # a global of the csv module
    try:
        return next(rows, None), None
    except csv.Error as error:
        return [], f"not a CSV row ({error})"
    finally:
        csv.field_size_limit(limit)


def _header(path: Path) -> tuple[bytes, str, list[str]]:
    """Return the header row of a file, which may have several lines, its delimiter and columns."""
    lines: list[bytes] = []
    try:
        with open(path, "rb") as file, decompressed(file, path) as content:
            first = content.readline(_LONGEST_HEADER)
            if len(first) == _LONGEST_HEADER:
                raise RecordError(f"its header has more than {_LONGEST_HEADER >> 20} MB")
            delimiter = max(_DELIMITERS, key=lambda sign: first.count(sign.encode()))
        with open(path, "rb") as file, decompressed(file, path) as content:
            names, error = _next(_reader(content, delimiter, lines), _LONGEST_HEADER)
        header = b"".join(lines)
        header.decode()
    except RecordError as problem:
        raise RecordError(f"{path}: {problem}") from problem
    except UnicodeDecodeError as problem:
        raise RecordError(f"{path}, header: not utf-8 ({problem.reason})") from problem
    if error:
        raise RecordError(f"{path}, header: {error}")
    if not names:
        raise RecordError(f"{path} is empty: it must have a header with the names of the columns")
    return header, delimiter, names


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
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} is not UTF-8 ({error})") from error
    except csv.Error as error:
        raise RecordError(f"{path} is not a table ({error})") from error
