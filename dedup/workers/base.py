"""The interface of a pool, and its one error."""

from abc import ABC, abstractmethod
from concurrent.futures import Future

from dedup.workers.protocol import Answer, Work


class ReadError(Exception):
    """A task failed; usually, a page could not be read.

    *cause* is "error" (the extractor raised), "crash" (its process died), "timeout" (it was killed
    for exceeding the time limit), "start" (no worker process could be started) or "closed".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Pool(ABC):
    """Runs tasks, mostly reading pages."""

    @abstractmethod
    def start(self) -> None:
        """Start the pool; call this once, before `submit`."""

    @abstractmethod
    def submit(self, task: Work[Answer]) -> "Future[Answer]":
        """Return the future of the answer to *task*.

        Its exception can only be a `ReadError`.
        """

    @abstractmethod
    def close(self) -> None:
        """Stop all work at once; unfinished tasks fail with cause "closed"."""
