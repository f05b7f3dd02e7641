"""What the commands have in common: errors, methods by name, outputs, progress, the terminal."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from dedup.extraction import Extractor
    from dedup.methods import Method
    from dedup.methods.keyed import Keyed

SECRET = "DEDUP_SECRET"


class CommandError(Exception):
    """Ends the command with one line and exit code 2."""


def overwritable(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist")


def method_class(name: str) -> Any:
    """Return the method of a short name or of an import path."""
    from importlib import import_module

    from dedup.methods import METHODS, Method

    if name in METHODS:
        return METHODS[name]
    module, _, attribute = name.rpartition(".")
    if not module:
        choices = ", ".join(METHODS)
        near = get_close_matches(name, METHODS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise CommandError(
            f"--method must be an import path or one of {choices}, got {name!r}{hint}"
        )
    sys.path.insert(0, os.getcwd())
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise CommandError(f"--method {name}: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Method)):
        raise CommandError(f"--method {name} must be a subclass of dedup.methods.Method")
    return kind


def extractor_named(name: str) -> "Extractor":
    """Return the extractor of a short name."""
    from importlib.util import find_spec

    from dedup.extraction import EXTRACTORS

    if name not in EXTRACTORS:
        choices = ", ".join(EXTRACTORS)
        raise CommandError(f"--extractor must be one of {choices}, got {name!r}")
    if not find_spec(name):
        raise CommandError(f"--extractor {name} needs: pip install 'scrapy-dedup[{name}]'")
    return EXTRACTORS[name]


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield where each object of a JSONL file is, for messages, and the object.

    Raises CommandError for a line that is none, and for a file that cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, 1):
                where = f"{path}, line {number}"
                if not line.strip():
                    continue
                try:
                    value = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise CommandError(f"{where}: no JSON object") from error
                if not isinstance(value, dict):
                    raise CommandError(f"{where}: no JSON object")
                yield where, value
    except OSError as error:
        raise CommandError(f"{path} cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{path} is not UTF-8 ({error})") from error


def json_object(option: str, value: str) -> dict[str, Any]:
    try:
        arguments = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise CommandError(
            f"{option} must be an object in JSON, got {value!r:.200} ({error})"
        ) from error
    if not isinstance(arguments, dict):
        raise CommandError(f"{option} must be an object in JSON, got {value!r:.200}")
    return arguments


def created(kind: type["Method"], arguments: dict[str, Any]) -> "Method":
    """Return the method of the class *kind* with the *arguments* of ``--args``.

    With the secret of the environment, if it has one: arguments of commands are for all to see.
    """
    [method] = _created(kind, arguments, lambda kind, arguments: [kind(**arguments)])
    return method


def swept(kind: type["Method"], arguments: dict[str, Any]) -> list["Method"]:
    """Return the methods of the class *kind* with each value of its sweep."""
    from dedup.evaluation import sweep_of

    return _created(kind, arguments, sweep_of)


def _created(
    kind: type["Method"],
    arguments: dict[str, Any],
    create: Callable[[type["Method"], dict[str, Any]], list["Method"]],
) -> list["Method"]:
    from dedup.methods.base import check_arguments
    from dedup.methods.keyed import keyed

    try:
        check_arguments(kind, arguments)
    except TypeError as error:
        raise CommandError(f"--args: {kind.name} {error}") from error
    try:
        methods = create(kind, arguments)
    except (TypeError, ValueError) as error:
        raise CommandError(f"--args: {kind.name}: {error}") from error
    try:
        hashing = _hashing(os.environ.get(SECRET, ""))
        return [keyed(method, hashing) for method in methods] if hashing else methods
    except ValueError as error:
        raise CommandError(f"{SECRET}: {error}") from error


@cache
def _hashing(secret: str) -> "Keyed | None":
    """Return what methods hash with, by *secret*; ``None`` for an empty one."""
    from dedup.methods.keyed import Keyed

    return Keyed(secret) if secret else None


def check_outputs(options: argparse.Namespace, *paths: Path | None) -> None:
    given = [path for path in paths if path is not None]
    for path in given:
        folder = path.resolve().parent
        if path.is_dir() or not folder.is_dir():
            raise CommandError(f"{path} must be a file in a folder that exists")
        if path.exists() and not path.is_file():
            raise CommandError(f"{path} is no regular file")
        if (path.exists() or path.is_symlink()) and not options.overwrite:
            raise CommandError(f"{path} exists; --overwrite replaces it")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CommandError(f"{path} cannot be written: its folder is read-only")
    if len({path.resolve() for path in given}) < len(given):
        raise CommandError(f"{given[0]} is named for two outputs")


@contextmanager
def progress(total: int | None) -> Iterator[Any]:
    """Show a bar on stderr, if that is a terminal; yield the function that moves it."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(stderr=True)
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task("pages", total=total)
        yield lambda count=1: progress.advance(task, count)


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # instead of exit code 1


def console() -> Console:
    # A file or a pipe has no width, so nothing is to be cut off for it.
    return _Console(width=None if sys.stdout.isatty() else 160, highlight=False)
