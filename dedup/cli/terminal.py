"""What a command shows: its console, tables, differences and JSON, and a progress bar."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from dedup.diff import Part
from dedup.text import printable


@contextmanager
def progress(
    what: str, total: int, done: Callable[[], int] | None = None
) -> Iterator[Callable[[], object]]:
    """Show a progress bar on stderr if that is a terminal; yield the function that advances it.

    With *done*, it is asked how much of *total* is, instead.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda: None
        return
    with _Progress(console=console, transient=True) as bar:
        task = bar.add_task(what, total=max(1, total))
        if done is not None:
            bar.update_all = lambda: bar.update(task, completed=done())
        yield lambda: bar.advance(task)


class _Progress(Progress):
    update_all: Callable[[], object] | None = None
    """What asks how much is done, whenever that is shown."""

    def get_renderables(self) -> Iterable[RenderableType]:
        if self.update_all:
            self.update_all()
        return super().get_renderables()


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of exit code 1


def show(*what: RenderableType, soft_wrap: bool = False) -> None:
    """Print what people read; an empty line of nothing."""
    # A file or a pipe has no width; 160 columns keep tables from being truncated.
    width = None if sys.stdout.isatty() else 160
    _Console(width=width, highlight=False).print(*what, soft_wrap=soft_wrap)


def show_line(line: str, style: str = "") -> None:
    """Print a line of text from anywhere, however long; nothing in it steers the terminal."""
    show(Text(printable(line, None), style), soft_wrap=True)


def show_heading(text: str) -> None:
    show()
    show_line(text, "bold")


def show_table(titles: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Show a table; numbers, and columns whose titles begin with ">", are on the right.

    What is empty is a dash. Nothing in a text steers the terminal.
    """
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(titles))
    for title in titles:
        table.add_column(
            title.removeprefix(">"),
            justify="right" if title.startswith(">") else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*map(_cell, row))
    show(table)


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    text = f"{value:,}" if isinstance(value, int) else printable(value or "")
    return Text(text or "–")


def print_json(value: Any) -> None:
    sys.stdout.write(f"{json.dumps(value, indent=1)}\n")


def color(parts: Iterable[Part]) -> Text:
    """Return the parts of a diff, with removed words in red and added words in green."""
    text, forms = Text(), {"removed": ("[-", "-]", "red"), "added": ("{+", "+}", "green")}
    for kind, words in parts:
        before, after, style = forms.get(kind, ("", "", ""))
        # The blank before the words stands before their brackets.
        text.append(" " * words.startswith(" "))
        text.append(f"{before}{words.removeprefix(' ')}{after}", style)
    return text
