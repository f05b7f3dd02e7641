"""The messages between a pool and its workers: pickles, which delimit themselves."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from dedup.page import Page, PageReader

READY = b"\0dedup worker is ready\n"
"""A worker writes this before its first answer."""


Answer = TypeVar("Answer", covariant=True)


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
class Setup:
    """The first message to a worker."""

    reader: Reader
    seconds_per_page: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker's answer to a failed task."""

    message: str
