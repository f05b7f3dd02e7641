"""Tasks, what comes of them, and the pool that runs them where they are submitted."""

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from dedup.page import Page, PageReader

Answer = TypeVar("Answer", covariant=True)


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


class Work(Protocol[Answer]):
    """A task for a worker, which answers with the result of `run`."""

    def run(self, reader: Any) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Task:
    """A page to read: a whole HTML document, or a field of an item; see `PageReader`."""

    kind: Literal["html", "field"]
    content: str

    def run(self, reader: PageReader) -> Page:
        read = reader.read_html if self.kind == "html" else reader.read_field
        return read(self.content)


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

    def submit(self, task: Work[Answer]) -> "Future[Answer]":
        """Return the future of the answer to *task*; its exception can only be a `ReadError`."""
        future: Future[Answer] = Future()
        try:
            future.set_result(task.run(self._reader))
        except Exception as error:
            future.set_exception(ReadError("error", f"{type(error).__name__}: {error}"))
        return future

    def close(self) -> None:
        """Do nothing: no task is left."""
