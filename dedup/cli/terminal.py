"""The console of a command, and its progress bar."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from dedup.cli.files import STDOUT

_WIDEST = 1_000


@contextmanager
def progress(total: int | None) -> Iterator[Any]:
    """Show a progress bar on stderr if that is a terminal; yield the function that advances it."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with _shown(columns) as progress:
        if progress is None:
            yield lambda count=1: None
            return
        task = progress.add_task("pages", total=total)
        yield lambda count=1: progress.advance(task, count)


@contextmanager
def progress_of(what: str, total: int, done: Callable[[], int]) -> Iterator[None]:
    """Show on stderr, if that is a terminal, how much of *total* is *done*, and the time left."""
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    with _shown(columns) as progress:
        if progress is not None:
            progress.watch(progress.add_task(what, total=max(1, total)), done)
        yield


@contextmanager
def _shown(columns: tuple[ProgressColumn, ...]) -> Iterator["_Progress | None"]:
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with _Progress(console, *columns, TimeRemainingColumn()) as progress:
        yield progress


class _Progress(Progress):
    """Leaves out columns in a terminal that is too narrow for what, bar, amount and time."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._terminal = console  # which the base shows something on before it keeps it
        self._done: tuple[TaskID, Callable[[], int]] | None = None
        super().__init__(*columns, console=console, transient=True)

    def watch(self, task: TaskID, done: Callable[[], int]) -> None:
        """Have *done* asked how much of *task* is done, whenever that is shown."""
        self._done = task, done

    def get_renderables(self) -> Iterable[RenderableType]:
        if self._done:
            task, done = self._done
            self.update(task, completed=done())
        return super().get_renderables()

    def make_tasks_table(self, tasks: Iterable[Task]) -> Table:
        tasks, columns = list(tasks), self.columns
        what, _, amount, time = columns
        unlimited = self._terminal.options.update(max_width=_WIDEST)
        try:
            for self.columns in (columns, (what, amount, time), (amount, time), (amount,)):
                table = super().make_tasks_table(tasks)
                # What is measured in the terminal is never wider than that.
                width = self._terminal.measure(table, options=unlimited).maximum
                if width <= self._terminal.width:
                    break
            return table
        finally:
            self.columns = columns


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of exit code 1


def console(json_output: Path | None = None) -> Console:
    """Return the console for what people read; it shows nothing if JSON takes its place."""
    # A file or a pipe has no width; 160 columns keep tables from being truncated.
    width = None if sys.stdout.isatty() else 160
    return _Console(width=width, highlight=False, quiet=json_output == STDOUT)
