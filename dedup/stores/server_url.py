"""The URL of a server that keeps the log of a fleet: a database, and a namespace in it."""

from dataclasses import dataclass, field
from pkgutil import resolve_name
from urllib.parse import parse_qsl, quote, unquote, urlencode

from dedup.stores.ledger_file import LedgerError
from dedup.stores.log import ServerLog

_REDIS = "Redis", "dedup.stores.redis_log:RedisLog"
_POSTGRES = "PostgreSQL", "dedup.stores.postgres_log:PostgresLog"
ADAPTERS = {
    "redis": _REDIS,
    "rediss": _REDIS,
    "valkey": _REDIS,
    "valkeys": _REDIS,
    "unix": _REDIS,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
}
"""The kind of a server, after which its extra is named, and its log, by the schemes of URLs."""
OPTIONS = "share", "commit", "store_down"
"""What the URL of a place may tell a crawl."""
_FILE = "sqlite:///"
_NAMESPACE, _LONGEST_NAMESPACE = "dedup", 200


@dataclass(frozen=True)
class ServerUrl:
    """A database, and a namespace in it.

    *name* is what messages show. *url* has user and password, and *of_client* is that without the
    namespace, which no client knows.
    """

    name: str
    namespace: str
    of_client: str = field(repr=False)
    url: str = field(repr=False)

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, url: str) -> "ServerUrl":
        """Take *url*, of which all but the namespace is the client's.

        Raises LedgerError, which shows nothing of a password, for an unknown kind, a wrong
        namespace, and a character that would be taken for the end of a part.
        """
        start, _, query = url.partition("?")
        scheme, _, rest = start.partition("://")
        if scheme not in ADAPTERS:
            kinds = ", ".join(f"{known}://" for known in ADAPTERS)
            raise LedgerError(
                "must be the path of a local file, or the URL of a server that crawls share "
                f"({kinds}), got the URL {without_secrets(url)!r}"
            )
        place, _, path = rest.partition("/")
        if place.count("@") > 1 or "@" in path + query or "#" in url:
            raise url_error(url)
        options = dict(parse_qsl(query, keep_blank_values=True))
        namespace = options.pop("namespace", _NAMESPACE)
        if not 0 < len(namespace) <= _LONGEST_NAMESPACE or not namespace.isprintable():
            got = len(namespace) if namespace.isprintable() else "others"
            raise LedgerError(
                f"the namespace in the URL of a server must have 1 to {_LONGEST_NAMESPACE} "
                f"printable characters, and has {got}"
            )
        name = f"{without_secrets(start)}?namespace={quote(namespace)}"
        rest = urlencode(options, quote_via=quote)
        return cls(name, namespace, f"{start}?{rest}" if rest else start, url)


def url_error(url: str) -> LedgerError:
    """Return the error for a *url* that the client cannot read; it shows nothing of that."""
    return LedgerError(
        f"the URL of a server is as {url.partition('://')[0]}://user:password@host:port/database, "
        "with the options of its client after a ?, and %40 for @, %3A for :, %2F for /, %3F for ? "
        "and %23 for # in user and password; this one cannot be read"
    )


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


def split_options(url: str) -> tuple[str | ServerUrl, dict[str, str]]:
    """Return the place that *url* names, the path of a file or a server, and our options of it.

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
        return ServerUrl.of(url), own
    path = unquote(url.removeprefix(_FILE))
    if not url.startswith(_FILE) or not path or "?" in path:
        raise ValueError(
            "must be such as sqlite:///pages.sqlite?share=1, with four slashes for a path from "
            f"the root, and the options {', '.join(OPTIONS)}, got {url!r}"
        )
    return path, own


def open_log(place: ServerUrl) -> ServerLog:
    """Return the log at *place*, which is not connected yet.

    Raises LedgerError, which shows no password, if its client is not installed, or the URL wrong.
    """
    server, path = ADAPTERS[place.url.partition("://")[0]]
    try:
        log: ServerLog = resolve_name(path)(place.url)
    except ImportError as error:
        raise LedgerError(
            f"{server} needs: pip install 'scrapy-dedup[{server.lower()}]'"
        ) from error
    return log
