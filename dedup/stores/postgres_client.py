"""The connection of a log to PostgreSQL: statements, one at a time, and what their errors mean."""

import asyncio
import math
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, LiteralString

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from dedup.stores.base import StoreDownError
from dedup.stores.ledger_file import LedgerError
from dedup.stores.server_url import ServerUrl, url_error

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


class PostgresClient:
    """Runs statements, each of them one transaction, which wait for each other.

    After an error the next one makes another connection.
    """

    def __init__(self, url: ServerUrl, timeout: float) -> None:
        """Create it without connecting; no statement takes longer than *timeout* seconds."""
        try:
            options = conninfo_to_dict(url.of_client)
        except psycopg.Error:
            raise url_error(url.url) from None
        self._secrets = [
            str(options[name]) for name in ("password", "sslpassword") if options.get(name)
        ]
        hosts = str(options.get("host") or "").split(",")
        options.setdefault("connect_timeout", max(2, int(timeout / len(hosts))))
        options.setdefault("fallback_application_name", "scrapy-dedup")
        options["client_encoding"] = "UTF8"
        self._options = make_conninfo("", **options)
        self.name = url.name
        self._timeout = timeout
        self._lock = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._role = ""

    async def query(self, statement: LiteralString | bytes, *values: Any) -> list[Any]:
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

    async def close(self) -> None:
        """Give back the connection; the next statement makes another."""
        async with self._lock:
            await self._disconnect()

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
