"""URLs of PostgreSQL databases: what to connect with, and what may be shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dedup.sqlite_file import LedgerError

_NAMESPACE, _LONGEST_NAMESPACE = "dedup", 200


@dataclass(frozen=True)
class PostgresUrl:
    """A database, and a namespace in it.

    *name* is what messages show; *options* are libpq's, with user and password.
    """

    name: str
    namespace: str
    options: Mapping[str, Any] = field(repr=False)


def parse_postgres_url(url: str) -> PostgresUrl:
    """Take *url* apart; raises LedgerError, which shows nothing of a password, for a wrong one."""
    start, _, query = url.partition("?")
    _check_place(start, query, url)
    pairs = parse_qsl(query, keep_blank_values=True)
    namespace = dict(pairs).get("namespace", _NAMESPACE)
    if not 0 < len(namespace) <= _LONGEST_NAMESPACE or not namespace.isprintable():
        raise LedgerError(
            f"the namespace in the URL of PostgreSQL must have 1 to {_LONGEST_NAMESPACE} "
            f"printable characters, got {namespace[:_LONGEST_NAMESPACE]!r}"
        )
    options = _options(start, [(name, value) for name, value in pairs if name != "namespace"])
    hosts = _listed(options, "host") or _listed(options, "hostaddr") or [""]
    ports = _listed(options, "port") or [""]
    if not all(port == "" or (port.isdecimal() and 0 < int(port) < 65536) for port in ports):
        raise LedgerError("the port in the URL of PostgreSQL must be a number from 1 to 65535")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = ",".join(
        f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False)
    )
    name = f"postgresql://{places}/{options.get('dbname', '')}?namespace={namespace}"
    return PostgresUrl(name, namespace, options)


def _check_place(start: str, query: str, url: str) -> None:
    """Raise LedgerError for a character that would be taken for the end of a part."""
    scheme, _, rest = start.partition("://")
    place, _, path = rest.partition("/")
    is_clear = place.count("@") < 2 and "@" not in path + query and "#" not in url
    if scheme not in ("postgresql", "postgres") or not is_clear:
        raise LedgerError(
            "a URL of PostgreSQL is postgresql://user:password@host:port/database, with %40 for "
            "@, %3A for :, %2F for /, %3F for ? and %23 for # in user and password"
        )


def _options(start: str, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    try:
        return conninfo_to_dict(f"{start}?{urlencode(pairs, quote_via=quote)}")
    except psycopg.Error:
        names = ", ".join(name for name, _ in pairs)
        raise LedgerError(
            "the URL of PostgreSQL cannot be read: is it postgresql://user:password@host:port/"
            f"database, and are these options of libpq: {names or '(none)'}?"
        ) from None


def _listed(options: Mapping[str, Any], name: str) -> list[str]:
    """Return the values of an option of libpq that may have several."""
    value = options.get(name)
    return str(value).split(",") if value else []
