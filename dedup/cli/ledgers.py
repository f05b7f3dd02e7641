"""Where a ledger is, and what it was made with: for all commands that look at one."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from dedup.methods import METHODS
from dedup.methods.arguments import check_arguments
from dedup.methods.base import Method
from dedup.stores.identity import OTHERS
from dedup.stores.reader import Crawl, LedgerReader
from dedup.stores.shared.copying import copy_to_ledger
from dedup.stores.shared.log_url import LogUrl, without_secrets
from dedup.stores.shared.places import open_server_log
from dedup.stores.shared.server_log import ServerLog

LEDGER_HELP = "the ledger of DEDUP_INDEX: a file, or the URL of a shared store"

T = TypeVar("T")


def place_of(text: str) -> Path | LogUrl:
    """Return where a ledger is: the type of an argument, whose messages show no password."""
    if "://" not in text:
        return Path(text)
    try:
        return LogUrl.of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def path_of(text: str) -> Path:
    """Return the path of a ledger that can only be a file: the type of an argument."""
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"must be the path of a file, got the URL {without_secrets(text)!r}"
        )
    return Path(text)


@contextmanager
def ledger_file(place: Path | LogUrl) -> Iterator[Path]:
    """Yield the file of a ledger; that of a shared store is a copy, which is removed afterwards."""
    if isinstance(place, Path):
        yield place
        return
    with TemporaryDirectory(prefix="dedup-") as folder:
        copy = Path(folder, "pages.sqlite")
        with_log(place, lambda log: copy_to_ledger(log, copy))
        yield copy


def name_of_copied(place: Path | LogUrl) -> str:
    """Return what a ledger is called that is read from a copy; "" for a file, which is not."""
    return place.name if isinstance(place, LogUrl) else ""


@contextmanager
def open_ledger(place: Path | LogUrl) -> Iterator[LedgerReader]:
    """Yield the reader of a ledger; that of a shared store reads a copy of it."""
    with ledger_file(place) as path, LedgerReader(path, name_of_copied(place)) as reader:
        yield reader


def with_log(place: LogUrl, use: Callable[[ServerLog], Awaitable[T]]) -> T:
    """Return what *use* does of the log at *place*, which is closed afterwards."""

    async def run() -> T:
        log = open_server_log(place)
        try:
            return await use(log)
        finally:
            await log.close()

    return asyncio.run(run())


def method_of_ledger(identity: dict[str, Any], crawls: list[Crawl]) -> Method | None:
    """Return the method of a ledger, with the threshold of its last crawl that tells one.

    ``None`` if it is not one of ours.
    """
    kind = METHODS.get(identity.get("method", ""))
    if kind is None or kind.version != identity.get("version"):
        return None
    others = ("method", "version", "lexicon", "secret", "simplify_chinese", *OTHERS)
    arguments = {name: value for name, value in identity.items() if name not in others}
    if (distance := setting_of_crawls(crawls, "DEDUP_MAX_DISTANCE")) is not None:
        arguments["max_distance"] = distance
    try:
        check_arguments(kind, arguments)
        return kind(**arguments)
    except (TypeError, ValueError):
        return None


def setting_of_crawls(crawls: list[Crawl], name: str, default: Any = None) -> Any:
    """Return a setting of the last crawl that tells it."""
    values = [crawl.setting(name) for crawl in crawls]
    return next((value for value in reversed(values) if value is not None), default)
