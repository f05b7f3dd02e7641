"""Logs that the tests of one adapter open by URL, and what their steps fail with."""

import pytest
from test_log import Process

from dedup.stores.base import StoreDownError
from dedup.stores.ledger_file import LedgerError


async def refused(step, told="."):
    """Expect that *step* fails for good, and return what is said."""
    with pytest.raises(LedgerError, match=told) as raised:
        await step
    assert not isinstance(raised.value, StoreDownError)
    return str(raised.value)


async def down(step, told="."):
    """Expect that *step* fails for now, and return the error."""
    with pytest.raises(StoreDownError, match=told) as raised:
        await step
    return raised.value


class Logs:
    """The logs of a test, which are closed at its end; *log* makes one of a URL."""

    def __init__(self, log):
        self._log = log
        self._logs = []

    def __call__(self, url, **how):
        self._logs.append(self._log(url, **how))
        return self._logs[-1]

    async def joined(self, url, **how):
        process = Process(self(url, **how))
        await process.log.open()
        await process.join()
        return process

    async def aclose(self):
        for log in self._logs:
            await log.close()
