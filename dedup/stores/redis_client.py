"""The connection of a log to Redis or Valkey: commands, and what their errors mean."""

import asyncio
import ssl
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from typing import Any, TypeVar

from redis import exceptions
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from dedup.sqlite_file import LedgerError
from dedup.stores.base import StoreDownError
from dedup.stores.server_url import ServerUrl, url_error

_SCRIPT = files(__package__).joinpath("redis_log.lua").read_text("utf-8")
_OLDEST = (7, 0)
_DOWN = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
    TimeoutError,
    OSError,
)
# Errors without a class, at least in old versions of the client.
_CODES_OF_DOWN = ("BUSY ", "MISCONF ", "NOREPLICAS ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ")

T = TypeVar("T")


class RedisClient:
    """Has commands carried out, once each; raises LedgerError or StoreDownError for what fails."""

    def __init__(self, url: ServerUrl, timeout: float) -> None:
        """Create it without connecting; nothing waits longer than *timeout* seconds."""
        self._name = url.name
        self._timeout = timeout
        scheme, _, place = url.of_client.partition("://")
        scheme = scheme.replace("valkey", "redis")
        # What was sent may have been done, so the client may not send anything again.
        options: dict[str, Any] = {
            "retry": Retry(NoBackoff(), 0),
            "socket_timeout": None,
            "socket_connect_timeout": None,
            "protocol": 2,
        }
        if scheme == "rediss":
            options["ssl_check_hostname"] = True
        try:
            pool = ConnectionPool.from_url(f"{scheme}://{place}", **options)
            pool.make_connection()  # type: ignore[no-untyped-call]  # fails for unknown options
        except (ValueError, TypeError):
            raise url_error(url.url) from None
        self._redis = Redis.from_pool(pool)
        self._script = self._redis.register_script(_SCRIPT)

    async def run(self, keys: Iterable[str], *arguments: Any) -> Any:
        """Return what the script of logs does, as one atomic step."""
        return await self._answer(self._script(list(keys), arguments))

    async def call(self, *command: Any) -> Any:
        """Return the answer to one *command*."""
        sent = self._redis.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py's
        return await self._answer(sent)

    async def call_all(self, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
        """Return the answers to *commands*, which travel together."""
        pipeline = self._redis.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return await self._answer(pipeline.execute())

    async def _answer(self, command: Awaitable[T]) -> T:
        # The client drops a connection whose answer does not come, or is not waited for.
        with self._errors():
            async with asyncio.timeout(self._timeout):
                return await command

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except exceptions.AuthenticationError as cause:
            raise LedgerError(f"{self._name} refuses its user or password: {cause}") from cause
        except _DOWN as cause:
            if isinstance(cause.__context__, ssl.SSLCertVerificationError):
                raise LedgerError(
                    f"{self._name} shows a certificate that is not trusted: {cause.__context__}; "
                    "ssl_ca_certs=FILE in the URL names the authority"
                ) from cause
            raise self._down(cause) from cause
        except exceptions.RedisError as cause:
            if str(cause).startswith(_CODES_OF_DOWN):
                raise self._down(cause) from cause
            if isinstance(cause, exceptions.MovedError) or str(cause).startswith("MOVED "):
                raise LedgerError(
                    f"{self._name} is a node of a cluster, and another one has this namespace: "
                    f"connect to {str(cause).split()[-1]}"
                ) from cause
            raise LedgerError(f"{self._name} cannot be used: {cause}") from cause

    def _down(self, cause: Exception) -> StoreDownError:
        if isinstance(cause, TimeoutError):
            return StoreDownError(f"{self._name} did not answer within {self._timeout:g} seconds")
        if isinstance(cause, exceptions.OutOfMemoryError):
            return StoreDownError(f"{self._name} cannot write, its memory is full: {cause}")
        return StoreDownError(
            f"{self._name} cannot be reached or used now: {str(cause).rstrip('.')}"
        )

    async def check(self) -> None:
        """Raise LedgerError if the server would forget."""
        server: Mapping[str, Any] = await self.call("INFO")
        version = str(server.get("redis_version", "0"))
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        if numbers < _OLDEST:
            raise LedgerError(f"{self._name} is a server of version {version}; 7.0 is the oldest")
        if server.get("role") not in (None, "master"):
            primary = f"{server.get('master_host')}:{server.get('master_port')}"
            raise LedgerError(f"{self._name} is a read-only replica: connect to {primary}")
        policy = str(server.get("maxmemory_policy", "noeviction"))
        if policy != "noeviction" and (server.get("maxmemory") or policy.startswith("allkeys")):
            raise LedgerError(
                f"{self._name} has maxmemory-policy {policy}, so it may forget what is stored: "
                "set maxmemory-policy noeviction"
            )

    async def close(self) -> None:
        """Give back the connection."""
        await self._redis.aclose()
