"""The end of a torn CSV file: what it lacks before another record can follow."""

import csv
import io
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from dedup.scrapy_plugin.feeds.torn_lines import Missing, TornFeedError, encode, end_of, is_wide
from dedup.scrapy_plugin.feeds.whole_files import BLOCK, LARGEST_ITEM, text_of


def missing_in_csv(
    file: BinaryIO, options: Mapping[str, Any], beginning: Callable[[], bytes]
) -> Missing:
    """Return what the file of a feed with *options* lacks; *beginning* returns its header.

    Raises TornFeedError if nobody could read what is appended to it.
    """
    dialect = _dialect_of(options["item_export_kwargs"])
    end, cut, encoding = end_of(file, options["encoding"] or "utf-8")
    is_ended = end.endswith(dialect.lineterminator) and not cut
    if is_ended and not is_wide(encoding) and _has_pairs_of_quotes(file, dialect):
        return Missing()
    if not is_ended and (size := file.seek(0, os.SEEK_END)) < BLOCK:
        file.seek(0)
        if beginning().startswith(file.read()):  # a torn header, which will be written again
            return Missing(cut=size, must_cut=True)
    record = _open_record(file, encoding, dialect)
    if record is None:
        return Missing(cut=cut, must_cut=is_wide(encoding))
    added = _closing_of(record, dialect)
    if added is None:
        raise TornFeedError(f"{file.name} is torn within a field that cannot be closed")
    return Missing(encode(added, encoding), cut, is_wide(encoding))


_ARGUMENTS_OF_CSV = (
    "dialect", "delimiter", "doublequote", "escapechar", "lineterminator", "quotechar", "quoting",
    "skipinitialspace", "strict",
)  # fmt: skip


def _dialect_of(kwargs: Mapping[str, Any]) -> Any:
    """Return the dialect of an exporter with these arguments."""
    arguments = {name: kwargs[name] for name in _ARGUMENTS_OF_CSV if name in kwargs}
    return csv.writer(io.StringIO(), **arguments).dialect


def _has_pairs_of_quotes(file: BinaryIO, dialect: Any) -> bool:
    """Return whether the file is certain to end outside of quotes; reads no records."""
    quote = dialect.quotechar or ""
    if dialect.escapechar or not dialect.doublequote or dialect.quoting == csv.QUOTE_NONE:
        return False
    if not (quote and quote.isascii()):
        return False
    file.seek(0)
    number = 0
    while block := file.read(BLOCK):
        number += block.count(quote.encode())
    return number % 2 == 0


def _open_record(file: BinaryIO, encoding: str, dialect: Any) -> str | None:
    """Return the last record of a file if a reader of the format finds no end of it."""
    record: list[str] = []
    has_ended = is_open = False

    def lines(text: io.TextIOWrapper) -> Iterator[str]:
        nonlocal has_ended, is_open
        length = 0
        while line := text.readline(LARGEST_ITEM):
            if has_ended:
                record.clear()
                has_ended, length = False, 0
            length += len(line)
            if length >= LARGEST_ITEM:
                raise csv.Error("too long")
            record.append(line.removeprefix("\ufeff"))
            yield record[-1]
        is_open = bool(record) and not has_ended

    file.seek(0)
    with text_of(file, encoding) as text, _allow_large_fields():
        try:
            for _ in csv.reader(lines(text), _dialect_of_reader(dialect)):
                has_ended = True
        except csv.Error as error:
            raise TornFeedError(f"{file.name} is not the CSV of its feed ({error})") from error
    found = "".join(record)
    return found if is_open or (found and not found.endswith(dialect.lineterminator)) else None


def _closing_of(record: str, dialect: Any) -> str | None:
    """Return what ends the open *record*, ``None`` if nothing does."""
    escape, quote = dialect.escapechar or "", dialect.quotechar or ""
    ends = [closed + dialect.lineterminator for closed in ("", quote, escape, escape + quote)]
    if record.endswith("\r") and dialect.lineterminator == "\r\n":
        ends.insert(0, "\n")
    return next((added for added in ends if _is_closed(record + added, dialect)), None)


def _is_closed(record: str, dialect: Any) -> bool:
    """Return whether a reader finds another record in what follows *record*."""
    following, dialect = f"0{dialect.lineterminator}", _dialect_of_reader(dialect)
    with _allow_large_fields():
        rows = list(csv.reader(io.StringIO(record + following, newline=""), dialect))
        return len(rows) > 1 and rows[-1:] == list(csv.reader([following], dialect))


def _dialect_of_reader(dialect: Any) -> Any:
    """Return *dialect* for a reader that converts no numbers and tolerates errors."""
    if dialect.quoting == csv.QUOTE_NONE:
        return csv.reader([], dialect, strict=False).dialect
    return csv.reader([], dialect, quoting=csv.QUOTE_MINIMAL, strict=False).dialect


@contextmanager
def _allow_large_fields() -> Iterator[None]:
    limit = csv.field_size_limit(LARGEST_ITEM)
    try:
        yield
    finally:
        csv.field_size_limit(limit)
