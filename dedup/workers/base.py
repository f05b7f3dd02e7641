"""The interface of a pool, and the one error it gives."""

from abc import ABC, abstractmethod
from concurrent.futures import Future

from dedup.workers.protocol import Answer, Work


class ReadError(Exception):
    """A task could not be done: mostly, a page could not be read.

    *cause* is "error" (the extractor raised), "crash" (its process died), "timeout" (it was killed
    for exceeding the time limit), "start" (no worker process could be started) or "closed".
    """

    def __init__(self, cause: str, message: str) -> None:
        super().__init__(message)
        self.cause = cause


class Pool(ABC):
    """Does tasks, somewhere: reads pages."""

    @abstractmethod
    def start(self) -> None:
        """Make ready to read; may be called once."""

    @abstractmethod
    def submit(self, task: Work[Answer]) -> "Future[Answer]":
        """Return the future page, or whatever *task* gives.

        Its exception can only be a `ReadError`.
        """

    @abstractmethod
    def close(self) -> None:
        """End all work at once; pages not read yet fail with cause "closed"."""
