"""A way to a server on which answers get lost, and requests arrive after who sent them has gone."""

import asyncio
import random
from threading import Event, Thread


class StormyProxy:
    """Passes on what comes to its *port* to a server on loopback; a context manager, in a thread.

    *lost* is the share of requests whose answer is dropped with the connection, once it has come
    from the server; *late* the share of those that arrive up to a second after the connection has
    been cut. The others are passed on after some milliseconds.
    """

    def __init__(self, port: int, lost: float, late: float, seed: int) -> None:
        self._to = port
        self._lost = lost
        self._late = late
        self._chooser = random.Random(seed)
        self._tasks: set[asyncio.Task[None]] = set()
        # Those who pass on answers: the next one ends the connection.
        self._drops: set[asyncio.Task[None]] = set()
        self._is_ready = Event()
        self._thread = Thread(target=lambda: asyncio.run(self._serve()))
        self.cuts = 0

    def __enter__(self) -> "StormyProxy":
        self._thread.start()
        self._is_ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._is_over.set)
        self._thread.join()

    async def _serve(self) -> None:
        self._loop, self._is_over = asyncio.get_running_loop(), asyncio.Event()
        async with await asyncio.start_server(self._accept, "127.0.0.1", 0) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._is_ready.set()
            await self._is_over.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            from_server, to_server = await asyncio.open_connection("127.0.0.1", self._to)
        except OSError:
            writer.transport.abort()
            return
        try:
            answers = asyncio.create_task(self._pass_answers(from_server, writer))
            await self._pass_requests(reader, writer, to_server, answers)
        except (OSError, asyncio.CancelledError):
            pass  # one of both has gone, or the proxy ends
        finally:
            writer.transport.abort()
            to_server.close()
            answers.cancel()
            self._drops.discard(answers)
            await asyncio.gather(answers, return_exceptions=True)

    async def _pass_requests(self, reader, writer, to_server, answers) -> None:
        while data := await reader.read(1 << 20):
            await asyncio.sleep(self._chooser.expovariate(500))
            luck = self._chooser.random()
            if luck > self._late + self._lost:
                to_server.write(data)
                continue
            self.cuts += 1
            if luck < self._late:
                writer.transport.abort()
                await asyncio.sleep(self._chooser.random())
            self._drops.add(answers)
            to_server.write(data)
            await asyncio.wait([answers], timeout=5)
            return

    async def _pass_answers(self, reader, writer) -> None:
        while data := await reader.read(1 << 20):
            await asyncio.sleep(self._chooser.expovariate(500))
            if asyncio.current_task() in self._drops:
                writer.transport.abort()
                return
            writer.write(data)
