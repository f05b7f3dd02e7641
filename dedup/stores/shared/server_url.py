"""What the URL of a server names, of whatever kind: a database, and a namespace in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from dedup.sqlite_file import LedgerError

_NAMESPACE, _LONGEST_NAMESPACE = "dedup", 200


@dataclass(frozen=True)
class ServerUrl:
    """A database, and a namespace in it.

    *name* is what messages show; *options* are what the client takes, with user and password.
    """

    name: str
    namespace: str
    options: Mapping[str, Any] = field(repr=False)


def split_query(query: str, server: str) -> tuple[str, dict[str, str]]:
    """Return the namespace that the *query* of a URL names, and its other options.

    Raises LedgerError, which shows nothing of them but the kind of *server*, for a namespace that
    is wrong.
    """
    options = dict(parse_qsl(query, keep_blank_values=True))
    namespace = options.pop("namespace", _NAMESPACE)
    if not 0 < len(namespace) <= _LONGEST_NAMESPACE or not namespace.isprintable():
        got = len(namespace) if namespace.isprintable() else "others"
        raise LedgerError(
            f"the namespace in the URL of {server} must have 1 to {_LONGEST_NAMESPACE} printable "
            f"characters, and has {got}"
        )
    return namespace, options
