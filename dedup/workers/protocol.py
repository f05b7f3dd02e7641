"""What goes through the pipes between a pool and its workers: pickles, which delimit themselves."""

from dataclasses import dataclass
from typing import Literal

from dedup.page import Page, PageReader

READY = b"\0dedup worker is ready\n"
"""What a worker writes before its first answer."""


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

    reader: PageReader
    seconds_per_page: float


@dataclass(frozen=True, slots=True)
class Failure:
    """A worker's answer where there is no page."""

    message: str
