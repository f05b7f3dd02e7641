"""A pool without processes: it runs each task when it is submitted."""

from concurrent.futures import Future

from dedup.workers.base import Pool, ReadError
from dedup.workers.protocol import Answer, Reader, Work


class InlinePool(Pool):
    """Runs every task immediately, in the caller's own process and thread.

    There is no time limit, and a page that crashes the extractor ends the process.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def start(self) -> None:
        pass

    def submit(self, task: Work[Answer]) -> "Future[Answer]":
        future: Future[Answer] = Future()
        try:
            future.set_result(task.run(self._reader))
        except Exception as error:
            future.set_exception(ReadError("error", f"{type(error).__name__}: {error}"))
        return future

    def close(self) -> None:
        pass
