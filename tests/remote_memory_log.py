"""The log in memory behind a socket: a server of logs in a process of its own, on loopback."""

import asyncio
import multiprocessing
import pickle
import time
from urllib.parse import urlsplit

from log_servers import LogServer
from memory_log import MemoryLog, Server

from dedup.stores import StoreDownError
from dedup.stores.log import LEASE, Log

_TIMEOUT = 5.0


class _TimedServer(Server):
    """A log with the clock of the machine."""

    @property
    def now(self):
        return time.time()

    @now.setter
    def now(self, now): ...


class RemoteLog(Log):
    """A log in a `MemoryLogProcess`; *url*: `memory://host:port/namespace`."""

    def __init__(self, url, *, lease=LEASE):
        super().__init__(url, lease=lease)
        self._address = urlsplit(url)

    async def call(self, *call):
        """Return what a method returns: its name, and its arguments."""
        try:
            async with asyncio.timeout(_TIMEOUT):
                answer = await self._answer(pickle.dumps((self._address.path, self.lease, call)))
        except (OSError, EOFError, TimeoutError) as error:
            raise StoreDownError(f"{self.name} cannot be reached: {error}") from error
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def _answer(self, request):
        reader, writer = await asyncio.open_connection(self._address.hostname, self._address.port)
        try:
            writer.write(len(request).to_bytes(4, "big") + request)
            size = int.from_bytes(await reader.readexactly(4), "big")
            return pickle.loads(await reader.readexactly(size))
        finally:
            writer.close()

    async def open(self):
        return await self.call("open")

    async def join(self, member, identity, *, reset):
        return await self.call("join", member, dict(identity), reset)

    async def exchange(self, request):
        return await self.call("exchange", request)

    async def expire(self, claims):
        return await self.call("expire", list(claims))

    async def leave(self, owner, reason, report, texts):
        await self.call("leave", owner, reason, report, ())

    async def close(self): ...

    async def snapshot(self, since=0.0):
        for piece in await self.call("snapshot", since):
            yield piece

    async def entries(self, after):
        return await self.call("entries", after)

    async def pages(self, numbers):
        return await self.call("pages", list(numbers))

    async def crawls(self):
        return await self.call("crawls")

    async def duplicates(self):
        for duplicate in await self.call("duplicates"):
            yield duplicate


class MemoryLogProcess:
    """A process with logs, which ends with the one that started it."""

    def __init__(self):
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        self._process = context.Process(target=_serve, args=[there], daemon=True)
        self._process.start()
        self.port = here.recv()

    def url(self, namespace):
        return f"memory://127.0.0.1:{self.port}/{namespace}"

    def stop(self):
        self._process.kill()
        self._process.join()


def _serve(pipe):
    servers, backups = {}, {}

    async def answer(reader, writer):
        try:
            size = int.from_bytes(await reader.readexactly(4), "big")
            request = await reader.readexactly(size)
        except EOFError:
            return
        namespace, lease, (method, *arguments) = pickle.loads(request)
        server = servers.setdefault(namespace, _TimedServer())
        try:
            if method == "backup":
                backups.update({name: one.backup() for name, one in servers.items()})
                answer = None
            elif method == "restore":
                for name, backup in backups.items():
                    servers[name].restore(backup)
                answer = None
            else:
                answer = await _call(MemoryLog(server, lease=lease), method, arguments)
        except Exception as error:
            answer = error
        data = pickle.dumps(answer)
        writer.write(len(data).to_bytes(4, "big") + data)
        writer.close()

    async def run():
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


async def _call(log, method, arguments):
    if method == "join":
        member, identity, reset = arguments
        return await log.join(member, identity, reset=reset)
    if method in ("snapshot", "duplicates"):
        return [item async for item in getattr(log, method)(*arguments)]
    return await getattr(log, method)(*arguments)


class RemoteMemoryServer(LogServer):
    """Logs in another process, with the clock of the machine."""

    def __init__(self, folder):
        super().__init__(folder)
        self._process = MemoryLogProcess()

    def url(self, namespace):
        return self._process.url(namespace)

    def connect(self, namespace, lease=LEASE):
        return RemoteLog(self.url(namespace), lease=lease)

    can_shrink = True

    @property
    def port(self):
        return self._process.port

    def backup(self):
        asyncio.run(self.connect("").call("backup"))

    def restore(self):
        asyncio.run(self.connect("").call("restore"))

    def stop(self):
        self._process.stop()
