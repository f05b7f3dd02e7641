"""What a shared store holds as the file of a ledger, and a ledger in a shared store."""

import sqlite3
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TypeVar

from dedup.record import Claimed, Committed, Lost, unpack_items
from dedup.stores import tables
from dedup.stores.base import Commit, HistoryChangedError, News
from dedup.stores.known_pages import KnownPages
from dedup.stores.ledger_file import LedgerError, LedgerFile, LedgerInUseError, lock
from dedup.stores.log import ServerLog
from dedup.stores.reader import LedgerReader
from dedup.stores.shared import SharedStore
from dedup.text import writable

_ROWS_AT_ONCE = 1_000

T = TypeVar("T")


async def copy_to_ledger(log: ServerLog, path: Path) -> None:
    """Write a ledger with all that *log* holds into *path*, also while crawls go on.

    Pages have the numbers that they have there. Who stored a page is known by its run only, so that
    it is the first crawl of that. An existing file is replaced, when all is done.

    Raises LedgerError if *log* is empty, cannot be read or is reset meanwhile, or if *path* is in
    use.
    """
    found = await log.open()
    if found is None:
        raise LedgerError(f"{log.name} is empty: no crawl has used it")
    new = LedgerFile(path)
    with lock(new), new.replacement() as file:
        new.lay_out(file, found.identity)
        with file:
            await _write(log, file)


async def _write(log: ServerLog, file: sqlite3.Connection) -> None:
    # The crawl of what is written is its run, until all crawls are known.
    before = await log.crawls()
    # Pages that a duplicate names are there before it: what is read later has them.
    async for run, note in log.duplicates():
        tables.insert_news(file, News(duplicates={(note.number, note.key): note}), run)
    known = KnownPages()
    async for entries in log.snapshot():
        for entry in entries:
            claim, event = known.follow(entry), entry.event
            if claim and isinstance(event, Committed):
                page = Commit(Claimed(claim.record, event.number), event, entry.at)
                tables.insert_pages(file, [page], claim.run)
    crawls = await log.crawls()
    # The first five values: how they began.
    if [row[:5] for row in before] != [row[:5] for row in crawls[: len(before)]]:
        raise HistoryChangedError(f"{log.name} was reset while it was read: try it again")
    for row in crawls:
        job = row.job and writable(row.job)
        crawl = tables.insert_crawl(
            file, row.spider, job, run=row.run, position=row.position, started=row.started
        )
        if row.finished is not None:
            tables.note_end(file, crawl, row.reason or "", row.report, row.finished)
    for table in ("pages", "matches"):
        file.execute(
            f"UPDATE {table} SET crawl = "
            f"coalesce((SELECT min(id) FROM crawls WHERE run = {table}.crawl), 0)"
        )
    # A log may have forgotten what was replaced.
    file.execute("DELETE FROM matches WHERE page NOT IN (SELECT id FROM pages)")


async def check_target(log: ServerLog) -> bool:
    """Return whether anybody has used *log*, which is open afterwards.

    Raises LedgerError unless a ledger can be copied there: it is empty, and no crawl uses it.
    """
    found = await log.open()
    if found is None:
        return False
    if found.is_in_use:
        raise _in_use_error(log)
    if await log.entries(0):
        raise LedgerError(f"{log.name} is not empty: name another store (?namespace=)")
    return True


def _in_use_error(log: ServerLog) -> LedgerInUseError:
    return LedgerInUseError(
        f"{log.name} is in use: wait for the end of its crawls (for one that was killed, "
        f"{log.lease:g} seconds), or name another store (?namespace=)"
    )


async def copy_to_log(path: Path, log: ServerLog, name: str = "") -> int:
    """Have *log* know the pages of the ledger at *path* that count; return how many these are.

    And their duplicates. All of this counts as stored now, in one crawl. What fails leaves the
    first pages in *log*: a store that knows less, from which pages are stored again. *name* is what
    messages call the ledger.

    Raises LedgerError as `check_target` does, if a crawl joins before all pages are there, if
    *path* is no ledger or damaged, or if *log* cannot be written.
    """
    reset = await check_target(log)
    with LedgerReader(path, name) as reader:
        store = SharedStore(log, reader.identity, reset=reset)
        await store.join("dedup ledger")
        try:
            count = await _tell(store, log, reader)
        except BaseException:
            with suppress(LedgerError):
                await store.leave("failed", None)
            raise
        await store.leave("finished", None)
        return count


async def _tell(store: SharedStore, log: ServerLog, reader: LedgerReader) -> int:
    """Have *store*, one process that takes part in *log*, tell what a ledger holds."""
    # Numbers in the ledger, in order, and what they are in the log.
    old, new = array("q"), array("q")

    def number_of(number: int) -> int:
        return new[bisect_left(old, number)]

    for pages in _batches(reader.pages()):
        events = await store.exchange([Claimed(page.record) for page in pages], None)
        if len(await log.crawls()) > 1:
            # Who joins now would take what is moved for what its own run has stored.
            raise _in_use_error(log)
        news = News()
        for page, claimed in zip(pages, events, strict=True):
            assert isinstance(claimed, Claimed)
            old.append(page.number)
            new.append(claimed.number)
            event = Committed(claimed.number, tuple(unpack_items(page.items)))
            news.commits[claimed.number] = Commit(claimed, event, page.stored)
        if any(isinstance(event, Lost) for event in await store.exchange((), news)):
            raise LedgerError(f"{log.name} has ended claims that took too long")
    for notes in _batches(reader.duplicates()):
        moved = [note._replace(number=number_of(note.number)) for note in notes]
        news = News(duplicates={(note.number, note.key): note for note in moved})
        await store.exchange((), news)
    return len(new)


def _batches(values: Iterable[T]) -> Iterator[Sequence[T]]:
    rest = iter(values)
    while batch := list(islice(rest, _ROWS_AT_ONCE)):
        yield batch
