"""The URL of the log of a fleet: which kinds there are, and what may be shown of one."""

from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote


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
OPTIONS = "share", "commit", "store_down"
"""What the URL of a place may tell a crawl."""
_FILE = "sqlite:///"


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


def split_options(url: str) -> tuple[str | LogUrl, dict[str, str]]:
    """Return the place that *url* names, the path of a file or a log, and our options of it.

    Raises ValueError for what is neither, and shows nothing of a password.
    """
    # After the last question mark: a password may have one that nobody has escaped.
    rest, mark, query = url.rpartition("?")
    own, others = {}, []
    for option in query.split("&") if mark else []:
        name, _, value = option.partition("=")
        if name in OPTIONS:
            own[name] = value
        else:
            others.append(option)
    if own:
        url = mark.join([rest, *(["&".join(others)] if others else [])])
    if not url.startswith("sqlite:"):
        return LogUrl.of(url), own
    path = unquote(url.removeprefix(_FILE))
    if not url.startswith(_FILE) or not path or "?" in path:
        raise ValueError(
            "must be such as sqlite:///pages.sqlite?share=1, with four slashes for a path from "
            f"the root, and the options {', '.join(OPTIONS)}, got {url!r}"
        )
    return path, own


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
