"""The ledger: a store in an SQLite file, which any tool can read."""

import json
import os
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any

from dedup.record import Claimed, PageRecord, Stored, StoredBatch
from dedup.stores import tables
from dedup.stores.base import Leaf, News, Store, Texts, UrlRule
from dedup.stores.identity import check_identity
from dedup.stores.ledger_file import LedgerError, LedgerFile, lock
from dedup.units import SECONDS_OF_A_DAY


class SqliteStore(Store):
    """Pages in an SQLite file, for one crawl at a time.

    News are written by `exchange`, in one transaction: the caller says when, since a page may only
    count as stored if its content outlives the process, too. An exchange of news alone may run in
    another thread; the store can be used meanwhile.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        identity: Mapping[str, Any],
        *,
        job: str | None = None,
        reset: bool = False,
        max_age: float | None = None,
    ) -> None:
        """Open or create the file *path*, and lock it.

        *identity*: what the sketches depend on, an object of JSON. *job*: the name of a crawl that
        can be interrupted; it goes on if its last one has not finished. *reset*: forget all that is
        stored, unless a job goes on. *max_age*: in days, how long an entry counts after its content
        was stored. Nothing in a file that exists is changed before `join`.

        Raises LedgerInUseError if others use the file; LedgerError if it is damaged, no
        ledger, was made with another identity (unless it is reset), or cannot be made.
        """
        self._file = LedgerFile(path)
        super().__init__(str(self._file.path))
        self._identity = json.loads(json.dumps(identity, default=str))
        self._job = job
        self._expired = time.time() - max_age * SECONDS_OF_A_DAY if max_age else 0.0
        # What was claimed and is neither in the file nor released.
        self._claimed: dict[int, PageRecord] = {}
        with self._file.errors(), ExitStack() as closing_on_failure:
            enter = closing_on_failure.enter_context
            enter(lock(self._file))
            self._file.make(self._identity)
            self._writer = enter(closing(self._file.connect()))
            self._writer.execute("BEGIN IMMEDIATE")  # fails for a file that cannot be written
            self._writer.rollback()
            self._file.check_place()
            if unfinished := tables.unfinished_crawl(self._writer, job):
                self.run, self.is_resumed = unfinished[0], True
            self._reset = reset and not self.is_resumed
            self._reader = enter(closing(self._file.connect()))
            if not self._reset:
                stored = self._file.identity(self._reader)
                check_identity(self.name, stored, self._identity, is_resumed=self.is_resumed)
            self._next = 1 if self._reset else 1 + tables.last_page(self._reader)
            self._has_earlier = self._next > 1
            self._closing = closing_on_failure.pop_all()

    async def join(self, spider: str) -> None:
        """Begin a crawl, or go on with the job's: from here on the file is changed."""
        with self._file.errors(), self._writer as file:
            if self._reset:
                tables.clear(file)
                tables.set_identity(file, self._identity)
            tables.end_sharing(file)
            if self._expired:
                query = "UPDATE pages SET ended = ? WHERE ended IS NULL AND stored < ?"
                file.execute(query, (time.time(), self._expired))
            if self.is_resumed:
                query = "UPDATE crawls SET finished = NULL, reason = NULL WHERE id = ?"
                file.execute(query, (self.run,))
            else:
                self.run = tables.insert_crawl(file, spider, self._job)
        self._reset = False
        self.has_joined = True

    def remember_requests(self) -> None:
        """Have room for leaves and rules over URLs, before any is asked for or noted."""
        with self._file.errors(), self._writer as file:
            tables.make_request_tables(file)

    def leaf(self, request: bytes) -> Leaf | None:
        """Return the leaf that *request* stands for, as noted last."""
        for news in (self._news, self._news_under_way):
            if request in news.leaves:
                return news.leaves[request]
        query = "SELECT visited, etag, modified FROM leaves WHERE request = ?"
        row = self._reader.execute(query, (request,)).fetchone()
        return row and Leaf(*row)

    def url_rules(self) -> list[UrlRule]:
        """Return the rules of earlier crawls."""
        if self._reset:
            return []
        query = "SELECT kind, host, name, agreed, spared, tests, broken FROM url_rules"
        return [UrlRule(*row) for row in self._reader.execute(query)]

    def note_leaf(self, request: bytes, leaf: Leaf | None) -> None:
        """The page that *request* asks for is a *leaf*, or none any more."""
        self._news.leaves[request] = leaf

    def note_url_rule(self, rule: UrlRule) -> None:
        self._news.url_rules[rule[:3]] = rule

    @property
    def last(self) -> int:
        return self._next - 1

    async def stored(self) -> AsyncGenerator[StoredBatch, None]:
        if self._reset:
            return
        with self._file.errors():
            for piece in tables.pages_that_count(self._reader, self._expired):
                yield piece

    def damage_error(self, error: Exception) -> LedgerError:
        return self._file.damage_error(error)

    async def exchange(self, claims: Sequence[Claimed], news: News | None) -> Sequence[Claimed]:
        if news:
            self._file.check_place()
            with self._writer as file:
                tables.insert_news(file, news, self.run)
            for number in news.commits:
                del self._claimed[number]
        events = []
        for claim in claims:
            events.append(claim._replace(number=self._next))
            self._claimed[self._next] = claim.record
            self._next += 1
        return events

    def release(self, number: int) -> None:
        del self._claimed[number]  # nobody else knows of it

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        wanted = set(numbers)
        claimed = {number: self._claimed[number] for number in wanted & self._claimed.keys()}
        return claimed | tables.pages(self._reader, wanted - claimed.keys())

    async def earlier(self, key: str) -> list[Stored]:
        if not self._has_earlier:
            return []
        return tables.pages_of_key(self._reader, key, self.run, self._expired)

    async def leave(self, reason: str, report: Mapping[str, Any] | None, texts: Texts = ()) -> None:
        with self._writer as file:
            tables.note_end(file, self.run, reason, report)
            tables.insert_texts(file, texts)

    def close(self) -> None:
        """Close and unlock the file. What was not written is forgotten."""
        self._closing.close()

    @property
    def nbytes(self) -> int:
        return 500 * len(self._claimed) + 200 * len(self._news.duplicates)
