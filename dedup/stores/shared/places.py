"""The log of a fleet, by where it is: the URL of a server, or the path of a file."""

from importlib import import_module
from pathlib import Path

from dedup.sqlite_file import LedgerError
from dedup.stores.shared.log import Log
from dedup.stores.shared.log_url import ADAPTERS, LogUrl
from dedup.stores.shared.server_log import ServerLog
from dedup.stores.shared.sqlite_log import SqliteLog


def open_log(place: LogUrl | Path) -> Log:
    """Return the log at *place*, which is not connected yet; a path is that of an SQLite file.

    Raises LedgerError as `open_server_log` does.
    """
    if isinstance(place, Path):
        return SqliteLog(place)
    return open_server_log(place)


def open_server_log(place: LogUrl) -> ServerLog:
    """Return the log at *place*, which is not connected yet.

    Raises LedgerError, which shows no password, if its client is not installed, or the URL wrong.
    """
    adapter = ADAPTERS[place.url.partition("://")[0]]
    try:
        module = import_module(adapter.module)
    except ImportError as error:
        raise LedgerError(
            f"{adapter.server} needs: pip install 'scrapy-dedup[{adapter.extra}]'"
        ) from error
    log: ServerLog = getattr(module, adapter.log)(place.url)
    return log
