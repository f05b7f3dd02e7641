"""The console of a command, and its progress bar."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dedup.cli.files import STDOUT


@contextmanager
def progress(total: int | None) -> Iterator[Any]:
    """Show a progress bar on stderr if that is a terminal; yield the function that advances it."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda count=1: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("pages", total=total)
        yield lambda count=1: progress.advance(task, count)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of exit code 1


def console(json_output: Path | None = None) -> Console:
    """Return the console for what people read; it shows nothing if JSON takes its place."""
    # A file or a pipe has no width; 160 columns keep tables from being truncated.
    width = None if sys.stdout.isatty() else 160
    return _Console(width=width, highlight=False, quiet=json_output == STDOUT)
