"""A log in PostgreSQL: what the functions of postgres_log.sql do, each of them one transaction."""

import asyncio
import json
import math
import re
import socket
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.stores.base import Crawl, DuplicateNote, StoreDownError, Texts
from dedup.stores.entries import tail_of
from dedup.stores.identity import check_identity
from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import (
    FORMAT,
    LEASE,
    MOST_ENTRIES,
    Answer,
    Found,
    Joined,
    Request,
    ServerLog,
)
from dedup.stores.server_url import ServerUrl, url_error
from dedup.text import from_utf8, to_utf8

_OLDEST_SERVER = 140000

# What the server says before it speaks in codes, and waiting does not mend; if it says so in
# another language, it counts as down.
_REFUSAL = re.compile(
    "authentication failed|no password supplied|does not exist|pg_hba.conf|not permitted to log in"
    "|permission denied|invalid |does not support SSL|certificate"
)
# Lost connections, rollbacks, resources (a full disk, too many connections), interventions (an
# administrator stops it, it starts), systems; a standby, and a lock that was not had.
_DOWN = ("08", "40", "53", "57", "58", "25006", "55P03")
_SET_UP = """
    SELECT current_setting('server_encoding'), current_setting('transaction_read_only') = 'on',
        set_config('default_transaction_isolation', 'read committed', false),
        set_config('statement_timeout', %s, false),
        -- Plans are made once, while tables are small, and used when they are not.
        set_config('plan_cache_mode', 'force_generic_plan', false),
        set_config('jit', 'off', false),
        set_config('enable_seqscan', 'off', false),
        set_config('enable_hashjoin', 'off', false),
        set_config('enable_mergejoin', 'off', false)
"""

_SCHEMA = Path(__file__).with_name("postgres_log.sql")
# For one process at a time. The schema may be there, if the role may not make one.
_MAKE = """
    DO $make$ BEGIN
        PERFORM pg_advisory_xact_lock(x'6465647570'::bigint);
        IF to_regclass('dedup.about') IS NULL THEN
            IF to_regnamespace('dedup') IS NULL THEN
                CREATE SCHEMA dedup;
            END IF;
            EXECUTE $script$SCRIPT$script$;
        END IF;
    END $make$
"""
_NAME = Struct("<I8s")
"""The serial and the owner of a claim, as they are in an entry."""


