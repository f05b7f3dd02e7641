"""Ledgers and feeds, as commands read them."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from dedup.records.lines import read_records
from dedup.stores.copying import copy_to_ledger
from dedup.stores.log import ServerLog
from dedup.stores.reader import LedgerReader
from dedup.stores.server_url import ServerUrl, open_log, split_options
from dedup.units import Count

T = TypeVar("T")


def place_of(text: str) -> Path | ServerUrl:
    """Return where a ledger is: the type of an argument, whose messages show no password."""
    if "://" not in text:
        return Path(text)
    try:
        place, _ = split_options(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return place if isinstance(place, ServerUrl) else Path(place)


@contextmanager
def ledger_file(place: Path | ServerUrl) -> Iterator[tuple[Path, str]]:
    """Yield the file of a ledger and ""; of a shared store a copy for a while, and its name."""
    if isinstance(place, Path):
        yield place, ""
        return
    with TemporaryDirectory(prefix="dedup-") as folder:
        copy = Path(folder, "pages.sqlite")
        with_log(place, lambda log: copy_to_ledger(log, copy))
        yield copy, place.name


@contextmanager
def open_ledger(place: Path | ServerUrl) -> Iterator[LedgerReader]:
    """Yield the reader of a ledger; that of a shared store reads a copy of it."""
    with ledger_file(place) as (path, name), LedgerReader(path, name) as reader:
        yield reader


def with_log(place: ServerUrl, use: Callable[[ServerLog], Awaitable[T]]) -> T:
    """Return what *use* does of the log at *place*, which is closed afterwards."""

    async def run() -> T:
        log = open_log(place)
        try:
            return await use(log)
        finally:
            await log.close()

    return asyncio.run(run())


def texts_of_feed(path: Path, options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Yield key and text of the items of a feed that have both, in the fields that are asked for.

    Raises ValueError if there are items, and none has.
    """
    items = texts = 0
    for _, record in read_records(path, ""):
        items += 1
        key, text = map(record.fields.get, (options.key_field, options.text_field))
        if isinstance(key, str) and isinstance(text, str):
            texts += 1
            yield key, text
    if items and not texts:
        raise ValueError(
            f"none of {Count(items):item} of {path} has strings in {options.key_field!r} and "
            f"{options.text_field!r}; --key-field and --text-field name other fields"
        )
