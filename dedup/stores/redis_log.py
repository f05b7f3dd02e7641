"""A log in Redis or Valkey: a list, and what belongs to it, in one slot of the server."""

import asyncio
import json
import ssl
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from importlib.resources import files
from struct import Struct, error
from typing import Any, NoReturn, TypeVar

from redis import exceptions
from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

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

_SCRIPT = files(__package__).joinpath("redis_log.lua").read_text("utf-8")
_OLDEST = (7, 0)
_DOWN = (
    exceptions.ConnectionError,
    exceptions.TimeoutError,
    exceptions.OutOfMemoryError,
    exceptions.ReadOnlyError,
    exceptions.ClusterDownError,
    exceptions.TryAgainError,
    OSError,
)
# Errors without a class, at least in old versions of the client.
_CODES_OF_DOWN = ("BUSY ", "MISCONF ", "NOREPLICAS ", "CLUSTERDOWN ", "MASTERDOWN ", "TRYAGAIN ")

# The keys, in the order in which the script has them.
_PARTS = "log", "about", "open", "owners", "duplicates", "crawls", "ends"
_DUPLICATES_AT_ONCE = 1000

_CLAIM = Struct("<QI")  # number and serial
_OWNED_CLAIM = Struct("<QI8s")
_DUPLICATE = Struct("<Idd")  # run, distance, when; the kind follows
_CRAWL = Struct("<8sIdQI")  # owner, run, when, position, length of the job; job and spider follow
_END = Struct("<dI")  # when, length of the reason; reason and report follow
_LENGTH = Struct("<I")
_NUMBER = Struct("<Q")

T = TypeVar("T")


