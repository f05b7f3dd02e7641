"""CSV, with whatever delimiter its header shows."""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from dedup.records.base import (
    DEFAULT_KEY,
    Fields,
    Format,
    RawRecord,
    Record,
    RecordError,
    timestamp,
)
from dedup.records.compressed import COMPRESSIONS, reading, writing

_DELIMITERS = ",;\t|"
# The library's own limit of a field is 128 KB; this is what fits a long on every platform.
_LONGEST = 2**31 - 1
# A quote that is never closed would make a header of the whole file.
_LONGEST_HEADER = 1 << 20


class Delimited(Format):
    """Tables of text with a header; header and rows are written back byte for byte.

    The delimiter is the one of ``, ; tab |`` that the header has most of. All files must have the
    same header.
    """

    name = "csv"
    suffixes = (".csv", ".tsv")
    compressions = COMPRESSIONS

    def __init__(self, paths: Sequence[Path], fields: Fields) -> None:
        super().__init__(paths, fields)
        headers = [_header(path, fields.encoding) for path in paths]
        self._header, self._delimiter, self._columns = headers[0]
        for path, (_, _, columns) in zip(paths, headers, strict=True):
            if columns != self._columns:
                raise RecordError(f"{path} has other columns than {paths[0]}")
        key = fields.key or (DEFAULT_KEY if DEFAULT_KEY in self._columns else None)
        self._places = [
            _place(name, self._columns, str(paths[0]))
            for name in (fields.content, key, fields.date)
        ]

    def raw_records(self) -> Iterator[RawRecord]:
        return (raw for raw, _ in self._rows())

    def _rows(self) -> Iterator[tuple[RawRecord, bytes]]:
        for path in self.paths:
            source, number = str(path), 0
            lines: list[bytes] = []
            try:
                with reading(path) as file:
                    rows = self._reader(file, lines)
                    _next(rows)
                    while True:
                        lines.clear()
                        row, error = _next(rows)
                        if row is None:
                            break
                        if not row and error is None:  # an empty line
                            continue
                        number += 1
                        if error is None and len(row) != len(self._columns):
                            error = f"{len(row)} columns, where the header has {len(self._columns)}"
                        line = b"".join(lines)
                        data = (
                            [None if place is None else row[place] for place in self._places]
                            if error is None
                            else None
                        )
                        yield RawRecord(source, number, len(line), data, error), line
            except RecordError as error:
                yield RawRecord(source, number + 1, 0, None, str(error)), b""

    def _reader(self, file: BinaryIO, lines: list[bytes]) -> Iterator[list[str]]:
        """Return the rows of *file*; the lines that each consists of are added to *lines*."""
        encoding = self.fields.encoding

        def decoded() -> Iterator[str]:
            first = True
            for line in file:
                lines.append(line)
                # What cannot be decoded is left to `record`, which can say whose it is.
                text = (line.removeprefix(BOM_UTF8) if first else line).decode(
                    encoding, "surrogateescape"
                )
                first = False
                yield text

        return csv.reader(decoded(), delimiter=self._delimiter, strict=True)

    def parse(self, data: list[str | None]) -> Record:
        content, key, date = data
        for value in (content, key, date):
            if value and not value.isascii():
                try:
                    value.encode()
                except UnicodeEncodeError as error:
                    wrong = f"byte 0x{ord(value[error.start]) & 0xFF:02x}"
                    raise RecordError(f"not {self.fields.encoding} ({wrong})") from error
        seconds = timestamp(date, self.fields.date) if self.fields.date else None
        return Record(content, self.fields.is_html, key or None, seconds)

    def write(self, file: BinaryIO, path: Path, keep: Sequence[int]) -> None:
        with writing(file, path) as output:
            output.write(_ended(self._header))
            for (_, line), kept in zip(self._rows(), keep, strict=True):
                if kept:
                    output.write(_ended(line))


def _ended(row: bytes) -> bytes:
    return row if row.endswith(b"\n") else row + b"\n"


def _next(rows: Iterator[list[str]]) -> tuple[list[str] | None, str | None]:
    """Return the next row, ``None`` after the last one, and what is wrong with it."""
    limit = csv.field_size_limit(_LONGEST)  # of the whole process
    try:
        return next(rows, None), None
    except csv.Error as error:
        return [], f"no row of CSV ({error})"
    finally:
        csv.field_size_limit(limit)


def _header(path: Path, encoding: str) -> tuple[bytes, str, list[str]]:
    """Return the first line of *path*, its delimiter and the names of the columns."""
    try:
        with reading(path) as file:
            line = _first_row(file)
    except RecordError as error:
        raise RecordError(f"{path}: {error}") from error
    if len(line) > _LONGEST_HEADER:
        raise RecordError(f"{path}, header: more than {_LONGEST_HEADER >> 20} MB")
    try:
        text = line.removeprefix(BOM_UTF8).decode(encoding)
    except UnicodeDecodeError as error:
        raise RecordError(f"{path}, header: not {encoding} ({error.reason})") from error
    delimiter = max(_DELIMITERS, key=text.count)
    try:
        names = next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error as error:
        raise RecordError(f"{path}, header: no row of CSV ({error})") from error
    if not names:
        raise RecordError(f"{path} is empty: a header with the names of the columns was expected")
    return line, delimiter, names


def _first_row(file: BinaryIO) -> bytes:
    """Return the first line of *file*, or more of them: a name in quotes may hold line ends."""
    row = bytearray()
    quotes = 0
    while len(row) <= _LONGEST_HEADER and (line := file.readline(_LONGEST_HEADER + 1)):
        row += line
        quotes += line.count(b'"')
        if quotes % 2 == 0:
            break
    return bytes(row)


def _place(name: str | None, columns: list[str], source: str) -> int | None:
    if name is None:
        return None
    if columns.count(name) != 1:
        raise RecordError(
            f"{source} has {columns.count(name) or 'no'} columns {name!r}; "
            f"it has {', '.join(columns):.200}"
        )
    return columns.index(name)
