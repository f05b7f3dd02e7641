"""URLs of PostgreSQL databases: what to connect with, and what may be shown."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

import psycopg
from psycopg.conninfo import conninfo_to_dict

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.server_url import ServerUrl, split_query


def parse_postgres_url(url: str) -> ServerUrl:
    """Take *url* apart; raises LedgerError, which shows nothing of a password, for a wrong one."""
    start, _, query = url.partition("?")
    _check_place(start, query, url)
    namespace, others = split_query(query, "PostgreSQL")
    options = _options(start, others)
    hosts = _listed(options, "host") or _listed(options, "hostaddr") or [""]
    ports = _listed(options, "port") or [""]
    if not all(port == "" or (port.isdecimal() and 0 < int(port) < 65536) for port in ports):
        raise LedgerError("the port in the URL of PostgreSQL must be a number from 1 to 65535")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    places = ",".join(
        f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=False)
    )
    name = f"postgresql://{places}/{options.get('dbname', '')}?namespace={namespace}"
    return ServerUrl(name, namespace, options)


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


def _options(start: str, others: Mapping[str, str]) -> dict[str, Any]:
    try:
        return conninfo_to_dict(f"{start}?{urlencode(others, quote_via=quote)}")
    except psycopg.Error:
        names = ", ".join(others)
        raise LedgerError(
            "the URL of PostgreSQL cannot be read: is it postgresql://user:password@host:port/"
            f"database, and are these options of libpq: {names or '(none)'}?"
        ) from None


def _listed(options: Mapping[str, Any], name: str) -> list[str]:
    """Return the values of an option of libpq that may have several."""
    value = options.get(name)
    return str(value).split(",") if value else []
