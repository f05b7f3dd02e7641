"""What goes through the pipes between a pool and its workers: pickles, which delimit themselves."""

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

from dedup.page import Page, PageReader

READY = b"\0dedup worker is ready\n"
"""What a worker writes before its first answer."""


Answer = TypeVar("Answer", covariant=True)


class Reader(Protocol):
    """What a worker has for all of its tasks; sent to it once."""

    def warm_up(self) -> None:
        """Load what will be needed, so that no task is charged for it."""


class Work(Protocol[Answer]):
    """A task, whatever it is: sent to a worker, which answers with what `run` returns."""

    def run(self, reader: Any) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Task:
    """One page to read: a whole HTML document, or the field of an item."""

    kind: Literal["html", "field"]
    content: str

    def run(self, reader: PageReader) -> Page:
        return (
            reader.read_html(self.content)
            if self.kind == "html"
            else reader.read_field(self.content)
        )


@dataclass(frozen=True, slots=True)
class Setup:
    """The first thing a worker gets."""

    reader: Reader
    seconds_per_page: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker's answer where a task failed."""

    message: str
