"""URLs of Redis and Valkey servers: what to connect with, and what may be shown."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from dedup.sqlite_file import LedgerError

_SCHEMES = {
    "redis": "redis",
    "rediss": "rediss",
    "valkey": "redis",
    "valkeys": "rediss",
    "unix": "unix",
}
_TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_PORT = 6379
_NAMESPACE = "dedup"


@dataclass(frozen=True)
class RedisUrl:
    """A server, one of its databases, and a namespace in it.

    *name* is what messages show; *arguments* are what the client takes, with user and password.
    """

    name: str
    namespace: str
    arguments: Mapping[str, Any] = field(repr=False)


def parse_redis_url(url: str) -> RedisUrl:
    """Take *url* apart; raises LedgerError, which shows nothing of it, for one that is wrong."""
    parts = _split(url)
    if parts is None:
        raise _error("it has no valid host and port, or the password has unescaped characters")
    kind = _SCHEMES.get(parts.scheme)
    if kind is None:
        raise _error(f"it begins with none of {', '.join(f'{name}://' for name in _SCHEMES)}")
    if parts.fragment or "#" in url:
        raise _error("# is no part of it (%23 in a password)")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = {"namespace", *(_TLS_FILES if kind == "rediss" else ()), *(("db",) * (kind == "unix"))}
    if not options.keys() <= known:
        raise _error(f"after the ? are {', '.join(sorted(known))}, and nothing else")
    namespace = options.pop("namespace", _NAMESPACE)
    if not namespace:
        raise _error("its namespace is empty")
    place, shown, database = _socket(parts, options) if kind == "unix" else _host(parts, options)
    if not (database.isascii() and database.isdigit()):
        raise _error("its database is not a number")
    arguments = place | {
        "username": unquote(parts.username or "") or None,
        "password": unquote(parts.password or "") or None,
        "db": int(database),
    }
    if kind == "rediss":
        arguments |= {"ssl": True, "ssl_check_hostname": True}
    mark = "&" if kind == "unix" else "?"
    return RedisUrl(f"{parts.scheme}://{shown}{mark}namespace={namespace}", namespace, arguments)


def _socket(parts: SplitResult, options: Mapping[str, str]) -> tuple[dict[str, Any], str, str]:
    """Return what the client takes for a socket, how that is shown, and the database."""
    path, database = unquote(parts.path), options.get("db", "0")
    if parts.hostname or not path.strip("/"):
        raise _error("it has no path of a socket: unix:///run/redis.sock?db=0&namespace=name")
    return {"unix_socket_path": path}, f"{path}?db={database}", database


def _host(parts: SplitResult, options: Mapping[str, str]) -> tuple[dict[str, Any], str, str]:
    """Return what the client takes for a host, how that is shown, and the database."""
    host, port = unquote(parts.hostname or ""), parts.port or _PORT
    database = parts.path.strip("/") or "0"
    if not host:
        raise _error("it has no host")
    at = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return {"host": host, "port": port, **options}, f"{at}/{database}", database


def _split(url: str) -> SplitResult | None:
    # Its messages may show a part of a password.
    with suppress(ValueError):
        parts = urlsplit(url)
        if parts.port != 0:
            return parts
    return None


def _error(what: str) -> LedgerError:
    return LedgerError(
        "The URL of a Redis server must be as redis://user:password@host:6379/0?namespace=name; "
        f"this one is wrong: {what}"
    )
