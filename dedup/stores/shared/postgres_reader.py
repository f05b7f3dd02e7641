"""What is read of a log in PostgreSQL."""

import json
import zlib
from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import islice
from typing import Any, LiteralString

from dedup.record import Claimed, PageRecord
from dedup.sqlite_file import LedgerError
from dedup.stores.base import DuplicateNote
from dedup.stores.shared.listed_log import ListedLog
from dedup.stores.shared.log import MOST_ENTRIES, CrawlRow
from dedup.stores.shared.postgres_arrays import array_of
from dedup.stores.shared.postgres_client import PostgresClient
from dedup.stores.shared.postgres_schema import has_schema
from dedup.stores.shared.postgres_url import parse_postgres_url
from dedup.text import from_utf8

_TEXTS_AT_A_TIME = 100


class PostgresReader(ListedLog):
    """Reads a log in a schema `dedup` of a database, which may have several, by namespace."""

    def __init__(self, url: str, timeout: float, *, lease: float, most_texts: int) -> None:
        """Take what `PostgresLog` does."""
        place = parse_postgres_url(url)
        super().__init__(place.name, lease=lease, most_texts=most_texts)
        self._client = PostgresClient(place, timeout)
        self._namespace = place.namespace
        self._has_tables = False

    async def _listed(self, after: int) -> list[bytes]:
        rows = await self._read(
            """
            SELECT last, ARRAY(
                SELECT entry FROM dedup.entries
                WHERE log = id AND position > %s AND position <= %s
                ORDER BY position
            ) FROM dedup.logs WHERE namespace = %s
            """,
            str(after), str(after + MOST_ENTRIES), self._namespace,
        )  # fmt: skip
        return [data for row in rows for data in self._checked(after + 1, *row)]

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        pages, left = {}, iter(numbers)
        while part := list(islice(left, MOST_ENTRIES)):
            for position, data in await self._read(
                """
                SELECT position, entry FROM dedup.entries
                WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s) AND position = ANY (%s)
                """,
                self._namespace, array_of(part),
            ):  # fmt: skip
                [entry] = self._entries(position, [data])
                if isinstance(entry.event, Claimed):
                    pages[position] = entry.event.record
        return pages

    async def crawls(self) -> list[CrawlRow]:
        rows = await self._read(
            """
            SELECT run, position, spider, job, started, finished, reason, report
            FROM dedup.crawls WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s)
            ORDER BY id
            """,
            self._namespace,
        )
        return [
            CrawlRow(
                run, position, from_utf8(spider), None if job is None else from_utf8(job), started,
                finished, None if reason is None else from_utf8(reason),
                None if report is None else json.loads(from_utf8(report)),
            )
            for run, position, spider, job, started, finished, reason, report in rows
        ]  # fmt: skip

    async def duplicates(self) -> AsyncIterator[tuple[int, DuplicateNote]]:
        last: tuple[int, bytes] = -1, b""
        while rows := await self._read(
            """
            SELECT number, digest, run, key, kind, distance, at
            FROM dedup.matches
            WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s)
                AND (number, digest) > (%s::bigint, %s::bytea)
            ORDER BY number, digest LIMIT %s
            """,
            self._namespace, str(last[0]), last[1], str(MOST_ENTRIES),
        ):  # fmt: skip
            for number, digest, run, key, kind, distance, at in rows:
                yield run, DuplicateNote(from_utf8(key), number, from_utf8(kind), distance, at)
                last = number, digest

    async def seen_again(self) -> AsyncIterator[tuple[int, float]]:
        last = -1
        while rows := await self._read(
            """
            SELECT number, at FROM dedup.seen
            WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s) AND number > %s
            ORDER BY number LIMIT %s
            """,
            self._namespace, str(last), str(MOST_ENTRIES),
        ):  # fmt: skip
            for number, at in rows:
                yield number, at
            last = rows[-1][0]

    async def texts(self) -> AsyncIterator[tuple[str, str | None, str]]:
        last = -1
        while rows := await self._read(
            """
            SELECT id, url, title, text FROM dedup.texts
            WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s) AND id > %s
            ORDER BY id LIMIT %s
            """,
            self._namespace, str(last), str(_TEXTS_AT_A_TIME),
        ):  # fmt: skip
            for _, url, title, text in rows:
                shown = None if title is None else from_utf8(title)
                yield from_utf8(url), shown, from_utf8(zlib.decompress(text))
            last = rows[-1][0]

    async def _read(self, statement: LiteralString, *values: Any) -> list[Any]:
        """Return the rows of a statement; none before anybody has joined."""
        self._has_tables = self._has_tables or await has_schema(self._client)
        return await self._client.query(statement, *values) if self._has_tables else []

    def _checked(self, first: int, last: int, found: Sequence[bytes]) -> Sequence[bytes]:
        """Return the entries of an answer, which are from *first* to *last* if they are not many.

        Raises LedgerError if there is a gap.
        """
        if len(found) != min(MOST_ENTRIES, max(last + 1 - first, 0)):
            raise LedgerError(f"{self.name} is damaged: entries from {first} to {last} are missing")
        return found
