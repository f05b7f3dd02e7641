"""Logs that the tests of one adapter open by URL."""

from test_log import Process


class Logs:
    """The logs of a test, which are closed at its end; *log* makes one of a URL."""

    def __init__(self, log):
        self._log = log
        self._logs = []

    def __call__(self, url, **how):
        self._logs.append(self._log(url, **how))
        return self._logs[-1]

    async def joined(self, url, *, kind=Process, join=None, **how):
        """Have a process take part; *join* says how, the others what its log is."""
        process = kind(self(url, **how))
        await process.log.open()
        await process.join(**join or {})
        return process

    async def aclose(self):
        for log in self._logs:
            await log.close()