class RedisLog(ServerLog):
    """A log in one namespace of a Redis (7.0 or later) or Valkey server.

    What the server acknowledged is lost as it is configured to lose it: with `appendonly yes`, if
    the machine fails, at most what the last second brought; without, with the server.
    """

    def __init__(self, url: str, timeout: float = 10.0, *, lease: float = LEASE) -> None:
        """Create it for a server; nothing waits longer than *timeout* seconds for it.

        *url*: `redis://user:password@host:6379/0?namespace=name`, or any other that redis-py
        takes (`rediss://`, `unix://`), with a namespace; `valkey://` and `valkeys://` are the same.
        Raises LedgerError if it is none.
        """
        address = ServerUrl.of(url)
        super().__init__(address.name, lease=lease)
        self._timeout = timeout
        scheme, _, place = address.of_client.partition("://")
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
            raise url_error(url) from None
        self._redis = Redis.from_pool(pool)
        self._script = self._redis.register_script(_SCRIPT)
        self._keys = {part: f"{{dedup:{address.namespace}}}:{part}" for part in _PARTS}
        self._made_with = b""

    # Taking part.

    async def open(self) -> Found | None:
        await self._check()
        there, made_with, is_in_use = await self._run("open")
        if made_with:
            self._made_with = made_with
            return Found(self._identity(made_with), bool(is_in_use))
        if there:
            raise self._strange(f"{self._keys['about']} is missing")
        return None

    async def join(
        self, owner: bytes, spider: str, job: str | None, identity: Mapping[str, Any], reset: bool
    ) -> Joined:
        made_with = _to_json({"format": FORMAT, "identity": identity})
        who = (owner, to_utf8(job or ""), to_utf8(spider))
        joined = await self._run("join", made_with, *who, int(reset), self.lease)
        if isinstance(joined, bytes):
            self._refuse(joined, made_with)
        self._made_with = made_with
        run, is_resumed, is_reset, position = joined
        return Joined(run, bool(is_resumed), bool(is_reset), position)

    async def exchange(self, request: Request) -> Answer:
        owner, turn, run, seen, *_ = request
        notes: list[bytes] = []
        for key, number, kind, distance, at in request.duplicates:
            notes.append(_NUMBER.pack(number) + to_utf8(key))
            notes.append(_DUPLICATE.pack(run, distance, at) + to_utf8(kind))
        tails = [tail_of(event) for _, event in request.commits]
        answer = await self._run(
            "exchange", self._made_with, owner, turn, run, seen, MOST_ENTRIES,
            self.lease,
            b"".join(_CLAIM.pack(event.number, serial) for serial, event in request.commits),
            b"".join(_CLAIM.pack(*claim) for claim in request.releases),
            b"".join(_LENGTH.pack(len(tail)) + tail for tail in tails),
            len(request.claims), *self._to_append(request), *notes,
        )  # fmt: skip
        if answer == b"late":
            raise LedgerError(f"{self.name} got a request too late, after a later one")
        if isinstance(answer, bytes):
            self._refuse(answer, self._made_with)
        length, lost, entries = answer
        made = list(range(length - len(request.claims) + 1, length + 1))
        return Answer(self._entries(max(seen, 1), entries), made, lost)

    async def expire(self, claims: Sequence[tuple[int, bytes, int]]) -> None:
        named = b"".join(_OWNED_CLAIM.pack(n, serial, owner) for n, owner, serial in claims)
        await self._run("expire", named)

    async def leave(
        self, owner: bytes, reason: str, report: Mapping[str, Any] | None, texts: Texts
    ) -> None:
        told = b"" if report is None else _to_json(report)
        why = to_utf8(reason)
        await self._run("leave", owner, _LENGTH.pack(len(why)) + why + told)

    async def close(self) -> None:
        await self._redis.aclose()

    # Reading.

    async def _listed(self, after: int) -> list[bytes]:
        found: list[bytes] = await self._call(
            "LRANGE", self._keys["log"], after, after + MOST_ENTRIES - 1
        )
        return found

    async def _entries_at(self, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
        wanted = [number for number in numbers if number > 0]
        pipeline = self._redis.pipeline(transaction=False)
        for number in wanted:
            pipeline.execute_command("LINDEX", self._keys["log"], number - 1)
        found = zip(wanted, await self._answer(pipeline.execute()), strict=True)
        return [(number, data) for number, data in found if data is not None]

    async def crawls(self) -> list[Crawl]:
        ends = await self._call("HGETALL", self._keys["ends"])
        rows = await self._call("LRANGE", self._keys["crawls"], 0, -1)
        return [self._parsed(_crawl, row, ends) for row in rows]

    async def duplicates(self) -> AsyncIterator[tuple[int, DuplicateNote]]:
        cursor = None
        while cursor != 0:  # a field may come twice while the hash grows
            arguments = (self._keys["duplicates"], cursor or 0, "COUNT", _DUPLICATES_AT_ONCE)
            cursor, found = await self._call("HSCAN", *arguments)
            for field, value in found.items():
                yield self._parsed(_duplicate, field, value)

    # The server.

    async def _run(self, *arguments: Any) -> Any:
        """Return what the script of logs does, as one atomic step."""
        return await self._answer(self._script(list(self._keys.values()), arguments))

    async def _call(self, *command: Any) -> Any:
        sent = self._redis.execute_command(*command)  # type: ignore[no-untyped-call]  # redis-py's
        return await self._answer(sent)

    async def _answer(self, command: Awaitable[T]) -> T:
        # The client drops a connection whose answer does not come, or is not waited for.
        try:
            async with asyncio.timeout(self._timeout):
                return await command
        except (exceptions.RedisError, OSError) as cause:
            raise self._error(cause) from cause

    def _error(self, cause: Exception) -> LedgerError:
        """Return what callers get for an error of the server, or of the way to it."""
        name, told = self.name, str(cause)
        if isinstance(cause, exceptions.AuthenticationError):
            return LedgerError(f"{name} refuses its user or password: {told}")
        if isinstance(cause.__context__, ssl.SSLCertVerificationError):
            return LedgerError(
                f"{name} shows a certificate that is not trusted: {cause.__context__}; "
                "ssl_ca_certs=FILE in the URL names the authority"
            )
        if isinstance(cause, TimeoutError):
            return StoreDownError(f"{name} did not answer within {self._timeout:g} seconds")
        if isinstance(cause, _DOWN) or told.startswith(_CODES_OF_DOWN):
            return StoreDownError(f"{name} cannot be reached or used now: {told.rstrip('.')}")
        return LedgerError(f"{name} cannot be used: {type(cause).__name__}: {told}")

    async def _check(self) -> None:
        """Raise LedgerError if the server would forget."""
        server: Mapping[str, Any] = await self._call("INFO")
        version = str(server.get("redis_version", "0"))
        numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
        if numbers < _OLDEST:
            oldest = ".".join(map(str, _OLDEST))
            raise LedgerError(
                f"{self.name} is a server of version {version}; {oldest} is the oldest"
            )
        if server.get("role") not in (None, "master"):
            primary = f"{server.get('master_host')}:{server.get('master_port')}"
            raise LedgerError(f"{self.name} is a read-only replica: connect to {primary}")
        policy = str(server.get("maxmemory_policy", "noeviction"))
        if policy != "noeviction" and (server.get("maxmemory") or policy.startswith("allkeys")):
            raise LedgerError(
                f"{self.name} has maxmemory-policy {policy}, so it may forget what is stored: "
                "set maxmemory-policy noeviction"
            )

    def _identity(self, made_with: bytes) -> dict[str, Any]:
        try:
            about = json.loads(from_utf8(made_with))
            found, identity = about["format"], about["identity"]
        except (ValueError, TypeError, LookupError) as cause:
            raise self._strange(f"{self._keys['about']} cannot be read") from cause
        if found != FORMAT or not isinstance(identity, dict):
            raise LedgerError(
                f"{self.name} has a log of format {found}, and this version of scrapy-dedup has "
                f"format {FORMAT}: use another namespace"
            )
        return identity

    def _refuse(self, made_with: bytes, own: bytes) -> NoReturn:
        """Raise the LedgerError for a log *made_with* other settings than the *own* ones."""
        there, here = self._identity(made_with), self._identity(own)
        check_identity(self.name, there, here, is_resumed=False)
        raise self._strange(f"{self._keys['about']} was written by other software")

    def _strange(self, what: str) -> LedgerError:
        return LedgerError(
            f"{self.name} has something that is no log of scrapy-dedup: {what}. Use another "
            "namespace"
        )

    def _parsed(self, parse: Callable[..., T], *data: Any) -> T:
        try:
            return parse(*data)
        except (ValueError, TypeError, LookupError, error) as cause:
            raise LedgerError(f"{self.name} is damaged: {cause}") from cause


def _crawl(row: bytes, ends: Mapping[bytes, bytes]) -> Crawl:
    owner, run, started, position, length = _CRAWL.unpack_from(row)
    job, spider = _parted(row[_CRAWL.size :], length)
    crawl = Crawl(run, position, spider, job or None, started)
    if owner not in ends:
        return crawl
    finished, length = _END.unpack_from(ends[owner])
    reason, told = _parted(ends[owner][_END.size :], length)
    return crawl._replace(
        finished=finished, reason=reason, report=json.loads(told) if told else None
    )


def _duplicate(field: bytes, value: bytes) -> tuple[int, DuplicateNote]:
    (number,) = _NUMBER.unpack_from(field)
    run, distance, at = _DUPLICATE.unpack_from(value)
    key, kind = from_utf8(field[_NUMBER.size :]), from_utf8(value[_DUPLICATE.size :])
    return run, DuplicateNote(key, number, kind, distance, at)


def _to_json(value: Any) -> bytes:
    # Not as escapes, which a reader joins to other characters.
    return to_utf8(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))


def _parted(data: bytes, length: int) -> tuple[str, str]:
    return from_utf8(data[:length]), from_utf8(data[length:])
