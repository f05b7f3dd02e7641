"""What tests need of the servers of logs: to connect, to have time pass, and to have them fail."""

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from contextlib import AbstractContextManager, ExitStack
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, NoReturn

import pytest

from dedup.stores import LedgerError, StoreDownError
from dedup.stores.log import LEASE, Log

_namespaces = count()


def skip_without_server(reason: str) -> NoReturn:
    """Skip the test, for want of a server; in CI, which installs them all, it fails."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


async def refused(step: Awaitable[Any], told: str = ".") -> str:
    """Expect that *step* fails for good, and return what is said."""
    with pytest.raises(LedgerError, match=told) as raised:
        await step
    assert not isinstance(raised.value, StoreDownError)
    return str(raised.value)


async def down(step: Awaitable[Any], told: str = ".") -> StoreDownError:
    """Expect that *step* fails for now, and return the error."""
    with pytest.raises(StoreDownError, match=told) as raised:
        await step
    return raised.value


class LogServer(ABC):
    """A server that the tests of a module share; each takes namespaces of its own there.

    It is started by its creation, and stopped by `stop`. One that cannot be started here skips the
    test, with the reason. Its methods may be called within an event loop and without one.
    """

    _server: Any
    """What has `kill` and `start`, if it can crash."""
    password: str | None = None
    """What no message may show."""
    keeps_any_text: ClassVar[bool] = True
    """Whether names of any length, and strings that are no Unicode, come back as they were."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._closing = ExitStack()

    @abstractmethod
    def connect(self, namespace: str, lease: float = LEASE) -> Log:
        """Return what a process of its own has of the log *namespace* (letters and digits).

        It is not opened yet.
        """

    async def pass_time(self, seconds: float) -> None:
        """Have the clock go on, by which leases end."""
        await asyncio.sleep(seconds)

    def contents(self, namespace: str) -> Any:
        """All that the server has of a log, in any form that can be compared.

        ``None`` if that cannot be told.
        """
        return None

    def down(self) -> AbstractContextManager[None] | None:
        """Have the server be out of reach, and come back with all that it had.

        ``None`` if it cannot be.
        """
        return None

    def url(self, namespace: str) -> str:
        """Return the address of a log, as other processes need it (`crawling_process.log_of`)."""
        raise NotImplementedError

    @property
    def port(self) -> int | None:
        """Where on loopback it listens; ``None`` if there is no network between."""
        return None

    # What the suite over whole processes needs.

    can_crash: ClassVar[bool] = False
    """Whether it can `crash`."""
    can_shrink: ClassVar[bool] = False
    """Whether it has `backup`, and `restore` by which it has only what was there then."""

    def crash(self, seconds: float) -> None:
        """Kill the server as nothing can prevent it, and start it again so many seconds later."""
        self._server.kill()
        time.sleep(seconds)
        self._server.start()

    def stop(self) -> None:
        """Stop the server."""
        self._closing.close()


class Place:
    """Logs of a test on a server: their names are its own, and all are closed at its end."""

    def __init__(self, server: LogServer) -> None:
        self.server = server
        self._prefix = f"log{next(_namespaces)}"
        self._logs: list[Log] = []

    def log(self, lease: float = LEASE, namespace: str = "") -> Log:
        """Return another process's log."""
        log = self.server.connect(self._prefix + namespace, lease)
        self._logs.append(log)
        return log

    def log_by(self, port: int, timeout: float = 10.0) -> Log:
        """Return another process's log that takes another *port*, and waits so many seconds."""
        url = self.server.url(self._prefix).replace(f":{self.server.port}/", f":{port}/")
        log = type(self.log())(url, timeout)
        self._logs.append(log)
        return log

    def contents(self, namespace: str = "") -> Any:
        return self.server.contents(self._prefix + namespace)

    async def aclose(self) -> None:
        """Close all logs."""
        while self._logs:
            await self._logs.pop().close()
