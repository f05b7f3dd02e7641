"""A way to a server that loses answers and keeps requests back."""

import asyncio
from typing import Self


class Proxy:
    """Passes on what comes to its *port* to a server on loopback. An asynchronous context manager.

    While *is_cut*, an answer of the server ends the connection instead of being passed on. Requests
    are only passed on while *is_open* is set.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self.is_cut = False
        self.is_open = asyncio.Event()
        self.is_open.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.is_open.set()
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*self._tasks)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        from_server, to_server = await asyncio.open_connection("127.0.0.1", self._to)
        self._writers += [writer, to_server]
        answers = asyncio.create_task(self._pass_answers(from_server, writer))
        while data := await reader.read(65536):
            await self.is_open.wait()
            to_server.write(data)
        to_server.write_eof()
        await answers
        to_server.close()
        writer.close()

    async def _pass_answers(
        self, from_server: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await from_server.read(65536):
            if self.is_cut:
                writer.transport.abort()
            else:
                writer.write(data)
