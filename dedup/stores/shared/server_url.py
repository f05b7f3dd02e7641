"""What the URL of a server names, of whatever kind: a database, and a namespace in it."""

from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, urlencode

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.log_url import without_secrets

_NAMESPACE, _LONGEST_NAMESPACE = "dedup", 200


@dataclass(frozen=True)
class ServerUrl:
    """A database, and a namespace in it.

    *name* is what messages show; *url* is what the client takes, with user and password.
    """

    name: str
    namespace: str
    url: str = field(repr=False)

    @classmethod
    def of(cls, url: str) -> "ServerUrl":
        """Take *url*, of which all but the namespace is the client's.

        Raises LedgerError, which shows nothing of a password, for a wrong namespace, and for a
        character that would be taken for the end of a part.
        """
        start, _, query = url.partition("?")
        place, _, path = start.partition("://")[2].partition("/")
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
        name = f"{without_secrets(start)}?namespace={namespace}"
        rest = urlencode(options, quote_via=quote)
        return cls(name, namespace, f"{start}?{rest}" if rest else start)


def url_error(url: str) -> LedgerError:
    """Return the error for a *url* that the client cannot read; it shows nothing of that."""
    return LedgerError(
        f"the URL of a server is as {url.partition('://')[0]}://user:password@host:port/database, "
        "with the options of its client after a ?, and %40 for @, %3A for :, %2F for /, %3F for ? "
        "and %23 for # in user and password; this one cannot be read"
    )
