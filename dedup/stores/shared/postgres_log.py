"""A log in PostgreSQL: what the functions of postgres_log.sql do, each of them one transaction."""

import asyncio
import json
import math
import re
import socket
import zlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from struct import Struct
from typing import Any, LiteralString
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.record import Claimed, PageRecord, Preferred
from dedup.sqlite_file import LedgerError
from dedup.stores.base import DuplicateNote, HistoryChangedError, StoreDownError, Texts
from dedup.stores.identity import check_identity
from dedup.stores.shared.entries import many_from_bytes, to_bytes
from dedup.stores.shared.log import (
    FORMAT,
    LEASE,
    MOST_ENTRIES,
    Answer,
    CrawlRow,
    Entry,
    Found,
    Joined,
    Log,
    Member,
    Request,
)

_SCHEMA = Path(__file__).with_suffix(".sql")
_OLDEST_SERVER = 140000
_TEXTS_AT_A_TIME, _TEXTS_AT_MOST = 100, 2_000
_NAMESPACE, _LONGEST_NAMESPACE = "dedup", 200

_NAME = Struct("<I8s")
"""The serial and the owner of a claim, as they are in an entry."""

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


class PostgresLog(Log):
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
        options, self._namespace = _parts(url)
        self._secrets = [options[name] for name in ("password", "sslpassword") if options.get(name)]
        hosts = str(options.get("host") or "").split(",")
        options.setdefault("connect_timeout", max(2, int(timeout / len(hosts))))
        options.setdefault("fallback_application_name", "scrapy-dedup")
        options["client_encoding"] = "UTF8"
        self._options = make_conninfo("", **options)
        super().__init__(_name(options, self._namespace), lease=lease)
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._role = ""
        self._signature: bytes | None = None
        self._was_opened = False
        self._has_tables = False

    # Taking part.

    async def open(self) -> Found | None:
        self._was_opened = False
        if not await self._has_schema():
            self._was_opened = True
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
        self._was_opened = True
        return Found(json.loads(rows[0][0]), rows[0][1]) if rows else None

    async def join(self, member: Member, identity: Mapping[str, Any], *, reset: bool) -> Joined:
        if not await self._has_schema():
            await self._make_schema()
        text = json.dumps(identity, sort_keys=True, default=str)
        signature = blake2b(text.encode(), digest_size=16).digest()
        [[run, is_resumed, is_reset, other]] = await self._query(
            "SELECT * FROM dedup.join(%s, %s, %s, %s, %s, %s, %s, %s)",
            self._namespace, signature, text, member.owner, _bytes(member.spider),
            None if member.job is None else _bytes(member.job), self.lease, reset,
        )  # fmt: skip
        if other is not None:
            check_identity(self.name, json.loads(other), json.loads(text), is_resumed=is_resumed)
        self._signature = signature
        while await self._query("SELECT dedup.sweep(%s)", str(MOST_ENTRIES)) == [(True,)]:
            pass
        return Joined(run, is_resumed, is_reset)

    async def exchange(self, request: Request) -> Answer:
        owner, run = request.owner, request.run
        preferred = [
            to_bytes(Entry(0, owner, 0, run, 0.0, Preferred(number, key)))
            for number, key in request.preferred.items()
        ]
        claims = [
            to_bytes(Entry(0, owner, serial, run, 0.0, claimed))
            for serial, claimed in request.claims
        ]
        [[last, ended, entries]] = await self._query(
            """
            SELECT * FROM dedup.exchange(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
                %s, %s, %s, %s, %s, %s, %s)
            """,
            self._namespace, self._signature, owner, str(request.turn), str(run),
            str(request.seen), self.lease, str(MOST_ENTRIES),
            *_claims((number, owner, serial) for number, serial in request.commits),
            *_claims((number, owner, serial) for number, serial in request.releases),
            _array([*preferred, *claims]),
            *_columns(
                [
                    (note.number, _bytes(note.key), _bytes(note.kind), note.distance, note.at)
                    for note in request.duplicates
                ],
                5,
            ),
            *_columns(request.seen_again.items(), 2),
        )  # fmt: skip
        made = list(range(last + 1 - len(claims), last + 1))
        stored = set(ended or ())
        lost = [serial for n, (_, serial) in enumerate(request.commits, 1) if n not in stored]
        return Answer(self._entries(max(request.seen, 1), last, entries), made, lost)

    async def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> float:
        [[left]] = await self._query(
            "SELECT dedup.expire(%s, %s, %s, %s)",
            self._namespace, self._signature, *_claims(claims),
        )  # fmt: skip
        return math.inf if left is None else float(left)

    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        await self._query(
            "SELECT dedup.leave(%s, %s, %s, %s, %s)",
            self._namespace, self._signature, owner, _bytes(reason),
            None
            if report is None
            else _bytes(json.dumps(report, ensure_ascii=False, default=str)),
        )  # fmt: skip
        left, count = iter(texts), 0
        while part := list(islice(left, _TEXTS_AT_A_TIME)):
            count += len(part)
            rows = [
                (_bytes(url), None if title is None else _bytes(title), zlib.compress(_bytes(text)))
                for url, title, text in part
            ]
            await self._query(
                "SELECT dedup.keep_texts(%s, %s, %s, %s, %s, %s)",
                self._namespace, self._signature, str(max(count, _TEXTS_AT_MOST)),
                *_columns(rows, 3),
            )  # fmt: skip

    async def close(self) -> None:
        async with self._lock:
            await self._disconnect()

    # Reading.

    async def snapshot(self, since: float = 0.0) -> AsyncIterator[list[Entry]]:
        last: list[Entry] = []
        while True:
            # From the last one on, which shows whether the log is still the same.
            entries = await self.entries(last[0].position - 1 if last else 0)
            if entries[:1] != last and last:
                raise HistoryChangedError(f"{self.name} lost what it had while it was read")
            if entries == last:
                return
            yield entries[len(last) :]
            last = entries[-1:]

    async def entries(self, after: int) -> list[Entry]:
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
        return [entry for last, found in rows for entry in self._entries(after + 1, last, found)]

    async def pages(self, numbers: Iterable[int]) -> dict[int, PageRecord]:
        pages, left = {}, iter(numbers)
        while part := list(islice(left, MOST_ENTRIES)):
            for position, data in await self._read(
                """
                SELECT position, entry FROM dedup.entries
                WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s) AND position = ANY (%s)
                """,
                self._namespace, _array(part),
            ):  # fmt: skip
                [entry] = self._decoded(position, [data])
                if isinstance(entry.event, Claimed):
                    pages[position] = entry.event.record
        return pages

    async def crawls(self) -> list[CrawlRow]:
        rows = await self._read(
            """
            SELECT run, spider, job, started, finished, reason, report
            FROM dedup.crawls WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s)
            ORDER BY id
            """,
            self._namespace,
        )
        return [
            CrawlRow(
                run, _text(spider), None if job is None else _text(job), started, finished,
                None if reason is None else _text(reason),
                None if report is None else json.loads(_text(report)),
            )
            for run, spider, job, started, finished, reason, report in rows
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
                yield run, DuplicateNote(_text(key), number, _text(kind), distance, at)
                last = number, digest

    async def seen_again(self) -> dict[int, float]:
        times: dict[int, float] = {}
        last = -1
        while rows := await self._read(
            """
            SELECT number, at FROM dedup.seen
            WHERE log = (SELECT id FROM dedup.logs WHERE namespace = %s) AND number > %s
            ORDER BY number LIMIT %s
            """,
            self._namespace, str(last), str(MOST_ENTRIES),
        ):  # fmt: skip
            times.update(rows)
            last = rows[-1][0]
        return times

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
                shown = None if title is None else _text(title)
                yield _text(url), shown, _text(zlib.decompress(text))
            last = rows[-1][0]

    async def _read(self, statement: LiteralString, *values: Any) -> list[Any]:
        """Return the rows of a statement; none before anybody has joined."""
        self._has_tables = self._has_tables or await self._has_schema()
        return await self._query(statement, *values) if self._has_tables else []

    def _decoded(self, first: int, found: Iterable[bytes]) -> list[Entry]:
        try:
            return many_from_bytes(first, found)
        except ValueError as error:
            raise LedgerError(f"{self.name} is damaged: {error}") from error

    def _entries(self, first: int, last: int, found: Sequence[bytes]) -> list[Entry]:
        """Return the entries of an answer, which are from *first* to *last* if they are not many.

        Raises LedgerError if there is a gap.
        """
        if len(found) != min(MOST_ENTRIES, max(last + 1 - first, 0)):
            raise LedgerError(f"{self.name} is damaged: entries from {first} to {last} are missing")
        return self._decoded(first, found)

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

    async def _make_schema(self) -> None:
        """Create all tables and functions, in one transaction, unless others are faster."""
        script = _SCHEMA.read_text("utf-8") + f"INSERT INTO dedup.about VALUES ({FORMAT})"
        await self._query(_MAKE.replace("SCRIPT", script).encode())

    # The connection.

    async def _query(self, statement: LiteralString | bytes, *values: Any) -> list[Any]:
        """Return the rows of a statement: one transaction, which was taken if this returns."""
        try:
            async with asyncio.timeout(self._timeout), self._lock:
                try:
                    if self._connection is None or not _is_alive(self._connection):
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
            # Somebody else may be made the primary one, but nobody is at the start.
            kind = StoreDownError if self._was_opened else LedgerError
            raise kind(
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


def _parts(url: str) -> tuple[dict[str, Any], str]:
    """Return libpq's options in *url*, and the namespace; errors show nothing of a password."""
    start, _, query = url.partition("?")
    scheme, _, rest = start.partition("://")
    place, _, path = rest.partition("/")
    is_clear = place.count("@") < 2 and "@" not in path + query and "#" not in url
    if scheme not in ("postgresql", "postgres") or not is_clear:
        raise LedgerError(
            "a URL of PostgreSQL is postgresql://user:password@host:port/database, with %40 for "
            "@, %3A for :, %2F for /, %3F for ? and %23 for # in user and password"
        )
    pairs = parse_qsl(query, keep_blank_values=True)
    namespace = dict(pairs).get("namespace", _NAMESPACE)
    if not 0 < len(namespace) <= _LONGEST_NAMESPACE or not namespace.isprintable():
        raise LedgerError(
            f"the namespace in the URL of PostgreSQL must have 1 to {_LONGEST_NAMESPACE} "
            f"printable characters, got {namespace[:_LONGEST_NAMESPACE]!r}"
        )
    pairs = [(name, value) for name, value in pairs if name != "namespace"]
    try:
        options = conninfo_to_dict(f"{start}?{urlencode(pairs, quote_via=quote)}")
    except psycopg.Error:
        names = ", ".join(name for name, _ in pairs)
        raise LedgerError(
            "the URL of PostgreSQL cannot be read: is it postgresql://user:password@host:port/"
            f"database, and are these options of libpq: {names or '(none)'}?"
        ) from None
    ports = str(options.get("port") or "").split(",")
    if not all(port == "" or (port.isdecimal() and 0 < int(port) < 65536) for port in ports):
        raise LedgerError("the port in the URL of PostgreSQL must be a number from 1 to 65535")
    return options, namespace


def _name(options: Mapping[str, Any], namespace: str) -> str:
    hosts = str(options.get("host") or options.get("hostaddr") or "").split(",")
    ports = str(options.get("port") or "").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = ",".join(
        f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False)
    )
    return f"postgresql://{places}/{options.get('dbname', '')}?namespace={namespace}"


def _is_alive(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Return whether the server has not hung up: then nothing is asked in vain."""
    try:
        connection.pgconn.consume_input()  # its last words
        connection.pgconn.consume_input()  # that it has hung up
    except psycopg.OperationalError:
        return False
    return not connection.closed


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


def _claims(claims: Iterable[tuple[int, bytes, int]]) -> list[str]:
    """Return the numbers of claims, and their names, as arrays."""
    return _columns([(number, _NAME.pack(serial, owner)) for number, owner, serial in claims], 2)


def _columns(rows: Iterable[Sequence[Any]], count: int) -> list[str]:
    """Return the *count* columns of rows as arrays."""
    columns = list(zip(*rows, strict=True)) or [()] * count
    return [_array(column) for column in columns]


def _array(values: Iterable[int | float | bytes | None]) -> str:
    r"""Return an array as PostgreSQL writes it, of whichever type it wants there.

    So the types of a statement are always the same, and it is prepared once.

    >>> print(_array([1, None]), _array([b"a"]))
    {1,NULL} {"\\x61"}
    """
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: int | float | bytes | None) -> str:
    if value is None:
        return "NULL"
    return f'"\\\\x{value.hex()}"' if isinstance(value, bytes) else str(value)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
