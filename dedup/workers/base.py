"""What a pool is given and answers, and the pool that runs tasks where they are submitted."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Answer = TypeVar("Answer")


class ReadError(Exception):
    """A task failed; usually, a page could not be read.

    *cause* is "error" (the extractor raised), "crash" (its process died), "timeout" (it was killed
    for exceeding the time limit), "start" (no worker process could be started) or "closed".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Reader(Protocol):
    """What a worker needs for all of its tasks; sent to it once."""

    def warm_up(self) -> None:
        """Load everything that tasks need, so that it does not count as time of a task."""


Work = tuple[Callable[[Any, Any], Any], Any]
"""A task for a worker: a function, and what it is called with, after the reader."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker's answer to a failed task."""

    message: str


READY = b"\0dedup worker is ready\n"
"""A worker writes this before its first answer."""


class InlinePool:
    """Runs every task when it is submitted, in the caller's own process and thread.

    There is no time limit, and a page that crashes the extractor ends the process.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def start(self) -> None:
        """Do nothing: there are no processes."""

    def submit(self, read: Callable[[Any, Any], Answer], content: Any) -> "Future[Answer]":
        """Return the future of what *read* returns for the reader and *content*.

        *read* is a function that can be imported, such as `PageReader.read_html`. The exception can
        only be a `ReadError`.
        """
        future: Future[Answer] = Future()
        try:
            future.set_result(read(self._reader, content))
        except Exception as error:
            future.set_exception(ReadError("error", f"{type(error).__name__}: {error}"))
        return future

    def close(self) -> None:
        """Do nothing: no task is left."""
