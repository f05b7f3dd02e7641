"""URLs of Redis and Valkey servers: what to connect with, and what may be shown."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.server_url import ServerUrl, split_query

_SCHEMES = {
    "redis": "redis",
    "rediss": "rediss",
    "valkey": "redis",
    "valkeys": "rediss",
    "unix": "unix",
}
_OPTIONS = {
    "redis": set[str](),
    "rediss": {"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"},
    "unix": {"db"},
}
"""What may be after the ?, besides the namespace."""
_PORT = 6379


def parse_redis_url(url: str) -> ServerUrl:
    """Take *url* apart; raises LedgerError, which shows nothing of it, for one that is wrong."""
    parts = _split(url)
    kind = _SCHEMES[parts.scheme]
    namespace, options = split_query(parts.query, "Redis")
    if not options.keys() <= _OPTIONS[kind]:
        known = ", ".join(sorted({"namespace", *_OPTIONS[kind]}))
        raise _error(f"after the ? are {known}, and nothing else")
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
    return ServerUrl(f"{parts.scheme}://{shown}{mark}namespace={namespace}", namespace, arguments)


def _split(url: str) -> SplitResult:
    is_valid = False
    with suppress(ValueError):  # whose message may show a part of a password
        parts = urlsplit(url)
        is_valid = parts.port != 0
    if not is_valid:
        raise _error("it has no valid host and port, or the password has unescaped characters")
    if parts.scheme not in _SCHEMES:
        raise _error(f"it begins with none of {', '.join(f'{name}://' for name in _SCHEMES)}")
    if "#" in url:
        raise _error("# is no part of it (%23 in a password)")
    return parts


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


def _error(what: str) -> LedgerError:
    return LedgerError(
        "The URL of a Redis server must be as redis://user:password@host:6379/0?namespace=name; "
        f"this one is wrong: {what}"
    )
