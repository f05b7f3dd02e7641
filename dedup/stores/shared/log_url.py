"""The URL of the log of a fleet: which kinds there are, and what may be shown of one."""

from dataclasses import dataclass, field
from typing import NamedTuple


class Adapter(NamedTuple):
    """Where the log of a kind of *server* is, and the extra that it needs."""

    server: str
    module: str
    log: str
    extra: str


_REDIS = Adapter("Redis", "dedup.stores.shared.redis_log", "RedisLog", "redis")
_POSTGRES = Adapter("PostgreSQL", "dedup.stores.shared.postgres_log", "PostgresLog", "postgresql")
ADAPTERS = {
    "redis": _REDIS,
    "rediss": _REDIS,
    "valkey": _REDIS,
    "valkeys": _REDIS,
    "unix": _REDIS,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
}
"""By the schemes of URLs."""


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
        if scheme not in ADAPTERS:
            kinds = ", ".join(f"{known}://" for known in ADAPTERS)
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