class PostgresLog(ServerLog):
    """A log in a schema `dedup` of a PostgreSQL database, which may have several, by namespace.

    Calls wait for each other: there is one connection, which is the log's own (PgBouncer must pool
    by session). After an error the next call makes another. Acknowledged commits are lost only with
    the disks of the server, or if a standby that lags behind takes its place.
    """

    def __init__(self, url: str, timeout: float = 10.0, *, lease: float = LEASE) -> None:
        """Take *url*, ``postgresql://user:password@host:port/database?namespace=...``.

        All but the *namespace* is libpq's: several hosts, ``sslmode``, the file of passwords, the
        variables of the environment. No call takes longer than *timeout* seconds. Raises
        LedgerError for a URL that is none.
        """
        place = ServerUrl.of(url)
        super().__init__(place.name, lease=lease)
        try:
            options = conninfo_to_dict(place.of_client)
        except psycopg.Error:
            raise url_error(url) from None
        self._secrets = [
            str(options[name]) for name in ("password", "sslpassword") if options.get(name)
        ]
        hosts = str(options.get("host") or "").split(",")
        options.setdefault("connect_timeout", max(2, int(timeout / len(hosts))))
        options.setdefault("fallback_application_name", "scrapy-dedup")
        options["client_encoding"] = "UTF8"
        self._options = make_conninfo("", **options)
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._role = ""
        self._namespace = place.namespace
        self._has_tables = False
        self._signature: bytes | None = None

    async def open(self) -> Found | None:
        if not await self._has_schema():
            return None
        rows = await self._query(
            """
            SELECT identity, EXISTS (
                SELECT FROM dedup.members
                WHERE log = id AND lease > date_part('epoch', clock_timestamp())
            ) FROM dedup.logs WHERE namespace = %s
            """,
            self._namespace,
        )
        return Found(json.loads(rows[0][0]), rows[0][1]) if rows else None

    async def join(
        self, owner: bytes, spider: str, job: str | None, identity: Mapping[str, Any], reset: bool
    ) -> Joined:
        if not await self._has_schema():
            # All tables and functions, in one transaction, unless others are faster.
            script = _SCHEMA.read_text("utf-8") + f"INSERT INTO dedup.about VALUES ({FORMAT})"
            await self._query(_MAKE.replace("SCRIPT", script).encode())
        text = json.dumps(identity, sort_keys=True, default=str)
        signature = blake2b(text.encode(), digest_size=16).digest()
        [[run, is_resumed, is_reset, position, other]] = await self._query(
            "SELECT * FROM dedup.join(%s, %s, %s, %s, %s, %s, %s, %s)",
            self._namespace, signature, text, owner, to_utf8(spider),
            None if job is None else to_utf8(job), self.lease, reset,
        )  # fmt: skip
        if other is not None:
            check_identity(self.name, json.loads(other), json.loads(text), is_resumed=is_resumed)
        self._signature = signature
        while await self._query("SELECT dedup.sweep(%s)", str(MOST_ENTRIES)) == [(True,)]:
            pass
        return Joined(run, is_resumed, is_reset, position)

    async def exchange(self, request: Request) -> Answer:
        owner, run = request.owner, request.run
        [[last, ended, entries]] = await self._query(
            """
            SELECT * FROM dedup.exchange(%s, %s, %s, %s, %s, %s, %s, %s, %s::bigint[], %s, %s,
                %s::bigint[], %s, %s, %s::bigint[], %s, %s, %s, %s)
            """,
            self._namespace, self._signature, owner, str(request.turn), str(run),
            str(request.seen), self.lease, str(MOST_ENTRIES),
            *_named((event.number, owner, serial) for serial, event in request.commits),
            [tail_of(event) for _, event in request.commits],
            *_named((number, owner, serial) for number, serial in request.releases),
            self._to_append(request),
            *_columns(
                [
                    (note.number, to_utf8(note.key), to_utf8(note.kind), note.distance, note.at)
                    for note in request.duplicates
                ],
                5,
            ),
        )  # fmt: skip
        made = list(range(last + 1 - len(request.claims), last + 1))
        stored = set(ended or ())
        lost = [serial for n, (serial, _) in enumerate(request.commits, 1) if n not in stored]
        first = max(request.seen, 1)
        return Answer(self._entries(first, self._checked(first, last, entries)), made, lost)

    async def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> None:
        await self._query(
            "SELECT dedup.expire(%s, %s, %s::bigint[], %s)",
            self._namespace, self._signature, *_named(claims),
        )  # fmt: skip

    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        await self._query(
            "SELECT dedup.leave(%s, %s, %s, %s, %s)",
            self._namespace, self._signature, owner, to_utf8(reason),
            None
            if report is None
            else to_utf8(json.dumps(report, ensure_ascii=False, default=str)),
        )  # fmt: skip

    async def close(self) -> None:
        async with self._lock:
            await self._disconnect()

    # Reading.

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

    async def _entries_at(self, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        return await self._read(
            """
            SELECT position, entry FROM dedup.entries
            WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s)
                AND position = ANY (%s::bigint[])
            """,
            self._namespace, numbers,
        )  # fmt: skip

    async def crawls(self) -> list[Crawl]:
        rows = await self._read(
            """
            SELECT run, position, spider, job, started, finished, reason, report
            FROM dedup.crawls WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s)
            ORDER BY id
            """,
            self._namespace,
        )
        return [
            Crawl(
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

    async def _read(self, statement: LiteralString, *values: Any) -> list[Any]:
        """Return the rows of a statement; none before anybody has joined."""
        self._has_tables = self._has_tables or await self._has_schema()
        return await self._query(statement, *values) if self._has_tables else []

    def _checked(self, first: int, last: int, found: Sequence[bytes]) -> Sequence[bytes]:
        """Return the entries of an answer, which are from *first* to *last* if they are not many.

        Raises LedgerError if there is a gap.
        """
        if len(found) != min(MOST_ENTRIES, max(last + 1 - first, 0)):
            raise LedgerError(f"{self.name} is damaged: entries from {first} to {last} are missing")
        return found

    # The schema.

    async def _has_schema(self) -> bool:
        """Return whether the tables are there; raises LedgerError for those of somebody else."""
        [[has_tables, has_others]] = await self._query(
            """
            SELECT EXISTS (
                    SELECT FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
                    WHERE relnamespace = to_regnamespace('dedup')
                        AND relname = 'about' AND attname = 'format'
                ),
                EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('dedup'))
                OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('dedup'))
            """
        )
        if has_tables:
            [[found]] = await self._query("SELECT min(format) FROM dedup.about")
            if found == FORMAT:
                return True
            raise LedgerError(
                f"{self.name} has format {found} in its schema 'dedup', this scrapy-dedup needs "
                f"format {FORMAT}: use another database, or remove it (DROP SCHEMA dedup CASCADE)"
            )
        if has_others:
            raise LedgerError(
                f"{self.name} has a schema 'dedup' that is not of scrapy-dedup: use another "
                "database"
            )
        return False

    # The connection.

    async def _query(self, statement: LiteralString | bytes, *values: Any) -> list[Any]:
        """Return the rows of a statement: one transaction, which was taken if this returns."""
        try:
            async with asyncio.timeout(self._timeout), self._lock:
                try:
                    if self._connection is None:
                        await self._connect()
                    assert self._connection is not None
                    return await _rows(self._connection, statement, values)
                except BaseException:
                    await self._disconnect()
                    raise
        except TimeoutError:
            raise StoreDownError(
                f"{self.name} did not answer within {self._timeout:g} seconds"
            ) from None
        except psycopg.Error as error:
            raise self._error(error) from error

    async def _connect(self) -> None:
        await self._disconnect()
        connection = await psycopg.AsyncConnection.connect(self._options, autocommit=True)
        self._connection, self._role = connection, connection.info.user
        version = connection.info.server_version
        if version < _OLDEST_SERVER:
            raise LedgerError(
                f"{self.name} has PostgreSQL {version // 10_000}, "
                f"scrapy-dedup needs {_OLDEST_SERVER // 10_000} or later"
            )
        timeout = str(math.ceil(self._timeout * 1000))
        [[encoding, is_read_only, *_]] = await _rows(connection, _SET_UP, [timeout])
        if encoding != "UTF8":
            raise LedgerError(f"{self.name} has encoding {encoding}, scrapy-dedup needs UTF8")
        if is_read_only:
            raise StoreDownError(  # somebody else may be made the primary one
                f"{self.name} is read-only, as a standby is: use the primary server, or name all "
                "of them with target_session_attrs=read-write"
            )

    async def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _error(self, error: psycopg.Error) -> LedgerError:
        """Return what callers get for an error of the server, of the way to it, or of psycopg."""
        state = error.sqlstate or ""
        told = " ".join((error.diag.message_primary or str(error)).split())
        for secret in self._secrets:
            told = told.replace(secret, "***")
        if state == "42501":
            role = '"{}"'.format(self._role.replace('"', '""'))
            told += (
                f". If there is no schema dedup yet: CREATE SCHEMA dedup AUTHORIZATION {role}; "
                f"else: GRANT USAGE ON SCHEMA dedup TO {role}; "
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA dedup TO {role}"
            )
        is_down = (
            state.startswith(_DOWN)
            if state
            else isinstance(error, psycopg.OperationalError) and not _REFUSAL.search(told)
        )
        return (StoreDownError if is_down else LedgerError)(f"{self.name}: {told}")


def _columns(rows: Iterable[Sequence[Any]], count: int) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


def _named(claims: Iterable[tuple[int, bytes, int]]) -> list[list[Any]]:
    """Return the numbers of claims, and their names: numbers, owners and serials are given."""
    return _columns([(number, _NAME.pack(serial, owner)) for number, owner, serial in claims], 2)


async def _rows(
    connection: psycopg.AsyncConnection[Any],
    statement: LiteralString | bytes,
    values: Sequence[Any],
) -> list[Any]:
    """Return the rows of one statement, or of a script without values.

    Where it is cancelled, the connection is cut: psycopg would first have the server cancel, too.
    """
    prepare = bool(values)
    asking = asyncio.create_task(
        connection.execute(statement, values or None, prepare=prepare, binary=prepare)
    )
    asking.add_done_callback(lambda task: task.cancelled() or task.exception())
    try:
        await asyncio.wait([asking])
    except asyncio.CancelledError:
        with suppress(OSError), socket.socket(fileno=connection.fileno()) as way:
            try:
                way.shutdown(socket.SHUT_RDWR)
            finally:
                way.detach()
        await asyncio.wait([asking])
        raise
    cursor = asking.result()
    return await cursor.fetchall() if cursor.description else []
