"""Where the log of a fleet is: the URL of a server, or the path of a file."""

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.log import MOST_TEXTS, Log
from dedup.stores.shared.sqlite_log import SqliteLog


class _Adapter(NamedTuple):
    server: str
    module: str
    log: str
    extra: str


_REDIS = _Adapter("Redis", "dedup.stores.shared.redis_log", "RedisLog", "redis")
_POSTGRES = _Adapter("PostgreSQL", "dedup.stores.shared.postgres_log", "PostgresLog", "postgresql")
_ADAPTERS = {
    "redis": _REDIS,
    "rediss": _REDIS,
    "valkey": _REDIS,
    "valkeys": _REDIS,
    "unix": _REDIS,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
}


@dataclass(frozen=True)
class LogUrl:
    """Where a log is: *url* may have a password, *name* may be shown."""

    name: str
    url: str = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, url: str) -> "LogUrl":
        """Take *url*; raises ValueError, which shows nothing of a password, for an unknown kind."""
        scheme = url.partition("://")[0]
        if scheme not in _ADAPTERS:
            kinds = ", ".join(f"{known}://" for known in _ADAPTERS)
            raise ValueError(
                "must be the path of a local file, or the URL of a server that crawls share "
                f"({kinds}), got the URL {without_secrets(url)!r}"
            )
        return cls(without_secrets(url), url)


def without_secrets(url: str) -> str:
    """Return what may be shown of *url*: no user, no password, and of its options the namespace.

    >>> without_secrets("redis://me:secret@host:6379/0?namespace=news&other=1")
    'redis://host:6379/0?namespace=news'
    """
    scheme, _, rest = url.partition("://")
    # The last @ of all: a password may have any character that nobody has escaped.
    place, _, query = rest.rpartition("@")[2].partition("#")[0].partition("?")
    shown = [option for option in query.split("&") if option.startswith("namespace=")]
    return f"{scheme}://{'?'.join([place, *shown[:1]])}"


def open_log(place: LogUrl | Path, *, fsync: bool = False, most_texts: int = MOST_TEXTS) -> Log:
    """Return the log at *place*, which is not connected yet; a path is that of an SQLite file.

    *fsync*: what is written to a file survives a power failure. *most_texts*: how many texts a
    server keeps. Raises LedgerError, which shows no password, if its client is not installed, or
    the URL wrong.
    """
    if isinstance(place, Path):
        return SqliteLog(place, fsync=fsync)
    adapter = _ADAPTERS[place.url.partition("://")[0]]
    try:
        module = import_module(adapter.module)
    except ImportError as error:
        raise LedgerError(
            f"{adapter.server} needs: pip install 'scrapy-dedup[{adapter.extra}]'"
        ) from error
    log: Log = getattr(module, adapter.log)(place.url, most_texts=most_texts)
    return log
